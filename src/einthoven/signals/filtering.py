"""Zero-phase Butterworth filters."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from einthoven.foundation.errors import SignalError, UsageError, unknown_name

from .samples import finite_samples, positive_rate

Precision = Literal["float64", "float32"]


def bandpass(
    signal: np.ndarray,
    rate: float,
    *,
    low: float | None,
    high: float | None,
    order: int,
    precision: Precision = "float64",
) -> np.ndarray:
    """A signal between two cut-off frequencies, without phase shift, each lead by itself.

    A Butterworth filter in second-order sections run forwards and backwards (`scipy.signal.sosfiltfilt`). The two
    passes square the gain: -6 dB, not -3 dB, at the cut-offs. Before filtering each end is extended by an odd
    reflection of `needed_samples(...) - 1` samples, SciPy's default.

    Args:
        signal: (..., samples), finite.
        rate: Hz.
        low: what is slower is taken away, Hz; None keeps it (a low-pass filter).
        high: what is faster is taken away, Hz; None keeps it (a high-pass filter).
        order: of the Butterworth design, from 1; a band-pass has twice as many poles.
        precision: of the sections and of the recursion. "float32" is there to reproduce chains that ran so (ecg-fix):
            rounding near a cut-off far below the sampling rate costs up to 0.003 mV (order 5, 0.5-40 Hz, 500 Hz).

    Returns:
        float32, same shape, a new array.

    Raises:
        UsageError: no cut-off at all, cut-offs that are not 0 < low < high < rate / 2, or an order below 1.
        UnknownNameError: an unknown precision.
        SignalError: samples that are not finite, or fewer than the filter needs.
    """
    return filtered(signal, rate, low=low, high=high, order=order, precision=precision).astype(np.float32)


def filtered(
    signal: np.ndarray,
    rate: float,
    *,
    low: float | None,
    high: float | None,
    order: int,
    precision: Precision = "float64",
) -> np.ndarray:
    """As `bandpass`, in the precision it was computed in."""
    import scipy.signal

    if precision not in get_args(Precision):
        raise unknown_name("precision", precision, get_args(Precision))
    sections = _sections(positive_rate(rate, name="sampling rate"), low=low, high=high, order=order)
    values = finite_samples(signal, step="Filtering")
    needed = _edge(sections) + 1
    if values.shape[-1] < needed:
        raise SignalError(
            f"Filtering ({_described(low, high, order)}) needs {needed} samples ({needed / rate:.3g} s at {rate:g} "
            f"Hz), found {values.shape[-1]}. Take a longer record, or a lower order."
        )
    return scipy.signal.sosfiltfilt(sections.astype(precision), values.astype(precision), axis=-1)


def needed_samples(rate: float, *, low: float | None, high: float | None, order: int) -> int:
    """The shortest signal that `bandpass` with these arguments filters, samples."""
    return _edge(_sections(positive_rate(rate, name="sampling rate"), low=low, high=high, order=order)) + 1


def check_band(rate: float, *, low: float | None, high: float | None, order: int) -> None:
    """Refuse cut-offs or an order that make no filter at this sampling rate.

    Raises:
        UsageError: no cut-off at all, cut-offs that are not 0 < low < high < rate / 2, or an order below 1.
    """
    if order < 1 or int(order) != order:
        raise UsageError(f"The order of a filter must be a whole number from 1, found {order!r}.")
    if low is None and high is None:
        raise UsageError("A filter needs a cut-off: give low, high or both in Hz, or use no filter.")
    nyquist = rate / 2
    for name, cutoff in (("low", low), ("high", high)):
        if cutoff is not None and not (math.isfinite(cutoff) and 0 < cutoff < nyquist):
            raise UsageError(
                f"The {name} cut-off must lie between 0 and {nyquist:g} Hz, half the sampling rate of {rate:g} Hz; "
                f"found {cutoff!r} Hz. Use None for no {name} cut-off."
            )
    if low is not None and high is not None and low >= high:
        raise UsageError(f"The low cut-off must lie below the high one, found low={low:g} Hz and high={high:g} Hz.")


# Designing a filter takes longer than running it over a record.
@lru_cache(maxsize=64)
def _sections(rate: float, *, low: float | None, high: float | None, order: int) -> np.ndarray:
    import scipy.signal

    check_band(rate, low=low, high=high, order=order)
    if low is None:
        sections = scipy.signal.butter(order, high, btype="lowpass", fs=rate, output="sos")
    elif high is None:
        sections = scipy.signal.butter(order, low, btype="highpass", fs=rate, output="sos")
    else:
        sections = scipy.signal.butter(order, [low, high], btype="bandpass", fs=rate, output="sos")
    designed = np.array(sections)
    designed.setflags(write=False)
    return designed


def _edge(sections: np.ndarray) -> int:
    # The documented default of sosfiltfilt, which does not offer it as a function.
    at_zero = min(int((sections[:, 2] == 0).sum()), int((sections[:, 5] == 0).sum()))
    return 3 * (2 * len(sections) + 1 - at_zero)


def _described(low: float | None, high: float | None, order: int) -> str:
    band = f"above {low:g} Hz" if high is None else f"below {high:g} Hz" if low is None else f"{low:g} to {high:g} Hz"
    return f"Butterworth order {order}, {band}"
