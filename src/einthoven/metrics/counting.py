"""How many records of a kind each resample holds, exactly and for many resamples at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .arguments import check_counts

# Numbers of a block that is converted for the multiplication: 32 MiB of float64.
_BLOCK = 2**22


def check_resamples(counts: ArrayLike | None, *, records: int) -> np.ndarray | None:
    """Counts of one resample, (records,), or of many, (draws, records); None stays None: each record once.

    Raises:
        UsageError: not integers, or another shape.
        DataError: a negative count, or so many records that pairs could not be counted in 64 bits.
    """
    if counts is None:
        return None
    return check_counts(counts, records=records, dimensions=2 if np.ndim(counts) == 2 else 1)


def count_marked(marked: np.ndarray, *, counts: np.ndarray | None = None) -> np.ndarray:
    """Marked records, each as often as the resample holds it.

    A matrix product in float64: sums of counts stay below 2**31, so each partial sum is an exact integer. Blocks bound
    the memory, whatever the number of draws.

    Args:
        marked: bool or 0 and 1 (records, columns).
        counts: integers (records,) or (draws, records) that `check_counts` has passed; None is once each.

    Returns:
        int64 (columns,), or (draws, columns) where there are draws.

    Example:
        >>> count_marked(np.array([[True], [False], [True]]), counts=np.array([[1, 1, 1], [3, 0, 0]])).tolist()
        [[2], [3]]
    """
    if counts is None:
        return marked.sum(axis=0, dtype=np.int64)
    draws = np.atleast_2d(counts)
    records, columns = marked.shape
    step = max(1, _BLOCK // max(1, records))
    totals = np.empty((len(draws), columns), dtype=np.int64)
    for left in range(0, columns, step):
        block = marked[:, left : left + step].astype(np.float64)
        for top in range(0, len(draws), step):
            rows = draws[top : top + step].astype(np.float64)
            totals[top : top + step, left : left + step] = rows @ block
    return totals.reshape((*counts.shape[:-1], columns))


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """float64 of part / whole, NaN where the whole is 0.

    Example:
        >>> ratio(np.array([1, 0]), np.array([2, 0])).tolist()
        [0.5, nan]
    """
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole != 0)
