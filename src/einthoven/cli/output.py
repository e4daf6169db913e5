"""What commands write: tables for people, JSON for programs, progress on standard error."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from einthoven.studies.cells import Cell
    from einthoven.studies.work import Outcome


# Where there is no bar, how often a long cell is spoken of.
_SAY_SECONDS = 15.0
# From fewer cells, or a shorter time, nothing can be told: cells differ a hundredfold.
_TELLING_CELLS = 3
_TELLING_SECONDS = 5.0


def fail(error: BaseException) -> None:
    """Write an error and its notes to standard error."""
    typer.echo(f"error: {error}", err=True)
    for note in getattr(error, "__notes__", []):
        typer.echo(f"  {note}", err=True)


def say(text: str) -> None:
    """One line on standard error, for what is going on; standard output is for results."""
    typer.echo(text, err=True)


def note(text: str) -> None:
    """A line that explains a table, on standard output with it."""
    typer.echo(text)


def show_json(value: Any) -> None:
    """A value as JSON on standard output; NaN and infinity, which JSON has not, are null."""
    typer.echo(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Of the first column, which names what a row is about, and of the others.
_NAME_LENGTH, _CELL_LENGTH = 24, 20


def show_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", compact: bool = False
) -> None:
    """A table on standard output; a compact one has no lines, so that many columns fit."""
    from rich.box import HEAVY_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # As Text: names from data may hold what rich takes for markup.
    table = Table(
        title=Text(title) if title else None,
        title_justify="left",
        box=None if compact else HEAVY_HEAD,
        padding=(0, 1, 0, 0) if compact else (0, 1),
    )
    for index, column in enumerate(columns):
        # A name that is broken over two lines cannot be copied.
        longest = max((len(line) for row in rows for line in str(row[index]).split("\n")), default=0)
        short = longest <= (_CELL_LENGTH if index else _NAME_LENGTH)
        kept = max(longest, len(column)) if short else None
        # As a least width: what may not wrap is cut off where there is no room, and a cut number is another number.
        # Nor wrapped: rich would take room from it as from the others, and give it back beyond the edge.
        table.add_column(Text(column), overflow="fold", min_width=kept, no_wrap=kept is not None)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    Console().print(table, crop=False)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar over a known number of things; plain lines where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield _plain_counter(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def counting_with_words(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """As `counting`, and what it is told in words is said, too; "" is nothing to say."""
    with counting(what) as progress:

        def tell(done: int, total: int, words: str) -> None:
            progress(done, total)
            if words:
                say(words)

        yield tell


def _plain_counter(what: str) -> Callable[[int, int], None]:
    # From the first thing that is done: what comes before it is not part of what each takes.
    started, first = time.monotonic(), 0
    last = started

    def tell(done: int, total: int) -> None:
        nonlocal started, first, last
        now = time.monotonic()
        if not first:
            started, first, last = now, done, now
        if now - last < 5 and done < total:
            return
        last = now
        left = (now - started) / max(done - first, 1) * (total - done)
        say(f"{what}: {done} of {total}" + (f", about {_duration(left)} left" if done < total else ""))

    return tell


class CellProgress:
    """Tells how far a study is: a bar on a terminal, one line a cell elsewhere."""

    def __init__(self) -> None:
        self._total = 0
        self._left = 0
        self._count = 0
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._said = time.monotonic()

    def __enter__(self) -> CellProgress:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            # Not rich's own time left: it looks at the last 30 s only, in which a long cell or a few short ones end.
            words, rest = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[rest]}"))
            columns = (words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), rest)
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def started(self, cells: int, reused: int) -> None:
        """The run begins."""
        self._total, self._left, self._started = cells, cells - reused, time.monotonic()
        if reused:
            say(f"{reused} of {cells} cells were finished before and are kept.")
        if self._bar is not None:
            self._task = self._bar.add_task("cells", total=cells, completed=reused, rest="")

    def working(self, cells: Sequence[tuple[Cell, tuple[int, int]]]) -> None:
        """Nothing has ended for a while."""
        text = "; ".join(f"{cell.title}: {done} of {total}" for cell, (done, total) in cells)
        if not text:
            return
        if self._bar is not None:
            self._bar.update(self._task, description=text[:60])
        elif time.monotonic() - self._said > _SAY_SECONDS:
            self._said = time.monotonic()
            say(text)

    def finished(self, cell: Cell, outcome: Outcome) -> None:
        """A cell has ended."""
        self._count += 1
        self._left -= 1
        word = "done" if outcome.message is None else "FAILED"
        left = self._time_left()
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=cell.title[:40], rest=left)
            if outcome.message is not None:
                text = f"FAILED {cell.title}: {outcome.message}"
                self._bar.console.print(text, markup=False, emoji=False, highlight=False)
            return
        rest = f", {left}" if left else ""
        say(f"[{self._total - self._left}/{self._total}] {word} {cell.title} ({outcome.seconds:.1f} s){rest}")
        if outcome.message is not None:
            say(f"  {outcome.message}")

    def _time_left(self) -> str:
        passed = time.monotonic() - self._started
        if not self._left or self._count < _TELLING_CELLS or passed < _TELLING_SECONDS:
            return ""
        return f"about {_duration(passed / self._count * self._left)} left"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
