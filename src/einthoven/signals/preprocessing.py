"""The way from a record as stored to the array an encoder takes, as one value with an identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from einthoven.foundation.errors import SignalError

from .cropping import CropRule, PadRule, fit_length
from .filtering import Precision, bandpass, check_band
from .leads import STANDARD_LEADS, arrange_leads, canonical_leads
from .normalisation import NormalisationMethod, check_normalisation, normalise
from .resampling import ResamplingMethod, resample
from .samples import positive_rate

# Raise when the same declared steps give other samples than before: it is part of the key of every stored embedding.
ALGORITHMS = 1


class Bandpass(BaseModel):
    """A zero-phase Butterworth filter; see `signals.filtering.bandpass`.

    Attributes:
        low: Hz, or None for a low-pass filter.
        high: Hz, or None for a high-pass filter.
        order: of the Butterworth design.
        precision: of the arithmetic; "float32" only to reproduce chains that ran so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: float | None
    high: float | None
    order: int = Field(ge=1)
    precision: Precision = "float64"


class Preprocessing(BaseModel):
    """Everything that is done to a record before an encoder sees it.

    The steps, in this order, which is fixed: leads are put in order (missing limb leads derived), the signal is
    resampled, filtered, normalised, and last cropped or padded. So statistics of a normalisation are those of the
    whole record, and zero padding is 0 after normalisation.

    Attributes:
        name: of the preset: "native" (as the encoder's authors do it), "ecgfix", "interpbench", your own. Not part of
            the identity: two presets that do the same are the same.
        leads: the leads the encoder takes, in its order; None takes whatever channels a record has, as they are.
        rate: Hz.
        seconds: length given to the encoder, round(seconds * rate) samples; None leaves every record as long as it is.
        resampling: see `signals.resampling.resample`.
        filter: see `Bandpass`; None for none.
        normalisation: see `signals.normalisation.normalise`.
        mean: mV, for "dataset-z" only.
        sd: mV, for "dataset-z" only.
        ddof: 1 for the unbiased sd, 0 for the population sd, in "lead-z" and "record-z".
        eps: added to the sd.
        crop: see `signals.cropping.fit_length`.
        pad: likewise.

    Example:
        >>> half = Preprocessing(name="half", rate=250, seconds=5, normalisation="lead-z")
        >>> half.apply(np.zeros((3, 12, 5000), dtype=np.float32), STANDARD_LEADS, 500).shape
        (3, 12, 1250)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    leads: tuple[str, ...] | None = Field(default=STANDARD_LEADS, min_length=1)
    rate: float
    seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    resampling: ResamplingMethod = "polyphase"
    filter: Bandpass | None = None
    normalisation: NormalisationMethod = "none"
    mean: float | None = None
    sd: float | None = None
    ddof: Literal[0, 1] = 1
    eps: float = 1e-8
    crop: CropRule = "centre"
    pad: PadRule = "zero"

    @field_validator("leads")
    @classmethod
    def _known_leads(cls, leads: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if leads is None else canonical_leads(leads)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        positive_rate(self.rate, name="rate")
        if self.samples == 0:
            raise ValueError(f"{self.seconds!r} s at {self.rate:g} Hz is less than one sample; give more seconds.")
        if self.filter is not None:
            check_band(self.rate, low=self.filter.low, high=self.filter.high, order=self.filter.order)
        check_normalisation(self.normalisation, mean=self.mean, sd=self.sd, eps=self.eps)
        return self

    @property
    def shape(self) -> tuple[int | None, int | None]:
        """Leads and samples of what the encoder takes of one record; None where any number will do."""
        return (None if self.leads is None else len(self.leads), self.samples)

    @property
    def samples(self) -> int | None:
        """Samples given to the encoder; None when `seconds` is."""
        return None if self.seconds is None else round(self.seconds * self.rate)

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
        """The steps of the class docstring on a batch of records.

        A record's result does not depend on the other records of the batch, bit for bit.

        Args:
            signal: (records, leads, samples), mV, finite.
            names: names of its leads, in its order.
            rate: its sampling rate, Hz.

        Returns:
            float32 (records, leads, samples), C-contiguous, a new array.

        Raises:
            SignalError: samples that are not finite, leads that are missing, or a record too short for the filter or,
                with pad="refuse", for the encoder.
        """
        values = np.asarray(signal)
        if values.ndim != 3:
            raise SignalError(
                f"Expected a batch (records, leads, samples), found shape {values.shape}. "
                "Give one record as signal[None]."
            )
        arranged = values if self.leads is None else arrange_leads(values, names, target=self.leads)
        x = resample(arranged, rate, self.rate, method=self.resampling)
        if self.filter is not None:
            x = bandpass(x, self.rate, **self.filter.model_dump())
        if self.normalisation != "none":
            x = normalise(x, self.normalisation, mean=self.mean, sd=self.sd, ddof=self.ddof, eps=self.eps)
        if self.samples is not None:
            x = fit_length(x, self.samples, crop=self.crop, pad=self.pad)
        return np.ascontiguousarray(x)
