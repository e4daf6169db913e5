"""Preparing a cohort: whole or not at all, and every way in which a source can be wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from einthoven.datasets.building import prepare
from einthoven.datasets.cohort import Cohort, prepared_cohorts
from einthoven.datasets.dataset import Record, SourceRecord
from einthoven.datasets.registry import DATASETS
from einthoven.datasets.source import _DECIDING, _DESCRIBING, open_source
from einthoven.datasets.writing import write_cohort
from einthoven.foundation.code_identity import code_identity
from einthoven.foundation.errors import DataError, UnknownNameError, UsageError

LEADS = ("I", "II", "III", "AVR", "AVL", "AVF", "V1", "V2", "V3", "V4", "V5", "V6")


def test_a_prepared_cohort_holds_what_the_source_says(ptbxl, home) -> None:
    cohort = prepare("ptbxl", ptbxl.path)
    assert (cohort.name, len(cohort), cohort.rate) == ("ptbxl-100hz", 40, 100.0)
    np.testing.assert_array_equal(np.load(cohort.path / "signals.npy"), np.stack([ptbxl.samples(i) for i in range(40)]))
    expected = np.stack([ptbxl.samples(i) / 1000 for i in range(40)]).astype(np.float32)
    for rows in (
        slice(2, 5),
        slice(None),
        slice(38, 99),
        slice(5, 5),
        slice(0, 40, 7),
        np.array([7, 3, 3]),
        slice(-2, None),
    ):
        np.testing.assert_array_equal(cohort.signals(rows), expected[rows])
    task = cohort.task("super")
    assert task.labels == ("MI", "NORM")
    np.testing.assert_array_equal(task.targets[:2], [[1, 0], [0, 1]])
    assert cohort.task("form").rows.tolist() == list(range(0, 40, 2))
    split = cohort.split()
    assert (split[:32] == "train").all()
    assert (split[32:36] == "val").all()
    assert (split[36:] == "test").all()
    assert cohort.records["patient_id"].to_list()[:5] == ["100", "100", "101", "101", "102"]
    coverage = cohort.manifest.tasks["super"]
    assert coverage.records_promised == coverage.records_present == {"train": 32, "val": 4, "test": 4}
    cohort.verify()


def test_preparing_again_does_nothing_and_the_fingerprint_is_content(ptbxl, home, monkeypatch, tmp_path) -> None:
    first = prepare("ptbxl", ptbxl.path)
    before = (first.path / "manifest.json").stat().st_mtime_ns
    assert prepare("ptbxl", ptbxl.path).fingerprint == first.fingerprint
    assert (first.path / "manifest.json").stat().st_mtime_ns == before
    monkeypatch.setenv("EINTHOVEN_HOME", str(tmp_path / "other"))
    moved = ptbxl.path.rename(tmp_path / "moved")
    assert prepare("ptbxl", moved, name="another").fingerprint == first.fingerprint


def test_another_content_under_the_same_name_is_refused_unless_replaced(ptbxl, home) -> None:
    first = prepare("ptbxl", ptbxl.path)
    ptbxl.rows[5]["scp_codes"] = "{'IMI': 0.0}"
    ptbxl.write_metadata()
    with pytest.raises(UsageError, match=r"prepared from something else: its tables were changed.*--replace"):
        prepare("ptbxl", ptbxl.path)
    assert Cohort.open("ptbxl-100hz").fingerprint == first.fingerprint
    second = prepare("ptbxl", ptbxl.path, replace=True)
    assert second.fingerprint != first.fingerprint
    assert [p.name for p in home.joinpath("cohorts").iterdir() if not p.name.startswith(".")] == ["ptbxl-100hz"]


def test_missing_files_are_counted_and_the_first_ten_named(ptbxl, home) -> None:
    for index in range(3, 16):
        ptbxl.stem(index).with_name(ptbxl.stem(index).name + ".dat").unlink()
    with pytest.raises(DataError) as caught:
        prepare("ptbxl", ptbxl.path)
    message = str(caught.value)
    assert "13 of 40 records have no signal file" in message
    assert "--allow-missing" in message
    assert message.count("_lr.dat") == 10
    assert "00004_lr.dat" in message
    assert prepared_cohorts() == []

    cohort = prepare("ptbxl", ptbxl.path, allow_missing=True)
    assert len(cohort) == 27
    assert cohort.manifest.excluded.counts == {"missing file": 13}
    assert cohort.manifest.excluded.first["missing file"][0] == "4"
    assert cohort.manifest.tasks["super"].records_promised["train"] == 32
    assert cohort.manifest.tasks["super"].records_present["train"] == 19
    assert cohort.excluded["record_id"].to_list() == [str(i + 1) for i in range(3, 16)]


def _with_nan(samples: np.ndarray) -> np.ndarray:
    samples[6, 100:103] = -32768
    return samples


def _edit_header(stem: Path, old: str, new: str) -> None:
    header = stem.with_name(f"{stem.name}.hea")
    text = header.read_text()
    assert text.count(old) == 1
    header.write_text(text.replace(old, new))


def _write_beyond_int16(ptbxl, index: int) -> None:
    # One sample of V1, so that the check for plausible amplitudes lets it pass; at half the gain the file can hold it.
    samples = ptbxl.samples(index)
    samples[6, 500] = -17000
    ptbxl.write_record(ptbxl.stem(index), samples)
    total = int(samples[6].astype(np.int64).sum()) % 65536
    rest = f"(0)/mV 16 0 {samples[6, 0]} {total} 0 V1\n"
    _edit_header(ptbxl.stem(index), f" 1000.0{rest}", f" 500.0{rest}")


@pytest.mark.parametrize(
    ("breaking", "message"),
    [
        (lambda p: p.write_record(p.stem(2), _with_nan(p.samples(2))), r"3 samples are not finite .* lead V1 \(3\)"),
        (
            lambda p: p.write_record(p.stem(2), p.samples(2)[:11], names=LEADS[:11]),
            r"Missing leads: V6; .* cannot be derived",
        ),
        (lambda p: p.write_record(p.stem(2), p.samples(2), unit="uV"), r"These are not millivolts: .* read as mV"),
        (lambda p: p.write_record(p.stem(2), p.samples(2)[:, :900]), "900 samples per lead; 1000 were expected"),
        (
            lambda p: p.write_record(p.stem(2), p.samples(2), names=(*LEADS[:11], "X9")),
            r"Unknown lead 'X9'",
        ),
        (
            lambda p: p.write_record(p.stem(2), p.samples(2), names=("II", "I", *LEADS[2:])),
            r"is not .* as it must be.*With the names of I and II exchanged all limb leads agree",
        ),
        (lambda p: p.write_record(p.stem(2), p.samples(2) * 0), "No lead moves"),
        (lambda p: _edit_header(p.stem(2), " 100 1000\n", " 250 1000\n"), "Sampled at 250 Hz; 100 Hz was expected"),
        (
            lambda p: _write_beyond_int16(p, 2),
            r"Lead V1 reaches -34\.0 mV at sample 500, beyond the 32\.8 mV that int16 holds at 1000 units per mV",
        ),
    ],
    ids=[
        "nan",
        "missing lead",
        "wrong unit",
        "short",
        "unknown lead",
        "exchanged names",
        "nothing",
        "wrong rate",
        "beyond int16",
    ],
)
def test_a_bad_record_stops_and_is_named_or_is_left_out_and_noted(ptbxl, home, breaking, message) -> None:
    breaking(ptbxl)
    with pytest.raises(DataError, match=message) as caught:
        prepare("ptbxl", ptbxl.path)
    assert any("dataset ptbxl, record 3" in note for note in caught.value.__notes__)
    assert prepared_cohorts() == []
    cohort = prepare("ptbxl", ptbxl.path, bad_records="exclude")
    assert len(cohort) == 39
    assert cohort.manifest.excluded.counts == {"bad record": 1}
    assert cohort.excluded["record_id"].to_list() == ["3"]
    expected = [ptbxl.samples(i) for i in range(40) if i != 2]
    np.testing.assert_array_equal(np.load(cohort.path / "signals.npy"), np.stack(expected))
    assert "3" not in cohort.record_ids
    cohort.verify()


@pytest.mark.parametrize("samples", [900, 1100])
def test_records_that_are_all_bad_make_no_cohort(ptbxl, home, samples) -> None:
    for index in range(40):
        ptbxl.write_record(ptbxl.stem(index), np.resize(ptbxl.samples(index), (12, samples)))
    with pytest.raises(DataError, match=f"^{samples} samples per lead; 1000 were expected"):
        prepare("ptbxl", ptbxl.path)
    with pytest.raises(DataError, match=f"Every one of the 40 records of ptbxl was bad.*{samples} samples per lead"):
        prepare("ptbxl", ptbxl.path, bad_records="exclude")
    assert prepared_cohorts() == []
    assert not list((home / "cohorts").glob(".unfinished-*"))


def test_progress_counts_bad_records_too(ptbxl, home) -> None:
    for index in (2, 39):
        ptbxl.write_record(ptbxl.stem(index), ptbxl.samples(index)[:, :900])
    told: list[tuple[int, int]] = []
    with pytest.raises(DataError, match="900 samples per lead"):
        prepare("ptbxl", ptbxl.path, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 40), (2, 40), (3, 40)]
    told.clear()
    prepare("ptbxl", ptbxl.path, bad_records="exclude", progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 40) for done in range(1, 41)]


@pytest.mark.parametrize("change", [np.transpose, lambda signal: signal[:11], lambda signal: signal[None]])
def test_a_signal_of_another_shape_than_its_leads_is_refused(ptbxl, tmp_path, change) -> None:
    source = open_source(DATASETS.get("ptbxl"), ptbxl.path, rate=100.0, options={})

    def read(record: SourceRecord) -> Record:
        found = source.scan.read(record)
        return replace(found, signal=change(found.signal))

    changed = replace(source, scan=replace(source.scan, read=read))
    with pytest.raises(DataError, match=r"The signal has shape \(.*\) of 12 leads was expected") as caught:
        write_cohort(tmp_path, changed, name="x", request={})
    assert "dataset ptbxl, record 1" in caught.value.__notes__


def test_duplicate_record_ids_are_refused(ptbxl, home) -> None:
    ptbxl.rows[9]["ecg_id"] = 4
    ptbxl.write_metadata()
    with pytest.raises(DataError, match=r"1 record ids of dataset ptbxl occur more than once.* First: 4\."):
        prepare("ptbxl", ptbxl.path)


def test_a_patient_in_two_splits_is_refused(ptbxl, home) -> None:
    ptbxl.rows[39]["patient_id"] = "100.0"
    ptbxl.write_metadata()
    with pytest.raises(
        DataError,
        match=r"puts 1 patient\(s\) into more than one split.* patient 100 \(record 1 in train, record 40 in test\)",
    ):
        prepare("ptbxl", ptbxl.path)


def test_a_path_out_of_the_source_folder_is_refused(ptbxl, home) -> None:
    ptbxl.rows[0]["filename_lr"] = "../../etc/passwd"
    ptbxl.write_metadata()
    with pytest.raises(DataError, match="outside"):
        prepare("ptbxl", ptbxl.path)


def test_unknown_names_have_suggestions(ptbxl, home) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown dataset 'ptb-xl'\. Did you mean 'ptbxl'"):
        prepare("ptb-xl", ptbxl.path)
    cohort = prepare("ptbxl", ptbxl.path)
    with pytest.raises(UnknownNameError, match="Did you mean 'super'"):
        cohort.task("supper")
    with pytest.raises(UnknownNameError, match="Did you mean 'ptbxl-100hz'"):
        Cohort.open("ptbxl-500hz")
    with pytest.raises(UsageError, match="cannot be a cohort's name"):
        prepare("ptbxl", ptbxl.path, name="../escape")


def test_a_changed_cohort_is_found_out(ptbxl, home) -> None:
    cohort = prepare("ptbxl", ptbxl.path)
    stored = np.load(cohort.path / "signals.npy", mmap_mode="r+")
    stored[3, 2, 1] += 1
    stored.flush()
    with pytest.raises(DataError, match="signals changed"):
        Cohort.open("ptbxl-100hz").verify()
    file = cohort.path / "signals.npy"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(DataError, match="Prepare the cohort again"):
        Cohort.open("ptbxl-100hz")


def test_a_damaged_or_older_manifest_is_said_and_can_be_replaced(ptbxl, home) -> None:
    cohort = prepare("ptbxl", ptbxl.path)
    file = cohort.path / "manifest.json"
    values = json.loads(file.read_text())
    for text, message in [
        (json.dumps({**values, "schema_version": 0}), "has schema 0; this version reads 2"),
        (json.dumps({**values, "surprise": 1}), "is damaged"),
        ("{", "is damaged"),
    ]:
        file.write_text(text)
        with pytest.raises(DataError, match=message):
            Cohort.open("ptbxl-100hz")
    assert prepare("ptbxl", ptbxl.path, replace=True).fingerprint == cohort.fingerprint


def test_a_changed_label_table_is_found_out(ptbxl, home) -> None:
    cohort = prepare("ptbxl", ptbxl.path)
    file = cohort.path / "labels" / "super.parquet"
    pl.read_parquet(file).with_columns(pl.col("MI") * 0).write_parquet(file)
    with pytest.raises(DataError, match="labels/super changed"):
        cohort.verify()


def test_a_kill_leaves_nothing_and_the_next_run_succeeds(ptbxl, home) -> None:
    script = (
        "import sys, time\n"
        "from einthoven.datasets.building import prepare\n"
        "def slow(done, total):\n"
        "    print(done, flush=True)\n"
        "    time.sleep(0.2)\n"
        "prepare('ptbxl', sys.argv[1], progress=slow)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(ptbxl.path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while (line := process.stdout.readline()) and int(line) < 3:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert prepared_cohorts() == []
    cohort = prepare("ptbxl", ptbxl.path)
    assert len(cohort) == 40
    assert not list((home / "cohorts").glob(".unfinished-*"))


def test_the_sources_are_listed_with_their_digests(ptbxl, home) -> None:
    import hashlib

    cohort = prepare("ptbxl", ptbxl.path)
    sources = pl.read_parquet(cohort.path / "sources.parquet")
    assert len(sources) == 2 + 80
    for row in sources.iter_rows(named=True):
        assert hashlib.sha256((ptbxl.path / row["file"]).read_bytes()).hexdigest() == row["sha256"]
    json.loads((cohort.path / "manifest.json").read_text())


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("sex", 2, "record 6 has sex 2; 0 .male., 1 .female. or nothing was expected"),
        ("sex", "F", "record 6 has sex 'F'; a number was expected"),
        ("age", "old", "record 6 has age 'old'; a number was expected"),
        ("age", 400, "1 ages of dataset ptbxl are neither years .* 400.0 .record 6."),
        ("strat_fold", 11, "record 6 has strat_fold 11; 1 to 10 was expected"),
        ("strat_fold", "x", "record 6 has strat_fold 'x'; a number was expected"),
        ("patient_id", "", "record 6 has no patient_id"),
        ("patient_id", "x", "record 6 has patient_id 'x'; a number was expected"),
    ],
)
def test_one_odd_value_of_the_table_is_named_and_spoils_no_other(ptbxl, home, column, value, message) -> None:
    ptbxl.rows[5][column] = value
    ptbxl.write_metadata()
    with pytest.raises(DataError, match=message):
        prepare("ptbxl", ptbxl.path)


def test_missing_age_and_sex_are_missing(ptbxl, home) -> None:
    ptbxl.rows[5]["age"] = ptbxl.rows[5]["sex"] = ""
    ptbxl.write_metadata()
    records = prepare("ptbxl", ptbxl.path).records
    assert records.filter(pl.col("age").is_null())["record_id"].to_list() == ["6"]
    assert records.filter(pl.col("sex").is_null())["record_id"].to_list() == ["6"]
    assert records["age"][0] == 90.0


def test_replace_mends_what_is_damaged_and_reads_what_was_edited(ptbxl, home) -> None:
    cohort = prepare("ptbxl", ptbxl.path)
    file = cohort.path / "signals.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert prepare("ptbxl", ptbxl.path, replace=True).fingerprint == cohort.fingerprint
    Cohort.open("ptbxl-100hz").verify()
    ptbxl.write_record(ptbxl.stem(3), ptbxl.samples(4))
    assert prepare("ptbxl", ptbxl.path, replace=True).fingerprint != cohort.fingerprint


def test_a_code_that_the_statements_do_not_have_is_refused(ptbxl, home) -> None:
    ptbxl.rows[3]["scp_codes"] = "{'NORMM': 100.0}"
    ptbxl.write_metadata()
    with pytest.raises(DataError, match=r"record 4 has the code 'NORMM', which scp_statements\.csv does not"):
        prepare("ptbxl", ptbxl.path)


@pytest.mark.parametrize("content", [b"", b"ecg_id,patient_id\n\xff\xfe,1\n"])
def test_a_table_that_is_none_is_refused(ptbxl, home, content) -> None:
    (ptbxl.path / "ptbxl_database.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"ptbxl_database\.csv"):
        prepare("ptbxl", ptbxl.path)


@pytest.mark.parametrize(
    ("dataset", "module"),
    [
        ("afdb", "windows"),
        ("unified-af", "recordings"),
        ("csn", "challenge"),
        ("code15", "array_files"),
        ("ptbxl", "wfdb_header"),
    ],
)
def test_the_modules_that_read_a_dataset_are_part_of_what_its_cohort_is_made_from(dataset: str, module: str) -> None:
    scan = DATASETS.get(dataset).scan
    whole = code_identity(scan, within=_DECIDING, without=_DESCRIBING)
    assert code_identity(scan, within=_DECIDING, without=(*_DESCRIBING, f"einthoven.datasets.{module}")) != whole
