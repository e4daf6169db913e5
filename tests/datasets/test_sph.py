"""SPH: primary statements and their modifiers, lengths, patients; made files and real ones."""

from __future__ import annotations

import csv
import shutil

import h5py
import numpy as np
import pytest

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue.sph import DATASET, STATEMENTS, statements
from einthoven.foundation.errors import DataError
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.limb_law import limb_lead_residuals
from einthoven.signals.units import record_amplitudes

from .layouts import ecg, write_csv, write_sph


def test_a_cohort_from_the_layout_of_the_release(tmp_path, home) -> None:
    cohort = prepare("sph", write_sph(tmp_path / "source"))
    assert (len(cohort), cohort.samples, cohort.rate, cohort.manifest.patients) == (5, None, 500.0, 4)
    assert cohort.lengths.tolist() == [5000, 5500, 6000, 6500, 7000]
    assert cohort.records["sex"].to_list() == ["F", "M", "F", "M", "F"]
    for row, samples in enumerate(cohort.lengths):
        np.testing.assert_allclose(cohort.signal(row), ecg(int(samples), 500), atol=2e-3)  # float16
    task = cohort.task("statements")
    found = [{label for label, hit in zip(task.labels, row, strict=True) if hit} for row in task.targets]
    assert found == [
        {"Normal ECG"},
        {"Sinus bradycardia", "Sinus arrhythmia"},
        {"Ventricular premature complex(es)", "T-wave abnormality"},
        {"Atrial fibrillation"},
        {"Left bundle-branch block", "ST deviation"},
    ]


def test_the_statements_are_the_44_of_the_release() -> None:
    assert len(STATEMENTS) == len(set(STATEMENTS.values())) == 44
    assert statements("147+367+310", "x") == statements("147", "x") == {"T-wave abnormality"}


@pytest.mark.parametrize("code", ["", "22;", "310", "20", "22,23", "22+1;200"])
def test_any_other_code_is_refused(code) -> None:
    with pytest.raises(DataError, match=r"record A00009 has AHA_Code .*is none of its 44"):
        statements(code, "A00009")


def test_a_signal_of_another_length_than_promised_is_refused(tmp_path, home) -> None:
    folder = write_sph(tmp_path / "source")
    with h5py.File(folder / "records" / "A00002.h5", "w") as opened:
        opened["ecg"] = ecg(5000, 500).astype(np.float16)
    message = r"ecg of record A00002 has shape \(12, 5000\); metadata.csv promises \(12, 5500\)"
    with pytest.raises(DataError, match=message):
        prepare("sph", folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Age": "old"}, "record A1 has Age 'old'; a number was expected"),
        ({"N": ""}, "record A1 has N ''; a number"),
        ({"Sex": "x"}, "record A1 has Sex 'x'; F, M or nothing"),
    ],
)
def test_a_row_that_is_not_what_it_should_be_is_refused(tmp_path, change, message) -> None:
    row = {"ECG_ID": "A1", "AHA_Code": "1", "Patient_ID": "S1", "Age": "1", "Sex": "F", "N": "5000", **change}
    write_csv(tmp_path / "metadata.csv", list(row), [row])
    with pytest.raises(DataError, match=message):
        DATASET.scan(tmp_path, 500.0, {})


def test_another_folder_or_table_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match=r"metadata\.csv does not exist"):
        DATASET.scan(tmp_path, 500.0, {})
    write_csv(tmp_path / "metadata.csv", ["ECG_ID", "N"], [])
    with pytest.raises(DataError, match="has no column AHA_Code, Patient_ID, Age, Sex"):
        DATASET.scan(tmp_path, 500.0, {})


@pytest.mark.realdata
def test_real_records_are_millivolts_in_standard_order(real_data, home, tmp_path) -> None:
    source = real_data / "cinc2021_tuijalei" / "SPH"
    cohort = prepare("sph", source)
    assert cohort.lengths.tolist() == [5000, 6000, 6500, 5000, 5000, 6500, 5000, 6000, 7500]
    assert cohort.manifest.patients == 9
    for row, record in enumerate(cohort.record_ids):
        with h5py.File(source / f"{record}.h5") as opened:
            stored = np.array(opened["ecg"], dtype=np.float32)
        np.testing.assert_allclose(cohort.signal(row), stored, atol=5.1e-4)
        assert 0.7 < float(record_amplitudes(stored)) < 1.4
        assert limb_lead_residuals(stored[None], STANDARD_LEADS).max() < 0.02
    # As the release lays them out: a folder of records.
    shutil.copy(source / "metadata.csv", tmp_path / "metadata.csv")
    shutil.copytree(source, tmp_path / "records", ignore=shutil.ignore_patterns("*.csv"))
    moved = prepare("sph", tmp_path, name="moved")
    assert moved.signals_fingerprint == cohort.signals_fingerprint


@pytest.mark.realdata
def test_real_labels_agree_with_an_independent_mapping_to_snomed(real_data) -> None:
    folder = real_data / "cinc2021_tuijalei"
    with (folder / "AHA_SNOMED_mapping.csv").open(encoding="utf-8-sig") as stream:
        snomed_of = {row["AHA_Code"].split("+")[0]: row["SNOMEDCTCode"] for row in csv.DictReader(stream)}
    code_of = {name: code for code, name in STATEMENTS.items()}
    scan = DATASET.scan(folder / "SPH", 500.0, {})
    with (folder / "SPH" / "metadata.csv").open() as stream:
        stated = {
            row["ECG_ID"].removesuffix(".h5"): set(row["SNOMEDCTCode"].split(",")) for row in csv.DictReader(stream)
        }
    for record, labels in scan.tasks["statements"].positives.items():
        # "1", a normal ECG, stands for sinus rhythm there.
        assert {snomed_of.get(code_of[label], "426783006") for label in labels} == stated[record]
