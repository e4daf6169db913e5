"""What a Brier score is made of: calibration, resolution, and how uncertain the label is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .arguments import record_weights
from .streams import positive_class_streams
from .ties import by_distinct_confidence


@dataclass(frozen=True, eq=False)
class BrierDecomposition:
    """Per-label Brier score (0 to 1) = reliability - resolution + uncertainty, up to rounding.

    Attributes:
        reliability: float64 (labels,), squared distance of probability from share; 0 is calibrated.
        resolution: float64 (labels,), squared distance of shares from the prevalence; higher is better.
        uncertainty: float64 (labels,), prevalence times one minus it; no model changes it.
    """

    reliability: np.ndarray
    resolution: np.ndarray
    uncertainty: np.ndarray


def brier_decomposition(
    target: ArrayLike, probability: ArrayLike, *, counts: ArrayLike | None = None
) -> BrierDecomposition:
    """The three parts of each label's Brier score, over its distinct probabilities and hence without a remainder.

    Murphy (Journal of Applied Meteorology 1973), eq. 5. Where every record has a probability of its own, a share is the
    outcome of one record: the parts then say little, while their sum still is the score.

    Args:
        target: (records, labels) of 0 and 1; (records,) is one label.
        probability: of the same shape, in [0, 1]; float32 is cast to float64 without change.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        The parts, each float64 (labels,); NaN without a record.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a probability outside [0, 1], a negative count.

    Example:
        >>> parts = brier_decomposition([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
        >>> parts.reliability.tolist(), parts.resolution.tolist(), parts.uncertainty.tolist()
        ([0.0625], [0.0625], [0.1875])
    """
    streams = positive_class_streams(target, probability)
    weights = record_weights(counts, records=streams.records)
    parts = np.full((3, streams.streams), np.nan)
    for label in range(streams.streams) if weights.any() else ():
        distinct = by_distinct_confidence(streams.outcome[:, label], streams.confidence[:, label], weights)
        total = distinct.count.sum()
        prevalence = distinct.came_true.sum() / total
        share = distinct.came_true / distinct.count
        parts[:, label] = (
            (distinct.count * (distinct.confidence - share) ** 2).sum() / total,
            (distinct.count * (share - prevalence) ** 2).sum() / total,
            prevalence * (1 - prevalence),
        )
    return BrierDecomposition(reliability=parts[0], resolution=parts[1], uncertainty=parts[2])
