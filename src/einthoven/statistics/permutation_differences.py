"""The AUROC or average precision of one encoder minus another's, when some patients exchange the two predictions.

A swap moves scores and never targets: a label whose metric is undefined is undefined in every draw, and no other is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_predictions
from einthoven.metrics.discrimination import Discrimination, check_metric

from .encoder_pairs import check_pairs
from .permutation_counting import BLOCK, AurocSums, SwapCounter
from .threads import check_threads
from .units import number_units

# Memory for the draws that are counted at a time; more is no faster.
_CHUNK_BYTES = 2**23


def swap_differences(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    metric: Discrimination,
    pairs: Sequence[tuple[int, int]],
    units: Sequence[str] | Sequence[int] | np.ndarray,
    swaps: ArrayLike,
    threads: int | None = None,
) -> np.ndarray:
    """The difference of a metric in every draw, for whoever needs more of the distribution than a p-value.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (encoders, records, labels) finite numbers.
        metric: "auroc" or "average_precision".
        pairs: (A, B) numbers of encoders.
        units: (records,) patient or record ids.
        swaps: bool (draws, units), units in order of first appearance, as `draw_swaps` gives them.
        threads: how many (pair, label) are counted at once; the result does not depend on it.

    Returns:
        float64 (draws, pairs, labels), A minus B; NaN where the metric is undefined: AUROC of a label with one class
        only, average precision of one without a positive. They are held for all draws, unlike in `permutation_test`.

    Raises:
        UsageError, DataError: as `permutation_test`, or swaps of another shape.

    Example:
        >>> swap_differences(
        ...     [[0], [1]],
        ...     [[[0.1], [0.9]], [[0.9], [0.1]]],
        ...     metric="auroc",
        ...     pairs=[(0, 1)],
        ...     units=["p1", "p2"],
        ...     swaps=[[False, False], [True, True]],
        ... ).ravel().tolist()
        [1.0, -1.0]
    """
    comparison = PairedScores(target, scores, metric=metric, pairs=pairs, units=units, threads=threads)
    return comparison.differences(comparison.count(np.asarray(swaps), threads=threads))


class PairedScores:
    """Checked targets and scores of pairs of encoders, sorted once: what every chunk of draws is counted on.

    Takes the arguments of `swap_differences`, and raises what it does. Sums are differences times a number that no
    swap changes: 4 P N for AUROC, whose sums are exact integers, and P for average precision.

    Attributes:
        target: uint8 (records, labels).
        metric: whose differences are counted.
        pairs: (A, B) numbers of encoders.
        unit_count: how many patients or records are swapped or not.
    """

    metric: Discrimination

    def __init__(
        self,
        target: ArrayLike,
        scores: ArrayLike,
        *,
        metric: Discrimination,
        pairs: Sequence[tuple[int, int]],
        units: Sequence[str] | Sequence[int] | np.ndarray,
        threads: int | None,
    ) -> None:
        check_metric(metric)
        self.target, values = check_predictions(target, scores)
        self.metric = metric
        self.pairs = check_pairs(pairs, encoders=len(values))
        unit_of_record, self.unit_count = number_units(units)
        if len(unit_of_record) != len(self.target):
            raise UsageError(
                f"units: expected one for each of {len(self.target)} records, found {len(unit_of_record)}."
            )
        check_threads(threads)
        places = {"pairs": self.pairs, "unit_of_record": unit_of_record, "unit_count": self.unit_count}
        self._counter: SwapCounter
        if metric == "auroc":
            self._counter = AurocSums(self.target, values, **places)
        else:
            # Only here, as numba and the compilation take seconds.
            from .permutation_precision import PrecisionSums

            self._counter = PrecisionSums(self.target, values, threads=threads, **places)

    def chunk_draws(self) -> int:
        """How many draws to count at a time: whole blocks of them, and at least one."""
        # A byte for each unit, and 64-bit numbers for each pair and label: sums and differences.
        draw_bytes = self.unit_count + 16 * len(self.pairs) * self.target.shape[1]
        return BLOCK * max(1, _CHUNK_BYTES // (BLOCK * draw_bytes))

    def count(self, swaps: np.ndarray, *, threads: int | None) -> np.ndarray:
        """The sums of every draw, (draws, pairs, labels)."""
        if swaps.dtype != np.bool_ or swaps.ndim != 2 or swaps.shape[1] != self.unit_count:
            raise UsageError(
                f"swaps: expected booleans of shape (draws, {self.unit_count}), one for each unit, "
                f"found shape {swaps.shape} of dtype {swaps.dtype}."
            )
        return self._counter.count(swaps, threads=threads)

    def observed(self) -> np.ndarray:
        """The sums where nothing is swapped, (pairs, labels)."""
        return self._counter.observed()

    def differences(self, sums: np.ndarray) -> np.ndarray:
        """The differences that the sums stand for, in their shape; NaN where the metric is undefined."""
        return sums / self._counter.divisor
