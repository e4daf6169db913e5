"""When the heart beats: times of the R peaks, and which beats are premature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .population import RecordPlan

# Beats are made from before the record to after it, so that its edges hold whole waves.
_LEAD_IN = 2.0


@dataclass(frozen=True)
class Beats:
    """R peaks of a record.

    Attributes:
        times: float64 seconds from the record's first sample, ascending; some lie outside the record.
        premature: bool, which are ventricular premature beats.
    """

    times: np.ndarray
    premature: np.ndarray

    def within(self, seconds: float) -> Beats:
        """Those whose R peak lies inside the record."""
        inside = (self.times >= 0) & (self.times < seconds)
        return Beats(times=self.times[inside], premature=self.premature[inside])


def make_beats(plan: RecordPlan, *, seconds: float, rng: np.random.Generator) -> Beats:
    """Draw the beats of a record.

    Sinus rhythm varies with breathing and a little at random; fibrillation has independent RR intervals. A premature
    beat comes at 55-70 % of the interval, and the sinus keeps its time, so that the pause after it is compensatory.
    """
    mean = 60.0 / plan.heart_rate
    count = int((seconds + 2 * _LEAD_IN) / (0.4 * mean)) + 8
    if plan.rhythm == "AFIB":
        spread = plan.rr_sd
        intervals = mean * np.clip(np.exp(rng.normal(-(spread**2) / 2, spread, count)), 0.45, 1.9)
        # The node conducts nothing faster than this.
        intervals = np.maximum(intervals, 0.32)
    else:
        breath = 2 * np.pi * rng.uniform(0.18, 0.32)
        phase = rng.uniform(0, 2 * np.pi)
        swing = np.sqrt(2) * 0.92 * plan.rr_sd * np.sin(breath * mean * np.arange(count) + phase)
        intervals = mean * (1 + swing + rng.normal(0, 0.39 * plan.rr_sd, count))
    times = -_LEAD_IN + rng.uniform(0, mean) + np.concatenate([[0.0], np.cumsum(intervals)])
    times = times[times < seconds + _LEAD_IN]
    premature = np.zeros(len(times), dtype=bool)
    inside = np.flatnonzero((times > 1.0) & (times < seconds - 1.0))
    for _ in range(plan.premature):
        # Not two in a row, so that each has its pause.
        free = [i for i in inside if not premature[max(i - 2, 0) : i + 3].any() and 1 <= i < len(times) - 1]
        if not free:
            break
        place = int(rng.choice(free))
        before = times[place] - times[place - 1]
        times[place] = times[place - 1] + max(rng.uniform(0.55, 0.70) * before, 0.30)
        premature[place] = True
    return Beats(times=times, premature=premature)
