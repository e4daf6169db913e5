"""Runs of equal scores: the order metrics count in, so that ties neither flatter nor punish."""

from __future__ import annotations

import numpy as np


def tie_groups(score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Records from the highest score to the lowest, and where each run of equal scores begins.

    Args:
        score: (records,) finite numbers.

    Returns:
        `order`: int64 (records,), row numbers by falling score.
        `starts`: int64 (distinct scores,), positions in `order`; 0 is the first of them.

    Example:
        >>> order, starts = tie_groups(np.array([0.1, 0.7, 0.1]))
        >>> order.tolist(), starts.tolist()
        ([1, 2, 0], [0, 1])
    """
    order = np.ascontiguousarray(np.argsort(score, kind="stable")[::-1])
    ranked = score[order]
    begins = np.ones(len(score), dtype=bool)
    begins[1:] = ranked[1:] != ranked[:-1]
    return order, np.flatnonzero(begins)
