"""Tables that come with a release are read cell by cell, or refused with their row."""

from __future__ import annotations

import csv
import io
import random
import time
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from einthoven.datasets.table_files import TextTable, read_table
from einthoven.foundation.errors import DataError


def read(folder: Path, content: str | bytes, *columns: str) -> TextTable:
    (folder / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(folder / "t.csv", columns or ("a",), where="its folder")


def test_a_row_may_lack_cells_and_not_have_more_than_there_are_columns(tmp_path: Path) -> None:
    assert read(tmp_path, "a,b\n1,2\n3\n4,5,\n").frame.rows() == [("1", "2"), ("3", None), ("4", "5")]
    for quoted in ("3", '"3"'):
        with pytest.raises(DataError, match=r"t\.csv, row 2: 3 cells; 2 were expected"):
            read(tmp_path, f"a,b\n1,2\n{quoted},4,5\n")
    assert read(tmp_path, 'a,b\n1,"2,3"\n').frame.rows() == [("1", "2,3")]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("\ufeffa,b\n1,2\n", [("1", "2")]),
        ("a,b\r\n1,2\r\n\r\n3,\r\n", [("1", "2"), ("3", None)]),
        ("a,b\r1,2\r3,4\r", [("1", "2"), ("3", "4")]),
        ('"a", b\n 1 ,"x ""y""\nz"\n', [("1", 'x "y"\nz')]),
        ("a,b\n1,2\n,\n \n3,4", [("1", "2"), ("3", "4")]),
        ("a,b\n#1,2\n", [("#1", "2")]),
        ("a,b\n007,1e3\n", [("007", "1e3")]),
        ("a,b\n", []),
        ("a,b", []),
    ],
)
def test_odd_tables_are_read_as_they_are_meant(tmp_path: Path, content: str, rows: list[tuple[str, ...]]) -> None:
    table = read(tmp_path, content)
    assert (table.frame.columns, table.frame.rows()) == (["a", "b"], rows)
    assert table.rows.to_list() == list(range(1, len(rows) + 1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no column a; found none"),
        (b"\n\n", "has no column a"),
        (b"a;b\n1;2\n", "has no column a; found a;b"),
        (b"a,a\n1,2\n", "has more than one column a"),
        (b"a,b\n1,2\n3", "ends within row 2, which has 1 of 2 cells: the file was cut"),
        (b'a,b\n1,"2"\n3', "ends within row 2, which has 1 of 2 cells: the file was cut"),
        (b'a,b\n1,"2\n3,4\n', "cannot be read as a table"),
        (b'a,b\n1,"2"x\n', "cannot be read as a table"),
        (b"a,b\n1,\x002\n", "is not UTF-8 text: byte 6 is 0x00"),
        (b"a,b\n1,\xe9\n", "is not UTF-8 text: byte 6 is 0xe9"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n", "is a git-lfs pointer"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=rf"t\.csv {message}"):
        read(tmp_path, content)


@given(cells=st.lists(st.lists(st.text(st.sampled_from('a ,"\n1é'), max_size=4), min_size=2, max_size=2), max_size=5))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_cells_come_back(cells: list[list[str]], tmp_path: Path) -> None:
    quoted = ["\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in (("a", "b"), *cells))]
    expected = [tuple(cell.strip() or None for cell in row) for row in cells]
    assert read(tmp_path, f"{quoted[0]}\n").frame.rows() == [row for row in expected if any(row)]


def test_what_cells_mean_or_the_row_that_means_nothing(tmp_path: Path) -> None:
    table = read(tmp_path, "a,n,f\nx,1.5,TRUE\ny,nan,0\nz,,\n")
    assert table.numbers("n").to_list() == [1.5, None, None]
    assert table.flags("f", empty=True).to_list() == [True, False, None]
    assert table.coded("a", {"x": 1, "y": 2, "z": 1}, dtype=pl.Int8, expected="x").to_list() == [1, 2, 1]
    with pytest.raises(DataError, match=r"t\.csv, row 3 \(a z\): f is None; True or False was expected"):
        table.flags("f")
    with pytest.raises(DataError, match=r"row 1 \(a x\): f is 'TRUE'; a number or nothing was expected"):
        table.numbers("f")
    turned = table.take(pl.Series([2, 1, 0]).to_numpy())
    with pytest.raises(DataError, match=r"row 3 \(a z\): n is None; a value was expected"):
        turned.require("a", "n")
    with pytest.raises(DataError, match=r"has a x more than once \(2 such rows\)"):
        read(tmp_path, "a\nx\ny\nx\n").unique("a")


WHITE = " \t\n\r\x0b\x0c\x85\u2028"
WHOLE = (
    b'a,b,note\n1,50,x\n2,60,"y, z"\n3,,"u ""v"" w"\n',
    b"a,b,note\r\n1,5,x\r\n2,6,y\r\n",
    b"a,b,note\r1,5,x\r2,6,y\r",
    b"a,b,note\n" + b"".join(b"%d,%d,t\n" % (row, row) for row in range(200)),
    b'a,b,note,b2\n1,2,"two\nlines",3\n4,5,6,7\n',
    "\ufeffa,b\n1,ünï\n".encode(),
)
TOKENS = (
    b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"\x00", b" ", b"\t", b"\xff", b"\xc3", b"\x1a", b",,,,,", b'"\n"',
    b"\x0b", b"\xe2\x80\xa8", b"\xc2\x85", b"'", b"#", b"\\", b"9" * 400, b"nan", b"1e999", b"\xef\xbb\xbf",
)  # fmt: skip


def broken(whole: bytes, rng: random.Random) -> bytes:
    """A table cut short, with bits turned, with something put in or taken out."""
    content = bytearray(whole)
    if rng.randrange(5) == 0:
        return whole[: rng.randrange(len(whole) + 1)]
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, way = rng.randrange(len(content) + 1), rng.randrange(4)
        if way < 2:
            content[at:at] = rng.choice(TOKENS)
        elif way == 2 and at:
            content[at - 1] ^= 1 << rng.randrange(8)
        else:
            del content[at : at + rng.randrange(10)]
    return bytes(content)


def by_csv(content: bytes) -> list[list[str | None]]:
    """The rows below the header as Python's csv module has them, bare, as wide as the header."""
    text = content.decode().removeprefix("\ufeff")
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    bare = [[cell.strip(WHITE) or None for cell in row] for row in rows]
    return [(row + [None] * len(header))[: len(header)] for row in bare if any(row)]


def test_broken_tables_are_refused_or_read_as_the_csv_module_reads_them(tmp_path: Path) -> None:
    rng = random.Random(3)  # noqa: S311  # no secret
    refused = 0
    for number in range(1500):
        content = broken(rng.choice(WHOLE), rng)
        started = time.perf_counter()
        try:
            found = read(tmp_path, content, "a", "b")
            found.numbers("b")
        except DataError:
            refused += 1
        else:
            assert [list(row) for row in found.frame.rows()] == by_csv(content), (number, content)
        assert time.perf_counter() - started < 5, (number, content)
    assert 300 < refused < 1400


def test_many_columns_of_one_name_are_told_apart_in_no_time(tmp_path: Path) -> None:
    started = time.perf_counter()
    found = read(tmp_path, "a," + "x," * 30_000 + "b\n1," + "," * 30_000 + "2\n", "a", "b")
    assert (found["b"].to_list(), len(found.frame.columns)) == (["2"], 30_002)
    assert time.perf_counter() - started < 20
