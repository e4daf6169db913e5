import numpy as np
import pytest
import scipy.signal
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from einthoven.foundation.errors import SignalError, UnknownNameError, UsageError
from einthoven.signals.resampling import resample, resampled_length

METHODS = ("polyphase", "fft", "linear")


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("samples", "source", "target", "expected"),
    [(5000, 500, 100, 1000), (4096, 400, 500, 5120), (2934, 400, 250, 1834), (3, 200, 100, 2), (5, 200, 100, 3)],
)
def test_length_rule_rounds_halves_up(samples, source, target, expected):
    assert resampled_length(samples, source, target) == expected


@settings(max_examples=40, deadline=None)
@given(
    st.integers(30, 400),
    st.sampled_from([100, 128, 200, 250, 257, 360, 400, 500, 1000]),
    st.sampled_from([100, 128, 240, 250, 400, 500]),
    st.sampled_from(METHODS),
)
def test_every_method_gives_the_declared_length(samples, source, target, method):
    resampled = resample(noise(2, samples), source, target, method=method)
    assert resampled.shape == (2, resampled_length(samples, source, target))
    assert abs(resampled.shape[-1] - samples * target / source) <= 0.5
    assert resampled.dtype == np.float32


@pytest.mark.parametrize("method", METHODS)
def test_equal_rates_are_the_identity_and_a_copy(method):
    signal = noise(2, 12, 40)
    same = resample(signal, 500, 500.0, method=method)
    np.testing.assert_array_equal(same, signal)
    same += 1
    np.testing.assert_array_equal(signal, noise(2, 12, 40))


@pytest.mark.parametrize(("samples", "source", "target"), [(5000, 500, 100), (5000, 500, 250), (4096, 400, 500)])
def test_linear_is_torch_interpolate(samples, source, target):
    signal = noise(2, 12, samples)
    length = resampled_length(samples, source, target)
    expected = torch.nn.functional.interpolate(torch.tensor(signal), size=length, mode="linear", align_corners=True)
    np.testing.assert_allclose(resample(signal, source, target, method="linear"), expected.numpy(), atol=1e-6, rtol=0)


def test_linear_by_hand():
    np.testing.assert_allclose(resample(np.array([0.0, 4.0, 2.0]), 3, 5, method="linear"), [0, 2, 4, 3, 2])
    np.testing.assert_array_equal(resample(np.array([7.0, 8.0]), 2, 1, method="linear"), [7])


def test_fft_is_scipy_resample():
    signal = noise(3, 500)
    expected = np.asarray(scipy.signal.resample(signal.astype(float), 250, axis=-1))
    np.testing.assert_allclose(resample(signal, 500, 250, method="fft"), expected, atol=1e-6)


@pytest.mark.parametrize("method", ["polyphase", "fft"])
@pytest.mark.parametrize(("source", "target"), [(500, 250), (400, 500), (360, 250), (128, 100)])
def test_a_slow_sine_survives(method, source, target):
    seconds = 10
    was = np.arange(seconds * source) / source
    now = np.arange(seconds * target) / target
    resampled = resample(np.sin(2 * np.pi * 5 * was), source, target, method=method)
    inner = slice(target, -target)
    np.testing.assert_allclose(resampled[inner], np.sin(2 * np.pi * 5 * now)[inner], atol=3e-3)


@pytest.mark.parametrize("method", ["polyphase", "fft"])
def test_what_the_new_rate_cannot_hold_is_removed(method):
    time = np.arange(5000) / 500
    resampled = resample(np.sin(2 * np.pi * 90 * time), 500, 100, method=method)
    assert np.abs(resampled[50:-50]).max() < 0.01


def test_polyphase_keeps_a_constant_and_a_ramp_to_the_very_ends():
    ramp = np.linspace(5, 9, 500)
    np.testing.assert_allclose(resample(np.full(500, 3.0), 500, 360), 3.0, atol=1e-6)
    expected = 5 + 4 / 499 * 5 * np.arange(100)
    np.testing.assert_allclose(resample(ramp, 500, 100), expected, atol=1e-5)


def test_polyphase_aligns_with_the_source_samples():
    smooth = np.exp(-0.5 * ((np.arange(1000) - 500) / 20) ** 2)
    np.testing.assert_allclose(resample(smooth, 500, 100), smooth[::5], atol=1e-3)


@pytest.mark.parametrize("rate", [0, -100, float("nan"), float("inf")])
def test_bad_rates_are_refused(rate):
    with pytest.raises(UsageError, match="source rate must be a finite number above 0"):
        resample(noise(10), rate, 100)
    with pytest.raises(UsageError, match="target rate must be a finite number above 0"):
        resample(noise(10), 100, rate)


def test_other_bad_input_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'polyphase'"):
        resample(noise(10), 100, 50, method="polyphas")  # type: ignore[arg-type]  # the wrong name is the test
    with pytest.raises(UsageError, match="use method='fft' or 'linear'"):
        resample(noise(10), 100.00013, 100)
    with pytest.raises(SignalError, match="leave none"):
        resample(noise(2), 500, 100)
    with pytest.raises(SignalError, match=r"1 of 10 are NaN or infinite, the first at index \(4,\)"):
        resample(np.where(np.arange(10) == 4, np.nan, 0), 500, 100)
    with pytest.raises(SignalError, match="at least one sample"):
        resample(np.zeros((12, 0)), 500, 100)


@pytest.mark.parametrize("method", METHODS)
def test_each_lead_by_itself_bit_for_bit_and_any_strides(method):
    signal = noise(5, 3, 411)
    whole = resample(signal, 400, 250, method=method)
    for index in range(5):
        np.testing.assert_array_equal(whole[index, 1], resample(signal[index, 1], 400, 250, method=method))
    strided = signal.transpose(2, 0, 1).copy().transpose(1, 2, 0)
    assert not strided.flags.c_contiguous
    np.testing.assert_array_equal(whole, resample(strided, 400, 250, method=method))
