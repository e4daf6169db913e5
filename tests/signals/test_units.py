from functools import cache
from pathlib import Path

import numpy as np
import pytest
import wfdb

from einthoven.foundation.errors import SignalError, UsageError
from einthoven.signals.units import check_plausible_millivolts, record_amplitudes, to_millivolts


def beats(millivolts: float = 1.0, leads: int = 12, samples: int = 1000) -> np.ndarray:
    """Triangles of 80 ms once a second at 100 Hz, `millivolts` high."""
    tip = np.maximum(0, 1 - np.abs(np.arange(samples) % 100 - 50) / 4)
    return np.tile(millivolts * tip, (leads, 1))


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("V", 2000.0),
        ("volt", 2000.0),
        ("mV", 2.0),
        ("mv", 2.0),
        (" Millivolts ", 2.0),
        ("uV", 0.002),
        ("UV", 0.002),
        ("\u00b5V", 0.002),
        ("\u03bcV", 0.002),
        ("nV", 2e-6),
    ],
)
def test_units(unit, expected):
    converted = to_millivolts(np.array([2, -2]), unit)
    np.testing.assert_allclose(converted, [expected, -expected], rtol=1e-7)
    assert converted.dtype == np.float32


@pytest.mark.parametrize("unit", ["MV", "Mv", "MVolt"])
def test_capital_m_is_ambiguous(unit):
    with pytest.raises(SignalError, match=r"ambiguous.*Write 'mV'"):
        to_millivolts(np.zeros(3), unit)


def test_an_unknown_unit_names_the_nearest():
    with pytest.raises(SignalError, match=r"Unknown unit 'mmV'.*Nearest: .*mV"):
        to_millivolts(np.zeros(3), "mmV")


def test_adc_values_with_a_gain_for_each_lead():
    signal = np.array([[[100, 300]], [[0, 1000]]]).transpose(1, 0, 2)
    converted = to_millivolts(signal, "adc", gain=np.array([200, 1000]), baseline=np.array([100, 0]))
    np.testing.assert_array_equal(converted, [[[0, 1], [0, 1]]])


def test_gains_that_make_no_sense():
    with pytest.raises(UsageError, match="need `gain`"):
        to_millivolts(np.zeros((2, 3)), "adc")
    with pytest.raises(UsageError, match="physical values already"):
        to_millivolts(np.zeros((2, 3)), "mV", gain=200)
    with pytest.raises(SignalError, match="above 0"):
        to_millivolts(np.zeros((2, 3)), "adc", gain=np.array([200, 0]))
    with pytest.raises(SignalError, match=r"shape \(3,\) for a signal of shape \(2, 3\)"):
        to_millivolts(np.zeros((2, 3)), "adc", gain=np.array([200, 200, 200]))


def test_input_is_untouched_and_missing_samples_stay():
    signal = np.array([[1000.0, np.nan], [np.inf, 0.0]])
    before = signal.copy()
    np.testing.assert_array_equal(to_millivolts(signal.T, "uV"), np.array([[1, np.inf], [np.nan, 0]]))
    np.testing.assert_array_equal(signal, before)


@pytest.mark.parametrize(
    ("factor", "first_cause"),
    [
        (1000.0, r"best fit first: samples in uV, or ADC counts at 1000 per mV, read as mV \(divide by 1000\)"),
        (204.9, r"best fit first: ADC counts at 4.88 uV each read as mV \(divide by 204.9\)"),
        (1e-3, r"best fit first: samples in V read as mV \(multiply by 1000\)"),
        (1 / 200, r"divided twice by a gain of 200"),
    ],
)
def test_a_wrong_unit_is_refused_with_its_cause(factor, first_cause):
    with pytest.raises(SignalError, match=first_cause):
        check_plausible_millivolts(beats(1.1) * factor)


def test_300_millivolts_are_refused_and_both_fitting_causes_named():
    with pytest.raises(SignalError) as caught:
        check_plausible_millivolts(beats(305), where="record 17")
    message = str(caught.value)
    assert "in record 17" in message
    assert message.index("divide by 204.9") < message.index("divide by 1000")


def test_no_cause_is_invented():
    with pytest.raises(SignalError, match="No usual mistake"):
        check_plausible_millivolts(beats(1e9))


def test_only_the_record_that_is_wrong_is_named_in_a_batch():
    batch = np.stack([beats(), beats(), beats(1000)])
    with pytest.raises(SignalError, match=r"1 of 3 records; first: 2"):
        check_plausible_millivolts(batch)


def test_spikes_flat_leads_and_gaps_do_not_refuse_a_record():
    signal = beats(0.8)
    signal[:, 500:503] = 400.0
    signal[6:] = 0.0
    signal[0, :100] = np.nan
    check_plausible_millivolts(signal)


def test_low_voltage_asystole_and_flat_records_pass():
    check_plausible_millivolts(beats(0.1))
    check_plausible_millivolts(np.random.default_rng(0).normal(scale=0.005, size=(12, 1000)))
    check_plausible_millivolts(np.zeros((12, 1000)))
    check_plausible_millivolts(np.full((12, 1000), np.nan))


def test_amplitude_is_the_median_over_varying_leads():
    signal = np.zeros((4, 201))
    signal[:3] = np.linspace(0, 1, 201) * np.array([[1], [2], [6]])
    assert record_amplitudes(signal) == pytest.approx(2 * 0.99)
    assert np.isnan(record_amplitudes(np.zeros((4, 201))))


def test_a_signal_without_leads_is_refused():
    with pytest.raises(SignalError, match=r"found shape \(1000,\)"):
        check_plausible_millivolts(np.zeros(1000))


@cache
def ptbxl(folder: Path) -> np.ndarray:
    """All records of PTB-XL at 100 Hz, (records, 12, 1000), read without the package under test."""
    files = sorted(folder.glob("*/*_lr.dat"))
    return np.stack([np.fromfile(file, dtype="<i2").reshape(1000, 12).T for file in files]) / 1000.0


@pytest.mark.realdata
def test_every_real_ptbxl_record_passes_and_every_wrong_unit_fails(real_data):
    signals = ptbxl(real_data / "ptbxl" / "records100")
    amplitudes = record_amplitudes(signals)
    assert len(amplitudes) > 100
    assert amplitudes.min() > 0.4
    assert amplitudes.max() < 4.0
    check_plausible_millivolts(signals)
    for factor in (1000.0, 204.9, 1e-3):
        for signal in signals[::100]:
            with pytest.raises(SignalError):
                check_plausible_millivolts(signal * factor)


@pytest.mark.realdata
def test_other_real_records_pass(real_data):
    headers = sorted((real_data / "cinc2021_tuijalei").glob("*/*.hea"))
    headers += sorted((real_data / "cpsc2021").glob("data_8_*.hea"))
    headers += sorted((real_data / "cinc2017" / "training2017").glob("*.hea"))[::20]
    assert len(headers) > 50
    for header in headers:
        signal, _ = wfdb.rdsamp(str(header.with_suffix("")))
        check_plausible_millivolts(np.asarray(signal).T, where=header.name)
