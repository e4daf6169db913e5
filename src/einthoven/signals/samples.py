"""What an array must be before its samples are worked on."""

from __future__ import annotations

import math

import numpy as np

from einthoven.foundation.errors import SignalError, UsageError


def finite_samples(signal: np.ndarray, *, step: str) -> np.ndarray:
    """A C-contiguous float64 copy of a signal whose samples are all finite.

    The layout is fixed here because NumPy adds up in memory order: two views of equal values could else differ in
    the last bit.

    Args:
        signal: (..., samples), any real dtype, any strides.
        step: what is about to be done with it, for the message.

    Raises:
        SignalError: no sample axis or no samples, or a sample is NaN or infinite.
    """
    values = np.array(signal, dtype=np.float64, order="C")
    if values.ndim == 0 or values.shape[-1] == 0:
        raise SignalError(f"{step} needs an array (..., samples) with at least one sample, found shape {values.shape}.")
    bad = ~np.isfinite(values)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise SignalError(
            f"{step} needs finite samples: {int(bad.sum())} of {values.size} are NaN or infinite, the first at index "
            f"{first} of shape {values.shape}. One such sample would spread over its whole lead; mend or leave out "
            "the record first (signals.quality.quality_flags finds them)."
        )
    return values


def positive_rate(rate: float, *, name: str) -> float:
    """`rate` as a float.

    Raises:
        UsageError: it is not a finite number above 0 Hz.
    """
    value = float(rate)
    if not math.isfinite(value) or value <= 0:
        raise UsageError(f"The {name} must be a finite number above 0 Hz, found {rate!r}.")
    return value
