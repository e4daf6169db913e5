"""Voltages in millivolts, and a check that they are."""

from __future__ import annotations

import numpy as np

from einthoven.foundation.errors import SignalError, UsageError, nearest

_FACTORS = {"V": 1e3, "mV": 1.0, "uV": 1e-3, "nV": 1e-6}
_SPELLINGS = {"volt": "V", "volts": "V", "v": "V"}
_SPELLINGS |= {"millivolt": "mV", "millivolts": "mV", "mv": "mV"}
_SPELLINGS |= {"microvolt": "uV", "microvolts": "uV", "uv": "uV"}
_SPELLINGS |= {"nanovolt": "nV", "nanovolts": "nV", "nv": "nV"}
_ADC = ("adc", "adu", "count", "counts")

# Measured peak-to-peak (0.5th to 99.5th percentile, median over leads) of 2,220 12-lead ECGs of PTB-XL, Georgia,
# CPSC 2018, Chapman/Ningbo, PTB and CODE-15%: 0.42 to 5.2 mV, median 1.1; of 595 single-lead ones: 0.32 to 9.2 mV.
# Below: volts read as mV reach 0.0092; what stays above is any amplifier's own noise,
# so that asystole passes. Above: the smallest ECG read in steps of 4.88 uV reaches 65.
LOWEST_MILLIVOLTS = 0.01
HIGHEST_MILLIVOLTS = 20.0
_TYPICAL = (0.3, 9.5)
_MEDIAN = 1.1

# What a record in the wrong unit must be multiplied by, and how it comes about.
_CAUSES_HIGH = (
    (1e-3, "samples in uV, or ADC counts at 1000 per mV, read as mV (divide by 1000)"),
    (1 / 204.9, "ADC counts at 4.88 uV each read as mV (divide by 204.9)"),
    (1 / 200, "ADC counts at 200 per mV read as mV (divide by 200)"),
    (1e-6, "samples in nV read as mV (divide by 1000000)"),
)
_CAUSES_LOW = (
    (1e3, "samples in V read as mV (multiply by 1000)"),
    (200.0, "samples divided twice by a gain of 200 ADC units per mV (multiply by 200)"),
    (1e6, "samples in V divided once more by 1000 (multiply by 1000000)"),
)


def to_millivolts(
    signal: np.ndarray,
    unit: str,
    *,
    gain: float | np.ndarray | None = None,
    baseline: float | np.ndarray | None = None,
) -> np.ndarray:
    """A signal as float32 mV, computed in float64.

    Args:
        signal: (..., samples) or (..., leads, samples), any real dtype. Samples that are not finite stay so.
        unit: "V", "mV", "uV" ("\u00b5V"), "nV", their names in full ("millivolt"), or "adc" / "adu" / "counts" with a
            gain. Case does not matter, but for "MV", which could be mV or megavolt and is refused.
        gain: ADC units per mV, a number or one for each lead; with "adc" only, and required there.
        baseline: ADC value of 0 mV, a number or one for each lead; default 0.

    Returns:
        float32 mV of the same shape: (signal - baseline) / gain for ADC values (WFDB header(5)).

    Raises:
        SignalError: an unknown or ambiguous unit, a gain that is not above 0, or as many gains as there are no leads.
        UsageError: a gain or baseline with a unit that has none, or ADC values without a gain.

    Example:
        >>> import numpy as np
        >>> to_millivolts(np.array([1024, 1224]), "adc", gain=200, baseline=1024)
        array([0., 1.], dtype=float32)
    """
    name = _unit(unit)
    values = np.asarray(signal, dtype=np.float64)
    if name != "adc":
        if gain is not None or baseline is not None:
            raise UsageError(
                f"A gain or baseline was given for samples in {name}: they are physical values already. "
                "Give unit='adc' if the samples are ADC values."
            )
        return (values * _FACTORS[name]).astype(np.float32)
    if gain is None:
        raise UsageError("ADC values need `gain`, in ADC units per mV (the WFDB header states it for each lead).")
    gains = _for_each_lead(gain, values.shape, "gain")
    if not np.all(np.isfinite(gains) & (gains > 0)):
        raise SignalError(f"Every gain must be a finite number of ADC units per mV above 0, found {gain!r}.")
    baselines = _for_each_lead(0.0 if baseline is None else baseline, values.shape, "baseline")
    if not np.all(np.isfinite(baselines)):
        raise SignalError(f"Every baseline must be a finite ADC value, found {baseline!r}.")
    return ((values - baselines) / gains).astype(np.float32)


