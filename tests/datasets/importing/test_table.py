"""Tables and their cells: read, or refused with their rows."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

from einthoven.datasets.importing.table import DAY, Table, read_table
from einthoven.foundation.errors import DataError, EinthovenError, UnknownNameError, UsageError


def table(tmp_path: Path, text: str, name: str = "t.csv") -> Table:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return read_table(file, separator="\t" if name.endswith("txt") else None)


def test_a_csv_is_text_and_empty_cells_are_none(tmp_path: Path) -> None:
    read = table(tmp_path, '\ufeffid,n\n007, 1.50 \n"a,b",\n')
    assert read.cells("id") == ["007", "a,b"]
    assert read.cells("n") == ["1.50", None]
    assert read.numbers("n") == [1.5, None]


def test_a_name_that_looks_like_a_pattern_is_the_name_of_one_file(tmp_path: Path) -> None:
    table(tmp_path, "a\n2\n", "ecg1.csv")
    assert table(tmp_path, "a\n1\n", "ecg[1].csv").cells("a") == ["1"]
    assert table(tmp_path, "a\n1\n", "ecg*.csv").cells("a") == ["1"]
    pl.DataFrame({"a": ["3"]}).write_parquet(tmp_path / "ecg[1].parquet")
    assert read_table(tmp_path / "ecg[1].parquet").cells("a") == ["3"]


def test_other_separators(tmp_path: Path) -> None:
    assert table(tmp_path, "a\tb\n1\t2\n", "t.tsv").cells("b") == ["2"]
    assert table(tmp_path, "a\tb\n1\t2\n", "t.txt").cells("b") == ["2"]
    with pytest.raises(DataError, match='separator: ";"'):
        table(tmp_path, "a;b\n1;2\n")


def test_a_parquet_file_gives_the_text_a_csv_would(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "id": [1, 2, None],
            "float id": [185323.0, None, 7.0],
            "x": [1.25, math.nan, 3.0],
            "flag": [True, False, None],
            "day": [date(2024, 5, 31), None, date(2024, 6, 1)],
            "time": [datetime(2024, 5, 31, 12, 30), None, datetime(2024, 6, 1)],  # noqa: DTZ001
            "zoned": [datetime(2024, 5, 31, 12, 30, tzinfo=UTC), None, None],
            "many": [[1], [2], [3]],
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    assert read.cells("id") == ["1", "2", None]
    assert read.cells("float id") == ["185323", None, "7"]
    assert read.numbers("x") == [1.25, None, 3.0]
    assert read.booleans("flag") == [True, False, None]
    assert read.times("day").days.tolist()[0] == 19874
    assert read.times("time").days.tolist()[0] == 19874 + 12.5 / 24
    assert (read.times("time").zoned, read.times("zoned").zoned) == (False, True)
    with pytest.raises(DataError, match=r"Column many of t.parquet is nested or binary \(List"):
        read.cells("many")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n", "has no rows"),
        ("a,a\n1,2\n", "1 column name of .* standing there twice. First: 'a'"),
        ("a,b\n1\n1,2\n1,2,3\n", r"2 rows of .* without exactly 2 cells.*First: row 1 \(1\), row 3 \(3\)"),
    ],
)
def test_tables_that_polars_would_mend(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=words):
        table(tmp_path, text)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no table"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes("a,b\nü,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="Save it as UTF-8"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match="cannot be read as a table"):
        read_table(tmp_path / "t.parquet")
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with pytest.raises(UsageError, match="must end in"):
        read_table(tmp_path / "t.xlsx")


def test_an_unknown_column_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown column 'patientid' in t.csv. Did you mean 'patient_id'"):
        table(tmp_path, "patient_id,b\n1,2\n").cells("patientid")


def test_booleans(tmp_path: Path) -> None:
    read = table(
        tmp_path, "a,b\n" + "".join(f"{cell},1\n" for cell in ("0", "1", "True", "no", "YES", "", "nan", "1.0"))
    )
    assert read.booleans("a") == [False, True, True, False, True, None, None, True]


@pytest.mark.parametrize("cell", ["2", "positive", "-", "01"])
def test_what_is_no_boolean_is_named_with_its_row(cell: str, tmp_path: Path) -> None:
    rows = "".join(f"{value},x\n" for value in ["1", cell, "0", *[cell] * 11])
    with pytest.raises(DataError) as caught:
        table(tmp_path, "a,b\n" + rows).booleans("a")
    message = str(caught.value)
    assert message.startswith("12 cells of column a of t.csv: 0 or 1, true or false, yes or no was expected")
    assert f"First: '{cell}' (row 2), '{cell}' (row 4)" in message
    assert message.endswith("and 2 more.")


@pytest.mark.parametrize("cell", ["3,5", "inf", "1_000", "abc"])
def test_what_is_no_number(cell: str, tmp_path: Path) -> None:
    with pytest.raises(EinthovenError, match="a number"):
        table(tmp_path, f'a,b\n"{cell}",1\n').numbers("a")


def test_times(tmp_path: Path) -> None:
    read = table(tmp_path, "a,b\n2024-05-31,31/05/2024\n2024-05-31 12:00,01/06/2024\n,\n")
    assert read.times("a").days.tolist()[:2] == [19874, 19874.5]
    assert math.isnan(read.times("a").days[2])
    assert read.times("b", "%d/%m/%Y").days.tolist()[:2] == [19874, 19875]
    with pytest.raises(DataError, match=r"an ISO date .*'31/05/2024' \(row 1\), '01/06/2024' \(row 2\)"):
        read.times("b")
    with pytest.raises(DataError, match=r"a date like 31\.05\.2024"):
        read.times("b", "%d.%m.%Y")


def test_some_times_with_a_zone_and_some_without(tmp_path: Path) -> None:
    read = table(tmp_path, "a,b\n2024-05-31T00:00:00+02:00,1\n2024-05-31,1\n")
    with pytest.raises(DataError, match="have a time zone and some have none"):
        read.times("a")


@pytest.mark.parametrize("value", [2.0**53, 1e20, -1e300])
def test_whole_floats_that_are_not_exact_are_refused_where_they_are_used(value: float, tmp_path: Path) -> None:
    pl.DataFrame({"a": ["x", "y"], "b": [1.0, value]}).write_parquet(tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    assert read.cells("a") == ["x", "y"]
    for reading in (read.cells, read.booleans, read.numbers):
        with pytest.raises(DataError, match=r"Column b of t.parquet has whole numbers as Float64 .*in row 2 for one"):
            reading("b")


def test_infinity_is_neither_true_nor_a_number(tmp_path: Path) -> None:
    pl.DataFrame({"b": [1.0, math.inf, math.nan]}).write_parquet(tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    for reading in (read.booleans, read.numbers):
        with pytest.raises(DataError, match=r"1 cell of column b.*'inf' \(row 2\)"):
            reading("b")


@pytest.mark.parametrize("kind", [pl.List(pl.Int64), pl.Struct({"x": pl.Int64}), pl.Binary, pl.Array(pl.Int64, 1)])
def test_columns_that_are_no_text_are_said_to_be_so(kind: pl.DataType, tmp_path: Path) -> None:
    values = {pl.Struct: {"x": 1}, pl.Binary: b"1"}.get(kind.base_type(), [1])
    pl.DataFrame({"a": ["x"], "b": pl.Series([values], dtype=kind)}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"Column b of t.parquet is nested or binary"):
        read_table(tmp_path / "t.parquet").cells("b")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("blank", [0, 1, 3])
@pytest.mark.parametrize("rows", [["1,2", '3,"4"'], ["1", "3"]])
def test_line_ends_and_empty_lines_at_the_end(end: str, blank: int, rows: list[str], tmp_path: Path) -> None:
    names = "a,b" if "," in rows[0] else "a"
    (tmp_path / "t.csv").write_bytes((end.join([names, *rows]) + end * (blank + 1)).encode())
    assert read_table(tmp_path / "t.csv").cells("a") == ["1", "3"]
    (tmp_path / "t.csv").write_bytes((end.join([names, *rows]) + end + "  " + end).encode())
    assert read_table(tmp_path / "t.csv").cells("a") == ["1", "3"]


def test_line_ends_of_two_kinds_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\r3,4\n")
    with pytest.raises(DataError):
        read_table(tmp_path / "t.csv")


def test_an_empty_line_between_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"1 row of .* without exactly 2 cells.*row 2 \(0\)"):
        table(tmp_path, "a,b\n1,2\n\n3,4\n\n")


def test_spaces_around_names(tmp_path: Path) -> None:
    assert table(tmp_path, " a ,b\n1,2\n").cells("a") == ["1"]
    with pytest.raises(DataError, match=r"1 column name of .* standing there twice. First: 'a'"):
        table(tmp_path, " a ,a\n1,2\n")
    pl.DataFrame({" a ": [1], "a": [2]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="1 column name of"):
        read_table(tmp_path / "t.parquet")


def test_times_of_day_and_dates_only(tmp_path: Path) -> None:
    read = table(
        tmp_path, "a,b,c\n2024-05-31,2024-05-31 00:00,2024-05-31\n2024-06-01,2024-06-01 00:00,2024-05-31 00:01\n"
    )
    assert [read.times(name).dates_only for name in "abc"] == [True, True, False]
    assert read.times("c").microseconds(whole_days=True) == [19874 * DAY] * 2
    assert read.times("c").microseconds() == [19874 * DAY, 19874 * DAY + 60_000_000]


@pytest.mark.parametrize("rows", ['a,""nan""\n', 'a,"b"c\n', '"a"b,c\n', 'a,"b\n'])
def test_text_beside_the_quotes_of_a_cell_is_refused(rows: str, tmp_path: Path) -> None:
    """Polars and Python's csv make different cells of it."""
    with pytest.raises(DataError, match=r"is no CSV: .*near row 1.*Double the quotes"):
        table(tmp_path, "x,y\n" + rows)


def test_the_line_that_excel_writes_for_itself(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="begins with 'sep=;', which is for Excel alone"):
        table(tmp_path, "sep=;\na;b\n1;2\n")


@pytest.mark.parametrize("day", ["9999-12-31", "1900-01-01", "0001-01-01", "10101010"])
def test_dates_that_stand_for_never_or_unknown_are_refused(day: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"a date from 1900-01-02 to 2299-12-31 \(empty.*'{day}' \(row 2\)"):
        table(tmp_path, f"a,b\n2024-05-31,1\n{day},1\n").times("a")
    assert table(tmp_path, "a,b\n2199-05-31,1\n1901-01-01,1\n").times("a").dates_only  # as shifted ones may be
