"""Brier scores of every bootstrap draw."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from einthoven.metrics.arguments import check_counts

from .brier import squared_errors_over_classes, squared_errors_per_label

# Draws summed side by side: wide enough for vector instructions, and the sums of a block stay in the L1 cache.
_BLOCK = 256


def brier_per_label_draws(target: ArrayLike, probability: ArrayLike, *, counts: ArrayLike) -> np.ndarray:
    """`brier_per_label` (0 to 1) in every draw; draw b is its value with counts[b].

    Args:
        target: (records, labels) of 0 and 1; (records,) is one label.
        probability: of the same shape, in [0, 1].
        counts: (draws, records) integers, as `draw_counts` gives them.

    Returns:
        float64 (draws, labels); NaN in a draw that holds no record.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a probability outside [0, 1], a negative count.

    Example:
        >>> brier_per_label_draws([1, 0], [0.5, 1.0], counts=[[1, 1], [2, 0]]).tolist()
        [[0.625], [0.25]]
    """
    return _means(squared_errors_per_label(target, probability), counts)


def brier_sum_over_classes_draws(target: ArrayLike, probability: ArrayLike, *, counts: ArrayLike) -> np.ndarray:
    """`brier_sum_over_classes` (0 to 2) in every draw; draw b is its value with counts[b].

    Args:
        target: (records,) integers, the number of each record's class.
        probability: (records, classes) in [0, 1], rows that sum to 1.
        counts: (draws, records) integers, as `draw_counts` gives them.

    Returns:
        float64 (draws,); NaN in a draw that holds no record.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a number that is no class, a probability outside [0, 1], a row that does not sum to 1, a negative
            count.

    Example:
        >>> brier_sum_over_classes_draws([0, 0], [[1.0, 0.0], [0.0, 1.0]], counts=[[1, 1], [0, 2]]).tolist()
        [1.0, 2.0]
    """
    return _means(squared_errors_over_classes(target, probability)[:, None], counts)[:, 0]


def _means(errors: np.ndarray, counts: ArrayLike) -> np.ndarray:
    table = check_counts(counts, records=len(errors), dimensions=2)
    means = np.full((len(table), errors.shape[1]), np.nan)
    by_stream = np.ascontiguousarray(errors.T)
    for low in range(0, len(table), _BLOCK):
        # No draw holds more than 2^31 - 1 records (check_counts), so 32 bits hold every count.
        block = np.ascontiguousarray(table[low : low + _BLOCK].T, dtype=np.int32)
        with np.errstate(invalid="ignore"):
            means[low : low + _BLOCK] = (_sums(by_stream, block) / block.sum(axis=0, dtype=np.int64)).T
    return means


# Not a matrix product: BLAS sums in an order that depends on its threads and on how many draws there are.
@njit(nogil=True)
def _sums(errors: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """float64 (streams, draws) of errors (streams, records) weighted by counts, int32 (records, draws)."""
    streams, records = errors.shape
    draws = counts.shape[1]
    sums = np.zeros((streams, draws))
    for stream in range(streams):
        for record in range(records):
            error = errors[stream, record]
            for draw in range(draws):
                sums[stream, draw] += counts[record, draw] * error
    return sums
