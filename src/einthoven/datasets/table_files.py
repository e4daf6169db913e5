"""Tables that come with a release: CSV, read as text and by column, and what its cells mean or a message with the row.

White space around a cell counts for nothing, and an empty cell is None. Rows may lack cells at their end, as some
released tables do, but may not have more than there are columns.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from einthoven.foundation.errors import DataError

from .text_files import read_text

if TYPE_CHECKING:
    import numpy as np

_AGAIN = "Correct it or download the file again."
_SHOWN = 10
_LONE_RETURN = re.compile(r"\r(?![\r\n]|\Z)")
FLAGS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


@dataclass(frozen=True)
class TextTable:
    """A table of text, in the order of its file or another.

    Attributes:
        file: for messages.
        frame: columns of text; None where a cell is empty.
        rows: of each row, its place in the file; 1 is the first below the names.
    """

    file: Path
    frame: pl.DataFrame
    rows: pl.Series

    def __len__(self) -> int:
        return len(self.frame)

    def __contains__(self, column: str) -> bool:
        return column in self.frame.columns

    def __getitem__(self, column: str) -> pl.Series:
        """A column, as it is written."""
        return self.frame[column]

    def take(self, positions: np.ndarray) -> TextTable:
        """Some of its rows, in another order; messages still name their place in the file."""
        return TextTable(self.file, self.frame[positions], self.rows[positions])

    def require(self, *columns: str) -> None:
        """Refuse rows with an empty cell in one of these columns.

        Raises:
            DataError: with the first such row.
        """
        for column in columns:
            self.refuse(column, self[column].is_null(), "a value")

    def unique(self, column: str) -> None:
        """Refuse a value that stands in two rows.

        Raises:
            DataError: with the value.
        """
        twice = self[column].filter(self[column].is_duplicated())
        if len(twice):
            raise DataError(f"{self.file} has {column} {twice[0]} more than once ({len(twice)} such rows). {_AGAIN}")

    def numbers(self, column: str, *, finite: bool = False) -> pl.Series:
        """A column of numbers, float64; None where a row has none or "nan".

        Args:
            finite: whether one without end is refused.

        Raises:
            DataError: a cell is something else.
        """
        found = numbers_in(self[column])
        bad = found.is_null() & self[column].is_not_null()
        self.refuse(column, bad | found.is_infinite().fill_null(False) if finite else bad, "a number or nothing")
        return found.fill_nan(None)

    def coded(
        self, column: str, meaning: Mapping[str, Any], *, dtype: pl.DataType | type[pl.DataType], expected: str
    ) -> pl.Series:
        """A column whose cells stand for something, case ignored; None where a cell is empty.

        Args:
            meaning: cell in lower case -> what it stands for.
            expected: for messages: "Male, Female or nothing".

        Raises:
            DataError: a cell is none of them.
        """
        found = self[column].str.to_lowercase().replace_strict(meaning, default=None, return_dtype=dtype)
        self.refuse(column, found.is_null() & self[column].is_not_null(), expected)
        return found

    def flags(self, column: str, *, empty: bool = False) -> pl.Series:
        """A column of True and False, or 1 and 0.

        Args:
            empty: whether a cell may be empty; it is None then.

        Raises:
            DataError: a cell is something else.
        """
        expected = "True, False or nothing" if empty else "True or False"
        found = self.coded(column, FLAGS, dtype=pl.Boolean, expected=expected)
        if not empty:
            self.refuse(column, self[column].is_null(), expected)
        return found

    def refuse(self, column: str, bad: pl.Series, expected: str) -> None:
        """Refuse the cells of a column in some rows.

        Args:
            bad: whether to refuse it, one a row.
            expected: what would have been right.

        Raises:
            DataError: unless there are none; with the first and how many there are.
        """
        places = bad.arg_true()
        if len(places):
            first = int(places[0])
            more = f" ({len(places)} such rows)" if len(places) > 1 else ""
            raise DataError(
                f"{self.file}, row {self.rows[first]}{self._name_of(first, column)}: {column} is "
                f"{self[column][first]!r}; {expected} was expected{more}. {_AGAIN}"
            )

    def _name_of(self, position: int, column: str) -> str:
        """What the first column says of a row, by which it is found again in a table in another order."""
        first = self.frame.columns[0]
        return f" ({first} {self[first][position]})" if first != column and self[first][position] else ""


def numbers_in(text: pl.Series) -> pl.Series:
    """Float64; None where there is none, and for what is no number."""
    return text.cast(pl.Float64, strict=False)


def read_table(file: Path, columns: Sequence[str], *, where: str) -> TextTable:
    """A CSV file with a header, all text.

    Args:
        columns: those it must have.
        where: what --source must name if there is no such file: "the folder that holds it and records/".

    Raises:
        DataError: as `read_text` and `check_columns`, a row has more cells than there are columns, or the file ends
            within a row.
    """
    text = read_text(file, where=where)
    ends = "\n" if "\n" in text else "\r"
    try:
        header = [name.strip() for name in next(csv.reader(_lines(text, ends), strict=True), [])]
        check_columns(file, header, columns)
        count = _check_rows(file, text, ends, len(header))
        frame = _parsed(text, ends, header)
    except (csv.Error, pl.exceptions.PolarsError) as error:
        raise DataError(f"{file} cannot be read as a table: {error}. Download it again.") from None
    bare = pl.col(pl.String).str.strip_chars()
    frame = frame.with_columns(pl.when(bare != "").then(bare).name.keep()).filter(
        ~pl.all_horizontal(pl.all().is_null())
    )
    if len(frame) != count:
        raise DataError(
            f"{file} has {count} rows by its quotes and line ends, and {len(frame)} by line feeds alone. Save it with "
            "one kind of line ends, or download it again."
        )
    return TextTable(file, frame, pl.int_range(1, len(frame) + 1, eager=True))


def check_columns(file: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse a header that lacks one of the columns, or has it more than once.

    Raises:
        DataError: naming them.
    """
    if missing := [column for column in columns if column not in header]:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        found = f"{', '.join(header[:50])}{' ...' if len(header) > 50 else ''}" or "none"
        raise DataError(f"{file} has no column {', '.join(missing[:_SHOWN])}{more}; found {found}. Download it again.")
    if repeated := [column for column in columns if header.count(column) > 1]:
        raise DataError(
            f"{file} has more than one column {', '.join(repeated)}; one was expected. Remove the others, or download "
            "it again."
        )


