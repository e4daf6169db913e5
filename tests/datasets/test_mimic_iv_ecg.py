"""MIMIC-IV-ECG: leads by name, the benchmark's split, statements and measurements of the machine."""

from __future__ import annotations

import hashlib
import math
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue.mimic_iv_ecg import CONCEPTS, DATASET, STATEMENTS, patient_split
from einthoven.datasets.dataset import Scan
from einthoven.datasets.wfdb_header import parse_header
from einthoven.foundation.errors import DataError

from .layouts import ecg
from .record_layouts import MIMIC_LEADS, change, machine_row, without, write_mimic

FIRST = (10_000_032, 40_689_238)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_mimic(tmp_path / "source")


def scanned(folder: Path) -> Scan:
    return DATASET.scan(folder, 500.0, {})


def concepts_of(tmp_path: Path, **columns: object) -> dict[str, float]:
    folder = write_mimic(tmp_path / "one", machine=[machine_row(*FIRST, "Sinus rhythm", **columns)])
    return {name: float(values[0]) for name, values in scanned(folder).concepts["machine"].items()}


def test_leads_are_taken_by_name_and_not_by_place(folder, home) -> None:
    cohort = prepare("mimic-iv-ecg", folder)
    assert (len(cohort), cohort.rate, cohort.samples) == (30, 500.0, 5000)
    expected = ecg(5000, 500)
    np.testing.assert_allclose(cohort.signal(0), expected, atol=2.6e-3)
    assert not np.allclose(expected[4], expected[5], atol=0.05)
    first = scanned(folder)
    assert first.read(first.records[0]).leads == MIMIC_LEADS


@pytest.mark.realdata
def test_the_release_names_its_leads_in_another_order(real_data) -> None:
    file = real_data / "odd" / "issue_headers" / "40689238.hea"
    header = parse_header(file.read_text(), where="record 40689238")
    assert tuple(signal.name for signal in header.signals) == MIMIC_LEADS
    assert {(signal.gain, signal.unit) for signal in header.signals} == {(200.0, "mV")}
    assert (header.rate, header.samples) == (500.0, 5000)


def test_patients_are_split_by_the_benchmarks_own_hash(folder) -> None:
    patients = [str(10_000_032 + i) for i in range(2000)]
    for patient in patients[:50]:
        # Another way to the same number: the first 16 hexadecimal digits.
        digit = int(hashlib.sha256(f"external-head-v1:{patient}".encode()).hexdigest()[:16], 16) % 10
        assert patient_split(patient) == ("train" if digit <= 6 else "val" if digit == 7 else "test")
    shares = [patient_split(p) for p in patients]
    assert shares.count("train") / 2000 == pytest.approx(0.7, abs=0.03)
    assert shares.count("val") / 2000 == pytest.approx(0.1, abs=0.03)
    scan = scanned(folder)
    for record in scan.records:
        assert scan.splits["interpbench"][record.record_id] == patient_split(record.patient_id)


def test_a_statement_is_a_whole_line_of_the_report(tmp_path) -> None:
    subject, study = FIRST
    lines = [
        ("Sinus rhythm", "Normal ECG"),
        ("  SINUS RHYTHM. ", "Sinus rhythm with PACs"),
        ("Sinus rhythm with PACs", "Possible left ventricular hypertrophy"),
        (),
        (*(f"line {i}" for i in range(17)), "Atrial fibrillation"),
    ]
    machine = [machine_row(subject + i, study + i, *reports) for i, reports in enumerate(lines)]
    task = scanned(write_mimic(tmp_path / "source", machine=machine)).tasks["machine-statements"]
    assert task.labels == STATEMENTS
    assert dict(task.positives) == {
        str(study): {"sinus rhythm", "normal ecg"},
        str(study + 1): {"sinus rhythm"},
        str(study + 2): frozenset(),
        str(study + 4): {"atrial fibrillation"},
    }


def test_measurements_are_the_differences_of_the_machines_times(tmp_path) -> None:
    found = concepts_of(tmp_path, qrs_axis=-45)
    assert found == {
        "heart_rate": 75.0, "pr_interval": 160.0, "qrs_duration": 90.0, "qt_interval": 400.0,
        "p_axis": 40.0, "qrs_axis": -45.0, "t_axis": 40.0,
    }  # fmt: skip
    assert tuple(found) == CONCEPTS


