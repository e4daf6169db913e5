"""Tables as text, and what their cells mean: whoever cannot be understood is refused, with its row."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError, UsageError, unknown_name
from einthoven.foundation.identity import sha256_file

T = TypeVar("T")
SHOWN = 10
_BOOLEANS = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True, "no": False, "yes": True}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_A_DAY = 86400
_MICROSECONDS = 1_000_000
_MICROSECOND = timedelta(microseconds=1)
_MIDNIGHT = time()
DAY = _SECONDS_A_DAY * _MICROSECONDS
# Other dates are what programs write for "never" or "unknown": 1900-01-01, 9999-12-31. Shifted years are within.
_EARLIEST, _LATEST = date(1900, 1, 2), date(2299, 12, 31)
_NOTHING = frozenset({"nan", "nat", "null", "<na>", "#n/a"})
# Whole numbers from here on are not all floats: two ids may have become one.
_EXACT = 2.0**53


def says_nothing(cell: str | None) -> bool:
    """Whether a cell is what programs write for an empty one ("NaN", "NULL"), and so neither an id nor a class."""
    return cell is not None and cell.casefold() in _NOTHING


def counted(count: int, noun: str) -> str:
    """A count with its noun: "1 cell", "2 cells"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def refuse(bad: Iterable[str], noun: str, what: str) -> None:
    """Raise for all that is wrong in one way: how many, what was expected, and the first ten.

    Args:
        noun: one of them ("cell").
        what: goes on from "3 cells", and from "1 cell" too.

    Raises:
        DataError: unless there are none.
    """
    found = list(bad)
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise DataError(f"{counted(len(found), noun)} {what}. First: {', '.join(found[:SHOWN])}{more}.")


@dataclass(frozen=True)
class Times:
    """A column of dates.

    Attributes:
        moments: one a row; None where the cell is empty.
        zoned: whether they have a time zone; None where all are empty.
    """

    moments: tuple[datetime | None, ...]
    zoned: bool | None

    @property
    def days(self) -> np.ndarray:
        """Since 1970, float64 (rows,), rounded; NaN where the cell is empty."""
        seconds = [math.nan if at is None else at / _MICROSECONDS for at in self.microseconds()]
        return np.array(seconds, dtype=np.float64) / _SECONDS_A_DAY

    @property
    def dates_only(self) -> bool:
        """Whether no cell has a time of day: 0:00 everywhere is none."""
        known = [moment for moment in self.moments if moment is not None]
        return bool(known) and all(moment.time() == _MIDNIGHT for moment in known)

    def microseconds(self, *, whole_days: bool = False) -> list[int | None]:
        """Since 1970, exactly.

        Args:
            whole_days: to the beginning of the day, by the clock that the cell was written by.
        """
        if whole_days:
            ordinals = (None if moment is None else moment.toordinal() for moment in self.moments)
            return [None if day is None else (day - _EPOCH.toordinal()) * DAY for day in ordinals]
        return [None if moment is None else _microseconds(moment) for moment in self.moments]


