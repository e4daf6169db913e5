"""Zero-phase filters as published chains use them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field

from einthoven.foundation.errors import SignalError, UsageError
from einthoven.signals.filtering import Precision, check_band, filtered

from .step import Step


class Butterworth(Step):
    """A Butterworth filter run forwards and backwards.

    Attributes:
        low: Hz, or None for a low-pass filter.
        high: Hz, or None for a high-pass filter.
        order: of the design.
        form: "sections" as `signals.filtering.bandpass`; "transfer-function" is `scipy.signal.filtfilt` on the
            polynomials, as older chains have it: less exact, and another edge.
        precision: of "sections"; see `signals.filtering.bandpass`.
    """

    step: Literal["butterworth"] = "butterworth"
    low: float | None
    high: float | None
    order: int = Field(ge=1)
    form: Literal["sections", "transfer-function"] = "sections"
    precision: Precision = "float64"

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., samples), same shape."""
        if self.form == "sections":
            settings = self.model_dump(include={"low", "high", "order", "precision"})
            return filtered(x, rate, **settings).astype(np.float64), rate
        import scipy.signal

        check_band(rate, low=self.low, high=self.high, order=self.order)
        kind = "highpass" if self.high is None else "lowpass" if self.low is None else "bandpass"
        cutoffs = [c for c in (self.low, self.high) if c is not None]
        # Typed by hand: scipy's own types cannot tell which of its outputs was asked for.
        polynomials: Any = scipy.signal.butter(
            self.order, cutoffs if len(cutoffs) > 1 else cutoffs[0], btype=kind, fs=rate
        )
        b, a = polynomials
        return _both_ways(b, a, x), rate


class Notch(Step):
    """A second-order notch (`scipy.signal.iirnotch`) run forwards and backwards."""

    step: Literal["notch"] = "notch"
    frequency: float = Field(gt=0, allow_inf_nan=False)
    quality: float = Field(gt=0, allow_inf_nan=False)

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., samples), same shape. A rate that cannot hold the frequency leaves the samples as they are."""
        import scipy.signal

        if self.frequency >= rate / 2:
            return x, rate
        b, a = scipy.signal.iirnotch(self.frequency, self.quality, fs=rate)
        return _both_ways(b, a, x), rate


class FirBandpass(Step):
    """A windowed FIR band-pass run forwards and backwards, as biosppy's `filter_signal` does it.

    Attributes:
        low: Hz.
        high: Hz.
        seconds: of the filter: int(seconds * rate) taps, one more where that is even.
    """

    step: Literal["fir-bandpass"] = "fir-bandpass"
    low: float = Field(gt=0, allow_inf_nan=False)
    high: float = Field(gt=0, allow_inf_nan=False)
    seconds: float = Field(gt=0, allow_inf_nan=False)

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., samples), same shape."""
        import scipy.signal

        check_band(rate, low=self.low, high=self.high, order=1)
        taps = int(self.seconds * rate) | 1
        b: Any = scipy.signal.firwin(taps, [self.low, self.high], pass_zero=False, fs=rate)
        return _both_ways(b, np.ones(1), x), rate


class MinusMedian(Step):
    """Each lead less its running median, zeros beyond the ends (`scipy.signal.medfilt`)."""

    step: Literal["minus-median"] = "minus-median"
    seconds: float = Field(gt=0, allow_inf_nan=False)

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., samples), same shape; the window is int(seconds * rate) samples, one more where even."""
        from scipy.ndimage import median_filter

        window = int(self.seconds * rate) | 1
        # Lead by lead: scipy's running median of one axis is 30 times as fast as that of several.
        flat = x.reshape(-1, x.shape[-1])
        medians = [median_filter(lead, size=window, mode="constant", cval=0.0) for lead in flat]
        return x - np.asarray(medians).reshape(x.shape), rate


class NeurokitClean(Step):
    """`neurokit2.ecg_clean`, its own method: high-pass 0.5 Hz, Butterworth order 5, then the mains frequency averaged.

    The averaging is over one period of the mains, forwards and backwards. All leads are filtered at once, which gives
    what neurokit2 gives lead by lead in ten times as long.

    Attributes:
        powerline: Hz of the mains.
    """

    step: Literal["neurokit-clean"] = "neurokit-clean"
    powerline: Literal[50, 60] = 50

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, ..., samples), same shape."""
        if rate != int(rate):
            raise UsageError(f"neurokit2 takes whole sampling rates; found {rate:g} Hz. Resample before it.")
        period = int(rate / self.powerline) if rate >= 100 else 2
        return _both_ways(
            np.ones(period), np.full(1, float(period)), filtered(x, rate, low=0.5, high=None, order=5)
        ), rate


def _both_ways(b: np.ndarray, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    import scipy.signal

    edge = 3 * max(len(a), len(b))
    if x.shape[-1] <= edge:
        raise SignalError(f"The filter needs more than {edge} samples, found {x.shape[-1]}. Take a longer record.")
    return np.ascontiguousarray(scipy.signal.filtfilt(b, a, x, axis=-1))