def _parsed(text: str, ends: str, header: Sequence[str]) -> pl.DataFrame:
    """By polars, which is many times faster than the csv module; surplus cells, which are empty, are dropped."""
    frame = pl.read_csv(text.encode(), infer_schema=False, eol_char=ends, truncate_ragged_lines=True)
    # A name that is there twice, and that nobody needs, is told apart by its place.
    first = {name: place for place, name in reversed(list(enumerate(header)))}
    frame.columns = [name if first[name] == place else f"{name}_{place}" for place, name in enumerate(header)]
    return frame


def _check_rows(file: Path, text: str, ends: str, width: int) -> int:
    """Refuse rows of more than `width` cells, and a last row that ends before its line does.

    Returns:
        how many rows are not empty.
    """
    if '"' not in text and ends == "\n" and "\r" in text and (lone := _LONE_RETURN.search(text)):
        # With quotes the csv module refuses it.
        line = text.count("\n", 0, lone.start()) + 1
        raise DataError(
            f"{file} has a carriage return within line {line}. Save it with one kind of line ends, or download it "
            "again."
        )
    count, last, wide = (_quoted_rows if '"' in text else _plain_rows)(text, ends, width)
    for row, cells in wide:
        if any(map(str.strip, cells[width:])):
            # A comma too many moves every cell behind it into another column.
            raise DataError(
                f"{file}, row {row}: {len(cells)} cells; {width} were expected. Put quotes around a cell with a comma, "
                "or download the file again."
            )
    if count and last < width and not text.endswith(("\n", "\r")):
        raise DataError(
            f"{file} ends within row {count}, which has {last} of {width} cells: the file was cut. Download it again."
        )
    return count


_Rows = tuple[int, int, list[tuple[int, list[str]]]]  # how many are not empty, cells of the last, and rows too wide


def _plain_rows(text: str, ends: str, width: int) -> _Rows:
    """The rows below the header of a text without quotes, by counting commas."""
    lines = pl.Series(text.split(ends), dtype=pl.String)[1:]
    lines = lines.filter(lines.str.replace_all(",", "", literal=True).str.strip_chars() != "")
    sizes = lines.str.count_matches(",", literal=True) + 1
    wide = [(int(at) + 1, lines[int(at)].split(",")) for at in (sizes > width).arg_true()]
    return len(lines), int(sizes[-1]) if len(sizes) else 0, wide


def _quoted_rows(text: str, ends: str, width: int) -> _Rows:
    count = last = 0
    wide = []
    reader = csv.reader(_lines(text, ends), strict=True)
    next(reader, None)
    for cells in reader:
        if any(map(str.strip, cells)):
            count, last = count + 1, len(cells)
            if last > width:
                wide.append((count, cells))
    return count, last, wide


def _lines(text: str, ends: str) -> Iterator[str]:
    start = 0
    while end := text.find(ends, start) + 1:
        yield text[start:end]
        start = end
    yield text[start:]
