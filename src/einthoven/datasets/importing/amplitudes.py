"""Are the numbers of a file what `units` or `gain` of the mapping says? Told in the mapping's own words."""

from __future__ import annotations

import math

import numpy as np

from einthoven.foundation.errors import SignalError
from einthoven.signals.units import HIGHEST_MILLIVOLTS, LOWEST_MILLIVOLTS, record_amplitudes, to_millivolts

from .signal_mapping import Signals

_UNITS = ("mV", "uV", "V", "nV")
_GAINS = (200.0, 204.9, 1000.0)  # ADC units per mV that recorders have
_TYPICAL = (0.3, 9.5)  # mV, peak to peak: what most ECGs have
_MEDIAN = 1.1
# The quick look takes the whole range of a lead, which one spike can make this much larger than the amplitude.
_SPIKES = 10


def check_amplitude(signal: np.ndarray, numbers: np.ndarray, signals: Signals, *, where: str) -> None:
    """Refuse a record whose amplitude no ECG has, and say which unit or gain would explain it.

    Args:
        signal: (leads, samples), mV by the mapping.
        numbers: the same as they stand in the file.
        where: the record, for the message.

    Raises:
        SignalError: the amplitude is outside of what `check_plausible_millivolts` takes.
    """
    if not signal.size or not np.isfinite(signal).all():
        return  # said when the record is taken in
    spread = float(np.median(np.ptp(signal, axis=-1)))
    if LOWEST_MILLIVOLTS * _SPIKES <= spread <= HIGHEST_MILLIVOLTS:
        return
    amplitude = float(record_amplitudes(signal))
    if math.isnan(amplitude) or LOWEST_MILLIVOLTS <= amplitude <= HIGHEST_MILLIVOLTS:
        return
    said = f"units: {signals.units}" if signals.gain is None else f"gain: {signals.gain:g}"
    raise SignalError(
        f"These are not millivolts in {where}: by signals.{said} of the mapping the median peak-to-peak over the "
        f"leads is {amplitude:.4g} mV, and an ECG has {LOWEST_MILLIVOLTS:g} to {HIGHEST_MILLIVOLTS:g} mV. "
        f"{_better(amplitude, numbers, signals)}"
    )


def _better(amplitude: float, numbers: np.ndarray, signals: Signals) -> str:
    """Which `units` or `gain` would make an ECG of it, best fit first."""
    raw = amplitude * signals.gain if signals.gain is not None else amplitude / _factor(signals.units or "mV")
    found = [(raw * _factor(unit), f"units: {unit}") for unit in _UNITS]
    if bool((numbers == np.rint(numbers)).all()):
        # ADC values are whole numbers.
        found += [(raw / gain, f"gain: {gain:g}") for gain in _GAINS]
    fitting = [(value, said) for value, said in found if _TYPICAL[0] <= value <= _TYPICAL[1]]
    if not fitting:
        return "No usual unit or gain makes an ECG of them: correct signals.units, signals.gain or signals.key."
    fitting.sort(key=lambda item: abs(math.log(item[0] / _MEDIAN)))
    listed = ", or ".join(f"`{said}` would make it {value:.3g} mV" for value, said in fitting)
    return f"Correct the mapping, best fit first: {listed}."


def _factor(unit: str) -> float:
    return float(to_millivolts(np.ones(1), unit)[0])
