"""PTB: reasons for admission, Frank leads left out, whole recordings; files made in its layout."""

from __future__ import annotations

import numpy as np
import pytest
import wfdb

from einthoven.datasets.building import prepare
from einthoven.datasets.catalogue.ptb import CLASS_OF_REASON, DATASET
from einthoven.datasets.wfdb_files import read_wfdb
from einthoven.foundation.errors import DataError

from .layouts import ecg, write_ptb


def test_a_cohort_of_the_twelve_leads_at_their_own_lengths(tmp_path, home) -> None:
    folder = write_ptb(tmp_path / "source")
    cohort = prepare("ptb", folder)
    assert (len(cohort), cohort.samples, cohort.rate, cohort.manifest.patients) == (6, None, 1000.0, 5)
    assert cohort.lengths.tolist() == [38_000 + 400 * index for index in range(6)]
    assert cohort.records["age"].to_list() == [60.0, 61.0, 62.0, None, 64.0, 65.0]
    assert set(cohort.records["sex"]) == {"F"}
    for row, samples in enumerate(cohort.lengths):
        np.testing.assert_allclose(cohort.signal(row), ecg(int(samples), 1000), atol=3e-4)
    # The recorder's own steps of 0.5 uV are kept.
    values, fields = wfdb.rdsamp(str(folder / "patient001" / "s0010_re"))
    assert fields["sig_name"][12:] == ["vx", "vy", "vz"]
    np.testing.assert_allclose(cohort.signal(0), np.asarray(values).T[:12], atol=1e-6)


def test_reasons_are_grouped_and_a_record_without_one_is_in_no_task(tmp_path) -> None:
    scan = DATASET.scan(write_ptb(tmp_path), 1000.0, {})
    admission = scan.tasks["admission"]
    assert len(admission.labels) == 9
    assert [sorted(labels) for labels in admission.positives.values()] == [
        ["Myocardial infarction"],
        ["Myocardial infarction"],
        ["Cardiomyopathy/Heart failure"],
        ["Healthy control"],
        ["Miscellaneous"],
    ]
    assert "s0013_re" not in admission.positives
    assert scan.records[3].metadata["reason_for_admission"] == "n/a"
    assert scan.records[0].patient_id == scan.records[1].patient_id == "patient001"
    assert scan.splits["hash"]["s0010_re"] == scan.splits["hash"]["s0011_re"]
    assert set(CLASS_OF_REASON.values()) == set(admission.labels)


def test_records_that_the_list_promises_and_the_folder_lacks_are_missing(tmp_path, home) -> None:
    folder = write_ptb(tmp_path / "source")
    (folder / "patient004" / "s0014_re.hea").unlink()
    (folder / "patient005" / "s0015_re.xyz").unlink()
    with pytest.raises(DataError, match="s0014_re"):
        prepare("ptb", folder)
    cohort = prepare("ptb", folder, allow_missing=True)
    assert cohort.manifest.excluded.counts == {"missing file": 2}


def test_a_reason_nobody_knows_is_refused(tmp_path) -> None:
    folder = write_ptb(tmp_path)
    header = folder / "patient001" / "s0010_re.hea"
    header.write_text(header.read_text().replace("Myocardial infarction", "Toothache"))
    with pytest.raises(DataError, match="record s0010_re has the reason for admission 'Toothache'"):
        DATASET.scan(folder, 1000.0, {})


def test_a_folder_or_list_of_something_else_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="RECORDS does not exist"):
        DATASET.scan(tmp_path, 1000.0, {})
    for line in ("s0010_re", "/s0010_re", "patient001/", "a/b/c", "../s0010_re", "patient001/..", "a b/c"):
        (tmp_path / "RECORDS").write_text(line + "\n")
        with pytest.raises(
            DataError, match=r"names the record '.*'; one like patient001/s0010_re .* Download it again"
        ):
            DATASET.scan(tmp_path, 1000.0, {})


@pytest.mark.parametrize("content", [b"patient001/s0010_r\xe9\n", "patient001/s0010_re\n".encode("utf-16"), b"a\x00/b"])
def test_a_list_that_is_no_utf8_is_refused(tmp_path, content) -> None:
    (tmp_path / "RECORDS").write_bytes(content)
    with pytest.raises(DataError, match=r"RECORDS is not UTF-8 text: byte \d+ is 0x"):
        DATASET.scan(tmp_path, 1000.0, {})


@pytest.mark.realdata
def test_a_real_recording_in_this_layout(real_data, tmp_path, home) -> None:
    """The challenge's copy of a record of PTB, written as the release has it."""
    copy = real_data / "cinc2021_tuijalei" / "PTB_PTBXL" / "S0001"
    signal = read_wfdb(copy, record_id="S0001", patient_id="S0001").signal
    cohort = prepare("ptb", write_ptb(tmp_path, signals=signal))
    assert cohort.lengths.tolist() == [38_400] * 6
    np.testing.assert_allclose(cohort.signal(2), signal, atol=2.6e-4)
