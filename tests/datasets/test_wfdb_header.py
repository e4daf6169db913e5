"""Headers as their definition and as released files write them, and as the wfdb package reads them where it can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wfdb

from einthoven.datasets.wfdb_files import read_header, read_wfdb
from einthoven.datasets.wfdb_header import parse_header
from einthoven.foundation.errors import DataError

_HEADER = """# before
100 2 360/60(0) 650000 0:0:0 24/02/1990
100.dat 212x2:3+24 200.5(-5)/uV 11 1024 995 -22131 0 MLII or so
100.dat 16
# Age: 69
#Dx: 1,2
# Sex:
"""


def test_every_field_is_read() -> None:
    header = parse_header(_HEADER, where="r")
    assert (header.name, header.rate, header.samples) == ("100", 360.0, 650000)
    one, two = header.signals
    assert (one.format, one.frame, one.skew, one.offset) == ("212", 2, 3, 24)
    assert (one.gain, one.baseline, one.unit, one.checksum, one.name) == (200.5, -5, "uV", -22131, "MLII or so")
    assert (two.gain, two.baseline, two.unit, two.checksum, two.name) == (200.0, 0, "mV", None, "")
    assert header.comments == ("before", "Age: 69", "Dx: 1,2", "Sex:")
    assert (header.comment("AGE"), header.comment("dx"), header.comment("sex"), header.comment("rx")) == (
        "69", "1,2", "", None,
    )  # fmt: skip


def test_without_a_baseline_the_zero_of_the_converter_is_it_and_a_gain_of_0_is_the_default() -> None:
    signal = parse_header("r 1 100 10\nr.dat 16 0 12 1024", where="r").signals[0]
    assert (signal.gain, signal.baseline) == (200.0, 1024)


_HUGE = "9" * 5000
_FULL = "r 1 100 10\nr.dat 16 {gain} 16 {zero} 0 {total} 0 I"


@pytest.mark.parametrize(
    "gain", ["1.2.3", ".", "100..0", "1e999", "-1e999", "nan", "inf", "1e-999", "1e-30", _HUGE, "²", "٣", "1_0", "1e",
             f"200({_HUGE})", "200(²)", "1e5000"]
)  # fmt: skip
@pytest.mark.parametrize("name", ["I", "I two"])  # with one word, and without that short way
def test_a_gain_that_is_no_real_number_is_refused(gain, name) -> None:
    text = _FULL.format(gain=f"{gain}/mV", zero=0, total=0).removesuffix("I") + name
    with pytest.raises(DataError, match=r"record 7 gives a gain as .*; 1000\(0\)/mV was expected"):
        parse_header(text, where="record 7")


@pytest.mark.parametrize(
    ("gain", "expected"),
    [("0", 200), ("0.0", 200), ("-0", 200), ("0e9", 200), (".5", 0.5), ("1.", 1), ("-2e3", -2000), ("1e-6", 1e-6)],
)
def test_every_real_number_is_a_gain(gain, expected) -> None:
    assert parse_header(_FULL.format(gain=gain, zero=0, total=0), where="r").signals[0].gain == expected


@pytest.mark.parametrize("number", ["²", "٣", _HUGE, "1_0", "1.5", "nan", ""])
@pytest.mark.parametrize("text", ["r {} 100 10\n", "r 0 100 {}\n", _FULL.format(gain=1, zero="{}", total=0),
                                  _FULL.format(gain=1, zero=0, total="{}")])  # fmt: skip
def test_a_whole_number_has_few_digits_and_nothing_else(text, number) -> None:
    with pytest.raises(DataError, match="record 7"):
        # "_" stands for nothing, which would move the next field up.
        parse_header(text.format(number or "_"), where="record 7")


@pytest.mark.parametrize(
    "kind", ["16x0", "16x00", "²", "16x²", f"16:{_HUGE}", f"16+{_HUGE}", _HUGE, "16:-1", "16x", "x2"]
)
def test_a_format_that_cannot_be_is_refused(kind) -> None:
    with pytest.raises(DataError, match=r"record 7 gives a format as .* one sample a frame or more"):
        parse_header(f"r 1 100 10\nr.dat {kind} 200\n", where="record 7")


@pytest.mark.parametrize("file", [".", "..", "a/b", "../x", "a\\b"])
def test_a_signal_file_that_is_no_name_is_refused(file) -> None:
    for rest in ("16", "16 200(0)/mV 16 0 0 0 0 I"):
        with pytest.raises(DataError, match=r"names the signal file .*; one in its own folder was expected"):
            parse_header(f"r 1 100 10\n{file} {rest}\n", where="record 7")


@pytest.mark.parametrize("rate", ["nan", "inf", "1e400", "1_0", "²", "-1", "1.2.3"])
def test_a_rate_that_is_no_number_of_hz_is_refused(rate) -> None:
    with pytest.raises(DataError, match="sampling rate as"):
        parse_header(f"r 0 {rate} 10\n", where="r")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no record line"),
        ("# only a comment\n", "has no record line"),
        ("r\n", "has no record line"),
        ("r/3 2 100 10\n", "multi-segment"),
        ("r two 100 10\n", "number of signals as 'two'"),
        ("r 0 fast 10\n", "sampling rate as 'fast'"),
        ("r 0 0 10\n", "sampling rate as '0'"),
        ("r 0 100 -3\n", "number of samples as '-3'"),
        ("r 2 100 10\nr.dat 16\n", "announces 2 signals and describes 1"),
        ("r 1 100 10\nr.dat\n", "without file and format: 'r.dat'"),
        ("r 1 100 10\nr.dat sixteen\n", "gives a format as 'sixteen'; 212 or 16x2"),
        ("r 1 100 10\nr.dat 16 much/mV\n", "gives a gain as 'much/mV'"),
        ("r 1 100 10\nr.dat 16 1 16 0 0 sum\n", "'sum' where a whole number was expected"),
    ],
)
def test_what_is_no_header_is_refused_with_the_line(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        parse_header(text, where="record 7")
    assert "record 7" in str(caught.value)


def _stems(real_data: Path) -> list[Path]:
    return sorted(
        file.with_suffix("")
        for pattern in ("ptbxl/records100/**/*.hea", "ptbxl/records500/**/*.hea", "cinc2021_tuijalei/**/*.hea",
                        "cinc2017/**/*.hea", "cpsc2021/*.hea", "mitdb/*.hea", "svdb/*.hea")
        for file in real_data.glob(pattern)
    )  # fmt: skip


@pytest.mark.realdata
def test_every_real_header_is_read_as_wfdb_reads_it(real_data) -> None:
    compared = 0
    for stem in _stems(real_data)[::7]:
        header = read_header(stem)
        expected: Any = wfdb.rdheader(str(stem))
        compared += 1
        assert (header.rate, header.samples) == (float(expected.fs), expected.sig_len)
        assert [s.gain for s in header.signals] == [gain or 200.0 for gain in expected.adc_gain]
        assert [s.baseline for s in header.signals] == expected.baseline
        assert [s.unit for s in header.signals] == expected.units
        assert [s.checksum for s in header.signals] == expected.checksum
        assert [s.name for s in header.signals] == [name or "" for name in expected.sig_name]
        assert [s.format for s in header.signals] == expected.fmt
        assert [line for line in header.comments if line] == [
            line.strip() for line in expected.comments if line.strip()
        ]
    assert compared > 350


@pytest.mark.realdata
def test_every_real_record_has_the_samples_wfdb_decodes(real_data) -> None:
    """Sample by sample, and against the checksum of the header, which `read_wfdb` refuses to differ from."""
    stems = _stems(real_data)
    assert len(stems) > 2500
    for stem in stems[::11]:
        header = read_header(stem)
        leads = [f"signal {index}" for index in range(len(header.signals))]
        record = read_wfdb(stem, record_id="r", patient_id="p", leads=leads)
        expected: Any = wfdb.rdrecord(str(stem))
        np.testing.assert_allclose(record.signal, np.asarray(expected.p_signal).T, rtol=1e-6, atol=1e-6)


@pytest.mark.realdata
def test_headers_with_the_date_before_the_time_are_read(real_data) -> None:
    folder = real_data / "odd" / "cinc2020_date_before_time"
    found = {file.stem: read_header(file.with_suffix("")) for file in folder.glob("*.hea")}
    assert {name: (header.rate, header.samples, len(header.signals)) for name, header in found.items()} == {
        "A0001": (500.0, 7500, 12), "E00001": (500.0, 5000, 12), "HR00001": (500.0, 5000, 12),
        "I0001": (257.0, 462600, 12), "Q0001": (500.0, 5000, 12), "S0001": (1000.0, 38400, 12),
    }  # fmt: skip
    assert (found["E00001"].comment("Age"), found["E00001"].comment("Dx")) == ("NaN", "")
    record = read_wfdb(folder / "E00001", record_id="E00001", patient_id="E00001")
    assert record.signal.shape == (12, 5000)
