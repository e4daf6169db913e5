"""Bringing signals of different size to one scale."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from einthoven.foundation.errors import UsageError, unknown_name

from .samples import finite_samples

NormalisationMethod = Literal["none", "lead-z", "record-z", "record-minmax", "lead-minmax", "dataset-z"]

# A range no recorder resolves (its steps are 1e-4 to 1e-2 mV): what varies less is rounding of a constant.
_CONSTANT = 1e-9


def normalise(
    signal: np.ndarray,
    method: NormalisationMethod,
    *,
    mean: float | None = None,
    sd: float | None = None,
    ddof: Literal[0, 1] = 1,
    eps: float = 1e-8,
) -> np.ndarray:
    """A signal on the scale of `method`, computed in float64.

    Methods, with z(x) = (x - mean) / (sd + eps):
        none: as it is.
        lead-z: z over the samples of each lead. A constant lead becomes 0.
        record-z: z over all leads and samples of each record: the leads keep their relative size.
        record-minmax: (x - min) / (max - min) over each record, so [0, 1] (MERL).
        lead-minmax: 2 (x - min) / (max - min) - 1 over each lead, so [-1, 1] (HuBERT-ECG). A constant lead becomes 0.
        dataset-z: z with the one `mean` and `sd` given, the same for every record and lead.

    A constant record becomes 0 under "record-z" and "record-minmax". Constant means a range up to 1e-9. `ddof` is 1
    (unbiased sd) and `eps` 1e-8 as in the ecg-fix protocol, whose networks compute in PyTorch; encoders whose chain was
    NumPy (ECG-FM, CSFM) divide by the population sd: ddof=0.

    Args:
        signal: (..., leads, samples), finite.
        method: one of the above.
        mean: of the training records, in the unit of the signal; "dataset-z" only, and required there.
        sd: likewise, above 0.
        ddof: 1 divides the sum of squares by n - 1, 0 by n; for "lead-z" and "record-z".
        eps: added to the sd.

    Returns:
        float32, same shape, a new array.

    Raises:
        UnknownNameError: an unknown method.
        UsageError: `mean` or `sd` missing or not usable for "dataset-z", or given for another method.
        SignalError: samples that are not finite.
    """
    check_normalisation(method, mean=mean, sd=sd, eps=eps)
    values = finite_samples(signal, step="Normalisation")
    if method == "none":
        return values.astype(np.float32)
    if method == "dataset-z":
        assert mean is not None  # noqa: S101 - checked above; for the type checker
        assert sd is not None  # noqa: S101
        return ((values - mean) / (sd + eps)).astype(np.float32)
    # One flat axis to reduce over, so that the sum runs in the same order whatever the batch looks like.
    over = values if method.startswith("lead") else values.reshape(*values.shape[:-2], -1)
    scaled = _z(over, ddof, eps) if method.endswith("z") else _minmax(over, symmetric=method == "lead-minmax")
    return scaled.reshape(values.shape).astype(np.float32)


def check_normalisation(method: str, *, mean: float | None, sd: float | None, eps: float = 1e-8) -> None:
    """Refuse an unknown method, or statistics it cannot use.

    Raises:
        UnknownNameError: an unknown method.
        UsageError: `mean` or `sd` missing or not usable for "dataset-z", or given for another method; a negative eps.
    """
    if method not in get_args(NormalisationMethod):
        raise unknown_name("normalisation", method, get_args(NormalisationMethod))
    if not (math.isfinite(eps) and eps >= 0):
        raise UsageError(f"eps must be a finite number from 0, found {eps!r}.")
    if method != "dataset-z":
        if mean is not None or sd is not None:
            raise UsageError(
                f"mean and sd belong to 'dataset-z'; {method!r} takes none (found mean={mean!r}, sd={sd!r})."
            )
        return
    if mean is None or sd is None:
        raise UsageError(
            f"'dataset-z' needs the mean and sd of the training records, found mean={mean!r}, sd={sd!r}. "
            "Compute them over the training split only."
        )
    if not (math.isfinite(mean) and math.isfinite(sd) and sd > 0):
        raise UsageError(f"'dataset-z' needs a finite mean and a finite sd above 0, found mean={mean!r}, sd={sd!r}.")


def _z(values: np.ndarray, ddof: int, eps: float) -> np.ndarray:
    centred = values - values.mean(axis=-1, keepdims=True)
    freedom = max(values.shape[-1] - ddof, 1)
    sd = np.sqrt((centred * centred).sum(axis=-1, keepdims=True) / freedom)
    return np.where(varies(values), centred / np.where(varies(values), sd + eps, 1.0), 0.0)


def _minmax(values: np.ndarray, *, symmetric: bool) -> np.ndarray:
    low = values.min(axis=-1, keepdims=True)
    width = np.where(varies(values), np.ptp(values, axis=-1, keepdims=True), 1.0)
    unit = (values - low) / width
    return np.where(varies(values), 2 * unit - 1 if symmetric else unit, 0.0)


def varies(values: np.ndarray) -> np.ndarray:
    """Whether each row is more than rounding of a constant: bool (..., 1)."""
    return np.ptp(values, axis=-1, keepdims=True) > _CONSTANT
