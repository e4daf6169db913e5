"""From a table, its mapping and a folder of signals to a `Dataset` like those of the catalogue."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from einthoven.datasets.checking import RESERVED_COLUMNS
from einthoven.datasets.columns import RecordTable
from einthoven.datasets.dataset import Dataset, DatasetCard, Scan, Sizes, SourceRecord, TaskCard, TaskTable
from einthoven.datasets.person import OLDEST, SEXES
from einthoven.foundation.errors import DataError, UsageError

from .forecasting import forecasting_task
from .hemodynamic import hemodynamic_tasks, later_records, one_a_patient
from .labels import ReadTask, boolean_task, classes_task, codes_task
from .locating import Located, locate, needed_files
from .mapping import ImportPlan
from .partition import split_rules, splits
from .reading import length_note, reader, sampling_rate, stored_leads, whole_reader
from .table import Table, Times, counted, refuse, says_nothing
from .task_mapping import BooleanTask, ClassesTask, CodesTask, HemodynamicTask


@dataclass(frozen=True)
class Imported:
    """A table read through its mapping.

    Attributes:
        dataset: what is prepared.
        rate: of its signals, Hz.
        left_out: task -> why records are not in it -> how many.
    """

    dataset: Dataset
    rate: float
    left_out: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class _Rows:
    """What the table says, row by row, but for labels and signals."""

    ids: tuple[str, ...]
    patients: tuple[str, ...]
    metadata: pl.DataFrame
    ecg: Times | None
    notes: tuple[str, ...]


def imported_dataset(plan: ImportPlan, table: Table, folder: Path, *, outcomes: Table | None = None) -> Imported:
    """Read a table through its mapping; of the signals only headers are read, and lists of ids beside large arrays.

    Args:
        folder: of the signals.
        outcomes: measurements, for forecasting tasks with a rule.

    Raises:
        UsageError: columns that do not exist, or a mapping that lacks what the files do not say.
        DataError: cells that cannot be what the mapping says; all of one kind together, with their rows.
    """
    if (outcomes is None) == plan.needs_outcomes:
        raise UsageError(
            "A task of the mapping has a `rule` for a table of measurements: name it with --outcomes."
            if plan.needs_outcomes
            else "No task of the mapping has a `rule` for a table of measurements: leave --outcomes out."
        )
    rows = _read_rows(plan, table)
    tasks = _read_tasks(plan, table, rows, outcomes)
    named = {"record": rows.ids, "patient": rows.patients}
    located = locate(plan, table, named, folder)
    rate = sampling_rate(plan, table, located, folder)
    rules = splits(plan, table, dict(zip(rows.ids, rows.patients, strict=True)))
    thinned = _thin(plan, tasks, rules, rows)

    def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
        return _scan(plan, rows, tasks, rules, located, source, rate, (*rows.notes, *_notes(tasks, rows), *thinned))

    card = DatasetCard(
        name=plan.name,
        title=plan.title or plan.name,
        version=plan.version,
        summary=plan.summary or f"{len(table)} ECGs of {len(set(rows.patients))} patients, imported from a table.",
        licence=plan.licence,
        access=plan.access,
        how="Put them there, or correct `signals.file` of the mapping or --signals.",
        sharing=plan.sharing,
        sizes=Sizes(records=len(table), patients=len(set(rows.patients))),
        url=plan.url,
        citation=plan.citation,
        rates=(rate,),
        tasks={name: TaskCard(task.summary, task.family) for name, task in tasks.items()},
        split_rules=split_rules(plan),
    )
    return Imported(Dataset(card=card, scan=scan), rate, {name: task.left_out for name, task in tasks.items()})


def _read_rows(plan: ImportPlan, table: Table) -> _Rows:
    ids, patients = _ids(plan.record, table), _ids(plan.patient, table)
    uses = Counter(ids)
    twice = (f"{record!r} (row {row + 1})" for row, record in enumerate(ids) if uses[record] > 1)
    refuse(
        twice,
        "cell",
        f"of column {plan.record} of {table.name} occurring more than once; each record needs its own id",
    )
    notes: list[str] = []
    if plan.patient == plan.record:
        notes.append("Every record counts as a patient of its own: the table does not say whose it is.")
    columns: dict[str, pl.Series] = {}
    if plan.age is not None:
        ages, codes = _ages(plan.age, table)
        columns["age"] = pl.Series(ages, dtype=pl.Float64)
        if codes:
            notes.append(f"{counted(codes, 'age')} above {OLDEST:g} taken as unknown.")
    if plan.sex is not None:
        meaning = plan.sex.codes if plan.sex.codes is not None else SEXES
        sexes = table.coded(plan.sex.column, meaning, fold=True)
        columns["sex"] = pl.Series(sexes, dtype=pl.String)
        both = _patients_of_two(patients, sexes)
        if both:
            notes.append(f"{counted(both, 'patient')} with two sexes in the table.")
    taken = {*RESERVED_COLUMNS, *columns}
    refuse(
        (repr(name) for name in plan.metadata if name in taken),
        "column",
        f"of `metadata` with a name that the cohort itself uses; another was expected. Rename it in {table.name}",
    )
    columns |= {name: pl.Series(table.cells(name), dtype=pl.String) for name in plan.metadata}
    return _Rows(
        ids=ids,
        patients=patients,
        metadata=pl.DataFrame(columns),
        ecg=None if plan.time is None else table.times(plan.time.column, plan.time.format),
        notes=tuple(notes),
    )


def _ids(column: str, table: Table) -> tuple[str, ...]:
    cells = table.cells(column)
    table.refuse(column, (row for row, cell in enumerate(cells) if cell is None or says_nothing(cell)), "an id")
    return tuple(cell for cell in cells if cell is not None)


def _ages(column: str, table: Table) -> tuple[list[float | None], int]:
    """Ages in years, and how many were codes."""
    ages = table.numbers(column)
    table.refuse(column, (row for row, age in enumerate(ages) if age is not None and age < 0), "years from 0")
    codes = sum(age is not None and age > OLDEST for age in ages)
    return [None if age is not None and age > OLDEST else age for age in ages], codes


def _patients_of_two(patients: tuple[str, ...], sexes: list[str | None]) -> int:
    known: dict[str, set[str]] = {}
    for patient, sex in zip(patients, sexes, strict=True):
        if sex is not None:
            known.setdefault(patient, set()).add(sex)
    return sum(len(found) > 1 for found in known.values())


def _read_tasks(plan: ImportPlan, table: Table, rows: _Rows, outcomes: Table | None) -> dict[str, ReadTask]:
    tasks: dict[str, ReadTask] = {}
    for name, task in plan.tasks.items():
        if isinstance(task, HemodynamicTask):
            found = hemodynamic_tasks(name, task, table, rows.ids)
        elif isinstance(task, BooleanTask):
            found = {name: boolean_task(task, table, rows.ids)}
        elif isinstance(task, ClassesTask):
            found = {name: classes_task(task, table, rows.ids)}
        elif isinstance(task, CodesTask):
            found = {name: codes_task(task, table, rows.ids)}
        else:
            found = {
                name: forecasting_task(task, table, rows.ids, patients=rows.patients, ecg=rows.ecg, outcomes=outcomes)
            }
        clash = next((key for key in found if key in tasks), None)
        if clash:
            raise UsageError(f"Two tasks of the mapping come to be called {clash!r}. Rename one.")
        for key, task_read in found.items():
            _refuse_empty(key, task_read, len(rows.ids))
        tasks |= found
    return tasks


def _refuse_empty(name: str, task: ReadTask, records: int) -> None:
    if not task.table.positives:
        reasons = ", ".join(f"{count} ({reason})" for reason, count in sorted(task.left_out.items()))
        raise DataError(
            f"Task {name} has none of the {records} records; left out: {reasons}. Correct its columns or its horizon, "
            "or leave the task out."
        )


def _thin(
    plan: ImportPlan, tasks: Mapping[str, ReadTask], rules: dict[str, dict[str, str]], rows: _Rows
) -> tuple[str, ...]:
    """Leave one record a patient in val and test of every rule, where a template asks for it; notes on it."""
    names = [name for name, task in plan.tasks.items() if isinstance(task, HemodynamicTask)]
    # Together: one record stands for its patient in all of them, or two would each thin out what the other keeps.
    made = [f"{name}-{part}" for name in names for part in ("mpcwp", "mpa")]
    tables = [tasks[key].table for key in made if key in tasks]
    if not tables:
        return ()
    days = None if rows.ecg is None else rows.ecg.days
    notes: list[str] = []
    for rule, split in rules.items():
        # Of the records in val and test alone: one that the rule puts nowhere stands for nobody.
        inside = [row for row, record in enumerate(rows.ids) if split.get(record) in ("val", "test")]
        later = later_records(
            tables,
            [rows.ids[row] for row in inside],
            [rows.patients[row] for row in inside],
            None if days is None else days[inside],
        )
        rules[rule] = one_a_patient(split, later)
        if later:
            notes.append(
                f"Split rule {rule}: {counted(len(later), 'record')} in no split: later ECGs of patients in val and "
                f"test, of whom {' and '.join(names)} {'takes' if len(names) == 1 else 'take'} one each."
            )
    return tuple(notes)


def _notes(tasks: Mapping[str, ReadTask], rows: _Rows) -> tuple[str, ...]:
    read = [f"Task {name}: {note}" for name, task in tasks.items() for note in dict.fromkeys(task.notes)]
    left = [
        f"Task {name}: {len(task.table.positives)} of {len(rows.ids)} records are in it; left out: "
        + ", ".join(f"{count} ({reason})" for reason, count in sorted(task.left_out.items()))
        + "."
        for name, task in tasks.items()
        if task.left_out
    ]
    return (*read, *left)


def _scan(
    plan: ImportPlan,
    rows: _Rows,
    tasks: Mapping[str, ReadTask],
    rules: Mapping[str, Mapping[str, str]],
    located: Located,
    source: Path,
    rate: float,
    notes: tuple[str, ...],
) -> Scan:
    seconds = plan.signals.seconds
    samples = None if seconds is None else round(seconds * rate)
    if samples is not None and seconds is not None and not math.isclose(samples, seconds * rate, rel_tol=1e-9):
        raise UsageError(f"signals.seconds is {seconds:g}, which is no whole number of samples at {rate:g} Hz.")
    place_of = dict(zip(rows.ids, located.places, strict=True))
    files = [list(needed_files(located, place, source)) for place in located.places]
    there = next((row for row, place in enumerate(located.places) if (source / place.file).is_file()), None)
    first = None if there is None else SourceRecord(rows.ids[there], rows.patients[there], files=tuple(files[there]))
    whole = whole_reader(plan, located, place_of.__getitem__, source, rate=rate)
    note = length_note(plan, located, whole, first)
    return Scan(
        records=RecordTable(
            pl.Series(rows.ids, dtype=pl.String),
            pl.Series(rows.patients, dtype=pl.String),
            files=pl.Series(files, dtype=pl.List(pl.String)),
            metadata=rows.metadata,
        ),
        tasks={name: TaskTable(task.table.labels, task.table.positives) for name, task in tasks.items()},
        splits=rules,
        read=reader(plan, located, place_of.__getitem__, source, rate=rate),
        rate=rate,
        samples=samples,
        leads=stored_leads(plan.signals),
        source_files=tuple(sorted(file for file in located.shared if (source / file).is_file())),
        rules={
            **{f"import-{name}": _rule(task) for name, task in tasks.items()},
            **{f"import-split-{name}": f"1: {about}" for name, about in split_rules(plan).items()},
        },
        notes=(note, *notes) if note else notes,
    )


def _rule(task: ReadTask) -> str:
    left = ", ".join(f"{count} {reason}" for reason, count in sorted(task.left_out.items()))
    return f"{task.rule}; left out: {left or 'none'}"
