"""What a scan says of its records, as columns: some ten bytes a value, where Python objects take a hundred.

A dataset's `scan` may give lists and dictionaries, which is simplest, or these, which hold a million records in little
memory. Everything after the scan works on columns. They are read like the sequences and mappings they stand for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast, overload

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError, UsageError

from .concepts import ConceptColumns
from .dataset import SPLITS, Scan, SourceRecord, TaskTable

_CHUNK = 4096
_CODE_OF_SPLIT = {name: code for code, name in enumerate(SPLITS)}
NO_SPLIT = -1


class RecordTable(Sequence[SourceRecord]):
    """The records of a scan.

    Args:
        record_id, patient_id: text, one a record.
        files: for each record the files it needs, or None for records that are made.
        metadata: further columns of `records.parquet`, `age` and `sex` among them; one row a record.
        left_out: for each record why the dataset leaves it out, or "" or null.

    Raises:
        DataError: `age` is no column of numbers, or `sex` none of text.
    """

    def __init__(
        self,
        record_id: pl.Series,
        patient_id: pl.Series,
        *,
        files: pl.Series | None = None,
        metadata: pl.DataFrame | None = None,
        left_out: pl.Series | None = None,
    ) -> None:
        count = len(record_id)
        if files is None:
            files = pl.Series([[]], dtype=pl.List(pl.String)).new_from_index(0, count)
        if left_out is None:
            left_out = pl.Series([""]).new_from_index(0, count)
        columns = {"record_id": record_id, "patient_id": patient_id, "files": files, "left_out": left_out.fill_null("")}
        self.frame = pl.DataFrame({name: column.alias(name) for name, column in columns.items()})
        metadata = metadata if metadata is not None else pl.DataFrame()
        always = {"age": pl.Float64, "sex": pl.String}
        absent = {name: pl.Series([None], dtype=kind) for name, kind in always.items() if name not in metadata.columns}
        nothing = {name: column.new_from_index(0, count) for name, column in absent.items()}
        whole = pl.DataFrame({**nothing, **metadata.to_dict()}).select(*always, pl.exclude(*always))
        if not (whole["age"].dtype.is_numeric() or whole["age"].dtype == pl.Null):
            raise DataError(f"`age` is a column of {whole['age'].dtype}; years, as numbers, were expected.")
        try:
            self.metadata = whole.with_columns(pl.col(name).cast(kind) for name, kind in always.items())
        except pl.exceptions.PolarsError as error:
            raise DataError(f"`sex` is no column of text: {error}") from error

    @classmethod
    def of(cls, records: Sequence[SourceRecord]) -> RecordTable:
        """The table of a list of records."""
        if isinstance(records, cls):
            return records
        known = {"age": pl.Float64, "sex": pl.String}
        rows = [{"age": None, "sex": None, **record.metadata} for record in records]
        try:
            metadata = pl.DataFrame(rows, schema_overrides=known, infer_schema_length=None)
        except (pl.exceptions.PolarsError, TypeError) as error:
            raise DataError(f"The metadata of the records are no columns of numbers or texts: {error}") from error
        return cls(
            pl.Series([record.record_id for record in records], dtype=pl.String),
            pl.Series([record.patient_id for record in records], dtype=pl.String),
            files=_lists([record.files for record in records]),
            metadata=metadata,
            left_out=pl.Series([record.left_out for record in records], dtype=pl.String),
        )

    @property
    def record_id(self) -> pl.Series:
        """Record ids, text."""
        return self.frame["record_id"]

    @property
    def patient_id(self) -> pl.Series:
        """Patient ids, text."""
        return self.frame["patient_id"]

    @property
    def left_out(self) -> np.ndarray:
        """Whether the dataset leaves each record out, bool (records,)."""
        return (self.frame["left_out"] != "").to_numpy()

    @overload
    def __getitem__(self, index: int) -> SourceRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SourceRecord]: ...
    def __getitem__(self, index: int | slice) -> SourceRecord | Sequence[SourceRecord]:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        row = int(index)
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        return self.take(np.array([row % len(self)]))[0]

    def take(self, rows: np.ndarray) -> list[SourceRecord]:
        """Some records; many at once cost little more than one."""
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            start, count = int(rows[0]), len(rows)  # no copy
            return list(_records(self.frame.slice(start, count), self.metadata.slice(start, count)))
        return list(_records(self.frame[rows], self.metadata[rows]))

    def __len__(self) -> int:
        return len(self.frame)

    def __iter__(self) -> Iterator[SourceRecord]:
        for start in range(0, len(self), _CHUNK):
            yield from _records(self.frame.slice(start, _CHUNK), self.metadata.slice(start, _CHUNK))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordTable):
            return NotImplemented
        return self.frame.equals(other.frame) and self.metadata.equals(other.metadata)

    __hash__ = None  # type: ignore[assignment]  # compared by its content


def _lists(texts: Sequence[Sequence[str]]) -> pl.Series:
    """A column of lists of text."""
    counts = {len(part) for part in texts}
    if len(counts) == 1 and (count := counts.pop()):
        # The same as below, which takes ten times as long.
        flat = pl.Series([text for part in texts for text in part], dtype=pl.String)
        return flat.reshape((len(texts), count)).arr.to_list()
    return pl.Series([list(part) for part in texts], dtype=pl.List(pl.String))


def _records(frame: pl.DataFrame, metadata: pl.DataFrame) -> Iterator[SourceRecord]:
    rows = zip(frame.iter_rows(), metadata.iter_rows(named=True), strict=True)
    for (record_id, patient_id, files, left_out), more in rows:
        yield SourceRecord(record_id, patient_id, files=tuple(files), metadata=more, left_out=left_out)


def _exactly(values: np.ndarray, kind: type[np.integer], what: str) -> np.ndarray:
    """Values as a smaller type, refused where that would change them: 256 would become 0, and so would NaN."""
    given = np.asarray(values)
    with np.errstate(invalid="ignore"):
        found = given.astype(kind, copy=False)
    if found.dtype != given.dtype and (found != given).any():
        raise DataError(f"{what} are {given.dtype} values that {found.dtype} does not hold. Correct them in `scan`.")
    return found


class _ByRecord:
    """What the mappings below share: a column of ids, and where each stands."""

    def __init__(self, ids: pl.Series) -> None:
        self._ids = ids

    def is_of(self, ids: pl.Series) -> bool:
        """Whether these are the ids, in this order, that positions and codes were made for."""
        return self._ids.equals(ids)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {record_id: row for row, record_id in enumerate(self._ids)}


class LabelColumns(_ByRecord, Mapping[str, frozenset[str]]):
    """Positives of a task: record id -> its labels.

    Args:
        ids: of all records of the scan, in their order.
        labels: in column order.
        rows: int64 (n,), positions of the records that are in the task, ascending.
        targets: uint8 (n, labels), 1 where the record has the label.

    Raises:
        DataError: targets are no whole numbers from 0 to 255, such as NaN.
    """

    def __init__(self, ids: pl.Series, labels: Sequence[str], rows: np.ndarray, targets: np.ndarray) -> None:
        super().__init__(ids)
        self.labels = tuple(labels)
        self.rows = np.asarray(rows, dtype=np.int64)
        self.targets = _exactly(targets, np.uint8, "Targets")

    @classmethod
    def of(cls, ids: pl.Series, row_of: Mapping[str, int], table: TaskTable) -> LabelColumns:
        """The columns of a task that is given as a dictionary."""
        if isinstance(table.positives, cls):
            return table.positives
        column = {label: index for index, label in enumerate(table.labels)}
        rows = np.fromiter((row_of[record] for record in table.positives), np.int64, len(table.positives))
        order = np.argsort(rows, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        targets = np.zeros((len(rows), len(column)), dtype=np.uint8)
        for row, found in zip(place, table.positives.values(), strict=True):
            for label in found:
                targets[row, column[label]] = 1
        return cls(ids, table.labels, rows[order], targets)

    @cached_property
    def _line_of(self) -> dict[str, int]:
        return {self._ids[int(row)]: line for line, row in enumerate(self.rows)}

    def __getitem__(self, record_id: str) -> frozenset[str]:
        return self._labels(self._line_of[record_id])

    def __iter__(self) -> Iterator[str]:
        return (self._ids[int(row)] for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelColumns):
            return dict(self) == other
        same = self.labels == other.labels and self._ids.equals(other._ids)
        return same and np.array_equal(self.rows, other.rows) and np.array_equal(self.targets, other.targets)

    __hash__ = None  # type: ignore[assignment]  # compared by its content

    def _labels(self, line: int) -> frozenset[str]:
        return frozenset(self.labels[index] for index in np.flatnonzero(self.targets[line]))


class SplitColumn(_ByRecord, Mapping[str, str]):
    """A split rule: record id -> its split.

    Args:
        ids: of all records of the scan, in their order.
        codes: int8 (records,), position in `SPLITS`, or -1 for a record that is in no split.

    Raises:
        DataError: codes are no whole numbers from -128 to 127.
    """

    def __init__(self, ids: pl.Series, codes: np.ndarray) -> None:
        super().__init__(ids)
        self.codes = _exactly(codes, np.int8, "Codes of splits")

    @classmethod
    def of(cls, ids: pl.Series, row_of: Mapping[str, int], split: Mapping[str, str]) -> SplitColumn:
        """The column of a split that is given as a dictionary."""
        if isinstance(split, cls):
            return split
        codes = np.full(len(ids), NO_SPLIT, dtype=np.int8)
        for record, name in split.items():
            codes[row_of[record]] = _CODE_OF_SPLIT[name]
        return cls(ids, codes)

    @classmethod
    def named(cls, ids: pl.Series, names: np.ndarray) -> SplitColumn:
        """The column of splits given as text, "" for none.

        Raises:
            UsageError: a name that is none of train, val and test.
        """
        codes = np.full(len(ids), NO_SPLIT, dtype=np.int8)
        for name, code in _CODE_OF_SPLIT.items():
            codes[names == name] = code
        for row in np.flatnonzero((codes == NO_SPLIT) & (names != ""))[:1]:
            raise UsageError(f"Record {ids[int(row)]} was put into split {str(names[row])!r}; expected {SPLITS}.")
        return cls(ids, codes)

    @classmethod
    def by_patient(cls, records: RecordTable, split_of: Mapping[str, str]) -> SplitColumn:
        """The column of a rule that names a split for each patient; those it does not name are in none.

        Raises:
            UsageError: as `named`.
        """
        found = records.patient_id.replace_strict(dict(split_of), default="", return_dtype=pl.String)
        return cls.named(records.record_id, found.to_numpy())

    def names(self) -> np.ndarray:
        """The split of each record, text (records,); "" for none."""
        return np.array([*SPLITS, ""])[self.codes]

    def __getitem__(self, record_id: str) -> str:
        code = int(self.codes[self._row_of[record_id]])
        if code == NO_SPLIT:
            raise KeyError(record_id)
        return SPLITS[code]

    def __iter__(self) -> Iterator[str]:
        return (self._ids[int(row)] for row in np.flatnonzero(self.codes != NO_SPLIT))

    def __len__(self) -> int:
        return int((self.codes != NO_SPLIT).sum())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SplitColumn):
            return dict(self) == other
        return self._ids.equals(other._ids) and np.array_equal(self.codes, other.codes)

    __hash__ = None  # type: ignore[assignment]  # compared by its content


def columnar(scan: Scan) -> Scan:
    """The same scan with all it says as columns; it must have been checked."""
    records = RecordTable.of(scan.records)
    ids = records.record_id
    given_as_dicts = any(not isinstance(table.positives, LabelColumns) for table in scan.tasks.values()) or any(
        not isinstance(split, SplitColumn) for split in scan.splits.values()
    )
    row_of = {record_id: row for row, record_id in enumerate(ids)} if given_as_dicts else {}
    return replace(
        scan,
        records=records,
        tasks={
            task: TaskTable(table.labels, LabelColumns.of(ids, row_of, table)) for task, table in scan.tasks.items()
        },
        splits={rule: SplitColumn.of(ids, row_of, split) for rule, split in scan.splits.items()},
        concepts={table: ConceptColumns.of(concepts, len(records)) for table, concepts in scan.concepts.items()},
    )


def label_columns(table: TaskTable) -> LabelColumns:
    """The columns of a task of a columnar scan."""
    return cast("LabelColumns", table.positives)


def split_column(split: Mapping[str, str]) -> SplitColumn:
    """The column of a split rule of a columnar scan."""
    return cast("SplitColumn", split)


def record_table(scan: Scan) -> RecordTable:
    """The records of a columnar scan."""
    return cast("RecordTable", scan.records)
