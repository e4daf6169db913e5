"""SPH: primary statements and their modifiers, lengths, patients; made files and real ones."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue.sph import DATASET, STATEMENTS, statements
from einthoven.datasets.text_files import read_text
from einthoven.foundation.errors import DataError
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.signals.limb_law import limb_lead_residuals
from einthoven.signals.units import record_amplitudes

from .layouts import ecg, write_csv, write_sph

# Latin-1, UTF-16 with and without its mark, bytes of nothing.
NO_TEXT = [b"ECG_ID,\xe9\n", "ECG_ID,N\n".encode("utf-16"), "ECG_ID,N\n".encode("utf-16-le"), b"\x80\x81"]


def test_a_cohort_from_the_layout_of_the_release(tmp_path, home) -> None:
    cohort = prepare("sph", write_sph(tmp_path / "source"), allow_missing=True)
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


def test_a_part_of_the_release_is_not_taken_for_all_of_it(tmp_path, home) -> None:
    folder = write_sph(tmp_path / "source")
    with pytest.raises(DataError, match=r"5 of 25770 records of sph are in"):
        prepare("sph", folder)
    assert prepare("sph", folder, allow_missing=True).manifest.promised_records == 25_770


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
        prepare("sph", folder, allow_missing=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Age": "old"}, r"row 1 \(ECG_ID A1\): Age is 'old'; a number or nothing was expected"),
        ({"Age": "old"}, "Correct it or download the file again"),
        *[
            (
                {"N": n},
                r"metadata\.csv, row 1 \(ECG_ID A1\): N is .*; a whole number of samples was expected. Correct it",
            )
            for n in ("", "nan", "1e400", "inf", "-5", "0", "5000.5", "5_000", "²", "٣", "9" * 5000)
        ],
        ({"Sex": "x"}, "Sex is 'x'; F, M or nothing"),
    ],
)
def test_a_row_that_is_not_what_it_should_be_is_refused(tmp_path, change, message) -> None:
    row = {"ECG_ID": "A1", "AHA_Code": "1", "Patient_ID": "S1", "Age": "1", "Sex": "F", "N": "5000", **change}
    write_csv(tmp_path / "metadata.csv", list(row), [row])
    with pytest.raises(DataError, match=message):
        DATASET.scan(tmp_path, 500.0, {})


@pytest.mark.parametrize(("age", "expected"), [("", None), ("nan", None), ("1e400", None), ("-1", None), ("300", None),
                                             ("0", 0.0), ("125", 125.0)])  # fmt: skip
def test_an_age_that_nobody_has_is_none(tmp_path, age, expected) -> None:
    row = {"ECG_ID": "A1", "AHA_Code": "1", "Patient_ID": "S1", "Age": age, "Sex": "F", "N": "5000"}
    write_csv(tmp_path / "metadata.csv", list(row), [row])
    assert DATASET.scan(tmp_path, 500.0, {}).records[0].metadata["age"] == expected


@pytest.mark.parametrize("content", NO_TEXT)
def test_a_table_that_is_no_utf8_is_refused(tmp_path, content) -> None:
    (tmp_path / "metadata.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"metadata\.csv is not UTF-8 text: byte \d+ is 0x"):
        DATASET.scan(tmp_path, 500.0, {})


def test_a_column_that_is_there_twice_is_named(tmp_path) -> None:
    (tmp_path / "metadata.csv").write_text("ECG_ID,AHA_Code,Patient_ID,Age,Sex,N,N\nA1,1,S1,1,F,5,6\n")
    with pytest.raises(DataError, match=r"metadata\.csv has more than one column N; one was expected"):
        DATASET.scan(tmp_path, 500.0, {})


def test_a_table_with_a_byte_order_mark_and_short_rows_is_read_and_one_that_was_cut_is_refused(tmp_path) -> None:
    file = tmp_path / "metadata.csv"
    file.write_bytes(b"\xef\xbb\xbfECG_ID,AHA_Code,Patient_ID,N,Age,Sex\r\nA1,1,S1,5000\r\n\r\n")
    assert [r.record_id for r in DATASET.scan(tmp_path, 500.0, {}).records] == ["A1"]
    file.write_text("ECG_ID,AHA_Code,Patient_ID,N,Age,Sex\n" + "x" * 200_000)
    with pytest.raises(DataError, match=r"metadata\.csv ends within row 1, which has 1 of 6 cells"):
        DATASET.scan(tmp_path, 500.0, {})


def test_a_byte_that_is_no_utf8_is_counted_from_the_start_of_the_file(tmp_path) -> None:
    for start in (b"", b"\xef\xbb\xbf"):
        (tmp_path / "x.csv").write_bytes(start + b"ab\xe9c")
        with pytest.raises(DataError, match=f"byte {len(start) + 2} is 0xe9. Download it again, or save it as UTF-8"):
            read_text(tmp_path / "x.csv", where="it")
    (tmp_path / "x.csv").write_bytes("é".encode("utf-16"))
    with pytest.raises(DataError, match=r"byte 0 is 0xff\. It begins as UTF-16 does"):
        read_text(tmp_path / "x.csv", where="it")
    for nothing in (tmp_path, tmp_path / "y.csv"):
        with pytest.raises(DataError, match=r"does not exist\. --source must name the folder that has it\."):
            read_text(nothing, where="the folder that has it")


def test_a_text_file_that_may_not_be_read_is_refused_with_the_words_of_the_system(tmp_path, monkeypatch) -> None:
    (tmp_path / "x.csv").write_text("a")

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(DataError, match=r"x\.csv cannot be read \(Permission denied\)\. Check who may read it"):
        read_text(tmp_path / "x.csv", where="it")


def test_another_folder_or_table_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match=r"metadata\.csv does not exist"):
        DATASET.scan(tmp_path, 500.0, {})
    write_csv(tmp_path / "metadata.csv", ["ECG_ID", "N"], [])
    with pytest.raises(DataError, match="has no column AHA_Code, Patient_ID, Age, Sex"):
        DATASET.scan(tmp_path, 500.0, {})


@pytest.mark.realdata
def test_real_records_are_millivolts_in_standard_order(real_data, home, tmp_path) -> None:
    source = real_data / "cinc2021_tuijalei" / "SPH"
    cohort = prepare("sph", source, allow_missing=True)
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
    moved = prepare("sph", tmp_path, name="moved", allow_missing=True)
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
