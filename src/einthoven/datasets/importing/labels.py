"""Tasks whose labels stand in the table: a column each, one class, or codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from einthoven.datasets.dataset import Family, TaskTable
from einthoven.foundation.errors import DataError

from .table import Table, refuse, says_nothing
from .task_mapping import BooleanTask, ClassesTask, CodesTask


@dataclass(frozen=True)
class ReadTask:
    """A task as it was read from the table.

    Attributes:
        left_out: why records are not in the task -> how many.
        rule: what decided, for the manifest.
        notes: on how it was read.
    """

    table: TaskTable
    summary: str
    family: Family
    left_out: dict[str, int]
    rule: str
    notes: tuple[str, ...] = ()


def boolean_task(task: BooleanTask, table: Table, ids: Sequence[str]) -> ReadTask:
    """Labels of a column each."""
    column_of = task.column_of()
    columns = {label: table.booleans(column) for label, column in column_of.items()}
    positives: dict[str, frozenset[str]] = {}
    for record, values in zip(ids, zip(*columns.values(), strict=True), strict=True):
        if None not in values:
            positives[record] = frozenset(label for label, value in zip(columns, values, strict=True) if value)
    return ReadTask(
        TaskTable(tuple(columns), positives),
        summary=task.summary or f"{len(columns)} labels: {', '.join(columns)}",
        family=task.family,
        left_out=_empty(len(ids) - len(positives)),
        rule=f"1: columns {', '.join(column_of.values())}",
    )


def classes_task(task: ClassesTask, table: Table, ids: Sequence[str]) -> ReadTask:
    """One class a record."""
    cells = table.cells(task.column)
    if task.classes is None:
        table.refuse(
            task.column,
            (row for row, cell in enumerate(cells) if says_nothing(cell)),
            "a class or an empty cell (name it in `classes` if it is one)",
        )
        found: Sequence[str | None] = cells
        labels = tuple(sorted({cell for cell in cells if cell is not None}))
    else:
        label_of = task.classes if isinstance(task.classes, dict) else {name: name for name in task.classes}
        found = table.coded(task.column, label_of)
        labels = tuple(dict.fromkeys(label_of.values()))
    if not labels:
        raise DataError(f"Column {task.column} of {table.name} is empty, so its task has no classes.")
    positives = {record: frozenset([label]) for record, label in zip(ids, found, strict=True) if label is not None}
    return ReadTask(
        TaskTable(labels, positives),
        summary=task.summary or f"one of {', '.join(labels)}",
        family=task.family,
        left_out=_empty(len(ids) - len(positives)),
        rule=f"1: column {task.column}",
    )


def codes_task(task: CodesTask, table: Table, ids: Sequence[str]) -> ReadTask:
    """Any number of codes a record."""
    positives: dict[str, frozenset[str]] = {}
    seen: dict[str, None] = {}
    cells = table.cells(task.column)
    meant = {task.none, *(task.labels or ())}
    table.refuse(
        task.column,
        (row for row, cell in enumerate(cells) if says_nothing(cell) and cell not in meant),
        "codes or an empty cell (say it with `none` if it stands for no code at all)",
    )
    for record, cell in zip(ids, cells, strict=True):
        if cell is None:
            continue
        codes = [] if cell == task.none else [part.strip() for part in cell.split(task.delimiter) if part.strip()]
        seen |= dict.fromkeys(codes)
        wanted = codes if task.labels is None else [task.labels[code] for code in codes if code in task.labels]
        positives[record] = frozenset(wanted)
    labels = tuple(sorted(seen)) if task.labels is None else tuple(dict.fromkeys(task.labels.values()))
    never = [repr(code) for code in task.labels or {} if code not in seen]
    refuse(
        never,
        "code",
        f"of the mapping occurring nowhere in column {task.column} of {table.name}, which separates them by "
        f"{task.delimiter!r}. Leave them out, or correct them",
    )
    if not labels:
        raise DataError(f"Column {task.column} of {table.name} holds no code, so its task has no labels.")
    return ReadTask(
        TaskTable(labels, positives),
        summary=task.summary or f"{len(labels)} labels: {', '.join(labels)}",
        family=task.family,
        left_out=_empty(len(ids) - len(positives)),
        rule=f"1: codes of column {task.column}",
        notes=_one_each(task, cells),
    )


def _one_each(task: CodesTask, cells: Sequence[str | None]) -> tuple[str, ...]:
    """A note where the delimiter separates nothing, and something else may."""
    several = [cell for cell in cells if cell is not None and any(mark in cell for mark in ";,|")]
    if not several or any(task.delimiter in cell for cell in cells if cell is not None):
        return ()
    return (
        f"no cell of column {task.column} has the delimiter {task.delimiter!r}, so each is one code; "
        f"{len(several)} of them have ';', ',' or '|'.",
    )


def _empty(count: int) -> dict[str, int]:
    return {"empty cell": count} if count else {}
