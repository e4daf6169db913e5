"""Where the signal of each row lies: its file, and the array or row within it."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from einthoven.datasets.array_files import Rows, h5_column
from einthoven.datasets.wfdb_files import read_header
from einthoven.foundation.errors import DataError, UsageError, unknown_name
from einthoven.signals.units import to_millivolts

from .mapping import ImportPlan
from .signal_mapping import SELF_DESCRIBING, Format, Signals
from .table import Table, refuse

_SUFFIXES: dict[str, Format] = {
    ".hea": "wfdb",
    ".dat": "wfdb",
    ".edf": "edf",
    ".mat": "mat",
    ".npy": "npy",
    ".h5": "h5",
    ".hdf5": "h5",
    ".hdf": "h5",
}
_FIELD = re.compile(r"\{([^{}]*)\}")
_LONGEST_NAME = 255  # bytes of a file's or folder's name, and of a path below, that common file systems take
_LONGEST_PATH = 4095


@dataclass(frozen=True)
class Place:
    """Where one record's signal lies.

    Attributes:
        file: below the folder of signals; for WFDB the header.
        row: in an array of many records.
    """

    file: str
    key: str | None = None
    row: int | None = None

    def __str__(self) -> str:
        more = [f"array {self.key}"] if self.key else []
        more += [f"row {self.row}"] if self.row is not None else []
        return ", ".join([self.file, *more])


@dataclass(frozen=True)
class Located:
    """Where all signals lie.

    Attributes:
        places: one a row of the table.
        shared: files that hold many records; read once for their digest, not once a record.
    """

    format: Format
    places: tuple[Place, ...]
    shared: frozenset[str]


def filled(template: str, table: Table, ids: Mapping[str, Sequence[str]], *, what: str) -> list[str]:
    """A template with the cells of each row in its braces.

    Args:
        ids: what "{record}" and "{patient}" stand for.
        what: the key of the mapping, for messages.

    Raises:
        UnknownNameError: braces around something that is no column.
        DataError: rows whose cell is empty.
    """
    parts = _FIELD.split(template)  # text, name, text, name, ..., text
    columns: dict[str, Sequence[str | None]] = {}
    for name in parts[1::2]:
        if name not in ids and name not in (*table.frame.columns, *table.unreadable):
            raise unknown_name("column", name, [*ids, *table.frame.columns], where=f"`{what}` of the mapping")
        columns[name] = ids.get(name) or table.cells(name)
        table_rows = (f"row {row + 1}" for row, cell in enumerate(columns[name]) if cell is None)
        refuse(table_rows, "row", f"of {table.name} with nothing in column {name}, which `{what}` of the mapping needs")
    return [
        "".join(columns[part][row] or "" if index % 2 else part for index, part in enumerate(parts))
        for row in range(len(table))
    ]


def locate(plan: ImportPlan, table: Table, ids: Mapping[str, Sequence[str]], folder: Path) -> Located:
    """Where the signal of every row lies.

    Raises:
        UsageError: a mapping that lacks what its format needs, or says what the files say themselves.
        DataError: paths out of the folder, one signal for two records, rows that no array has; all together.
    """
    signals = plan.signals
    files = [file.replace("\\", "/") for file in filled(signals.file, table, ids, what="signals.file")]
    outside = (f"{file!r} (row {row + 1})" for row, file in enumerate(files) if _leaves(file))
    refuse(
        outside,
        "signal file",
        f"of {table.name} outside the folder of signals. Write paths below it, without '..'",
    )
    kind = signals.format or _format_of(files, table)
    _check_said(signals, kind)
    if kind == "wfdb":
        files = [f"{file.removesuffix('.hea').removesuffix('.dat')}.hea" for file in files]
    named = {"record": plan.record, "patient": plan.patient}
    parts: list[str] = _FIELD.findall(signals.file)
    columns = ", ".join(dict.fromkeys(named.get(part, part) for part in parts)) or "none"
    refuse(
        (f"{file[:60]!r} (row {row + 1})" for row, file in enumerate(files) if not _can_be_a_path(file, folder)),
        "signal file",
        f"of {table.name} (column {columns}) that no file can be called: with a NUL, or a name of more than "
        f"{_LONGEST_NAME} bytes or {_LONGEST_PATH} with its folders. Correct the cells",
    )
    # "a.npy", "./a.npy" and "b//../a.npy" are one file.
    files = [posixpath.normpath(file) for file in files]
    keys: Sequence[str | None] = [None] * len(files)
    if signals.key is not None:
        keys = filled(signals.key, table, ids, what="signals.key")
    rows = _rows(signals, table, ids, files, folder)
    places = tuple(Place(file, key, row) for file, key, row in zip(files, keys, rows, strict=True))
    counted = Counter(places)
    twice = (f"{place} (row {row + 1})" for row, place in enumerate(places) if counted[place] > 1)
    refuse(twice, "row", f"of {table.name} naming a signal that another row names too. Every ECG needs its own")
    uses = Counter(files)
    many = frozenset(file for file, count in uses.items() if count > 1 or signals.in_one_array)
    return Located(format=kind, places=places, shared=many)


def needed_files(located: Located, place: Place, folder: Path) -> tuple[str, ...]:
    """The files that a record needs for itself, relative to the folder."""
    if place.file in located.shared:
        # A missing one is counted with its records; one that is there is the dataset's.
        return () if (folder / place.file).is_file() else (place.file,)
    if located.format != "wfdb":
        return (place.file,)
    if not (folder / place.file).is_file():
        return (place.file,)
    try:
        header = read_header((folder / place.file).with_suffix(""))
    except DataError:
        # Said when the record is read, where bad records may be left out.
        return (place.file,)
    parent = place.file.rpartition("/")[0]
    names = [f"{parent}/{name}" if parent else name for name in dict.fromkeys(s.file for s in header.signals)]
    # A name that no file can have is said when the record is read.
    return (place.file, *(name for name in names if _can_be_a_path(name, folder)))


def _format_of(files: Sequence[str], table: Table) -> Format:
    first_of = {Path(file).suffix.lower(): file for file in reversed(files)}
    kinds: set[Format | None] = {_SUFFIXES.get(suffix) for suffix in first_of}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is not None:
        return kind
    raise UsageError(
        f"The format of the signal files of {table.name} cannot be told from their suffixes "
        f"({', '.join(map(repr, list(first_of.values())[:3]))}). Say it with signals.format: wfdb, edf, mat, npy or h5 "
        f"({', '.join(_SUFFIXES)} are known)."
    )


def _check_said(signals: Signals, kind: Format) -> None:
    said = {
        "units": signals.units or signals.gain,
        "leads": signals.leads,
        "rate": signals.rate,
        "key": signals.key,
        "axes": signals.axes,
    }
    if kind in SELF_DESCRIBING:
        extra = [name for name in ("units", "key", "axes") if said[name] is not None]
        if extra or signals.in_one_array:
            raise UsageError(
                f"{kind} files say themselves what their numbers are: leave signals.{extra[0] if extra else 'row'} out."
            )
        return
    missing = [f"signals.{name}" for name in ("units", "leads", "rate") if said[name] is None]
    if missing:
        raise UsageError(
            f"{kind} files say neither unit nor leads nor rate, so the mapping must: {', '.join(missing)} missing. "
            "`units` is mV, uV or V (or `gain`, ADC units per mV); `leads` the names in file order, or standard."
        )
    if kind == "mat" and signals.in_one_array:
        raise UsageError("Rows of many records are read from .npy and HDF5 files; .mat files hold one record each.")
    if kind == "npy" and (signals.key is not None or signals.row_ids is not None):
        raise UsageError("A .npy file has one array without names: leave signals.key and signals.row_ids out.")
    if signals.units is not None:
        to_millivolts(np.zeros(1), signals.units)


def _rows(
    signals: Signals, table: Table, ids: Mapping[str, Sequence[str]], files: Sequence[str], folder: Path
) -> Sequence[int | None]:
    if not signals.in_one_array:
        return [None] * len(files)
    there = {file for file in dict.fromkeys(files) if (folder / file).is_file()}
    if signals.row is not None:
        numbers = table.numbers(signals.row)
        odd = (row for row, value in enumerate(numbers) if value is None or value < 0 or value != int(value))
        table.refuse(signals.row, odd, "a row of an array, a whole number from 0,")
        rows = [int(value or 0) for value in numbers]
        if signals.key is None or not _FIELD.search(signals.key):
            count = {file: len(Rows(folder / file, signals.key)) for file in there}
            beyond = (row for row, file in enumerate(files) if file in there and rows[row] >= count[file])
            table.refuse(signals.row, beyond, f"a row that its array has ({max(count.values(), default=0)} at most)")
        return rows
    column = signals.row_id
    wanted: Sequence[str | None] = ids["record"] if column is None else table.cells(column)
    row_of: dict[str, dict[str, int]] = {}
    for file in sorted(there):
        names = h5_column(folder / file, signals.row_ids or "")
        row_of[file] = {name: row for row, name in enumerate(names)}
        if len(row_of[file]) < len(names):
            twice = (repr(name) for name, count in Counter(names).items() if count > 1)
            refuse(twice, "id", f"of `{signals.row_ids}` of {file} standing there more than once")
    found = [row_of.get(file, {}).get(name or "") for file, name in zip(files, wanted, strict=True)]
    lost = (
        f"{wanted[row]!r} ({files[row]}, row {row + 1})"
        for row, at in enumerate(found)
        if at is None and files[row] in there
    )
    refuse(lost, "record", f"of {table.name} missing from `{signals.row_ids}` of its file")
    return [row if at is None else at for row, at in enumerate(found)]


def _leaves(file: str) -> bool:
    return not file or file.startswith("/") or file[1:2] == ":" or ".." in file.split("/")


def _can_be_a_path(file: str, folder: Path) -> bool:
    try:
        whole = len(os.fsencode(folder / file))
        return (
            "\0" not in file
            and whole <= _LONGEST_PATH
            and all(len(os.fsencode(part)) <= _LONGEST_NAME for part in file.split("/"))
        )
    except ValueError:  # a lone surrogate
        return False
