"""Source files are read once, fast or slow, and what is digested is what is decoded."""

from __future__ import annotations

import hashlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import einthoven.datasets.source_files as source_files
import einthoven.datasets.writing as writing
from einthoven.datasets.building import prepare, prepare_dataset
from einthoven.datasets.concepts import ConceptColumns
from einthoven.datasets.dataset import Record, Scan, SourceRecord
from einthoven.datasets.file_content import LARGEST_HELD, digested, lending, read_content
from einthoven.datasets.phantom.generator import generate_phantom
from einthoven.datasets.registry import DATASETS
from einthoven.datasets.source import open_source
from einthoven.datasets.source_files import Digest, SourceFiles, SourceList
from einthoven.datasets.wfdb_files import millivolts
from einthoven.datasets.wfdb_header import Header, SignalLine, _any_signal, _signal
from einthoven.foundation.errors import DataError

pytestmark = pytest.mark.usefixtures("home")


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
    found = digested(str(file))
    assert found[:2] == (size, hashlib.sha256(content).hexdigest())
    assert found[2] == (content if size <= LARGEST_HELD else None)


def test_a_slow_source_is_read_ahead_and_gives_the_same_cohort(ptbxl, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = prepare("ptbxl", ptbxl.path, rate=100, name="fast")
    threads: set[int] = set()

    def slow(file: str) -> Any:
        threads.add(threading.get_ident())
        time.sleep(0.002)
        return digested(file)

    monkeypatch.setattr(source_files, "digested", slow)
    monkeypatch.setattr(writing, "SourceFiles", partial(SourceFiles, timed=4))
    monkeypatch.setattr(writing, "_LARGEST_BLOCK", 4)
    again = prepare("ptbxl", ptbxl.path, rate=100, name="slow")
    assert len(threads) > 2
    assert again.fingerprint == fast.fingerprint
    tables = [pl.read_parquet(cohort.path / "sources.parquet") for cohort in (fast, again)]
    assert tables[0].equals(tables[1])
    for file, size, sha256 in tables[0].iter_rows():
        content = (ptbxl.path / file).read_bytes()
        assert (size, sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_a_file_that_goes_away_is_said_by_its_reader(ptbxl, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = next((ptbxl.path / "records100").rglob("*.dat"))

    def fails(file: str) -> Any:
        if Path(file).name == gone.name:
            gone.unlink(missing_ok=True)
        return digested(file)

    monkeypatch.setattr(source_files, "digested", fails)
    with pytest.raises(DataError, match=rf"has no file {gone.name}"):
        prepare("ptbxl", ptbxl.path, rate=100)


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "x.dat"), ZeroDivisionError("by 0")])
def test_what_no_reader_foresaw_is_a_bad_record_like_others(
    ptbxl, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    entry = DATASETS.get("ptbxl")

    def scan(*arguments: Any) -> Any:
        found = entry.scan(*arguments)

        def read(record: Any) -> Any:
            if record.record_id == "5":
                raise error
            return found.read(record)

        return replace(found, read=read)

    broken = replace(entry, scan=scan)
    expected = "x.dat cannot be read .Permission denied" if isinstance(error, OSError) else "ZeroDivisionError: by 0"
    with pytest.raises(DataError, match=expected) as caught:
        prepare_dataset(broken, ptbxl.path, rate=100)
    assert "record 5" in "".join(caught.value.__notes__)
    cohort = prepare_dataset(broken, ptbxl.path, rate=100, bad_records="exclude")
    assert cohort.manifest.excluded.first == {"bad record": ("5",)}
    files = pl.read_parquet(cohort.path / "sources.parquet")["file"]
    assert not any("00005" in file for file in files)


def _two_lead_records(draws: list[int], base: np.ndarray) -> dict[str, np.ndarray | None]:
    """Record id -> its signal, or None for one that cannot be read: of two lengths and types, turned over, with NaN."""

    def signal(number: int, kind: int) -> np.ndarray | None:
        mine = np.roll(base, 7 * number, axis=1)
        kinds = {1: mine[:, :900], 2: mine.astype(np.float64), 3: mine.T, 4: np.where(mine > 0.1, np.nan, mine)}
        return None if kind == 5 else kinds.get(kind, mine)

    return {f"r{number}": signal(number, kind) for number, kind in enumerate(draws)}


@pytest.mark.parametrize("seed", range(6))
def test_no_record_is_stored_with_the_samples_of_another(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_LARGEST_BLOCK", 3)
    entry, rng = DATASETS.get("phantom"), np.random.default_rng(seed)
    base = generate_phantom(records=1, seed=seed).signals(0, 1)[0, 6:8]
    signals = _two_lead_records(rng.integers(0, 6, size=40).tolist(), base)
    own = np.empty_like(base)  # where this reader decodes all usual records, one over the other

    def read(record: SourceRecord) -> Record:
        signal = signals[record.record_id]
        if signal is None:
            raise ZeroDivisionError
        if signal.shape == own.shape and signal.dtype == own.dtype:
            own[...] = signal
            signal = own
        return Record(record.record_id, record.patient_id, signal, ("V1", "V2"), 100.0)

    scan = Scan(
        records=[SourceRecord(record_id, record_id) for record_id in signals],
        tasks={},
        splits={"s": dict.fromkeys(signals, "train")},
        read=read,
        rate=100.0,
        samples=None,
        leads=("V1", "V2"),
    )
    made = replace(entry, scan=lambda *arguments: scan)
    cohort = prepare_dataset(made, name="mixed", bad_records="exclude")
    sound = {r: s for r, s in signals.items() if s is not None and s.shape[0] == 2 and np.isfinite(s).all()}
    assert cohort.record_ids.tolist() == list(sound)
    for row, signal in enumerate(sound.values()):
        expected = np.rint(signal.astype(np.float64) * 1000) / 1000
        np.testing.assert_allclose(cohort.signals(np.array([row]))[0], expected, atol=1e-6)
    assert cohort.excluded["record_id"].to_list() == [r for r in signals if r not in sound]


def test_a_reader_that_gives_no_record_is_named_with_the_record(ptbxl) -> None:
    entry = DATASETS.get("ptbxl")
    broken = replace(entry, scan=lambda *arguments: replace(entry.scan(*arguments), read=lambda record: None))
    with pytest.raises(DataError, match="Reading it ended with AttributeError") as caught:
        prepare_dataset(broken, ptbxl.path, rate=100)
    assert "record 1" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("folder", ["plain", "[a]", "a*", "year=3"])
@pytest.mark.parametrize("rows", [3, 100])
def test_measurements_are_written_in_order_whatever_is_kept_and_wherever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, rows: int
) -> None:
    monkeypatch.setattr(writing, "_ROWS_A_PART", rows)
    (tmp_path / "ab").mkdir()
    pl.DataFrame({"record_id": ["another"], "x": [0.5]}).write_parquet(tmp_path / "ab" / "t.parquet")
    (tmp_path / folder).mkdir()
    file = tmp_path / folder / "t.parquet"
    ids = pl.Series([f"r{row}" for row in range(10)])
    concepts = ConceptColumns.of({"x": np.arange(10.0)}, 10)
    for kept in (np.arange(10) % 2 == 0, np.zeros(10, dtype=bool), np.arange(10) == 9, np.ones(10, dtype=bool)):
        writing._write_concepts(file, ids, concepts, kept)
        found = pl.read_parquet(file, glob=False)
        assert found.columns == ["record_id", "x"]
        assert found["record_id"].to_list() == ids.filter(pl.Series(kept)).to_list()
        assert found["x"].to_list() == np.arange(10.0)[kept].tolist()
    assert list(file.parent.iterdir()) == [file]


def test_a_home_whose_name_looks_like_a_pattern_is_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prints = set()
    for folder in ("plain", "[x] *"):
        monkeypatch.setenv("EINTHOVEN_HOME", str(tmp_path / folder))
        cohort = prepare("phantom", options={"records": 8})
        cohort.verify()
        assert len(cohort.records) == len(cohort.task("rhythm").rows) == len(cohort.concepts("truth")) == 8
        assert set(cohort.split()) <= {"train", "val", "test"}
        prints.add(cohort.fingerprint)
    assert len(prints) == 1


def test_a_machine_without_memory_leaves_no_record_out(ptbxl, home: Path) -> None:
    entry = DATASETS.get("ptbxl")

    def read(record: Any) -> Any:
        raise MemoryError

    broken = replace(entry, scan=lambda *arguments: replace(entry.scan(*arguments), read=read))
    with pytest.raises(MemoryError):
        prepare_dataset(broken, ptbxl.path, rate=100, bad_records="exclude")
    assert not list((home / "cohorts").rglob("manifest.json"))


def test_files_of_a_record_that_is_refused_later_are_no_sources(ptbxl) -> None:
    ptbxl.write_record(ptbxl.stem(4), np.zeros((12, 1000), dtype="<i2"))  # flat: refused when it is taken in
    cohort = prepare("ptbxl", ptbxl.path, rate=100, bad_records="exclude")
    assert cohort.manifest.excluded.counts == {"bad record": 1}
    files = pl.read_parquet(cohort.path / "sources.parquet")["file"]
    assert not any(ptbxl.stem(4).name in file for file in files)


def test_a_large_file_is_digested_once_and_one_that_changes_is_refused(ptbxl, monkeypatch) -> None:
    counted: list[str] = []

    def unheld(file: str) -> Any:
        counted.append(Path(file).name)
        size, sha256, _ = digested(file)
        return size, sha256, None

    monkeypatch.setattr(source_files, "digested", unheld)
    source = open_source(DATASETS.get("ptbxl"), ptbxl.path, rate=100.0, options={})
    with ThreadPoolExecutor(1) as pool:
        files = SourceFiles(source, pool)
        for name in ("ptbxl_database.csv", "scp_statements.csv") * 3:
            files.digests((name,))
    assert counted == ["ptbxl_database.csv", "scp_statements.csv"]
    listed = SourceList()
    listed.note({"a": Digest(1, "x", None)})
    listed.note({"b": Digest(1, "y", None)})
    listed.note({"a": Digest(1, "z", None)})
    with pytest.raises(DataError, match="a was changed while the cohort was made of it"):
        listed.table()


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
        ("a.dat sixteen 1000 16 0 1 2 0 I", "sixteen"),
        ("a.dat 16 much 16 0 1 2 0 I", "gives a gain as 'much'"),
    ],
)
def test_a_damaged_signal_line_is_named(line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _signal(line.split(), "x")
