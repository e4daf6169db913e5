"""QRS complexes as the XQRS detector of the WFDB package finds them, many records at a time.

The detector (PhysioNet, `wfdb.processing.XQRS`): band-pass 5 to 20 Hz, a Ricker wavelet of a QRS's width, the square of
that; thresholds learnt from the first eight beats; a second look with half the threshold where a beat is late. Every
position is the one `wfdb.processing.xqrs_detect` of wfdb 4.3 gives. It is written anew because that takes 4 ms a
record, most of it in the search for local peaks, and because published tokens depend on its every decision: an update
of a package must not move them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from einthoven.foundation.errors import SignalError

# Its defaults: heart rates in beats a minute, widths in seconds, the first threshold in mV.
_RATE_INITIAL, _RATE_LOWEST, _RATE_HIGHEST = 75, 25, 200
_QRS_SECONDS, _REFRACTORY_SECONDS = 0.1, 0.2
_THRESHOLD = 0.13
_BAND = (5.0, 20.0)
_LEARNT_FROM = 8
_LIKE_A_QRS = 0.6
_LATE = 1.66


def xqrs(lead: np.ndarray, rate: float) -> list[np.ndarray]:
    """Positions of QRS complexes.

    Args:
        lead: (records, samples), one lead of each record, mV, finite.
        rate: Hz, above 40.

    Returns:
        For each record int64 positions, samples, ascending; none where the lead is flat or nothing was found.

    Raises:
        SignalError: a rate too low for the band of the detector, or fewer samples than its filters need.
    """
    if rate / 2 <= _BAND[1]:
        raise SignalError(
            f"XQRS filters up to {_BAND[1]:g} Hz and needs more than {2 * _BAND[1]:g} Hz; found {rate:g}."
        )
    design = _design(rate)
    if lead.shape[-1] <= design.edge:
        raise SignalError(f"XQRS needs more than {design.edge} samples at {rate:g} Hz, found {lead.shape[-1]}.")
    import scipy.signal

    filtered = scipy.signal.filtfilt(design.b, design.a, lead, axis=-1)
    power = scipy.signal.filtfilt(design.wavelet, np.ones(1), filtered, axis=-1) ** 2
    flat = lead.max(axis=-1) == lead.min(axis=-1)
    peaks, peaks_filtered = _local_peaks(power, design.radius), _local_peaks(filtered, design.radius)
    none = np.zeros(0, dtype=np.int64)
    return [
        none
        if flat[i]
        else _detected(power[i], peaks[i], _learnt(filtered[i], power[i], peaks_filtered[i], design), design)
        for i in range(len(lead))
    ]


@dataclass(frozen=True)
class _Design:
    b: np.ndarray
    a: np.ndarray
    wavelet: np.ndarray
    template: np.ndarray
    gain: float
    width: int
    radius: int
    refractory: int
    interval: float
    shortest: float
    longest: float

    @property
    def edge(self) -> int:
        return 3 * max(len(self.b), len(self.a), len(self.wavelet))


@dataclass
class _State:
    """What the detector believes at a moment; amplitudes are of the squared signal, times in samples."""

    qrs: float
    noise: float
    interval: float
    last: float
    threshold: float = 0.0

    def __post_init__(self) -> None:
        self.set_threshold()

    def set_threshold(self) -> None:
        self.threshold = 0.25 * self.qrs + 0.75 * self.noise


@lru_cache(maxsize=8)
def _design(rate: float) -> _Design:
    import scipy.signal

    # Typed by hand: scipy's own types cannot tell which of its outputs was asked for.
    polynomials: Any = scipy.signal.butter(2, [cutoff * 2 / rate for cutoff in _BAND], "pass")
    b, a = polynomials
    width, radius = int(_QRS_SECONDS * rate), int(_QRS_SECONDS / 2 * rate)
    wavelet = _ricker(width)
    middle = sum(_BAND) / 2
    # Each filter runs twice, and the detector doubles its gain for that.
    gain = (_gain(b, a, middle, rate) * 2) * (_gain(wavelet, np.ones(1), middle, rate) * 2)
    return _Design(
        b=b,
        a=a,
        wavelet=wavelet,
        template=_ricker(2 * radius),
        gain=gain,
        width=width,
        radius=radius,
        refractory=int(_REFRACTORY_SECONDS * rate),
        interval=60 * rate / _RATE_INITIAL,
        shortest=60 * rate / _RATE_HIGHEST,
        longest=60 * rate / _RATE_LOWEST,
    )


def _ricker(points: int, width: float = 4.0) -> np.ndarray:
    squares = (np.arange(points) - (points - 1.0) / 2) ** 2
    height = 2 / (np.sqrt(3 * width) * np.pi**0.25)
    return height * (1 - squares / width**2) * np.exp(-squares / (2 * width**2))


def _gain(b: np.ndarray, a: np.ndarray, frequency: float, rate: float) -> float:
    import scipy.signal

    response_of: Any = scipy.signal.freqz
    at, response = response_of(b, a)
    return float(abs(response[np.flatnonzero(at >= frequency * 2 * np.pi / rate)[0]]))


def _local_peaks(x: np.ndarray, radius: int) -> list[np.ndarray]:
    """Samples that are the largest of the `radius` before and the `radius` - 1 after, at least `radius` apart."""
    from scipy.ndimage import maximum_filter1d

    # A window of even size reaches one sample further to the left.
    highest = maximum_filter1d(x, 2 * radius, axis=-1, mode="constant", cval=-np.inf)
    found = []
    for is_peak, flat in zip(x == highest, x.max(axis=-1) == x.min(axis=-1), strict=True):
        kept: list[int] = []
        free = 0
        for at in [] if flat else np.flatnonzero(is_peak).tolist():
            if at >= free:
                kept.append(at)
                free = at + radius
        found.append(np.array(kept, dtype=np.int64))
    return found


def _learnt(filtered: np.ndarray, power: np.ndarray, peaks: np.ndarray, design: _Design) -> _State:
    inside = np.flatnonzero(peaks > design.width), np.flatnonzero(peaks <= len(filtered) - design.width)
    first, last = (inside[0][0], inside[1][-1]) if inside[0].size and inside[1].size else (0, 0)
    beats: list[int] = []
    noise: list[float] = []
    for at in peaks[first:last].tolist():
        segment = filtered[at - design.radius : at + design.radius]
        norm = np.linalg.norm(segment)
        # Where the norm is 0 nothing is like a QRS.
        like = norm > 0 and np.correlate(segment / norm, design.template)[0] > _LIKE_A_QRS
        if like and at - (beats[-1] if beats else -design.longest) > design.shortest:
            beats.append(at)
        else:
            noise.append(float(power[at]))
        if len(beats) == _LEARNT_FROM:
            break
    if len(beats) < _LEARNT_FROM:
        amplitude = 27 / 40 * (_THRESHOLD * design.gain)
        return _State(qrs=amplitude, noise=amplitude / 10, interval=design.interval, last=0)
    amplitude = float(np.mean(power[beats]))
    intervals = np.diff(beats)
    intervals = intervals[intervals < design.longest]
    return _State(
        qrs=amplitude,
        noise=float(np.mean(noise)) if noise else amplitude / 10,
        interval=float(np.mean(intervals)) if intervals.size else design.interval,
        last=min(0, beats[0] - design.shortest - 1),
    )


def _detected(power: np.ndarray, peaks: np.ndarray, state: _State, design: _Design) -> np.ndarray:
    at, height = peaks.tolist(), power[peaks].tolist()
    beats: list[int] = []
    last_number: int | None = None

    def is_beat(number: int, threshold: float) -> bool:
        return at[number] - state.last > design.refractory and height[number] > threshold

    def add(number: int, weight: float) -> None:
        interval = at[number] - state.last
        if interval < design.longest:
            state.interval = 0.875 * state.interval + 0.125 * interval
        beats.append(at[number])
        state.last = at[number]
        state.qrs = (1 - weight) * state.qrs + weight * height[number]
        state.set_threshold()

    for number in range(len(at)):
        if is_beat(number, state.threshold):
            add(number, 0.125)
            last_number = number
        else:
            state.noise = 0.875 * state.noise + 0.125 * height[number]
        late = number + 1 < len(at) and at[number + 1] - state.last > state.interval * _LATE
        if late and last_number is not None:
            for earlier in range(last_number + 1, number + 1):
                if is_beat(earlier, state.threshold / 2):
                    add(earlier, 0.25)
                    last_number = number
    return np.array(beats, dtype=np.int64)
