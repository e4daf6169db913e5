"""What a swap does to the AUROCs of two encoders, for many swaps at once.

In a swap some records exchange their two scores. The difference of two AUROCs is linear in the swaps. Write e = 1 where
a record keeps its scores and -1 where it exchanges them. A pair of a positive i and a negative j is in order, tied or
out of order by their scores, and what A gains from it over B depends on (e_i, e_j) and changes sign with both of them;
the only such functions are u e_i + v e_j. Summed over pairs: 4 P N (AUROC_A - AUROC_B) = sum of h_r e_r with integers
h_r, where a positive's h is how far its score under A is above its score under B in the merged order of negatives, and
a negative's how far below among positives. So all swaps are one product of matrices, and it is exact: no |h_r| is
above 4 N (of a positive) or 4 P (of a negative), hence no partial sum above 8 P N, and float64 holds every integer up
to 2^53, which 8 P N cannot reach below 67 million records.
A tie with the observed difference is found without rounding.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from einthoven.foundation.errors import UsageError

# Draws are counted in chunks of so many: the compiled kernel of average precision counts them side by side.
BLOCK = 256
# float64 holds every integer up to here.
_EXACT = 2**53
# Numbers of a block of swaps that are converted for the product: 32 MiB of float64.
_CONVERTED = 2**22


class SwapCounter(Protocol):
    """The difference of one metric, times a number that no swap changes, in every swap.

    Attributes:
        divisor: float64 (labels,), that number; NaN where the metric is undefined.
    """

    divisor: np.ndarray

    def observed(self) -> np.ndarray:
        """(pairs, labels), where nothing is swapped."""
        ...

    def count(self, swaps: np.ndarray, *, threads: int | None) -> np.ndarray:
        """(draws, pairs, labels) of bool (draws, units)."""
        ...


class AurocSums(SwapCounter):
    """4 P N times the difference of the AUROCs, in int64 and exact.

    Raises:
        UsageError: so many records that a sum could be beyond what float64 holds exactly.
    """

    def __init__(
        self,
        target: np.ndarray,
        scores: np.ndarray,
        *,
        pairs: tuple[tuple[int, int], ...],
        unit_of_record: np.ndarray,
        unit_count: int,
    ) -> None:
        self._shape = len(pairs), target.shape[1]
        gains = np.empty((unit_count, *self._shape), np.int64)
        for label in range(target.shape[1]):
            ranks, distinct = falling_ranks(scores[:, :, label])
            for pair, (a, b) in enumerate(pairs):
                moved = auroc_gains(ranks[a], ranks[b], distinct, target[:, label])
                gains[:, pair, label] = sum_by_unit(moved, unit_of_record, unit_count)
        check_exact(gains)
        self._observed = gains.sum(axis=0)
        self._gains = gains.reshape(unit_count, -1).astype(np.float64)
        positives = target.sum(axis=0, dtype=np.int64)
        both = 4 * positives * (len(target) - positives)
        self.divisor = np.where(both > 0, both, np.nan)

    def observed(self) -> np.ndarray:
        """Int64 (pairs, labels), where nothing is swapped."""
        return self._observed

    def count(self, swaps: np.ndarray, *, threads: int | None = None) -> np.ndarray:
        """Int64 (draws, pairs, labels); threads are those of the matrix product."""
        sums = np.empty((len(swaps), *self._shape), np.int64)
        step = max(1, _CONVERTED // max(1, swaps.shape[1]))
        for first in range(0, len(swaps), step):
            moved = np.rint(swaps[first : first + step].astype(np.float64) @ self._gains).astype(np.int64)
            sums[first : first + step] = self._observed - 2 * moved.reshape(-1, *self._shape)
        return sums


def falling_ranks(scores: np.ndarray) -> tuple[np.ndarray, int]:
    """The rank of each score among the distinct scores of all encoders, and how many there are; 0 is the highest.

    Args:
        scores: (encoders, records) finite numbers of one label.

    Returns:
        int32 (encoders, records) and the number of distinct scores.

    Example:
        >>> ranks, distinct = falling_ranks(np.array([[0.1, 0.9], [0.9, 0.5]]))
        >>> ranks.tolist(), distinct
        ([[2, 0], [0, 1]], 3)
    """
    distinct, inverse = np.unique(scores, return_inverse=True)
    return (len(distinct) - 1 - inverse.reshape(scores.shape)).astype(np.int32), len(distinct)


def auroc_gains(ranks_a: np.ndarray, ranks_b: np.ndarray, distinct: int, present: np.ndarray) -> np.ndarray:
    """The h of the module's text.

    Args:
        ranks_a: int32 (records,), from `falling_ranks`.
        ranks_b: int32 (records,), from the same call.
        distinct: how many ranks there are.
        present: uint8 (records,) of 0 and 1.

    Returns:
        int64 (records,).

    Example:
        >>> ranks, distinct = falling_ranks(np.array([[0.9, 0.1], [0.1, 0.9]]))
        >>> auroc_gains(ranks[0], ranks[1], distinct, np.array([1, 0], dtype=np.uint8)).tolist()
        [2, 2]
    """
    positive = present == 1

    def twice_above(chosen: np.ndarray) -> np.ndarray:
        """Twice how many of both encoders' scores are above each rank, counting ties as halves."""
        here = sum(np.bincount(ranks[chosen], minlength=distinct) for ranks in (ranks_a, ranks_b))
        down_to = np.cumsum(here)
        return 2 * down_to - here

    # Lower ranks are higher scores.
    negatives, positives = twice_above(~positive), twice_above(positive)
    higher = np.where(positive, negatives[ranks_b] - negatives[ranks_a], positives[ranks_a] - positives[ranks_b])
    return higher.astype(np.int64)


def sum_by_unit(values: np.ndarray, unit_of_record: np.ndarray, unit_count: int) -> np.ndarray:
    """Int64 (units,): the sum of integers over the records of each unit."""
    sums = np.zeros(unit_count, np.int64)
    np.add.at(sums, unit_of_record, values)
    return sums


def check_exact(gains: np.ndarray) -> None:
    """Refuse integers (units, ...) whose sums over some of the units float64 might not hold.

    Raises:
        UsageError: the sum of their sizes reaches 2^53.
    """
    if gains.size and int(np.abs(gains).sum(axis=0).max()) >= _EXACT:
        raise UsageError(
            "The swap test of AUROC counts in numbers below 2^53; these are so many records that a sum could be "
            "beyond. Take the bootstrap, or fewer records."
        )
