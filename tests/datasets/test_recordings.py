"""Parts of long recordings equal what the wfdb package reads, and damage is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import wfdb

from einthoven.datasets.recordings import PartReader, decode_212
from einthoven.foundation.errors import DataError

from .rhythm_layouts import wfdb_signal, write_holter


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 1000])
def test_format_212_is_decoded_bit_by_bit(count: int) -> None:
    rng = np.random.default_rng(count)
    samples = rng.integers(-2048, 2048, count + count % 2)
    packed = bytearray()
    for one, two in samples.reshape(-1, 2) & 0xFFF:
        packed += bytes([one & 0xFF, (one >> 8) | (two >> 8 << 4), two & 0xFF])
    assert decode_212(bytes(packed), count).tolist() == samples[:count].tolist()


def test_an_odd_last_sample_needs_no_third_byte() -> None:
    assert decode_212(bytes([0xFF, 0x07]), 1).tolist() == [2047]


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["mitdb/100", "mitdb/208", "cpsc2021/data_8_4", "svdb/800"])
def test_parts_of_real_recordings_equal_wfdb(real_data: Path, name: str) -> None:
    whole = wfdb_signal(real_data / name)
    recording = PartReader(real_data / name, record_id=name)
    samples = whole.shape[1]
    for start, stop in [(0, 1), (1, 2), (3, 1000), (samples - 5, samples), (0, samples), (7, 7)]:
        part = recording.part(start, stop)
        assert part.dtype == np.float32
        np.testing.assert_allclose(part, whole[:, start:stop], atol=1e-6)
    np.testing.assert_array_equal(recording.part(5, 50, signals=(1,)), recording.part(5, 50)[1:])


def test_a_recording_in_another_format_is_decoded_by_wfdb(tmp_path: Path) -> None:
    signal = np.random.default_rng(0).normal(size=(500, 2))
    wfdb.wrsamp(
        "x", fs=250, units=["mV"] * 2, sig_name=["a", "b"], p_signal=signal, fmt=["24"] * 2, write_dir=str(tmp_path)
    )
    part = PartReader(tmp_path / "x", record_id="x").part(100, 200)
    np.testing.assert_allclose(part, signal[100:200].T, atol=1e-4)


def test_a_file_that_the_system_does_not_give_is_an_error_of_the_record(tmp_path: Path, monkeypatch) -> None:
    stem = write_holter(tmp_path, "x", rate=250, samples=5001, marks=[(0, "N")])
    reader = PartReader(stem, record_id="x")

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(np, "fromfile", fail)
    for broken in (lambda: reader.part(0, 10), lambda: PartReader(stem, record_id="x")):
        with pytest.raises(
            DataError, match=r"x\.dat of record x \(.*\) cannot be read \(Input/output error\)"
        ) as caught:
            broken()
        assert isinstance(caught.value.__cause__, OSError)


def test_damage_is_refused_when_a_recording_is_opened(tmp_path: Path) -> None:
    stem = write_holter(tmp_path, "x", rate=250, samples=5001, marks=[(0, "N")])
    data = stem.with_suffix(".dat")
    content = data.read_bytes()
    with pytest.raises(DataError, match="has 5001 samples; 5000 to 6000 were asked for"):
        PartReader(stem, record_id="x").part(5000, 6000)
    data.write_bytes(content[:-10])
    with pytest.raises(DataError, match=r"x\.dat of record x .* is truncated"):
        PartReader(stem, record_id="x")
    data.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    with pytest.raises(DataError, match="do not add up to the checksums"):
        PartReader(stem, record_id="x")
    data.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n")
    with pytest.raises(DataError, match="git-lfs pointer"):
        PartReader(stem, record_id="x")
    data.unlink()
    with pytest.raises(DataError, match=r"has no file x\.dat"):
        PartReader(stem, record_id="x")
