"""Which cell may run: by hand, and against a slow and simple rule on random graphs."""

from __future__ import annotations

import random

import pytest

from einthoven.foundation.errors import UsageError
from einthoven.studies.cells import Cell
from einthoven.studies.schedule import Schedule


def cell(name: str, *needs: Cell) -> Cell:
    return Cell(
        kind="x", title=name, spec={"name": name}, inputs={}, version=1, needs=tuple(need.key for need in needs)
    )


def drain(schedule: Schedule) -> list[str]:
    found = []
    while (ready := schedule.next_ready()) is not None:
        found.append(ready.title)
    return found


def test_cells_become_ready_as_their_needs_finish() -> None:
    a, b = cell("a"), cell("b")
    c = cell("c", a, b)
    schedule = Schedule([a, b, c], is_finished=lambda _: False)
    assert drain(schedule) == ["a", "b"]
    schedule.finished(a)
    assert drain(schedule) == []
    schedule.finished(b)
    assert drain(schedule) == ["c"]


def test_what_is_finished_already_counts() -> None:
    a = cell("a")
    schedule = Schedule([cell("b", a)], is_finished=lambda key: key == a.key)
    assert drain(schedule) == ["b"]


def test_a_failure_blocks_all_that_lies_behind_it_once() -> None:
    a, b = cell("a"), cell("b")
    c = cell("c", a, b)
    d, e = cell("d", c), cell("e", b)
    schedule = Schedule([a, b, c, d, e], is_finished=lambda _: False)
    drain(schedule)
    assert [blocked.title for blocked in schedule.failed(a)] == ["c", "d"]
    assert [blocked.title for blocked in schedule.failed(b)] == ["e"]
    schedule.finished(b)
    assert drain(schedule) == []


def test_a_need_that_nobody_makes_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'b' needs [0-9a-f]{12}, which is neither planned nor finished"):
        Schedule([cell("b", cell("a"))], is_finished=lambda _: False)


def test_a_circle_is_refused() -> None:
    a, b = cell("a"), cell("b")
    first = Cell(kind="x", title="a", spec={"name": "a"}, inputs={}, version=1, needs=(b.key,))
    second = Cell(kind="x", title="b", spec={"name": "b"}, inputs={}, version=1, needs=(a.key,))
    with pytest.raises(UsageError, match="wait for each other, so none can run: a, b"):
        Schedule([first, second], is_finished=lambda _: False)


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_end_as_the_simple_rule_says(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  # a graph, no secret
    cells: list[Cell] = []
    for index in range(40):
        cells.append(cell(str(index), *rng.sample(cells, k=min(len(cells), rng.randrange(3)))))
    bad = {c.key for c in cells if rng.random() < 0.1}
    good: set[str] = set()
    for c in cells:
        if c.key not in bad and set(c.needs) <= good:
            good.add(c.key)
    schedule = Schedule(cells, is_finished=lambda _: False)
    running: list[Cell] = []
    done, ended, blocked = set(), set(), set()
    while True:
        while (ready := schedule.next_ready()) is not None:
            assert set(ready.needs) <= done
            running.append(ready)
        if not running:
            break
        one = running.pop(rng.randrange(len(running)))
        assert one.key not in ended
        ended.add(one.key)
        if one.key in bad:
            blocked |= {c.key for c in schedule.failed(one)}
        else:
            schedule.finished(one)
            done.add(one.key)
    assert done == good
    assert ended | blocked == {c.key for c in cells}
    assert not ended & blocked
