"""Records of equal confidence as one: what makes calibration errors exact whatever the row order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from einthoven.metrics.ties import tie_groups


@dataclass(frozen=True, eq=False)
class DistinctConfidences:
    """The confidences that occur, rising.

    Attributes:
        confidence: float64 (distinct,).
        count: int64 (distinct,), records with it, 1 or more.
        came_true: int64 (distinct,), how many of them came true.
    """

    confidence: np.ndarray
    count: np.ndarray
    came_true: np.ndarray


def by_distinct_confidence(outcome: np.ndarray, confidence: np.ndarray, weights: np.ndarray) -> DistinctConfidences:
    """Count and number come true of each distinct confidence; records of weight 0 are as if they were not there.

    Args:
        outcome: (records,) of 0 and 1.
        confidence: float64 (records,).
        weights: int64 (records,), none negative.

    Example:
        >>> found = by_distinct_confidence(np.array([0, 1, 1]), np.array([0.5, 0.2, 0.5]), np.array([3, 1, 1]))
        >>> found.confidence.tolist(), found.count.tolist(), found.came_true.tolist()
        ([0.2, 0.5], [1, 4], [1, 1])
    """
    if len(confidence) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return DistinctConfidences(confidence=np.zeros(0), count=nothing, came_true=nothing)
    order, starts = tie_groups(confidence)
    ranked = weights[order]
    count = np.add.reduceat(ranked, starts)[::-1]
    came_true = np.add.reduceat(ranked * outcome[order], starts)[::-1]
    held = count > 0
    return DistinctConfidences(
        confidence=confidence[order][starts][::-1][held], count=count[held], came_true=came_true[held]
    )
