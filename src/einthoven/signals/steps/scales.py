"""Steps that change the scale of samples."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from einthoven.signals.normalisation import varies

from .step import Step

Over = Literal["lead", "record"]


class Standardise(Step):
    """(x - mean) / max(sd + eps, floor) over each lead, or over all leads of a record (of a view); 0 where constant.

    Attributes:
        ddof: 0 for the population sd, 1 for the unbiased one.
    """

    step: Literal["standardise"] = "standardise"
    over: Over
    ddof: Literal[0, 1] = 0
    eps: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    floor: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., leads, samples), same shape."""
        flat = _flat(x, self.over)
        centred = flat - flat.mean(axis=-1, keepdims=True)
        freedom = max(flat.shape[-1] - self.ddof, 1)
        sd = np.sqrt((centred * centred).sum(axis=-1, keepdims=True) / freedom)
        alive = varies(flat)
        divisor = np.where(alive, np.maximum(sd + self.eps, self.floor), 1.0)
        return np.where(alive, centred / divisor, 0.0).reshape(x.shape), rate


class Rescale(Step):
    """low + (high - low) * (x - min) / (max - min + eps) over each lead, or all leads of a record.

    What is constant becomes `constant`, by default 0.
    """

    step: Literal["rescale"] = "rescale"
    over: Over
    low: float = Field(allow_inf_nan=False)
    high: float = Field(allow_inf_nan=False)
    eps: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    constant: float = Field(default=0.0, allow_inf_nan=False)

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., leads, samples), same shape."""
        flat = _flat(x, self.over)
        low = flat.min(axis=-1, keepdims=True)
        alive = varies(flat)
        width = np.where(alive, np.ptp(flat, axis=-1, keepdims=True) + self.eps, 1.0)
        unit = (flat - low) / width
        return np.where(alive, self.low + (self.high - self.low) * unit, self.constant).reshape(x.shape), rate


class Shift(Step):
    """(x - mean) / sd with the same two numbers for every record."""

    step: Literal["shift"] = "shift"
    mean: float = Field(allow_inf_nan=False)
    sd: float = Field(gt=0, allow_inf_nan=False)

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., samples), same shape."""
        return (x - self.mean) / self.sd, rate


class HalfPrecision(Step):
    """Rounded to float16, as a protocol that stores its signals so feeds them (ecg-fix)."""

    step: Literal["half-precision"] = "half-precision"

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., samples), same shape."""
        return x.astype(np.float16).astype(np.float64), rate


def _flat(x: np.ndarray, over: Over) -> np.ndarray:
    # One flat axis to reduce over, so that the sum runs in the same order whatever the batch looks like.
    return x if over == "lead" else x.reshape(*x.shape[:-2], 1, -1)
