"""What every step of a chain promises."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from pydantic import BaseModel, ConfigDict


class Step(BaseModel, ABC):
    """One step: its fields are its whole identity, each record's result is independent of the others, bit for bit.

    Subclasses add `step`, the literal they are told apart by in a file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """The step on a batch.

        Args:
            x: float64 (records, ..., samples), finite, C-contiguous; not changed.
            rate: its sampling rate, Hz.

        Returns:
            float64 samples and their rate.
        """