def check_plausible_millivolts(signal: np.ndarray, *, where: str = "") -> None:
    """Refuse a record whose amplitude no ECG has in mV, and say which wrong unit explains it.

    The amplitude of a record is the median over its leads of the peak-to-peak between the 0.5th and 99.5th percentile,
    so that a spike of up to 0.5 % of the samples, or a few bad leads, refuse nothing. Leads that do not vary and
    samples that are not finite are left out; a record without any varying lead passes (`quality_flags` reports it). It
    must lie in [`LOWEST_MILLIVOLTS`, `HIGHEST_MILLIVOLTS`]; their origin stands beside them. A signal that was
    normalised, or that is a factor below 10 off, cannot be told from mV.

    Args:
        signal: (..., leads, samples), meant to be mV; every record is judged by itself.
        where: what the signal is, for the message.

    Raises:
        SignalError: the amplitude of a record is out of bounds, or the shape has no leads.
    """
    values = np.asarray(signal)
    if values.ndim < 2:
        raise SignalError(f"Expected a signal of shape (..., leads, samples), found shape {values.shape}.")
    amplitudes = record_amplitudes(values).ravel()
    bad = np.flatnonzero((amplitudes < LOWEST_MILLIVOLTS) | (amplitudes > HIGHEST_MILLIVOLTS))
    if not bad.size:
        return
    amplitude = float(amplitudes[bad[0]])
    place = f" in {where}" if where else ""
    many = f" ({bad.size} of {amplitudes.size} records; first: {int(bad[0])})" if amplitudes.size > 1 else ""
    raise SignalError(
        f"These are not millivolts{place}{many}: the median peak-to-peak over the leads is {amplitude:.4g}, and an "
        f"ECG has {LOWEST_MILLIVOLTS:g} to {HIGHEST_MILLIVOLTS:g} mV, mostly {_TYPICAL[0]:g} to 5 mV. "
        f"{_likely_cause(amplitude)} Check the unit and gain in the source and convert with to_millivolts."
    )


def record_amplitudes(signal: np.ndarray) -> np.ndarray:
    """Median over the varying leads of the peak-to-peak between the 0.5th and 99.5th percentile.

    Args:
        signal: (..., leads, samples); samples that are not finite are left out.

    Returns:
        float64 (...), in the unit of the signal; NaN for a record in which no lead varies.
    """
    values = np.asarray(signal, dtype=np.float64)
    finite = np.isfinite(values)
    amplitudes = np.full(values.shape[:-1], np.nan)
    whole = finite.all(axis=-1) & (values.shape[-1] > 0)
    if whole.any():
        low, high = np.percentile(values[whole], [0.5, 99.5], axis=-1)
        amplitudes[whole] = high - low
    partial = finite.any(axis=-1) & ~whole
    if partial.any():
        gaps = np.where(finite[partial], values[partial], np.nan)
        low, high = np.nanpercentile(gaps, [0.5, 99.5], axis=-1)
        amplitudes[partial] = high - low
    amplitudes[amplitudes == 0] = np.nan
    varying = np.isfinite(amplitudes).any(axis=-1)
    medians = np.full(values.shape[:-2], np.nan)
    medians[varying] = np.nanmedian(amplitudes[varying], axis=-1)
    return medians


def _unit(unit: str) -> str:
    text = str(unit).strip().replace("\u00b5", "u").replace("\u03bc", "u")
    if text in _FACTORS:
        return text
    if text.startswith(("MV", "Mv")):
        raise SignalError(
            f"The unit {unit!r} is ambiguous: M stands for mega, and no ECG is in megavolt. "
            "Write 'mV' if it is millivolt."
        )
    folded = text.casefold()
    if folded in _ADC:
        return "adc"
    if folded in _SPELLINGS:
        return _SPELLINGS[folded]
    close = nearest(text, [*_FACTORS, *_SPELLINGS, *_ADC])
    hint = f" Nearest: {', '.join(close)}." if close else ""
    raise SignalError(f"Unknown unit {unit!r}.{hint} Known: {', '.join(_FACTORS)}, adc (with a gain).")


def _for_each_lead(value: float | np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.ndim == 0:
        return numbers
    if numbers.ndim != 1 or len(shape) < 2 or len(numbers) != shape[-2]:
        raise SignalError(
            f"The {name} must be one number, or one for each lead of a signal (..., leads, samples); found a {name} of "
            f"shape {numbers.shape} for a signal of shape {shape}."
        )
    return numbers[:, None]


def _likely_cause(amplitude: float) -> str:
    causes = _CAUSES_HIGH if amplitude > HIGHEST_MILLIVOLTS else _CAUSES_LOW
    fitting = [(amplitude * factor, cause) for factor, cause in causes if _fits(amplitude * factor)]
    if not fitting:
        return "No usual mistake of the unit explains it."
    fitting.sort(key=lambda item: abs(np.log(item[0] / _MEDIAN)))
    listed = "; or ".join(f"{cause}, which gives {millivolts:.3g} mV" for millivolts, cause in fitting)
    return f"Likely cause, best fit first: {listed}."


def _fits(millivolts: float) -> bool:
    return _TYPICAL[0] <= millivolts <= _TYPICAL[1]
