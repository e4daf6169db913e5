"""Source files are read once, fast or slow, and what is digested is what is decoded."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import einthoven.datasets.writing as writing
from einthoven.datasets.building import prepare
from einthoven.datasets.file_content import LARGEST_HELD, digested, lending, read_content
from einthoven.datasets.wfdb_files import millivolts
from einthoven.datasets.wfdb_header import Header, SignalLine, _any_signal, _signal
from einthoven.foundation.errors import DataError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EINTHOVEN_HOME", str(tmp_path / "home"))


def test_bytes_that_are_lent_are_given_and_nothing_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"on disk")
    assert read_content(file) == b"on disk"
    with lending({str(file): b"lent"}):
        assert read_content(file) == b"lent"
        assert read_content(file.with_name("x")) == b"lent"
    assert read_content(file) == b"on disk"
    with pytest.raises(FileNotFoundError):
        read_content(tmp_path / "none")


@pytest.mark.parametrize("size", [0, 1, 1000, LARGEST_HELD, LARGEST_HELD + 1])
def test_a_digest_is_of_all_bytes_and_large_files_are_not_held(tmp_path: Path, size: int) -> None:
    content = np.random.default_rng(size).bytes(size)
    file = tmp_path / "x"
    file.write_bytes(content)
    found = digested(file)
    assert found[:2] == (size, hashlib.sha256(content).hexdigest())
    assert found[2] == (content if size <= LARGEST_HELD else None)


def test_a_slow_source_is_read_ahead_and_gives_the_same_cohort(ptbxl, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = prepare("ptbxl", ptbxl.path, rate=100, name="fast")
    threads: set[int] = set()
    whole = writing.digested

    def slow(file: Path) -> Any:
        import threading

        threads.add(threading.get_ident())
        time.sleep(0.002)
        return whole(file)

    monkeypatch.setattr(writing, "digested", slow)
    monkeypatch.setattr(writing, "_TIMED", 4)
    monkeypatch.setattr(writing, "_LARGEST_BLOCK", 4)
    again = prepare("ptbxl", ptbxl.path, rate=100, name="slow")
    assert len(threads) > 2
    assert again.fingerprint == fast.fingerprint
    tables = [pl.read_parquet(cohort.path / "sources.parquet") for cohort in (fast, again)]
    assert tables[0].equals(tables[1])
    for file, size, sha256 in tables[0].iter_rows():
        content = (ptbxl.path / file).read_bytes()
        assert (size, sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_a_file_that_cannot_be_read_ahead_is_said_when_it_is_decoded(ptbxl, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = next((ptbxl.path / "records100").rglob("*.dat"))

    def fails(file: Path) -> Any:
        if file.name == gone.name:
            gone.unlink(missing_ok=True)
            raise OSError("gone")
        return digested(file)

    monkeypatch.setattr(writing, "digested", fails)
    with pytest.raises(DataError, match=rf"has no file {gone.name}"):
        prepare("ptbxl", ptbxl.path, rate=100)


@pytest.mark.parametrize("gain", [1000.0, 200.0, 4880.0, 3.0, -7.0, 204.8, 1e9])
@pytest.mark.parametrize("baseline", [0, -1024])
def test_millivolts_are_those_of_float64_rounded_once(gain: float, baseline: int) -> None:
    digital = np.arange(-(2**15) + 1, 2**15, dtype=np.int16)[None]
    line = SignalLine("x", "16", 1, 0, 0, gain, baseline, "mV", None, "I")
    header = Header(name="x", rate=100.0, samples=digital.shape[1], signals=(line,), comments=())
    expected = ((digital - np.float64(baseline)) / gain).astype(np.float32)
    np.testing.assert_array_equal(millivolts(digital, header, "x"), expected)


@pytest.mark.parametrize(
    "line",
    [
        "a.dat 16 1000(0)/mV 16 0 -119 1508 0 I",
        "a.dat 16x2:3+24 1e3/uV 16 -5 -119 -1508 0 aVR",
        "a.dat 212 200 11 1024 995 -22131 0 MLII",
        "a.dat 16 0(7)/mV 16 0 1 2 0 x",
    ],
)
def test_a_usual_signal_line_means_what_it_means_field_by_field(line: str) -> None:
    assert _signal(line.split(), "x") == _any_signal(line.split(), "x")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("../a.dat 16 1000 16 0 1 2 0 I", r"names the signal file '\.\./a\.dat'; one in its own folder was expected"),
        ("b\\a.dat 16 1000 16 0 1 2 0 I", "names the signal file"),
        ("a.dat 16 1000 16 zero 1 2 0 I", "'zero' where a whole number was expected"),
        ("a.dat 16 1000 16 0 1 two 0 I", "'two' where a whole number was expected"),
        ("a.dat sixteen 1000 16 0 1 2 0 I", "without file and format"),
        ("a.dat 16 much 16 0 1 2 0 I", "gives a gain as 'much'"),
    ],
)
def test_a_damaged_signal_line_is_named(line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _signal(line.split(), "x")
