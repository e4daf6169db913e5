"""Bringing records to one length."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from einthoven.foundation.errors import SignalError, UsageError, unknown_name

CropRule = Literal["centre", "start", "end"]
PadRule = Literal["zero", "edge", "repeat", "refuse"]


def fit_length(
    signal: np.ndarray,
    length: int,
    *,
    crop: CropRule = "centre",
    pad: PadRule = "zero",
) -> np.ndarray:
    """A signal of exactly `length` samples: longer ones cropped, shorter ones padded at their end.

    Args:
        signal: (..., samples); samples that are not finite stay so.
        length: samples wanted, from 1.
        crop: which part of a longer signal is kept: "centre" starts at (samples - length) // 2, "start" keeps the first
            samples, "end" the last.
        pad: what follows a shorter signal: "zero" 0, "edge" its last sample again and again, "repeat" the signal from
            its start, as often as needed; "refuse" raises.

    Returns:
        float32 (..., length), a new array.

    Raises:
        UnknownNameError: an unknown rule.
        UsageError: a length below 1.
        SignalError: a shorter signal with "refuse", or one without any sample.

    Example:
        >>> import numpy as np
        >>> fit_length(np.arange(7), 4), fit_length(np.arange(3), 5, pad="repeat")
        (array([1., 2., 3., 4.], dtype=float32), array([0., 1., 2., 0., 1.], dtype=float32))
    """
    return fitted(signal, length, crop=crop, pad=pad).astype(np.float32)


def fitted(signal: np.ndarray, length: int, *, crop: CropRule, pad: PadRule) -> np.ndarray:
    """As `fit_length`, in the dtype of `signal`."""
    if crop not in get_args(CropRule):
        raise unknown_name("crop rule", crop, get_args(CropRule))
    if pad not in get_args(PadRule):
        raise unknown_name("pad rule", pad, get_args(PadRule))
    if length < 1:
        raise UsageError(f"The length must be 1 sample or more, found {length!r}.")
    values = np.asarray(signal)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise SignalError(f"Expected a signal (..., samples) with at least one sample, found shape {values.shape}.")
    samples = values.shape[-1]
    if samples >= length:
        start = {"centre": (samples - length) // 2, "start": 0, "end": samples - length}[crop]
        return values[..., start : start + length].copy()
    if pad == "refuse":
        raise SignalError(
            f"{length} samples are needed and the record has {samples}. Leave the record out, or choose how to pad it: "
            "pad='zero', 'edge' or 'repeat'."
        )
    if pad == "repeat":
        return values[..., np.arange(length) % samples]
    padded = np.zeros((*values.shape[:-1], length), dtype=values.dtype)
    padded[..., :samples] = values
    if pad == "edge":
        padded[..., samples:] = values[..., -1:]
    return padded
