"""Reading WFDB records: what is good is exact, what is broken is refused with its cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wfdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from einthoven.datasets import file_content
from einthoven.datasets.wfdb_files import read_wfdb
from einthoven.foundation.errors import DataError

from .record_layouts import STANDARD, write_wfdb


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


def _with_format(stem: Path, kind: str, *, samples: int = 1000) -> None:
    """The record's header with another format, or a promise of other samples."""
    file = stem.with_name(stem.name + ".hea")
    file.write_text(file.read_text().replace(".dat 16 ", f".dat {kind} ").replace(" 100 1000", f" 100 {samples}", 1))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("16:100000000000", r"00001_lr\.dat is 100000000000 samples late; it has 1000\. Download it again"),
        ("16:1001", "is 1001 samples late; it has 1000"),
        ("212+100000000000", "is truncated"),
        ("16x999999999", "is truncated"),
        ("17", "is in format 17; known are 8, 16, 24, 32, 61, 80, 160, 212, 310, 311, 508, 516, 524"),
        ("0", "is in format 0; known are"),
        ("016", "is in format 016; known are"),
    ],
)
def test_a_header_that_cannot_be_of_the_file_is_refused_before_it_is_decoded(ptbxl, kind, message) -> None:
    _with_format(ptbxl.stem(0), kind)
    with pytest.raises(DataError, match=message):
        read(ptbxl.stem(0))


@pytest.mark.parametrize("kind", ["8", "16", "16x2", "24", "32", "61", "80", "160", "212", "310", "311", "508", "516"])
def test_more_samples_than_a_file_can_hold_are_refused_in_every_format(ptbxl, kind) -> None:
    _with_format(ptbxl.stem(0), kind, samples=10**15)
    with pytest.raises(DataError, match="is truncated: its header promises 1000000000000000 samples"):
        read(ptbxl.stem(0))


@pytest.mark.parametrize("error", [MemoryError(), OverflowError("x"), KeyError("x"), ZeroDivisionError("x"),
                                   IsADirectoryError("x"), AttributeError("x")])  # fmt: skip
def test_whatever_wfdb_raises_is_told_of_the_record_and_its_files(ptbxl, monkeypatch, error) -> None:
    _with_format(ptbxl.stem(0), "80")

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(wfdb, "rdrecord", fail)
    with pytest.raises(
        DataError, match=r"record 7 .*\(00001_lr\.dat\) cannot be decoded: .*\w.*\. Download them again"
    ):
        read(ptbxl.stem(0))


@pytest.mark.parametrize("kind", ["16", "212"])
@pytest.mark.parametrize("suffix", [".dat", ".hea"])
def test_a_folder_in_the_place_of_a_file_is_refused(ptbxl, kind, suffix) -> None:
    _with_format(ptbxl.stem(0), kind)
    file = ptbxl.stem(0).with_name(ptbxl.stem(0).name + suffix)
    file.unlink()
    file.mkdir()
    message = rf"00001_lr\{suffix} of record 7 .* cannot be read \(.*\)\. Check that it is a file"
    with pytest.raises(DataError, match=message):
        read(ptbxl.stem(0))


@pytest.mark.parametrize("kind", ["16", "212"])
@pytest.mark.parametrize("suffix", [".dat", ".hea"])
@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
def test_a_file_that_cannot_be_read_is_refused_with_the_words_of_the_system(
    ptbxl, monkeypatch, kind, suffix, error
) -> None:
    _with_format(ptbxl.stem(0), kind)
    whole, opened = file_content.read_whole, Path.open

    def read_whole(name: str) -> bytes:
        if name.endswith(suffix):
            raise error
        return whole(name)

    def open_(self: Path, *args: Any, **options: Any) -> Any:
        if self.suffix == suffix:
            raise error
        return opened(self, *args, **options)

    monkeypatch.setattr(file_content, "read_whole", read_whole)
    monkeypatch.setattr(Path, "open", open_)
    with pytest.raises(
        DataError, match=rf"00001_lr\{suffix} of record 7 .* cannot be read \({error.strerror}\)\. Check"
    ):
        read(ptbxl.stem(0))


_ODD = [b"0", b"9" * 20, b"1e999", b"x0", b":99999999999", b"+9", b".", b"-", b"\n", b" ", b"nan", b"\xc2\xb2", b"/",
        b"16", b"212", b"8", b"311", b"524"]  # fmt: skip
_CHANGES = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.integers(0, 3),  # bytes taken away
        st.binary(max_size=3) | st.sampled_from(_ODD),
    ),
    min_size=1,
    max_size=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """Stem of a record of 12 leads, 12 samples."""
    stem = tmp_path_factory.mktemp("small") / "r"
    write_wfdb(stem, np.arange(144).reshape(12, 12) / 100, names=STANDARD)
    return stem


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_CHANGES, st.sampled_from([".hea", ".hea", ".hea", ".dat"]), st.sampled_from(["16", "80", "212", "16x2", "8"]))
def test_bytes_that_are_changed_make_a_record_or_a_message_and_nothing_else(small, changes, suffix, kind) -> None:
    content = {s: small.with_name("r" + s).read_bytes() for s in (".hea", ".dat")}
    content[".hea"] = content[".hea"].replace(b".dat 16 ", f".dat {kind} ".encode()).replace(b"r.dat", b"m.dat")
    for place, length, new in changes:
        old = content[suffix]
        place %= len(old) + 1
        content[suffix] = old[:place] + new + old[place + length :]
    for end, part in content.items():
        small.with_name("m" + end).write_bytes(part)
    try:
        record = read(small.with_name("m"))
    except DataError:  # SignalError is one
        return
    assert record.signal.dtype == np.float32
    assert record.signal.shape[0] == len(record.leads)
