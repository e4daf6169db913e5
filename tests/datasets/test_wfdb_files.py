"""Reading WFDB records: what is good is exact, what is broken is refused with its cause."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import wfdb

from einthoven.datasets.wfdb_files import read_wfdb
from einthoven.foundation.errors import DataError


def read(stem: Path):
    return read_wfdb(stem, record_id="7", patient_id="p")


def test_a_good_record_is_exact(ptbxl) -> None:
    record = read(ptbxl.stem(3))
    assert record.leads == ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
    assert (record.rate, record.signal.dtype, record.signal.shape) == (100.0, np.float32, (12, 1000))
    np.testing.assert_array_equal(record.signal, (ptbxl.samples(3) / 1000).astype(np.float32))


def test_microvolts_are_converted(ptbxl) -> None:
    ptbxl.write_record(ptbxl.stem(0), ptbxl.samples(0), unit="uV")
    np.testing.assert_allclose(read(ptbxl.stem(0)).signal, ptbxl.samples(0) / 1e6, rtol=1e-6)


def test_the_formats_mark_for_an_invalid_sample_is_nan(ptbxl) -> None:
    samples = ptbxl.samples(0)
    samples[4, 17] = -32768
    ptbxl.write_record(ptbxl.stem(0), samples)
    signal = read(ptbxl.stem(0)).signal
    assert np.isnan(signal[4, 17])
    assert np.isnan(signal).sum() == 1


@pytest.mark.parametrize("suffix", [".dat", ".hea"])
def test_a_git_lfs_pointer_is_recognised(ptbxl, suffix) -> None:
    file = ptbxl.stem(0).with_name(ptbxl.stem(0).name + suffix)
    file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 120000\n")
    with pytest.raises(DataError, match=r"is a git-lfs pointer .*git lfs pull"):
        read(ptbxl.stem(0))


@pytest.mark.realdata
def test_a_real_git_lfs_pointer_is_recognised(real_data) -> None:
    with pytest.raises(DataError, match="git-lfs pointer"):
        read(real_data / "odd" / "git_lfs_pointer" / "00001_hr")


def test_a_truncated_signal_file_gives_both_sizes(ptbxl) -> None:
    file = ptbxl.stem(0).with_name(ptbxl.stem(0).name + ".dat")
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"is truncated: .* 1000 samples of 12 signals .* 24000 bytes, .* has 23900"):
        read(ptbxl.stem(0))


def test_samples_that_do_not_add_up_to_the_checksum_are_refused(ptbxl) -> None:
    file = ptbxl.stem(0).with_name(ptbxl.stem(0).name + ".dat")
    data = bytearray(file.read_bytes())
    data[24] ^= 1  # second sample of lead I
    file.write_bytes(data)
    with pytest.raises(
        DataError, match=r"do not add up to the checksums of its header: I \(header \d+, samples \d+\)\."
    ):
        read(ptbxl.stem(0))


def test_a_missing_file_is_named(ptbxl) -> None:
    ptbxl.stem(0).with_name(ptbxl.stem(0).name + ".dat").unlink()
    with pytest.raises(DataError, match=r"has no file 00001_lr\.dat"):
        read(ptbxl.stem(0))


def test_an_unknown_unit_names_the_lead(ptbxl) -> None:
    ptbxl.write_record(ptbxl.stem(0), ptbxl.samples(0), unit="mmHg")
    with pytest.raises(DataError, match="mmHg") as caught:
        read(ptbxl.stem(0))
    assert any("lead I of record 7" in note for note in caught.value.__notes__)


def test_duplicate_leads_are_refused(ptbxl) -> None:
    names = ("I", "II", "III", "AVR", "aVR", "AVF", "V1", "V2", "V3", "V4", "V5", "V6")
    ptbxl.write_record(ptbxl.stem(0), ptbxl.samples(0), names=names)
    with pytest.raises(DataError, match="aVR"):
        read(ptbxl.stem(0))


@pytest.mark.parametrize("text", ["", "nonsense\n", "00001_lr 12 100\n", "\x00\x01\x02"])
def test_a_broken_header_is_refused(ptbxl, text) -> None:
    ptbxl.stem(0).with_name(ptbxl.stem(0).name + ".hea").write_text(text)
    with pytest.raises(DataError, match="record 7"):
        read(ptbxl.stem(0))


@pytest.mark.realdata
def test_real_records_of_several_sources_equal_wfdb(real_data) -> None:
    stems = [
        *sorted((real_data / "ptbxl" / "records500" / "00000").glob("*.hea"))[:3],
        *sorted((real_data / "cinc2021_tuijalei").rglob("*.hea"))[:40:4],
    ]
    assert len(stems) >= 8
    for header in stems:
        stem = header.with_suffix("")
        record = read(stem)
        expected = wfdb.rdrecord(str(stem))
        assert isinstance(expected, wfdb.Record)
        np.testing.assert_allclose(record.signal, np.asarray(expected.p_signal).T, atol=1e-6)


def test_a_signal_file_longer_than_its_header_says_is_refused(ptbxl) -> None:
    file = ptbxl.stem(0).with_name(ptbxl.stem(0).name + ".dat")
    file.write_bytes(file.read_bytes() + bytes(1000))
    with pytest.raises(DataError, match="longer than its header says: 25000 bytes, 24000 were expected"):
        read(ptbxl.stem(0))
