"""Tables as text, and what their cells mean: whoever cannot be understood is refused, with its row."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
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
_SECONDS_A_DAY = 86400.0


def refuse(bad: Iterable[str], what: str) -> None:
    """Raise for all that is wrong in one way: how many, what was expected, and the first ten.

    Raises:
        DataError: unless there are none.
    """
    found = list(bad)
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise DataError(f"{len(found)} {what}. First: {', '.join(found[:SHOWN])}{more}.")


@dataclass(frozen=True)
class Times:
    """A column of dates.

    Attributes:
        days: since 1970, float64 (rows,); NaN where the cell is empty.
        zoned: whether they have a time zone; None where all are empty.
    """

    days: np.ndarray
    zoned: bool | None


class Table:
    """A table of text; an empty cell, and white space alone, is None.

    Attributes:
        name: of its file, for messages.
        sha256: of its file.
    """

    def __init__(self, frame: pl.DataFrame, *, name: str, sha256: str) -> None:
        self.frame = frame
        self.name = name
        self.sha256 = sha256

    def __len__(self) -> int:
        return len(self.frame)

    def cells(self, column: str) -> list[str | None]:
        """The cells of a column.

        Raises:
            UnknownNameError: there is no such column.
        """
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
        zones = {moment.tzinfo is not None for moment in found if moment is not None}
        if len(zones) > 1:
            raise DataError(f"Some times of column {column} of {self.name} have a time zone and some have none.")
        days = [math.nan if moment is None else _days(moment) for moment in found]
        return Times(np.array(days, dtype=np.float64), next(iter(zones), None))

    def refuse(self, column: str, rows: Iterable[int], expected: str) -> None:
        """Raise for the cells of some rows (from 0), unless there are none."""
        cells = self.cells(column)
        refuse(
            (f"{cells[row]!r} (row {row + 1})" for row in rows),
            f"cells of column {column} of {self.name}: {expected} was expected. Correct the table; row 1 is the first "
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
    try:
        if suffix in (".parquet", ".pq"):
            frame = _as_text(pl.read_parquet(file))
        elif suffix in (".csv", ".tsv", ".txt"):
            separator = separator or ("\t" if suffix == ".tsv" else ",")
            _check_width(file, separator)
            frame = pl.read_csv(file, separator=separator, infer_schema=False)
        else:
            raise UsageError(f"{file} must end in .csv, .tsv, .txt or .parquet, which says how it is to be read.")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{file} cannot be read as a table: {error} Export it again.") from None
    if not len(frame):
        raise DataError(f"{file} has no rows.")
    text = pl.col(pl.String).str.strip_chars()
    frame = frame.with_columns(pl.when(text != "").then(text).name.keep())
    return Table(frame, name=file.name, sha256=sha256_file(file))


def _check_width(file: Path, separator: str) -> None:
    """Refuse what polars would mend without a word: names twice, and rows cut short."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream, delimiter=separator)
            names = next(reader, [])
            wrong = [
                f"row {row} ({len(cells)})" for row, cells in enumerate(reader, 1) if len(cells) not in (0, len(names))
            ]
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8 text ({error.reason} at byte {error.start}). Save it as UTF-8.") from None
    except csv.Error as error:
        raise DataError(f"{file} is no CSV: {error}.") from None
    others = [mark for mark in ";\t,|" if mark != separator and names and mark in names[0]]
    if len(names) == 1 and others:
        raise DataError(
            f"{file} has one column, {names[0][:60]!r}, with {others[0]!r} in its name. Say what separates the cells: "
            f'separator: "{others[0]}".'
        )
    refuse(dict.fromkeys(repr(name) for name in names if names.count(name) > 1), f"column names of {file} occur twice")
    refuse(wrong, f"rows of {file} do not have {len(names)} cells, as many as there are names")


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    columns: list[pl.Series] = []
    for column in frame.get_columns():
        kind = column.dtype
        if isinstance(kind, pl.Datetime):
            columns.append(column.dt.to_string("%Y-%m-%dT%H:%M:%S%.6f" + ("%:z" if kind.time_zone else "")))
        elif kind.is_float():
            values = column.fill_nan(None)
            whole = bool((values.is_null() | (values == values.round())).all()) and not values.is_infinite().any()
            columns.append((values.cast(pl.Int64, strict=False) if whole else values).cast(pl.String))
        elif not kind.is_nested() and kind != pl.Binary:
            columns.append(column.cast(pl.String))
    return pl.DataFrame(columns)


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


def _days(moment: datetime) -> float:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH).total_seconds() / _SECONDS_A_DAY