class Table:
    """A table of text; an empty cell, and white space alone, is None.

    Attributes:
        name: of its file, for messages.
        sha256: of its file.
        unreadable: columns whose cells are no text, and why.
    """

    def __init__(
        self, frame: pl.DataFrame, *, name: str, sha256: str, unreadable: Mapping[str, str] | None = None
    ) -> None:
        self.frame = frame
        self.name = name
        self.sha256 = sha256
        self.unreadable = unreadable or {}

    def __len__(self) -> int:
        return len(self.frame)

    def cells(self, column: str) -> list[str | None]:
        """The cells of a column.

        Raises:
            UnknownNameError: there is no such column.
            DataError: its cells are no text, such as lists.
        """
        if column in self.unreadable:
            raise DataError(f"Column {column} of {self.name} {self.unreadable[column]}")
        if column not in self.frame.columns:
            raise unknown_name("column", column, self.frame.columns, where=self.name)
        return self.frame[column].to_list()

    def numbers(self, column: str) -> list[float | None]:
        """A column of finite numbers; "NaN" counts as empty."""
        return self._read(column, _number, "a number (with a point for decimals)")

    def booleans(self, column: str) -> list[bool | None]:
        """A column of 0 and 1, true and false, or yes and no; "NaN" counts as empty."""
        return self._read(column, _boolean, "0 or 1, true or false, yes or no")

    def coded(self, column: str, meaning: Mapping[str, T], *, fold: bool = False) -> list[T | None]:
        """A column whose cells stand for something.

        Args:
            fold: whether case does not matter.
        """
        known = {key.casefold(): value for key, value in meaning.items()} if fold else meaning

        def convert(cell: str) -> T | None:
            return known[cell.casefold() if fold else cell]

        return self._read(column, convert, f"one of {', '.join(map(repr, meaning))}")

    def times(self, column: str, fmt: str | None = None) -> Times:
        """A column of dates or dates and times.

        Args:
            fmt: as in strptime; None is ISO 8601.

        Raises:
            DataError: cells that are none, or some with a time zone and some without.
        """
        expected = f"a date like {datetime(2024, 5, 31, tzinfo=UTC).strftime(fmt)}" if fmt else "an ISO date"
        found = self._read(column, lambda cell: _time(cell, fmt), f"{expected} (give `format` for another)")
        far = (
            row for row, moment in enumerate(found) if moment is not None and not _EARLIEST <= moment.date() <= _LATEST
        )
        self.refuse(column, far, f"a date from {_EARLIEST} to {_LATEST} (empty the cell where there is none)")
        zones = {moment.tzinfo is not None for moment in found if moment is not None}
        if len(zones) > 1:
            raise DataError(f"Some times of column {column} of {self.name} have a time zone and some have none.")
        return Times(tuple(found), next(iter(zones), None))

    def refuse(self, column: str, rows: Iterable[int], expected: str) -> None:
        """Raise for the cells of some rows (from 0), unless there are none."""
        cells = self.cells(column)
        refuse(
            (f"{cells[row]!r} (row {row + 1})" for row in rows),
            "cell",
            f"of column {column} of {self.name}: {expected} was expected. Correct the table; row 1 is the first "
            "below the names",
        )

    def _read(self, column: str, convert: Callable[[str], T | None], expected: str) -> list[T | None]:
        cells = self.cells(column)
        read: dict[str | None, Any] = {None: None}
        wrong: set[str] = set()
        for cell in set(cells) - {None}:
            assert cell is not None  # noqa: S101 - for the type checker
            try:
                read[cell] = convert(cell)
            except (ValueError, KeyError, OverflowError):
                wrong.add(cell)
        self.refuse(column, (row for row, cell in enumerate(cells) if cell in wrong), expected)
        return [read[cell] for cell in cells]


def read_table(file: Path, *, separator: str | None = None) -> Table:
    """A CSV (.csv, .tsv, .txt) or parquet file as text.

    Numbers of a parquet file are written as text the shortest way, whole ones without a point.

    Args:
        separator: of the cells of a CSV; None is "," or, for .tsv, a tab.

    Raises:
        UsageError: no such file, or a suffix that says neither.
        DataError: it cannot be read, has no rows, a name twice, or rows of another width than its names.
    """
    if not file.is_file():
        raise UsageError(f"There is no table {file}.")
    suffix = file.suffix.lower()
    unreadable: dict[str, str] = {}
    try:
        if suffix in (".parquet", ".pq"):
            frame, unreadable = _as_text(_with_bare_names(pl.read_parquet(file, glob=False), file))
        elif suffix in (".csv", ".tsv", ".txt"):
            frame = _read_csv(file, separator or ("\t" if suffix == ".tsv" else ","))
        else:
            raise UsageError(f"{file} must end in .csv, .tsv, .txt or .parquet, which says how it is to be read.")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{file} cannot be read as a table: {error} Export it again.") from None
    if not len(frame):
        raise DataError(f"{file} has no rows.")
    text = pl.col(pl.String).str.strip_chars()
    frame = frame.with_columns(pl.when(text != "").then(text).name.keep())
    return Table(frame, name=file.name, sha256=sha256_file(file), unreadable=unreadable)


def _read_csv(file: Path, separator: str) -> pl.DataFrame:
    rows, lines, ends = _check_width(file, separator)
    frame = pl.read_csv(file, separator=separator, infer_schema=False, eol_char=ends, glob=False)
    if not rows <= len(frame) <= lines:
        raise DataError(
            f"{file} has {counted(rows, 'row')} by its quotes and line ends, and {len(frame)} by line feeds alone. "
            "Save it with one kind of line ends."
        )
    return _with_bare_names(frame.head(rows), file)


