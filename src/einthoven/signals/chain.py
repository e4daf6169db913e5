"""Published preprocessing, step by step in the order its authors took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from einthoven.foundation.errors import SignalError

from .leads import STANDARD_LEADS, arrange_leads, canonical_leads
from .samples import finite_samples, positive_rate
from .steps.beats import Beats
from .steps.filters import Butterworth, FirBandpass, MinusMedian, NeurokitClean, Notch
from .steps.lengths import Fit, JoinLeads, Views
from .steps.rates import Decimate, Resample
from .steps.scales import HalfPrecision, Rescale, Shift, Standardise

AnyStep = Annotated[
    Fit
    | Views
    | JoinLeads
    | Resample
    | Decimate
    | Butterworth
    | Notch
    | FirBandpass
    | MinusMedian
    | NeurokitClean
    | Standardise
    | Rescale
    | Shift
    | HalfPrecision
    | Beats,
    Field(discriminator="step"),
]


class Chain(BaseModel):
    """What is done to a record before an encoder sees it, in any order, computed in float64.

    `Preprocessing` has one order, and is what most people want; published encoders were trained after chains that
    normalise before they resample, or filter twice. Both are asked the same things.

    Attributes:
        name: of the preset; not part of the identity.
        leads: the leads the encoder takes, in its order, put so before the first step; None takes any channels.
        steps: in their order.
        shape: of what the encoder takes of one record: (leads, samples), or (views, leads, samples).
        rate: of that, Hz.

    Example:
        >>> z = Standardise(over="lead")
        >>> chain = Chain(name="z", steps=(z, Resample(rate=250, method="fft")), shape=(12, 2500), rate=250)
        >>> chain.apply(np.zeros((3, 12, 5000), dtype=np.float32), STANDARD_LEADS, 500).shape
        (3, 12, 2500)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    leads: tuple[str, ...] | None = Field(default=STANDARD_LEADS, min_length=1)
    steps: tuple[AnyStep, ...]
    shape: tuple[int, ...] = Field(min_length=2, max_length=3)
    rate: float

    @field_validator("leads")
    @classmethod
    def _known_leads(cls, leads: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if leads is None else canonical_leads(leads)

    @field_validator("rate")
    @classmethod
    def _possible_rate(cls, rate: float) -> float:
        return positive_rate(rate, name="rate")

    def takes(self, names: Sequence[str]) -> bool:
        """Whether the leads it wants are among those with these names, or follow from them."""
        if self.leads is None:
            return True
        try:
            arrange_leads(np.zeros((1, len(names), 1)), names, target=self.leads)
        except SignalError:
            return False
        return True

    def identity(self) -> dict[str, Any]:
        """All fields but `name`, as plain JSON values: what a cache key is made of."""
        return self.model_dump(mode="json", exclude={"name"})

    def apply(self, signal: np.ndarray, names: Sequence[str], rate: float) -> np.ndarray:
        """The steps on a batch of records; a record's result does not depend on the others, bit for bit.

        Args:
            signal: (records, leads, samples), mV, finite.
            names: names of its leads, in its order.
            rate: its sampling rate, Hz.

        Returns:
            float32 (records, *shape), C-contiguous, a new array.

        Raises:
            SignalError: samples that are not finite, leads that are missing, a record too short for a step, or a
                result of another shape than the encoder takes.
        """
        values = np.asarray(signal)
        if values.ndim != 3:
            raise SignalError(
                f"Expected a batch (records, leads, samples), found shape {values.shape}. "
                "Give one record as signal[None]."
            )
        arranged = values if self.leads is None else arrange_leads(values, names, target=self.leads)
        x, at = finite_samples(arranged, step=f"Preprocessing {self.name}"), positive_rate(rate, name="sampling rate")
        for step in self.steps:
            x, at = step.run(x, at)
        if x.shape[1:] != self.shape:
            raise SignalError(
                f"Preprocessing {self.name!r} made {x.shape[1:]} of records of {values.shape[2]} samples at {rate:g} "
                f"Hz; the encoder takes {self.shape}. Prepare the cohort with records of the length it needs."
            )
        return np.ascontiguousarray(x, dtype=np.float32)
