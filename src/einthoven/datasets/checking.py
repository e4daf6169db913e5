"""What must hold of a dataset's metadata before a sample is read: every name known, every record in its place."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.names import RULE, is_name

from .columns import (
    NO_SPLIT,
    LabelColumns,
    RecordTable,
    SplitColumn,
    columnar,
    record_table,
    split_column,
)
from .concepts import ConceptColumns
from .dataset import SPLITS, Scan, SourceRecord, TaskTable
from .intake import FLAGS
from .splits import check_patients

_SHOWN = 10
RESERVED_COLUMNS = ("record_id", "patient_id", "samples", *FLAGS)
"""Columns of `records.parquet` that the cohort itself writes."""
_SPLIT_CODES = (NO_SPLIT, *range(len(SPLITS)))
_SEXES = ("F", "M", None)


def check_scan(scan: Scan, *, where: str) -> Scan:
    """Refuse metadata that contradict themselves or could not be stored, all of one kind together.

    Args:
        where: the dataset, for messages.

    Returns:
        the same scan, all it says as columns.

    Raises:
        DataError: what was expected, how much of it is not so, and the first ten.
        UsageError: a split name that is none of train, val and test.
    """
    _check_numbers(scan, where)
    _check_records(scan, where)
    _check_tasks(scan, where)
    _check_splits(scan, where)
    _check_concepts(scan, where)
    checked = columnar(scan)
    for rule, split in checked.splits.items():
        check_patients(record_table(checked), split_column(split), rule=rule, where=where)
    return checked


def _check_numbers(scan: Scan, where: str) -> None:
    numbers: dict[str, object] = {"rate": scan.rate, "gain": scan.gain}
    if scan.samples is not None:
        numbers["samples"] = scan.samples
    for name, value in numbers.items():
        if not (_is_number(value) and value > 0):
            raise DataError(f"The {name} of {where} is {value!r}; a number above 0 was expected. Correct it in `scan`.")
    if scan.samples is not None and scan.samples != int(scan.samples):
        raise DataError(f"The samples of {where} are {scan.samples!r}; a whole number was expected. Round in `scan`.")
    if not scan.records:
        raise DataError(f"The metadata of {where} name no record. Is this the right folder?")


def _is_number(value: object) -> TypeGuard[float]:
    # A bool is an int to Python, and never meant as one here.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _check_records(scan: Scan, where: str) -> None:
    for field in ("record_id", "patient_id"):
        _refuse(
            _no_names(scan.records, field),
            f"{field}s of {where} are not text of at least one letter. Make them text in `scan`",
        )
    ids, names = _ids_and_columns(scan.records)
    _refuse(
        ids.filter(ids.is_duplicated()).unique(maintain_order=True),
        f"record ids of {where} occur more than once, so labels and signals cannot be matched. "
        "Remove the repeated rows from the metadata",
    )
    _refuse(
        [name for name in names if name in RESERVED_COLUMNS],
        f"metadata columns of {where} have a name that the cohort itself uses. Rename them in `scan`",
    )
    _refuse(_bad_ages(scan.records), f"ages of {where} are neither years from 0 to 150 nor None. Map codes in `scan`")
    _refuse(
        _bad_sexes(scan.records),
        f"sexes of {where} are none of 'F', 'M' and None. Map codes in `scan`",
    )


def _no_names(records: Sequence[SourceRecord], field: str) -> list[str]:
    if isinstance(records, RecordTable):
        column = records.frame[field]
        if column.dtype != pl.String:
            return [f"a column of {column.dtype}"]
        rows = (column.is_null() | (column == "")).fill_null(value=True).arg_true().to_list()
        return [f"{column[row]!r} (row {row})" for row in rows]
    values = [getattr(record, field) for record in records]
    return [f"{value!r} (row {row})" for row, value in enumerate(values) if not (isinstance(value, str) and value)]


def _ids_and_columns(records: Sequence[SourceRecord]) -> tuple[pl.Series, list[str]]:
    if isinstance(records, RecordTable):
        return records.record_id, records.metadata.columns
    names = dict.fromkeys(name for record in records for name in record.metadata)
    return pl.Series([record.record_id for record in records], dtype=pl.String), list(names)


def _bad_sexes(records: Sequence[SourceRecord]) -> Iterator[str]:
    if isinstance(records, RecordTable):
        records = records.take((~records.metadata["sex"].is_in(_SEXES, nulls_equal=True)).arg_true().to_numpy())
    for record in records:
        if record.metadata.get("sex") not in _SEXES:
            yield f"{record.metadata['sex']!r} (record {record.record_id})"


def _bad_ages(records: Sequence[SourceRecord]) -> Iterator[str]:
    if isinstance(records, RecordTable):
        ages = records.metadata["age"]
        records = records.take((~ages.is_between(0, 150) | ages.is_nan()).fill_null(value=False).arg_true().to_numpy())
    for record in records:
        age = record.metadata.get("age")
        if age is not None and not (type(age) in (int, float) and 0 <= age <= 150):
            yield f"{age!r} (record {record.record_id})"


def _check_tasks(scan: Scan, where: str) -> None:
    _refuse_names(scan.tasks, "tasks", where)
    ids, _ = _ids_and_columns(scan.records)
    known = _ids(scan, scan.tasks.values())
    for task, table in scan.tasks.items():
        which = f"task {task} of {where}"
        if not table.labels:
            raise DataError(f"The {which} has no labels. Name all of them, whether or not a record has them.")
        counted = Counter(table.labels)
        _refuse(
            [repr(label) for label in table.labels if not isinstance(label, str) or not label or label == "record_id"],
            f"labels of {which} are empty, no text, or 'record_id', which is a column of its own. Rename them",
        )
        _refuse(
            [name for name, count in counted.items() if count > 1],
            f"labels of {which} are named more than once. Name each once",
        )
        if isinstance(table.positives, LabelColumns):
            _check_columns(table.positives, table.labels, ids, which)
            continue
        _refuse(
            (str(i) for i in table.positives if i not in known),
            f"records of {which} are not among those of the dataset. Leave them out, or add them to `records`",
        )
        _refuse(
            # A text would be searched for labels as parts of it, letter by letter.
            [
                f"{found!r} (record {record_id})"
                for record_id, found in table.positives.items()
                if not isinstance(found, (set, frozenset))
            ],
            f"positives of {which} are no set of labels. Make each a frozenset in `scan`",
        )
        _refuse(
            dict.fromkeys(
                f"{label!r} (first in record {record_id})"
                for record_id, label in _first_of_each(table.positives.items())
                if label not in counted
            ),
            f"labels that records of {which} have are not among the task's labels. Add them, or map them in `scan`",
        )


def _ids(scan: Scan, given: Iterable[TaskTable | Mapping[str, str]]) -> frozenset[str]:
    """All record ids, to look others up in; none if everything is given as columns, which have no ids to look up."""
    mappings = (table.positives if isinstance(table, TaskTable) else table for table in given)
    if all(isinstance(mapping, (LabelColumns, SplitColumn)) for mapping in mappings):
        return frozenset()
    return frozenset(record.record_id for record in scan.records)


def _check_columns(columns: LabelColumns, labels: tuple[str, ...], ids: pl.Series, which: str) -> None:
    rows, targets, records = columns.rows, columns.targets, len(ids)
    _refuse_others(columns, ids, which)
    ascending = bool((rows[1:] > rows[:-1]).all()) and (not len(rows) or (rows[0] >= 0 and rows[-1] < records))
    if (
        columns.labels != labels
        or targets.shape != (len(rows), len(labels))
        or not ascending
        or targets.max(initial=0) > 1
    ):
        raise DataError(
            f"The columns of {which} do not fit: rows ascending from 0 to {records - 1} and targets 0 or 1 of shape "
            f"({len(rows)}, {len(labels)}) were expected; targets have shape {targets.shape}. Correct them in `scan`."
        )


def _refuse_others(columns: LabelColumns | SplitColumn, ids: pl.Series, which: str) -> None:
    # Positions that were counted in a longer table, or in another order, would give every record another's answer.
    if not columns.is_of(ids):
        raise DataError(
            f"The columns of {which} were made for other records, or in another order. Make them of the ids that "
            "`records` has in `scan`."
        )


def _first_of_each(positives: Iterable[tuple[str, frozenset[str]]]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for record_id, labels in positives:
        for label in sorted(labels - seen, key=str):
            seen.add(label)
            yield record_id, label


def _check_splits(scan: Scan, where: str) -> None:
    if not scan.splits:
        raise DataError(f"{where} has no split rule, so nothing can be trained and tested. Give `splits` at least one.")
    _refuse_names(scan.splits, "split rules", where)
    ids, _ = _ids_and_columns(scan.records)
    known = _ids(scan, scan.splits.values())
    for rule, split in scan.splits.items():
        if isinstance(split, SplitColumn):
            if split.codes.shape != (len(scan.records),) or not np.isin(split.codes, _SPLIT_CODES).all():
                raise DataError(
                    f"The column of split rule {rule} of {where} does not fit: {len(scan.records)} codes of "
                    f"{_SPLIT_CODES} were expected, found {len(split.codes)}. Correct it in `scan`."
                )
            _refuse_others(split, ids, f"split rule {rule} of {where}")
            continue
        _refuse(
            (record_id for record_id in split if record_id not in known),
            f"records of split rule {rule} of {where} are not among those of the dataset. "
            "Leave them out, or add them to `records`",
        )
        unknown = next(((record, name) for record, name in split.items() if name not in SPLITS), None)
        if unknown:
            raise UsageError(
                f"Split rule {rule!r} of {where} puts record {unknown[0]} into {unknown[1]!r}; expected {SPLITS}."
            )


def _check_concepts(scan: Scan, where: str) -> None:
    _refuse_names(scan.concepts, "concept tables", where)
    for table, concepts in scan.concepts.items():
        which = f"concept table {table} of {where}"
        if "record_id" in concepts:
            raise DataError(f"The {which} has a concept 'record_id', which is a column of its own. Rename it.")
        if isinstance(concepts, ConceptColumns):
            lengths = dict.fromkeys(concepts.names, concepts.records)
        else:
            lengths = {name: len(values) for name, values in concepts.items()}
        _refuse(
            [f"{name} ({length})" for name, length in lengths.items() if length != len(scan.records)],
            f"concepts of {which} do not have one value for each of the {len(scan.records)} records. "
            "Give NaN where a concept is not defined",
        )


def _refuse_names(names: Iterable[str], what: str, where: str) -> None:
    _refuse(
        [repr(name) for name in names if not is_name(name)],
        f"names of {what} of {where} cannot be file names. Use {RULE}",
    )


def _refuse(bad: Iterable[str], what: str) -> None:
    found = list(bad)
    if found:
        shown = ", ".join(found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise DataError(f"{len(found)} {what}. First: {shown}{more}.")
