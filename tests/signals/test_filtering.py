from typing import Any

import numpy as np
import pytest
import scipy.signal

from einthoven.foundation.errors import SignalError, UnknownNameError, UsageError
from einthoven.signals.filtering import bandpass, needed_samples

RATE = 500
TIME = np.arange(10 * RATE) / RATE


def sine(hertz: float) -> np.ndarray:
    return np.sin(2 * np.pi * hertz * TIME)


def gain(hertz: float, **band) -> float:
    """Amplitude of a filtered sine in the middle of the record, where the ends do not reach."""
    middle = slice(4 * RATE, 6 * RATE)
    filtered = bandpass(sine(hertz), RATE, **band)[middle]
    return float(np.sqrt(2) * filtered.std())


def butterworth(hertz: float, cutoff: float, order: int) -> float:
    """Gain of two passes of a digital low-pass, by hand: bilinear warping of the analogue formula."""
    warped = np.tan(np.pi * hertz / RATE) / np.tan(np.pi * cutoff / RATE)
    return 1 / (1 + warped ** (2 * order))


@pytest.mark.parametrize("hertz", [10, 35, 40, 50, 80])
@pytest.mark.parametrize("order", [2, 5])
def test_low_pass_gain_is_the_butterworth_formula(hertz, order):
    assert gain(hertz, low=None, high=40, order=order) == pytest.approx(butterworth(hertz, 40, order), abs=2e-3)


@pytest.mark.parametrize("hertz", [5, 10, 15])
def test_high_pass_gain_is_the_butterworth_formula(hertz):
    warped = np.tan(np.pi * 10 / RATE) / np.tan(np.pi * hertz / RATE)
    assert gain(hertz, low=10, high=None, order=3) == pytest.approx(1 / (1 + warped**6), abs=2e-3)


def test_band_pass_keeps_the_middle_and_removes_both_sides():
    band = {"low": 2.0, "high": 40.0, "order": 3}
    assert gain(12, **band) == pytest.approx(1, abs=2e-3)
    assert gain(0.5, **band) < 0.01
    assert gain(120, **band) < 0.01
    assert np.abs(bandpass(np.full(5000, 3.0), RATE, **band)).max() < 1e-3


def test_there_is_no_phase_shift():
    filtered = bandpass(sine(10), RATE, low=1, high=40, order=4)[2000:3000]
    np.testing.assert_allclose(filtered, sine(10)[2000:3000], atol=2e-3)


def test_equals_scipy_in_float64_and_is_float32():
    signal = np.random.default_rng(0).normal(size=(2, 3, 1000))
    sections = scipy.signal.butter(5, [0.5, 40], btype="bandpass", fs=RATE, output="sos")
    expected = scipy.signal.sosfiltfilt(sections, signal, axis=-1)
    filtered = bandpass(signal, RATE, low=0.5, high=40, order=5)
    assert filtered.dtype == np.float32
    np.testing.assert_allclose(filtered, expected, atol=1e-6)


@pytest.mark.parametrize(
    "band",
    [{"low": 0.5, "high": 40, "order": 5}, {"low": None, "high": 40, "order": 3}, {"low": 1, "high": None, "order": 1}],
)
def test_needed_samples_is_exactly_what_is_needed(band):
    needed = needed_samples(RATE, **band)
    assert bandpass(np.ones(needed), RATE, **band).shape == (needed,)
    with pytest.raises(SignalError, match=rf"needs {needed} samples .* found {needed - 1}"):
        bandpass(np.ones(needed - 1), RATE, **band)
    with pytest.raises(ValueError, match="padlen"):
        sections = scipy.signal.butter(5, [0.5, 40], btype="bandpass", fs=RATE, output="sos")
        scipy.signal.sosfiltfilt(sections, np.ones(needed_samples(RATE, low=0.5, high=40, order=5) - 1))


@pytest.mark.parametrize(
    ("band", "message"),
    [
        ({"low": 0.5, "high": 250, "order": 5}, "high cut-off must lie between 0 and 250 Hz"),
        ({"low": 0, "high": 40, "order": 5}, "low cut-off must lie between"),
        ({"low": float("nan"), "high": 40, "order": 5}, "low cut-off must lie between"),
        ({"low": 40, "high": 40, "order": 5}, "low cut-off must lie below the high one"),
        ({"low": None, "high": None, "order": 5}, "needs a cut-off"),
        ({"low": 0.5, "high": 40, "order": 0}, "whole number from 1"),
        ({"low": 0.5, "high": 40, "order": 1.5}, "whole number from 1"),
    ],
)
def test_bands_that_make_no_filter(band, message):
    with pytest.raises(UsageError, match=message):
        bandpass(np.zeros(5000), RATE, **band)


def test_one_missing_sample_refuses_the_lead():
    signal = sine(5)
    signal[7] = np.inf
    with pytest.raises(SignalError, match=r"Filtering needs finite samples: 1 of 5000"):
        bandpass(signal, RATE, low=1, high=40, order=2)


def test_float32_recursion_is_scipys_in_float32():
    signal = np.random.default_rng(0).normal(size=(3, 1000)).astype(np.float32)
    sections = scipy.signal.butter(5, [0.5, 40], btype="bandpass", fs=RATE, output="sos")
    expected = scipy.signal.sosfiltfilt(np.asarray(sections, dtype=np.float32), signal, axis=-1)
    assert expected.dtype == np.float32
    found = bandpass(signal, RATE, low=0.5, high=40, order=5, precision="float32")
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(found, bandpass(signal, RATE, low=0.5, high=40, order=5))


def test_unknown_precision():
    wrong: Any = "float16"
    with pytest.raises(UnknownNameError, match="Unknown precision 'float16'"):
        bandpass(np.zeros(5000), RATE, low=1, high=40, order=2, precision=wrong)


def test_input_is_untouched_and_may_have_any_strides():
    signal = np.random.default_rng(0).normal(size=(400, 3)).T
    before = signal.copy()
    filtered = bandpass(signal, RATE, low=1, high=40, order=2)
    np.testing.assert_array_equal(signal, before)
    np.testing.assert_array_equal(filtered[1], bandpass(signal[1].copy(), RATE, low=1, high=40, order=2))
