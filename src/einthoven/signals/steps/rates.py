"""Steps that change the sampling rate."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from einthoven.foundation.errors import SignalError
from einthoven.signals.resampling import ResamplingMethod, resampled

from .step import Step


class Resample(Step):
    """To a rate; see `signals.resampling.resample`. Equal rates change nothing."""

    step: Literal["resample"] = "resample"
    rate: float = Field(gt=0, allow_inf_nan=False)
    method: ResamplingMethod

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., samples) at another rate."""
        return resampled(x, rate, self.rate, method=self.method), self.rate


class Decimate(Step):
    """Every `factor`-th sample after a zero-phase Chebyshev filter of order 8 (`scipy.signal.decimate`)."""

    step: Literal["decimate"] = "decimate"
    factor: int = Field(ge=2)

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., samples) to (records, ..., ceil(samples / factor))."""
        import scipy.signal

        if x.shape[-1] <= 27:  # scipy's edge for the eight poles
            raise SignalError(f"Decimation needs more than 27 samples, found {x.shape[-1]}. Take a longer record.")
        return np.ascontiguousarray(scipy.signal.decimate(x, self.factor, axis=-1)), rate / self.factor
