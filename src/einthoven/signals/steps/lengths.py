"""Steps that change how long a record is, or cut it into views."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from einthoven.foundation.errors import SignalError
from einthoven.signals.cropping import CropRule, PadRule, fitted

from .step import Step


class Fit(Step):
    """Crop or pad to a duration; see `signals.cropping.fit_length`."""

    step: Literal["fit"] = "fit"
    seconds: float = Field(gt=0, allow_inf_nan=False)
    crop: CropRule = "centre"
    pad: PadRule = "zero"

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., samples) to (records, ..., round(seconds * rate))."""
        return fitted(x, round(self.seconds * rate), crop=self.crop, pad=self.pad), rate


class Views(Step):
    """Several windows of one record, which an encoder reads one by one and puts together.

    Attributes:
        seconds: of each window.
        starts: where each begins, seconds.
    """

    step: Literal["views"] = "views"
    seconds: float = Field(gt=0, allow_inf_nan=False)
    starts: tuple[float, ...] = Field(min_length=1)

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, leads, samples) to (records, views, leads, samples)."""
        length = round(self.seconds * rate)
        firsts = [round(start * rate) for start in self.starts]
        needed = max(firsts) + length
        if x.shape[-1] < needed:
            raise SignalError(f"Views up to sample {needed} are wanted and the record has {x.shape[-1]} samples.")
        return np.stack([x[..., first : first + length] for first in firsts], axis=1), rate


class JoinLeads(Step):
    """All leads one after the other as one long channel (HuBERT-ECG)."""

    step: Literal["join-leads"] = "join-leads"

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, leads, samples) to (records, 1, leads * samples)."""
        return x.reshape(len(x), 1, -1), rate
