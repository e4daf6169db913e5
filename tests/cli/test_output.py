"""What is written for people is what the data say, letter by letter."""

from __future__ import annotations

import io

import pytest

from einthoven.cli.output import CellProgress, counting, show_table
from einthoven.studies.cells import Cell
from einthoven.studies.work import Outcome


@pytest.mark.parametrize("name", ["[/red]", "[bold]x[/bold]", "[link=http://x]", ":smile:"])
def test_names_are_shown_as_they_are(capsys, name) -> None:
    show_table((name, "b"), [(f"{name} in a row", 1)], title=f"{name} in the title")
    out = capsys.readouterr().out
    assert out.count(name) == 3


def test_no_time_left_is_guessed_from_one_cell(capsys, monkeypatch) -> None:
    now = [0.0]
    monkeypatch.setattr("einthoven.cli.output.time.monotonic", lambda: now[0])
    cell = Cell(kind="x", title="t", spec={}, inputs={}, version=1)
    with CellProgress() as progress:
        progress.started(10, 0)
        for seconds in (60, 60, 60):
            now[0] += seconds
            progress.finished(cell, Outcome(cell.key, float(seconds)))
    lines = capsys.readouterr().err.splitlines()
    assert ["left" in line for line in lines] == [False, False, True]
    assert "about 7 min left" in lines[2]


def test_no_time_left_is_guessed_from_a_few_quick_cells(capsys, monkeypatch) -> None:
    now = [0.0]
    monkeypatch.setattr("einthoven.cli.output.time.monotonic", lambda: now[0])
    cell = Cell(kind="x", title="t", spec={}, inputs={}, version=1)
    with CellProgress() as progress:
        progress.started(6, 0)
        for seconds in (1, 1, 1, 3, 2, 2):
            now[0] += seconds
            progress.finished(cell, Outcome(cell.key, float(seconds)))
    lines = capsys.readouterr().err.splitlines()
    assert ["left" in line for line in lines] == [False, False, False, True, True, False]


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_bar_shows_names_as_they_are_and_guesses_no_sooner(monkeypatch) -> None:
    terminal, now = Terminal(), [0.0]
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("einthoven.cli.output.time.monotonic", lambda: now[0])
    cell = Cell(kind="x", title="[/red] :smile:", spec={}, inputs={}, version=1)
    with CellProgress() as progress:
        progress.started(10, 0)
        progress.working([(cell, (1, 2))])
        shown = []
        for message in (None, "[/bold] :smile:", None):
            now[0] += 60
            progress.finished(cell, Outcome(cell.key, 60.0, message))
            progress._bar.refresh()
            shown.append(progress._bar.tasks[0].fields["rest"])
    assert shown == ["", "", "about 7 min left"]
    assert "FAILED [/red] :smile:: [/bold] :smile:" in terminal.getvalue()
    bar = terminal.getvalue().strip().splitlines()[-1]
    assert bar.startswith("[/red] :smile: ")
    assert bar.endswith("about 7 min left")


def test_a_counting_bar_shows_its_words_as_they_are(monkeypatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    with counting("preparing [/red]") as tell:
        tell(1, 2)
    assert "preparing [/red]" in terminal.getvalue()


def test_long_cells_say_how_far_they_are_now_and_then(capsys, monkeypatch) -> None:
    now = [0.0]
    monkeypatch.setattr("einthoven.cli.output.time.monotonic", lambda: now[0])
    cell = Cell(kind="x", title="embed", spec={}, inputs={}, version=1)
    with CellProgress() as progress:
        progress.started(1, 0)
        for second in range(60):
            now[0] = float(second)
            progress.working([(cell, (second, 60))])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "embed: 16 of 60"
    assert len(lines) == 3