def _with_bare_names(frame: pl.DataFrame, file: Path) -> pl.DataFrame:
    names = [name.strip() for name in frame.columns]
    _check_names(names, file)
    frame.columns = names
    return frame


def _check_names(names: list[str], file: Path) -> None:
    several = Counter(names)
    refuse((repr(name) for name in several if several[name] > 1), "column name", f"of {file} standing there twice")


def _check_width(file: Path, separator: str) -> tuple[int, int, str]:
    """Refuse what polars would mend without a word: names twice, and rows cut short.

    Returns:
        rows, without empty lines at the end; rows with them; and what ends a line.
    """
    rows = row = 0
    wrong: list[str] = []
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            # Strictly: of a cell with text beside its quotes polars and csv make different cells.
            reader = csv.reader(stream, delimiter=separator, strict=True)
            names = [name.strip() for name in next((cells for cells in reader if cells), [])]
            empty: list[str] = []
            for row, cells in enumerate(reader, 1):
                bad = [] if len(cells) == len(names) else [f"row {row} ({len(cells)})"]
                if len(cells) > 1 or any(map(str.strip, cells)):
                    # Empty lines count only where something follows them.
                    wrong += [*empty, *bad]
                    empty, rows = [], row
                else:
                    empty += bad
            ends = "\r" if stream.newlines == "\r" else "\n"
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8.") from None
    except csv.Error as error:
        raise DataError(
            f"{file} is no CSV: {error} (near row {row + 1}). Double the quotes within a cell in quotes, and "
            "close every one."
        ) from None
    if names and names[0].casefold().startswith("sep="):
        raise DataError(
            f"{file} begins with {names[0]!r}, which is for Excel alone. Remove the line, and say `separator`."
        )
    others = [mark for mark in ";\t,|" if mark != separator and names and mark in names[0]]
    if len(names) == 1 and others:
        raise DataError(
            f"{file} has one column, {names[0][:60]!r}, with {others[0]!r} in its name. Say what separates the cells: "
            f'separator: "{others[0]}".'
        )
    _check_names(names, file)
    refuse(
        wrong, "row", f"of {file} without exactly {counted(len(names), 'cell')}, one a name (in brackets: what it has)"
    )
    return rows, row, ends


def _as_text(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
    """The columns as text, and why those that are none are not; nobody may ask for them."""
    columns: list[pl.Series] = []
    unreadable: dict[str, str] = {}
    for column in frame.get_columns():
        kind = column.dtype
        if kind.is_nested() or kind in (pl.Binary, pl.Object):
            unreadable[column.name] = (
                f"is nested or binary ({kind}); one text, number or date a row was expected. Write it as columns of "
                "its own."
            )
            continue
        try:
            columns.append(_column_as_text(column))
        except (DataError, pl.exceptions.PolarsError) as error:
            unreadable[column.name] = str(error)
    return pl.DataFrame(columns), unreadable


def _column_as_text(column: pl.Series) -> pl.Series:
    kind = column.dtype
    if isinstance(kind, pl.Datetime):
        return column.dt.to_string("%Y-%m-%dT%H:%M:%S%.6f" + ("%:z" if kind.time_zone else ""))
    if not kind.is_float():
        return column.cast(pl.String)
    values = column.fill_nan(None)
    whole = bool((values.is_null() | (values == values.round())).all()) and not values.is_infinite().any()
    if not whole:
        return values.cast(pl.String)
    large = (values.abs() >= _EXACT).fill_null(value=False)
    if large.any():
        row = large.to_list().index(True)
        raise DataError(
            f"has whole numbers as {kind} that such a number does not hold exactly, {values[row]!r} in row {row + 1} "
            "for one; below 2^53 was expected. Write the column as integers or text."
        )
    return values.cast(pl.Int64).cast(pl.String)


def _number(cell: str) -> float | None:
    value = float(cell)
    if math.isinf(value) or "_" in cell:
        raise ValueError(cell)
    return None if math.isnan(value) else value


def _boolean(cell: str) -> bool | None:
    folded = cell.casefold()
    return None if folded == "nan" else _BOOLEANS[folded]


def _time(cell: str, fmt: str | None) -> datetime | None:
    if cell.casefold() in ("nan", "nat"):
        return None
    # Times without a zone stay so: a hospital's clock.
    return datetime.strptime(cell, fmt) if fmt else datetime.fromisoformat(cell)  # noqa: DTZ007


def _microseconds(moment: datetime) -> int:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND
