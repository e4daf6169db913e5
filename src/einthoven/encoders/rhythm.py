"""Rhythm statistics of a list of R peaks: pure numbers, no signal.

Intervals are in seconds throughout. Definitions follow the Task Force standards on heart rate variability
(Circulation 1996;93:1043) where they name a measure; the rest is said beside each feature. Records of 10 s hold about
ten intervals, so these describe the record and do not estimate the patient's variability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Three intervals are the fewest that have two successive differences, without which RMSSD says nothing.
MINIMUM_BEATS = 4
# A beat is premature when it comes after less than this part of the interval around it (common clinical rule of 20 %).
PREMATURE = 0.8
_NEIGHBOURS = 2
_PNN50_SECONDS = 0.05
# Bins of the interval histogram, as a part of the median interval: about the smallest irregularity seen on paper.
_ENTROPY_BIN = 0.1


@dataclass(frozen=True)
class Feature:
    """One number of the rhythm description.

    Attributes:
        unit: of the number as defined.
        scale: what it is multiplied by in the embedding, so that all features vary by about one.
        definition: how it is computed; RR is the series of intervals, d its successive differences.
    """

    name: str
    unit: str
    scale: float
    definition: str


FEATURES: tuple[Feature, ...] = (
    Feature("beats", "1/s", 1.0, "R peaks per second of record"),
    Feature("heart_rate", "1/min", 0.01, "60 / median RR"),
    Feature("mean_rr", "s", 1.0, "mean of RR"),
    Feature("median_rr", "s", 1.0, "median of RR"),
    Feature("min_rr", "s", 1.0, "smallest RR"),
    Feature("max_rr", "s", 1.0, "largest RR"),
    Feature("sd_rr", "s", 10.0, "population standard deviation of RR (SDNN)"),
    Feature("rmssd", "s", 10.0, "root mean square of d"),
    Feature("median_change", "1", 10.0, "median of |d| / median RR; a single wrong or premature beat hardly moves it"),
    Feature("cv", "1", 10.0, "sd_rr / mean_rr"),
    Feature("pnn50", "1", 1.0, "part of |d| above 50 ms"),
    Feature("premature", "1", 10.0, "part of RR below 0.8 x local median (median of up to 5 RR centred on it)"),
    Feature("pause", "1", 10.0, "sum over premature RR of (next RR / local median - 1), divided by the number of RR"),
    Feature("sd2", "s", 10.0, "Poincare: spread along the line of identity, sqrt(max(0, 2 sd_rr^2 - rmssd^2 / 2))"),
    Feature(
        "beat_to_beat", "1", 1.0, "Poincare: SD1^2 / (SD1^2 + SD2^2) with SD1 = rmssd / sqrt 2; 0 if RR is constant"
    ),
    Feature("entropy", "bit", 0.5, "Shannon entropy of RR / median RR in bins of 0.1 centred on 1"),
    Feature("too_few_beats", "1", 1.0, f"1 with fewer than {MINIMUM_BEATS} R peaks: all but `beats` are then 0"),
)


def rhythm_statistics(peaks: np.ndarray, *, seconds: float) -> dict[str, float]:
    """Every feature of `FEATURES`, unscaled and finite.

    Args:
        peaks: times of the R peaks, seconds, strictly ascending.
        seconds: duration of the record.
    """
    beats = len(peaks) / seconds
    if len(peaks) < MINIMUM_BEATS:
        undefined = dict.fromkeys((feature.name for feature in FEATURES), 0.0)
        return undefined | {"beats": beats, "too_few_beats": 1.0}
    rr = np.diff(peaks)
    change = np.diff(rr)
    mean, median, sd = float(rr.mean()), float(np.median(rr)), float(rr.std())
    rmssd = float(np.sqrt(np.mean(change**2)))
    sd1_squared = rmssd**2 / 2
    sd2_squared = max(0.0, 2 * sd**2 - sd1_squared)
    spread = sd1_squared + sd2_squared
    premature, pause = _premature(rr)
    return {
        "beats": beats,
        "heart_rate": 60 / median,
        "mean_rr": mean,
        "median_rr": median,
        "min_rr": float(rr.min()),
        "max_rr": float(rr.max()),
        "sd_rr": sd,
        "rmssd": rmssd,
        "median_change": float(np.median(np.abs(change))) / median,
        "cv": sd / mean,
        # Peaks sit on a grid of samples: without the margin, rounding decides which differences of 50 ms count.
        "pnn50": float(np.mean(np.abs(change) > _PNN50_SECONDS + 1e-9)),
        "premature": premature,
        "pause": pause,
        "sd2": float(np.sqrt(sd2_squared)),
        "beat_to_beat": sd1_squared / spread if spread > 0 else 0.0,
        "entropy": _entropy(rr / median),
        "too_few_beats": 0.0,
    }


def _premature(rr: np.ndarray) -> tuple[float, float]:
    local = np.array([np.median(rr[max(0, i - _NEIGHBOURS) : i + _NEIGHBOURS + 1]) for i in range(len(rr))])
    early = rr < PREMATURE * local
    followed = np.flatnonzero(early[:-1])
    pause = float(np.sum(rr[followed + 1] / local[followed] - 1))
    return float(early.mean()), pause / len(rr)


def _entropy(relative: np.ndarray) -> float:
    _, counts = np.unique(np.round((relative - 1) / _ENTROPY_BIN), return_counts=True)
    part = counts / counts.sum()
    return abs(float(np.sum(part * np.log2(part))))
