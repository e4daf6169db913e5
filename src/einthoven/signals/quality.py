"""What is visibly wrong with a record: flags, never repairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from einthoven.foundation.errors import SignalError, UsageError

from .leads import STANDARD_LEADS
from .samples import positive_rate

# A lead off for half of the record or more shows no rhythm over the whole of it.
_FLAT_SHARE = 0.5
# Below one step of the coarsest common recorder (4.88 uV) a lead holds no signal.
_FLAT_RANGE = 0.0045
# A clipped QRS tip can be this narrow, but then every beat has one.
_SHORTEST_PLATEAU_SECONDS = 0.01
_SHORTEST_PLATEAU_SAMPLES = 3
_SHORTEST_HELD_SECONDS = 0.02
# A rounded parabola falls by at most 5 quantisation steps within half of its plateau's length (see `quality_flags`);
# twice that, because some recorders' visible steps are finer than their real ones.
_ABRUPT_STEPS = 10
_ABRUPT_SHARE = 0.05
# The baseline, too, can be a lead's extreme, and be quiet until a QRS leaves it abruptly; it lies near the median.
_OFF_MEDIAN_SHARE = 0.25


@dataclass(frozen=True)
class QualityFlags:
    """What is wrong with each record of a batch.

    Attributes:
        non_finite: bool (records, leads), a sample of the lead is NaN or infinite.
        flat: bool (records, leads), the lead does not vary, or keeps one value for half of the record or longer.
        clipped: bool (records, leads), the lead is held at its largest or smallest value.
        too_short: bool (records,), the record is shorter than asked for.
    """

    non_finite: np.ndarray
    flat: np.ndarray
    clipped: np.ndarray
    too_short: np.ndarray

    @property
    def flagged(self) -> np.ndarray:
        """Bool (records,): anything is wrong with the record."""
        return self.too_short | (self.non_finite | self.flat | self.clipped).any(axis=-1)

    def reasons(self, leads: Sequence[str] = STANDARD_LEADS) -> list[str]:
        """What is wrong with each record in words, "" where nothing is.

        Args:
            leads: names of the leads, in the order of the signal.

        Raises:
            UsageError: as many names as there are no leads.
        """
        count = self.flat.shape[-1]
        if len(leads) != count:
            raise UsageError(f"Expected the names of {count} leads, found {len(leads)}: {', '.join(leads)}.")
        masks = (("not finite", self.non_finite), ("flat", self.flat), ("clipped", self.clipped))
        texts = []
        for record in range(len(self.too_short)):
            parts = ["too short"] if self.too_short[record] else []
            for word, mask in masks:
                hit = [lead for lead, flag in zip(leads, mask[record], strict=True) if flag]
                if hit:
                    parts.append(f"{word}: {', '.join(hit)}")
            texts.append("; ".join(parts))
        return texts


def quality_flags(signal: np.ndarray, rate: float, *, shortest_seconds: float = 2.5) -> QualityFlags:
    """Flags for every record of a batch, from the samples as they were stored.

    Clipping shows as a run of equal samples at the lead's largest or smallest value. A natural peak has one too, since
    samples are rounded: x(t) = -c t^2 rounded to steps q stays on one value while c t^2 <= q, and half a plateau's
    length beyond its edge it has fallen by at most 4 q, 5 q with rounding. So a run of 3 samples and 10 ms or more
    counts only if the lead moves, on one of its sides and within half the run's length, by more than 10 q and 5 % of
    its range; a lead is clipped if such runs last 20 ms together and their level is a quarter of its range or more away
    from its median, which the baseline is not. q is the smallest difference between two values of the lead.
    Resampling and filters erase the runs: ask before them. At 100 Hz a QRS tip has too few samples to show clipping.

    Args:
        signal: (records, leads, samples), mV, not resampled or filtered.
        rate: Hz.
        shortest_seconds: records shorter than this are flagged; 2.5 s is one column of the printed 3 x 4 ECG.

    Returns:
        the flags. A lead without any finite sample is flagged non_finite only; one that is flat is not also clipped.

    Raises:
        SignalError: another number of axes, or no samples.
        UsageError: a rate that is not above 0.
    """
    rate = positive_rate(rate, name="sampling rate")
    values = np.asarray(signal)
    if values.ndim != 3 or values.shape[-1] == 0:
        raise SignalError(f"Expected a signal (records, leads, samples), found shape {values.shape}.")
    finite = np.isfinite(values)
    non_finite = np.asarray(~finite.all(axis=-1))
    some = np.asarray(finite.any(axis=-1))
    if non_finite.any():
        lowest = np.where(some, np.min(values, axis=-1, initial=np.inf, where=finite), 0)
        highest = np.where(some, np.max(values, axis=-1, initial=-np.inf, where=finite), 0)
    else:  # many times faster, and nearly every record is whole
        lowest, highest = values.min(axis=-1), values.max(axis=-1)
    samples = values.shape[-1]
    # Two samples that are NaN are not equal, so a gap breaks a run by itself.
    held = _runs_at_least(values[..., 1:] == values[..., :-1], max(_FLAT_SHARE * samples - 1, 1)) & (samples > 1)
    flat = some & ((highest - lowest < _FLAT_RANGE) | held)
    shortest = max(_SHORTEST_PLATEAU_SAMPLES, int(np.ceil(_SHORTEST_PLATEAU_SECONDS * rate)))
    clipped = np.zeros_like(flat)
    for level in (lowest, highest):
        candidates = _runs_at_least(values == level[..., None], shortest) & some & ~flat & ~clipped
        for record, lead in np.argwhere(candidates):
            clipped[record, lead] = _is_clipped(values[record, lead], float(level[record, lead]), rate, shortest)
    too_short = np.full(len(values), samples < shortest_seconds * rate)
    return QualityFlags(non_finite=non_finite, flat=flat, clipped=clipped, too_short=too_short)


def _runs_at_least(mask: np.ndarray, length: float) -> np.ndarray:
    """Bool: the mask has a run of True of at least this length along its last axis."""
    # A run needs as many samples; most leads have not, and are done with.
    possible = np.count_nonzero(mask, axis=-1) >= length
    found = np.zeros(mask.shape[:-1], dtype=bool)
    if possible.any():
        found[possible] = _longest_run(mask[possible]) >= length
    return found


def _longest_run(mask: np.ndarray) -> np.ndarray:
    """Length of the longest run of True along the last axis."""
    if mask.shape[-1] == 0:
        return np.zeros(mask.shape[:-1], dtype=np.int32)
    position = np.arange(1, mask.shape[-1] + 1, dtype=np.int32)
    broken = np.maximum.accumulate(np.where(mask, 0, position), axis=-1)
    return (position - broken).max(axis=-1)


def _is_clipped(lead: np.ndarray, level: float, rate: float, shortest: int) -> bool:
    finite = lead[np.isfinite(lead)].astype(np.float64)
    distinct = np.unique(finite)
    quantum = float(np.diff(distinct).min())
    width = float(distinct[-1] - distinct[0])
    edges = np.diff(np.concatenate(([0], (lead == level).astype(np.int8), [0])))
    if abs(level - float(np.median(finite))) < _OFF_MEDIAN_SHARE * width:
        return False
    abrupt = max(_ABRUPT_STEPS * quantum, _ABRUPT_SHARE * width)
    held = 0
    for start, stop in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        run = int(stop - start)
        if run < shortest:
            continue
        reach = max(1, (run - 1) // 2)
        around = np.concatenate((lead[max(0, start - reach) : start], lead[stop : stop + reach]))
        around = around[np.isfinite(around)].astype(np.float64)
        if around.size and np.abs(around - level).max() > abrupt:
            held += run
    return held >= _SHORTEST_HELD_SECONDS * rate
