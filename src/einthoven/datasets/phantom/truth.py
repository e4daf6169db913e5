"""The true measurements of a record, from what was planted and not from the noisy signal."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from einthoven.signals.leads import STANDARD_LEADS

from .dipole import Beat, Part, extent, leads_at
from .population import RecordPlan
from .rendering import beats_of, shapes_of

UNITS: Mapping[str, str] = {
    "heart_rate": "1/min",
    "rr_mean": "ms",
    "rr_sd": "ms",
    "pr": "ms",
    "qrs": "ms",
    "qt": "ms",
    "axis": "degree",
    "p_present": "0/1",
    "premature_beats": "count",
    **{f"r_{lead}": "mV" for lead in STANDARD_LEADS},
    **{f"st_{lead}": "mV" for lead in STANDARD_LEADS},
}
"""Concept -> unit, in column order.

`rr_*` and `heart_rate` are over all R peaks in the record. `pr`, `qrs` and `qt` are between planted onsets and ends of
the conducted beat; `pr` is undefined (NaN) without P waves. `axis` is the direction of the net QRS area in the frontal
plane, atan2(2 aVF / sqrt(3), I): 0 to the left, 90 to the feet. `r_*` is the largest positive deflection within QRS,
`st_*` the level 60 ms after its end, both against the level between beats, which is zero in the model.
"""

_STEP = 0.0005
_AFTER_J = 0.060


def measure(plan: RecordPlan, *, seed: int, seconds: float) -> dict[str, float]:
    """All concepts of one record; NaN where undefined."""
    beats = beats_of(plan, seed=seed, seconds=seconds).within(seconds)
    intervals = np.diff(beats.times) * 1000
    beat, _ = shapes_of(plan)
    begin, end = extent(beat, Part.QRS) or (math.nan, math.nan)
    p, t = extent(beat, Part.P), extent(beat, Part.T)
    mean = float(intervals.mean()) if len(intervals) else math.nan
    found = {
        "heart_rate": 60_000 / mean,
        "rr_mean": mean,
        "rr_sd": float(intervals.std(ddof=1)) if len(intervals) > 1 else math.nan,
        "pr": (begin - p[0]) * 1000 if p else math.nan,
        "qrs": (end - begin) * 1000,
        "qt": (t[1] - begin) * 1000 if t else math.nan,
        "axis": _axis(beat, begin, end),
        "p_present": float(p is not None),
        "premature_beats": float(beats.premature.sum()),
    }
    within = leads_at(beat, np.arange(begin, end, _STEP))
    after = leads_at(beat, np.array([end + _AFTER_J]))[:, 0]
    found |= {f"r_{lead}": max(float(peak), 0.0) for lead, peak in zip(STANDARD_LEADS, within.max(axis=1), strict=True)}
    found |= {f"st_{lead}": float(level) for lead, level in zip(STANDARD_LEADS, after, strict=True)}
    return found


def _axis(beat: Beat, begin: float, end: float) -> float:
    area = leads_at(beat, np.arange(begin, end, _STEP), parts=frozenset({Part.QRS})).sum(axis=1)
    one, foot = area[STANDARD_LEADS.index("I")], area[STANDARD_LEADS.index("aVF")]
    return math.degrees(math.atan2(2 * foot / math.sqrt(3), one))
