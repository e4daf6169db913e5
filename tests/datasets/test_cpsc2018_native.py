"""CPSC2018 in the layout of its own challenge: same records, labels and splits as in that of the others."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue.cpsc2018 import DATASET, SNOMED_OF_NATIVE
from einthoven.datasets.catalogue.cpsc2018 import LABEL_OF_CODE as DATASET_LABELS
from einthoven.datasets.dataset import Scan
from einthoven.datasets.wfdb_files import read_wfdb
from einthoven.foundation.errors import DataError
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.limb_law import limb_lead_residuals
from einthoven.signals.units import record_amplitudes

from .layouts import ecg, write_csv

COLUMNS = ("Recording", "First_label", "Second_label", "Third_label")
NUMBER_OF = {code: number for number, code in SNOMED_OF_NATIVE.items()}


def write(folder: Path, name: str, signal: np.ndarray, *, age: object = 50.0, sex: str = "Male") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    scipy.io.savemat(folder / f"{name}.mat", {"ECG": {"sex": sex, "age": age, "data": signal}}, do_compression=True)


def reference(folder: Path, labels: Mapping[str, tuple[str, ...]]) -> None:
    write_csv(folder / "REFERENCE.csv", COLUMNS, [dict(zip(COLUMNS, (k, *v), strict=False)) for k, v in labels.items()])


def scan(folder: Path) -> Scan:
    return DATASET.scan(folder, 500.0, {})


def test_lengths_ages_and_labels_of_made_records(tmp_path, home) -> None:
    source = tmp_path / "source"
    for index in range(10):
        signal = ecg((5000, 4500, 7501)[index % 3], 500, size=1 + index / 10)
        write(
            source / f"TrainingSet{index % 3 + 1}",
            f"A{index + 1:04d}",
            signal,
            age=np.nan if index == 0 else 40 + index,
        )
    reference(source, {f"A{i + 1:04d}": (str(i % 9 + 1), "5") if i == 1 else (str(i % 9 + 1),) for i in range(10)})
    cohort = prepare("cpsc2018", source, allow_missing=True)
    assert cohort.samples == 5000
    assert cohort.manifest.promised_records == 10
    assert cohort.manifest.excluded.counts == {"shorter than 10 s": 3}
    assert cohort.records["age"].to_list() == [None, 42.0, 43.0, 45.0, 46.0, 48.0, 49.0]
    row = list(cohort.record_ids).index("A0003")
    np.testing.assert_allclose(cohort.signal(row), ecg(7501, 500, size=1.2)[:, 1250:6250], atol=5.1e-4)
    assert scan(source).tasks["rhythm-form"].positives["A0001"] == {"NSR"}
    assert scan(source).tasks["rhythm-form"].positives["A0010"] == {"NSR"}


def test_the_nine_labels_are_those_of_the_challenge_of_2018() -> None:
    positives = {}
    for number, code in SNOMED_OF_NATIVE.items():
        positives[number] = next(label for c, label in DATASET_LABELS.items() if c == code)
    assert positives == {
        "1": "NSR", "2": "AF", "3": "IAVB", "4": "LBBB", "5": "RBBB", "6": "PAC", "7": "PVC", "8": "STD", "9": "STE",
    }  # fmt: skip


def test_a_promised_record_without_its_file_is_missing(tmp_path, home) -> None:
    write(tmp_path, "A0001", ecg(5000, 500))
    reference(tmp_path, {"A0001": ("1",), "A0002": ("2", "8")})
    with pytest.raises(DataError, match=r"A0002\.mat"):
        prepare("cpsc2018", tmp_path)
    cohort = prepare("cpsc2018", tmp_path, allow_missing=True)
    assert cohort.manifest.excluded.counts == {"missing file": 1}


def test_a_mix_of_the_two_releases_is_refused(tmp_path) -> None:
    write(tmp_path, "A0001", ecg(5000, 500))
    (tmp_path / "A0002.hea").write_text("A0002 0 500 5000\n")
    with pytest.raises(DataError, match=r"1 headers .* and 1 \.mat files without one, first A0001\.mat"):
        scan(tmp_path)
    (tmp_path / "A0001.mat").unlink()
    reference(tmp_path, {"A0001": ("1",)})
    with pytest.raises(DataError, match=r"1 headers .* and a REFERENCE\.csv"):
        scan(tmp_path)


def test_files_without_their_reference_are_refused(tmp_path) -> None:
    write(tmp_path, "A0001", ecg(5000, 500))
    with pytest.raises(DataError, match=r"0 files called REFERENCE\.csv; one was expected"):
        scan(tmp_path)
    reference(tmp_path, {"A0002": ("1",)})
    with pytest.raises(DataError, match=r"A0001\.mat is not in REFERENCE\.csv"):
        scan(tmp_path)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"A0001": ("10",)}, "record A0001 has the label '10'; 1 to 9 was expected"),
        ({"A0001": ()}, "record A0001 has no label"),
        ({"B1": ("1",)}, "the record 'B1' is repeated, or no name like A0001"),
    ],
)
def test_a_reference_that_is_not_what_it_should_be_is_refused(tmp_path, labels, message) -> None:
    reference(tmp_path, labels)
    with pytest.raises(DataError, match=message):
        scan(tmp_path)


@pytest.mark.parametrize(
    "content", [b"Recording,\xe9\n", "Recording\n".encode("utf-16"), "Recording\n".encode("utf-16-le")]
)
def test_a_reference_that_is_no_utf8_is_refused(tmp_path, content) -> None:
    (tmp_path / "REFERENCE.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"REFERENCE\.csv is not UTF-8 text: byte \d+ is 0x"):
        scan(tmp_path)


def test_a_reference_without_a_column_or_with_one_twice_is_refused(tmp_path) -> None:
    (tmp_path / "REFERENCE.csv").write_text("Recording,First_label\n")
    with pytest.raises(DataError, match="has no column Second_label, Third_label; found Recording, First_label"):
        scan(tmp_path)
    (tmp_path / "REFERENCE.csv").write_text(",".join((*COLUMNS, "Recording")) + "\n")
    with pytest.raises(DataError, match="has more than one column Recording"):
        scan(tmp_path)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"val": np.ones((12, 5000))}, "has no struct ECG of sex, age and data"),
        ({"ECG": {"sex": "Male", "age": 5, "data": np.ones((5000, 12))}}, r"shape \(5000, 12\); \(12, samples\)"),
    ],
)
def test_a_file_that_is_no_such_struct_is_refused(tmp_path, stored, message) -> None:
    scipy.io.savemat(tmp_path / "A0001.mat", stored)
    reference(tmp_path, {"A0001": ("1",)})
    with pytest.raises(DataError, match=message):
        scan(tmp_path)


def test_a_file_that_may_not_be_read_is_refused_with_the_words_of_the_system(tmp_path, monkeypatch) -> None:
    write(tmp_path, "A0001", ecg(5000, 500))
    reference(tmp_path, {"A0001": ("1",)})

    opened = Path.open

    def refuse(file: Path, *args: Any, **options: Any) -> Any:
        if file.suffix == ".mat":
            raise PermissionError(13, "Permission denied", str(file))
        return opened(file, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"A0001\.mat cannot be read \(Permission denied\)\. Check who may read it"):
        scan(tmp_path)


@pytest.mark.realdata
def test_real_files_are_millivolts_in_standard_order_with_the_labels_of_an_independent_table(
    real_data, tmp_path, home
) -> None:
    names = {"AFIB": "AF", "VPC": "PVC", "NORM": "NSR", "1AVB": "IAVB", "CRBBB": "RBBB", "CLBBB": "LBBB"}
    number_of = {label: NUMBER_OF[code] for code, label in DATASET_LABELS.items()}
    stated: dict[str, set[str]] = {}
    for part in ("train", "val", "test"):
        with (real_data / "splits_merl" / "icbeb" / f"icbeb_{part}.csv").open() as stream:
            for row in csv.DictReader(stream):
                stated[row["filename"]] = {names.get(k, k) for k in list(row)[7:] if row[k] == "1"}
    files = sorted((real_data / "cpsc2018_native").glob("*.mat"))
    assert [file.stem for file in files] == ["A1980", "A1981", "A1982", "A1983"]
    for file in files:
        shutil.copy(file, tmp_path / file.name)
    reference(tmp_path, {file.stem: tuple(number_of[label] for label in sorted(stated[file.stem])) for file in files})
    cohort = prepare("cpsc2018", tmp_path, allow_missing=True)
    assert list(zip(cohort.records["age"], cohort.records["sex"], strict=True)) == [
        (52.0, "M"),
        (48.0, "F"),
        (89.0, "M"),
        (49.0, "M"),
    ]
    task = cohort.task("rhythm-form")
    for row, record in enumerate(cohort.record_ids):
        assert {k for k, hit in zip(task.labels, task.targets[row], strict=True) if hit} == stated[record]
    for row, file in enumerate(files):
        signal = scipy.io.loadmat(file)["ECG"][0, 0]["data"]
        start = (signal.shape[1] - 5000) // 2
        np.testing.assert_allclose(cohort.signal(row), signal[:, start : start + 5000], atol=5.1e-4)
        assert 1.0 < float(record_amplitudes(signal)) < 1.2
        assert limb_lead_residuals(signal[None].astype(np.float32), STANDARD_LEADS).max() < 0.02
        np.testing.assert_allclose(signal[2], signal[1] - signal[0], atol=1e-12)


@pytest.mark.realdata
def test_both_releases_of_the_same_records_are_one_dataset(real_data, tmp_path, home) -> None:
    """The challenge's records, written as the challenge of 2018 has them: same ids, labels, splits and signals."""
    source = real_data / "cinc2021_tuijalei" / "CPSC_CPSC-Extra"
    other = scan(source)
    labels = {}
    for record in other.records:
        stem = record.files[0].removesuffix(".hea")
        whole = read_wfdb(source / stem, record_id=record.record_id, patient_id=record.record_id)
        sex = {"F": "Female", "M": "Male"}[record.metadata["sex"]]
        write(
            tmp_path / "native", record.record_id, whole.signal.astype(np.float64), age=record.metadata["age"], sex=sex
        )
        labels[record.record_id] = tuple(NUMBER_OF[code] for code in record.metadata["dx"].split(","))
    reference(tmp_path / "native", labels)
    native = scan(tmp_path / "native")
    assert [(r.record_id, dict(r.metadata), r.left_out) for r in native.records] == [
        (r.record_id, dict(r.metadata), r.left_out) for r in other.records
    ]
    assert (native.tasks, native.splits) == (other.tasks, other.splits)
    one, two = (
        prepare("cpsc2018", source, name="one", allow_missing=True),
        prepare("cpsc2018", tmp_path / "native", name="two", allow_missing=True),
    )
    assert one.signals_fingerprint == two.signals_fingerprint
