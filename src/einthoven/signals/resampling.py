"""Changing the sampling rate."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from einthoven.foundation.errors import SignalError, UsageError, unknown_name

from .samples import finite_samples, positive_rate

ResamplingMethod = Literal["polyphase", "fft", "linear"]

# The polyphase filter has 20 taps for each unit of the larger factor; beyond this it is longer than any ECG.
_LARGEST_FACTOR = 10_000


def resampled_length(samples: int, source_rate: float, target_rate: float) -> int:
    """How many samples `resample` gives: samples * target / source, rounded, halves up.

    Computed on exact fractions of the decimal rates, so that it is the same on every machine.
    """
    ratio = _fraction(target_rate) / _fraction(source_rate)
    return int(samples * ratio + Fraction(1, 2))


def resample(
    signal: np.ndarray,
    source_rate: float,
    target_rate: float,
    *,
    method: ResamplingMethod = "polyphase",
) -> np.ndarray:
    """A signal at another sampling rate, each lead by itself, computed in float64.

    The output has `resampled_length` samples. Equal rates give a copy.

    Methods:
        polyphase: zero-phase FIR (`scipy.signal.resample_poly`): Kaiser window, beta 5, 10 * max(up, down) taps to
            each side, -6 dB at the lower of the two Nyquist frequencies. Before it the straight line from the first to
            the last sample is taken off, and put back after, so that neither end steps to zero and a constant or a ramp
            is kept exactly. Rates must be in the ratio of whole numbers up to 10,000.
        fft: `scipy.signal.resample`: cuts or extends the spectrum. Takes the record for one period, so a step between
            its ends rings at both. Used by most published encoders.
        linear: straight lines between samples, first and last samples kept (PyTorch `interpolate(mode="linear",
            align_corners=True)`, positions in float32 as there). The samples span the same interval, so the real rate
            is (m - 1) / (n - 1) of the source's. No filter against aliasing; this is what the ecg-fix protocol does.

    Args:
        signal: (..., samples), finite.
        source_rate: Hz.
        target_rate: Hz.
        method: one of the above.

    Returns:
        float32 (..., resampled_length(samples, source_rate, target_rate)), a new array.

    Raises:
        UsageError: a rate that is not above 0, or rates whose ratio is too fine for "polyphase".
        UnknownNameError: an unknown method.
        SignalError: samples that are not finite, or so few that none would be left.
    """
    return resampled(signal, source_rate, target_rate, method=method).astype(np.float32)


def resampled(signal: np.ndarray, source_rate: float, target_rate: float, *, method: ResamplingMethod) -> np.ndarray:
    """As `resample`, in the float64 it was computed in."""
    import scipy.signal

    if method not in get_args(ResamplingMethod):
        raise unknown_name("resampling method", method, get_args(ResamplingMethod))
    source = positive_rate(source_rate, name="source rate")
    target = positive_rate(target_rate, name="target rate")
    values = finite_samples(signal, step="Resampling")
    if source == target:
        return values
    length = resampled_length(values.shape[-1], source, target)
    if length < 1:
        raise SignalError(
            f"{values.shape[-1]} samples at {source:g} Hz leave none at {target:g} Hz. Take a longer record."
        )
    if method == "polyphase":
        return _polyphase(values, source, target)[..., :length]
    if method == "fft":
        return np.asarray(scipy.signal.resample(values, length, axis=-1))
    return _linear(values, length)


def _fraction(rate: float) -> Fraction:
    # Through the decimal text: 0.1 means one tenth, not the binary number nearest to it.
    return Fraction(repr(float(rate)))


def _polyphase(values: np.ndarray, source: float, target: float) -> np.ndarray:
    import scipy.signal

    ratio = _fraction(target) / _fraction(source)
    if max(ratio.numerator, ratio.denominator) > _LARGEST_FACTOR:
        raise UsageError(
            f"{source!r} Hz to {target!r} Hz is a ratio of {ratio.numerator}:{ratio.denominator}; polyphase resampling "
            f"needs whole numbers up to {_LARGEST_FACTOR}. Round the rates, or use method='fft' or 'linear'."
        )
    samples = values.shape[-1]
    first = values[..., :1]
    slope = (values[..., -1:] - first) / max(samples - 1, 1)
    level = values - (first + slope * np.arange(samples))
    resampled = scipy.signal.resample_poly(level, ratio.numerator, ratio.denominator, axis=-1)
    return resampled + first + slope * (np.arange(resampled.shape[-1]) * float(1 / ratio))


def _linear(values: np.ndarray, length: int) -> np.ndarray:
    last = values.shape[-1] - 1
    # PyTorch computes positions in float32 for float32 signals; at sample 4,000 that moves a position by up to 2e-4 of
    # a sample, which is far more than rounding of the result.
    step = np.float32(last) / np.float32(length - 1) if length > 1 else np.float32(0)
    positions = step * np.arange(length, dtype=np.float32)
    left = np.minimum(positions.astype(np.int64), last)
    right = np.minimum(left + 1, last)
    weight = np.clip(positions - left.astype(np.float32), 0, 1).astype(np.float64)
    return values[..., left] * (1 - weight) + values[..., right] * weight
