"""CODE-15%: exams found by their id, padding taken off, who died within a year; made files and real records."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue.code15 import DATASET, LABELS, without_padding
from einthoven.datasets.dataset import Scan
from einthoven.foundation.errors import DataError
from einthoven.signals.limb_law import BROKEN_ABOVE, LIMB_LEADS, limb_lead_residuals
from einthoven.signals.units import record_amplitudes

from .layouts import EXAM_COLUMNS, ecg, exam, write_code15, write_csv, write_part


def scan(folder) -> Scan:
    return DATASET.scan(folder, 400.0, {})


def test_a_tracing_is_found_by_its_exam_and_not_by_its_place(tmp_path) -> None:
    scanned = scan(write_code15(tmp_path))
    for record in scanned.records:
        part = record.files[0]
        samples = 2934 if part == "exams_part2.hdf5" else 4096
        expected = ecg(samples, 400, size=1 + int(record.record_id) / 100)
        found = scanned.read(record)
        assert found.signal.dtype == np.float32
        np.testing.assert_allclose(found.signal, expected, atol=1e-6)
    # Files one after the other, by number: 2 before 10.
    assert [r.files[0] for r in scanned.records] == ["exams_part2.hdf5"] * 5 + ["exams_part10.hdf5"] * 5


def test_labels_ages_sexes_and_patients(tmp_path) -> None:
    scanned = scan(write_code15(tmp_path))
    task = scanned.tasks["abnormalities"]
    assert task.labels == LABELS == ("1dAVb", "RBBB", "LBBB", "SB", "ST", "AF")
    assert {record for record, labels in task.positives.items() if labels} == {"103"}
    assert (task.positives["103"], len(task.positives)) == (frozenset(["AF"]), 10)
    by_id = {record.record_id: record for record in scanned.records}
    assert (by_id["102"].metadata["age"], by_id["102"].metadata["sex"]) == (42.0, "F")
    assert by_id["107"].patient_id == by_id["108"].patient_id == by_id["109"].patient_id
    assert len({scanned.splits["hash"][record] for record in ("107", "108", "109")}) == 1


@pytest.mark.parametrize(
    ("death", "years", "expected"),
    [
        ("True", "0.4", True),
        ("True", "1.0", True),
        ("True", "1.2", False),  # died, but later
        ("True", "0.001", True),
        ("True", "0", None),  # at the ECG or before it: not after it, as in imported tables
        ("True", "-0.0", None),
        ("True", "-2", None),
        ("False", "0", None),
        ("False", "-2", None),
        ("True", "nan", None),
        ("False", "nan", None),
        ("False", "3.0", False),
        ("False", "1.0", False),
        ("False", "0.9", None),  # alive when last seen, not yet a year later
        ("", "", None),
        ("True", "", None),
        ("", "0.5", None),
        ("", "3.0", None),
    ],
)
def test_who_died_within_a_year_and_of_whom_it_is_not_known(tmp_path, death, years, expected) -> None:
    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS, [exam(1, 1, death=death, timey=years), exam(2, 2)])
    positives = scan(tmp_path).tasks["death-1y"].positives
    assert dict(positives) == ({} if expected is None else {"1": frozenset(["death"] if expected else [])})


def test_a_death_at_or_before_the_ecg_is_left_out_and_counted(tmp_path) -> None:
    years = ("0", "-1", "0.5", "2", "", "nan")
    rows = [exam(i + 1, i, death="True", timey=time) for i, time in enumerate(years)]
    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS, [*rows, exam(9, 9, death="False", timey="0")])
    scanned = scan(tmp_path)
    assert dict(scanned.tasks["death-1y"].positives) == {"3": {"death"}, "4": frozenset()}
    assert "Left out of death-1y: 2 exams with a death at or before the ECG." in scanned.notes
    assert scanned.rules["code15-death"].startswith("2: ")
    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS, [exam(1, 1, death="True", timey="0.5")])
    assert not any("Left out" in note for note in scan(tmp_path).notes)


@pytest.mark.parametrize(("age", "expected"), [("", None), ("nan", None), ("inf", None), ("-1", None), ("126", None),
                                             ("0", 0.0), ("125", 125.0)])  # fmt: skip
def test_an_age_that_nobody_has_is_none(tmp_path, age, expected) -> None:
    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS, [exam(1, 1, age=age)])
    assert scan(tmp_path).records[0].metadata["age"] == expected


@pytest.mark.parametrize("column", ["exam_id", "AF", "trace_file"])
def test_a_column_that_is_there_twice_is_named(tmp_path, column) -> None:
    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS, [exam(1, 1)])
    head, _, rest = (tmp_path / "exams.csv").read_text().partition("\n")
    (tmp_path / "exams.csv").write_text(f"{head.strip()},{column}\n{rest}")
    with pytest.raises(DataError, match=f"has more than one column {column}; one was expected. Remove the others"):
        scan(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_a_table_that_is_no_utf8_is_refused(tmp_path, encoding) -> None:
    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS, [exam(1, 1, patient_id="Zoé")])
    (tmp_path / "exams.csv").write_bytes((tmp_path / "exams.csv").read_text(encoding="utf-8").encode(encoding))
    with pytest.raises(DataError, match=r"exams\.csv is not UTF-8 text: byte \d+ is 0x.*save it as UTF-8"):
        scan(tmp_path)


def test_a_cohort_keeps_each_records_own_length(tmp_path, home) -> None:
    cohort = prepare("code15", write_code15(tmp_path / "source"))
    assert (len(cohort), cohort.samples, cohort.manifest.patients) == (10, None, 8)
    assert sorted(set(cohort.lengths.tolist())) == [2934, 4096]
    assert len(cohort.task("death-1y").rows) == 2
    cohort.verify()


def test_padding_is_what_is_zero_in_every_lead_and_no_more() -> None:
    tracing = np.zeros((4096, 12))
    tracing[581:3515] = ecg(2934, 400).T
    tracing[600:700] = 0  # a gap within the recording
    tracing[581, 1:] = 0  # one lead is not zero
    assert without_padding(tracing, where="x").shape == (12, 2934)
    assert without_padding(tracing[581:], where="x").shape == (12, 2934)
    with pytest.raises(DataError, match="of exam 5 is zero throughout"):
        without_padding(np.zeros((4096, 12)), where="exam 5")
    with pytest.raises(DataError, match=r"shape \(12, 4096\); \(samples, 12\)"):
        without_padding(tracing.T, where="exam 5")


def test_an_exam_without_a_tracing_is_told_and_the_row_of_zeros_is_nobody(tmp_path, home) -> None:
    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS, [exam(1, 1), exam(0, 2), exam(3, 3)])
    write_part(tmp_path / "exams_part0.hdf5", {1: ecg(4096, 400).T})
    with pytest.raises(DataError, match=r"exams_part0\.hdf5 has no tracing of exam 0, though exams\.csv says so"):
        prepare("code15", tmp_path)
    cohort = prepare("code15", tmp_path, bad_records="exclude")
    assert cohort.record_ids.tolist() == ["1"]


def test_an_exam_that_a_file_has_twice_is_refused(tmp_path) -> None:
    import h5py

    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS, [exam(1, 1)])
    with h5py.File(tmp_path / "exams_part0.hdf5", "w") as opened:
        opened["exam_id"] = [1, 1]
        opened["tracings"] = np.ones((2, 4096, 12), dtype=np.float32)
    scanned = scan(tmp_path)
    with pytest.raises(DataError, match="has an exam id more than once"):
        scanned.read(scanned.records[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"AF": "maybe"}, r"exams\.csv, row 2 \(exam_id 2\): AF is 'maybe'; True or False was expected"),
        ({"AF": ""}, r"row 2 \(exam_id 2\): AF is None; True or False was expected"),
        ({"timey": "long"}, "timey is 'long'; a number or nothing was expected"),
        ({"timey": "inf"}, "timey is 'inf'; a number or nothing was expected"),
        ({"age": "old"}, "age is 'old'; a number or nothing was expected. Correct it or download the file again"),
        ({"trace_file": ""}, "row 2 .*: trace_file is None; a value was expected"),
        ({"patient_id": ""}, "row 2 .*: patient_id is None; .*Correct it or download the file again"),
    ],
)
def test_a_row_that_is_not_what_it_should_be_is_refused(tmp_path, change, message) -> None:
    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS, [exam(1, 1), exam(2, 2, **change)])
    with pytest.raises(DataError, match=message):
        scan(tmp_path)


def test_a_folder_or_table_of_something_else_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match=r"exams\.csv does not exist"):
        scan(tmp_path)
    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS[:-1], [])
    with pytest.raises(DataError, match="has no column trace_file"):
        scan(tmp_path)


@pytest.mark.realdata
def test_real_records_padded_as_the_release_pads_them_come_back(real_data, tmp_path, home) -> None:
    """Ten real recordings, put into files of the release's layout with their rows of exams.csv."""
    import scipy.io

    with (real_data / "code15" / "meta.csv").open() as stream:
        rows = [{column: row[column] for column in EXAM_COLUMNS} for row in csv.DictReader(stream)]
    signals = {
        int(row["exam_id"]): scipy.io.loadmat(real_data / "code15" / "org" / f"code_15_{row['exam_id']}.mat")["feats"]
        for row in rows
    }
    write_csv(tmp_path / "exams.csv", EXAM_COLUMNS, rows)
    for part in {row["trace_file"] for row in rows}:
        exams = [int(row["exam_id"]) for row in rows if row["trace_file"] == part]
        write_part(tmp_path / part, {exam_id: signals[exam_id].T for exam_id in sorted(exams)})
    cohort = prepare("code15", tmp_path)
    assert len(cohort) == 10
    assert sorted(set(cohort.lengths.tolist())) == [2934, 4096]
    for row, record in enumerate(cohort.record_ids):
        np.testing.assert_allclose(cohort.signal(row), signals[int(record)], atol=5.1e-4)
    targets = {
        label: int(count) for label, count in zip(LABELS, cohort.task("abnormalities").targets.sum(axis=0), strict=True)
    }
    assert targets == {"1dAVb": 3, "RBBB": 3, "LBBB": 0, "SB": 2, "ST": 2, "AF": 0}
    death = cohort.task("death-1y")
    assert (len(death.rows), int(death.targets.sum())) == (7, 0)  # three unknown; the one death came after 1.2 years


@pytest.mark.realdata
def test_as_millivolts_real_records_are_large_but_possible_and_in_the_order_of_leads_that_is_said(real_data) -> None:
    import scipy.io

    signals = [scipy.io.loadmat(file)["feats"] for file in sorted((real_data / "code15" / "org").glob("*.mat"))]
    amplitudes = np.array([float(record_amplitudes(signal)) for signal in signals])
    assert 1.4 < amplitudes.min() < amplitudes.max() < 5.3
    leads = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
    residuals = np.array([limb_lead_residuals(signal[None], leads)[0] for signal in signals])
    assert (residuals.max(axis=1) < BROKEN_ABOVE).all()
    # With aVR last, as an older text has it, they are not.
    swapped = [*LIMB_LEADS[:3], "aVL", "aVF", "aVR", *leads[6:]]
    wrong = np.array([limb_lead_residuals(signal[None], swapped)[0] for signal in signals])
    assert (wrong.max(axis=1) > BROKEN_ABOVE).all()