@pytest.mark.parametrize(
    ("columns", "lost"),
    [
        ({"p_onset": 29999}, {"pr_interval"}),
        ({"p_onset": 0}, {"pr_interval"}),
        ({"p_onset": ""}, {"pr_interval"}),
        ({"p_onset": 250}, {"pr_interval"}),
        ({"qrs_onset": 29999}, {"pr_interval", "qrs_duration", "qt_interval"}),
        ({"qrs_end": 200}, {"qrs_duration"}),
        ({"t_end": 29000}, {"qt_interval"}),
        ({"rr_interval": 0}, {"heart_rate"}),
        ({"rr_interval": 65535}, {"heart_rate"}),
        ({"rr_interval": -5}, {"heart_rate"}),
        ({"t_axis": 29999}, {"t_axis"}),
        ({"t_axis": -361}, {"t_axis"}),
        ({"t_axis": 0}, set()),
        ({"t_axis": -180}, set()),
    ],
)
def test_placeholders_are_no_values(tmp_path, columns, lost) -> None:
    assert {name for name, value in concepts_of(tmp_path, **columns).items() if math.isnan(value)} == lost


def test_records_without_a_machine_row_are_kept_and_counted(folder, home) -> None:
    cohort = prepare("mimic-iv-ecg", folder)
    assert len(cohort.task("machine-statements").rows) == 27
    concepts = cohort.concepts("machine")
    assert np.flatnonzero(np.isnan(concepts["heart_rate"].to_numpy())).tolist() == [0, 10, 20]
    assert any("has no row for 3 of 30 records" in note for note in cohort.manifest.notes)
    assert cohort.records["age"].null_count() == 30


@pytest.mark.parametrize(
    ("file", "columns", "message"),
    [
        ("record_list.csv", {"study_id": FIRST[1] + 1}, rf"study_id {FIRST[1] + 1} more than once \(2 such rows\)"),
        ("record_list.csv", {"subject_id": ""}, "row 1: subject_id is None; a value was expected"),
        ("record_list.csv", {"path": ""}, r"row 1 \(subject_id 10000032\): path is None"),
        ("machine_measurements.csv", {"subject_id": 5}, "1 studies have another subject_id"),
        ("machine_measurements.csv", {"t_end": "late"}, r"row 1 .*: t_end is 'late'; a number or nothing"),
    ],
)
def test_tables_that_contradict_are_refused(folder, file, columns, message) -> None:
    change(folder / file, 0, **columns)
    with pytest.raises(DataError, match=message):
        scanned(folder)


def test_a_missing_table_or_column_is_named(folder) -> None:
    without(folder / "machine_measurements.csv", "qrs_onset")
    with pytest.raises(DataError, match=r"machine_measurements\.csv has no column qrs_onset"):
        scanned(folder)
    (folder / "machine_measurements.csv").unlink()
    with pytest.raises(DataError, match=r"machine_measurements\.csv does not exist"):
        scanned(folder)
    with pytest.raises(DataError, match="outside"):
        change(folder / "record_list.csv", 0, path="../../elsewhere")
        write_machine(folder)
        prepare("mimic-iv-ecg", folder)


def write_machine(folder: Path) -> None:
    row = {name: [str(value)] for name, value in machine_row(*FIRST, "Sinus rhythm").items()}
    pl.DataFrame(row).write_csv(folder / "machine_measurements.csv")


def test_a_scan_of_many_records_goes_by_column(tmp_path) -> None:
    """A tenth of the release; records one by one in Python would take several times as long."""
    count = 80_000
    study = np.arange(count) + 40_000_000
    listed = pl.DataFrame({"subject_id": 10_000_000 + study % 16_000, "study_id": study}).with_columns(
        path=pl.format("files/p1000/p{}/s{}/{}", "subject_id", "study_id", "study_id")
    )
    listed.write_csv(tmp_path / "record_list.csv")
    row = machine_row(0, 0, "Sinus rhythm", "Normal ECG")
    constant = [pl.lit(value).alias(name) for name, value in row.items() if name not in ("subject_id", "study_id")]
    listed.select("subject_id", "study_id", *constant).write_csv(tmp_path / "machine_measurements.csv")
    start = time.perf_counter()
    scan = scanned(tmp_path)
    assert time.perf_counter() - start < 4
    assert len(scan.records) == len(scan.tasks["machine-statements"].positives) == count
