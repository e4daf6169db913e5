"""EDF files, whole and broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wfdb.io.convert.edf import read_edf as wfdb_read_edf

from einthoven.datasets.edf_files import read_edf, read_edf_header
from einthoven.datasets.wfdb_files import read_wfdb
from einthoven.foundation.errors import DataError, EinthovenError

from .importing.ward import LEADS, digital, edf_bytes


def read(file: Path, content: bytes | None = None, leads: tuple[str, ...] | None = None) -> np.ndarray:
    if content is not None:
        file.write_bytes(content)
    return read_edf(file, record_id="1", patient_id="1", leads=leads).signal


def test_physical_values_and_names(tmp_path: Path) -> None:
    (tmp_path / "a.edf").write_bytes(edf_bytes(digital(0), labels=[f"ECG {lead.upper()}" for lead in LEADS]))
    record = read_edf(tmp_path / "a.edf", record_id="1", patient_id="1")
    assert (record.leads, record.rate) == (LEADS, 250)
    assert np.allclose(record.signal, digital(0) / 1000, atol=1e-6)
    assert read_edf_header(tmp_path / "a.edf").plus == "EDF+C"


def test_other_units_and_plain_edf(tmp_path: Path) -> None:
    content = edf_bytes(digital(0), unit="mV", annotations=False, reserved="", seconds=0.5, rate=250)
    assert np.allclose(read(tmp_path / "a.edf", content), digital(0), atol=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_the_same_as_the_wfdb_package_reads(tmp_path: Path) -> None:
    signal = read(tmp_path / "a.edf", edf_bytes(digital(3), unit="mV", annotations=False, reserved=""))
    other = wfdb_read_edf(str(tmp_path / "a.edf"))
    # It rounds the baseline to a whole ADC value: at most one step.
    assert np.abs(signal - np.asarray(other.p_signal).T).max() <= 1.001


def with_field(at: int, field: bytes) -> bytes:
    content = edf_bytes(digital(0))
    return content[:at] + field + content[at + len(field) :]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (edf_bytes(digital(0))[:-2], "truncated"),
        (edf_bytes(digital(0)) + b"\0\0", "longer than its header says"),
        (edf_bytes(digital(0))[:300], "truncated within its header"),
        (edf_bytes(digital(0), reserved="EDF+D"), "is interrupted"),
        (edf_bytes(digital(0), rates={2: 125}), "different rates .*III 125"),
        (edf_bytes(digital(0), unit="mmHg"), "Unknown unit 'mmHg'"),
        (edf_bytes(digital(0), unit=""), "Unknown unit ''"),
        (edf_bytes(digital(0), labels=[*LEADS[:11], "Resp"]), "Unknown lead 'Resp'"),
        (b"\xffBIOSEMI" + edf_bytes(digital(0))[8:], "BDF"),
        (b"nothing", "no EDF file"),
        (b"", "is empty"),
        (edf_bytes(digital(0)).replace(b"32767   ", b"-32768  "), "no voltage"),
        (edf_bytes(digital(0))[:236] + b"-1      " + edf_bytes(digital(0))[244:], "never closed"),
        (edf_bytes(digital(0))[:236] + b"x       " + edf_bytes(digital(0))[244:], "'x'; a whole number was expected"),
        (with_field(236, b"9e9     "), "'9e9'; a whole number was expected"),
        (with_field(236, b"2.0     "), "'2.0'; a whole number was expected"),
        (with_field(236, b"99999999"), "truncated"),
        (with_field(252, b"1e99"), "number of signals .* is '1e99'; a whole number"),
        (with_field(252, b"9999"), "truncated within its header"),
        (with_field(184, b"1e99    "), "size of the header .* is '1e99'; a whole number"),
        (with_field(244, b"1_0     "), "duration .* is '1_0'; a number"),
        (with_field(244, b"inf     "), "duration .* is 'inf'; a number"),
        (with_field(244, b"1e999999"), "a number was expected"),
        (with_field(244, b"1e-300  "), "1000000 Hz at most was expected"),
        (with_field(256 + 13 * (16 + 80 + 8), b"-1e300  "), "no voltage"),
        (with_field(256 + 13 * (16 + 80 + 8 + 16), b"-1e99   "), "digital range of I .* a whole number"),
        (with_field(256 + 13 * (16 + 80 + 8 + 32 + 80), b"1e9     "), "number of samples of I .* a whole number"),
        (with_field(256 + 13 * (16 + 80 + 8 + 32 + 80), b"99999999"), "different rates|truncated|1000000 Hz at most"),
        (edf_bytes(digital(0), seconds=1)[:244] + b"0       " + edf_bytes(digital(0))[252:], "a time above 0"),
    ],
)
def test_what_no_edf_file_may_be(content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path / "a.edf", content)
    assert caught.match(words)


def test_given_names_must_be_as_many(tmp_path: Path) -> None:
    content = edf_bytes(digital(0)[:2], labels=["ECG0", "ECG1"])
    assert read(tmp_path / "a.edf", content, ("A", "B")).shape == (2, 500)
    with pytest.raises(DataError, match="2 signals; 1 were expected"):
        read(tmp_path / "a.edf", leads=("A",))


@pytest.mark.realdata
def test_a_real_edf_file_is_the_recording_it_was_made_from(real_data: Path) -> None:
    file = real_data / "formats" / "edf_mitdb100" / "wagTutorial0916" / "100.edf"
    edf = read_edf(file, record_id="100", patient_id="100", leads=("MLII", "V5"))
    wfdb = read_wfdb(real_data / "mitdb" / "100", record_id="100", patient_id="100", leads=("MLII", "V5"))
    assert edf.rate == wfdb.rate
    assert np.array_equal(edf.signal[:, : wfdb.signal.shape[1]], wfdb.signal)


@given(at=st.integers(0, 256 * 14 - 8), field=st.binary(min_size=1, max_size=8))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_header_of_anything_is_read_or_refused(at: int, field: bytes, tmp_path: Path) -> None:
    try:
        read(tmp_path / "a.edf", with_field(at, field))
    except EinthovenError:
        return


def test_a_file_that_the_system_does_not_give_is_an_error_of_the_record(tmp_path: Path, monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(np, "fromfile", fail)
    with pytest.raises(DataError, match=r"a\.edf of record .* cannot be read \(Input/output error\)") as caught:
        read(tmp_path / "a.edf", edf_bytes(digital(0)))
    assert isinstance(caught.value.__cause__, OSError)
