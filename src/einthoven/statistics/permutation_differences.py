"""The AUROC and average precision of one encoder minus another's, when some patients exchange the two predictions.

A swap moves scores and never targets: a label whose metric is undefined is undefined in every draw, and no other is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_scores, check_targets

from .pairs import check_pairs
from .permutation_counting import (
    BLOCK,
    PairLayout,
    count_auroc,
    count_average_precision,
    falling_ranks,
    observed_sums,
    pair_layout,
    swap_blocks,
)
from .resampling import number_units
from .threads import for_each

# Memory for the draws that are counted at a time; more is no faster.
_CHUNK_BYTES = 2**23


@dataclass(frozen=True, eq=False)
class SwapDifferences:
    """The metrics of A minus those of B in every draw.

    Attributes:
        auroc: float64 (draws, pairs, labels); NaN where a label has one class only.
        average_precision: float64 (draws, pairs, labels); NaN where a label has no positive.
    """

    auroc: np.ndarray
    average_precision: np.ndarray


def swap_differences(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    pairs: Sequence[tuple[int, int]],
    units: Sequence[str] | Sequence[int] | np.ndarray,
    swaps: ArrayLike,
    threads: int | None = None,
) -> SwapDifferences:
    """The difference of both metrics in every draw, for whoever needs more of the distribution than a p-value.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (encoders, records, labels) finite numbers.
        pairs: (A, B) numbers of encoders.
        units: (records,) patient or record ids.
        swaps: bool (draws, units), units in order of first appearance, as `draw_swaps` gives them.
        threads: how many (pair, label) are counted at once; the result does not depend on it.

    Returns:
        Both differences, each float64 (draws, pairs, labels). They are held for all draws, unlike in
        `permutation_test`.

    Raises:
        UsageError, DataError: as `permutation_test`, or swaps of another shape.

    Example:
        >>> swap_differences(
        ...     [[0], [1]],
        ...     [[[0.1], [0.9]], [[0.9], [0.1]]],
        ...     pairs=[(0, 1)],
        ...     units=["p1", "p2"],
        ...     swaps=[[False, False], [True, True]],
        ... ).auroc.ravel().tolist()
        [1.0, -1.0]
    """
    comparison = PairedScores(target, scores, pairs=pairs, units=units, threads=threads)
    return comparison.differences(comparison.count(np.asarray(swaps), threads=threads))


@dataclass(frozen=True, eq=False)
class SwapSums:
    """What is counted, before it is divided by numbers that no swap changes.

    Attributes:
        auroc: int64 (..., pairs, labels), 4 P N times the difference; exact.
        average_precision: float64 (..., pairs, labels), P times the difference.
    """

    auroc: np.ndarray
    average_precision: np.ndarray


class PairedScores:
    """Checked targets and scores of pairs of encoders, sorted once: what every chunk of draws is counted on.

    Takes the arguments of `swap_differences`, and raises what it does.

    Attributes:
        target: uint8 (records, labels).
        pairs: (A, B) numbers of encoders.
        unit_count: how many patients or records are swapped or not.
    """

    def __init__(
        self,
        target: ArrayLike,
        scores: ArrayLike,
        *,
        pairs: Sequence[tuple[int, int]],
        units: Sequence[str] | Sequence[int] | np.ndarray,
        threads: int | None,
    ) -> None:
        self.target = check_targets(target, dimensions=2)
        values = check_scores(scores, dimensions=3, name="scores")
        records, labels = self.target.shape
        if values.shape[1:] != self.target.shape:
            raise UsageError(
                f"scores: expected (encoders, {records}, {labels}) to go with targets of shape "
                f"{self.target.shape}, found {values.shape}."
            )
        self.pairs = check_pairs(pairs, encoders=len(values))
        unit_of_record, self.unit_count = number_units(units)
        if len(unit_of_record) != records:
            raise UsageError(f"units: expected one for each of {records} records, found {len(unit_of_record)}.")
        layouts: dict[tuple[int, int], PairLayout] = {}

        def lay_out(label: int) -> None:
            ranks, distinct = falling_ranks(values[:, :, label])
            present = np.ascontiguousarray(self.target[:, label])
            for pair, (a, b) in enumerate(self.pairs):
                layout = pair_layout(ranks[a], ranks[b], distinct, present, unit_of_record, self.unit_count)
                layouts[pair, label] = layout

        for_each(lay_out, range(labels), threads=threads)
        self._layouts = layouts

    def chunk_draws(self) -> int:
        """How many draws to count at a time: whole blocks of them, and at least one."""
        # A byte for each unit, and 64-bit numbers for each pair and label: sums and differences of both metrics.
        draw_bytes = self.unit_count + 32 * len(self.pairs) * self.target.shape[1]
        return BLOCK * max(1, _CHUNK_BYTES // (BLOCK * draw_bytes))

    def count(self, swaps: np.ndarray, *, threads: int | None) -> SwapSums:
        """The sums of every draw, each (draws, pairs, labels)."""
        if swaps.dtype != np.bool_ or swaps.ndim != 2 or swaps.shape[1] != self.unit_count:
            raise UsageError(
                f"swaps: expected booleans of shape (draws, {self.unit_count}), one for each unit, "
                f"found shape {swaps.shape} of dtype {swaps.dtype}."
            )
        blocks = swap_blocks(swaps)
        shape = (len(self.pairs), self.target.shape[1], len(blocks), BLOCK)
        auroc, precision = np.empty(shape, np.int64), np.empty(shape, np.float64)

        def count(place: tuple[int, int]) -> None:
            count_auroc(self._layouts[place].gains, blocks, auroc[place])
            count_average_precision(self._layouts[place], blocks, precision[place])

        for_each(count, self._layouts, threads=threads)
        return SwapSums(
            auroc=_draws_first(auroc, draws=len(swaps)), average_precision=_draws_first(precision, draws=len(swaps))
        )

    def observed(self) -> SwapSums:
        """The sums where nothing is swapped, each (pairs, labels)."""
        shape = len(self.pairs), self.target.shape[1]
        auroc, precision = np.empty(shape, np.int64), np.empty(shape, np.float64)
        for place, layout in self._layouts.items():
            auroc[place], precision[place] = observed_sums(layout)
        return SwapSums(auroc=auroc, average_precision=precision)

    def differences(self, sums: SwapSums) -> SwapDifferences:
        """The differences that the sums stand for, in their shape; NaN where a metric is undefined."""
        positives = self.target.sum(axis=0, dtype=np.int64)
        pairs = positives * (len(self.target) - positives)
        return SwapDifferences(
            auroc=np.where(pairs > 0, sums.auroc / np.maximum(4 * pairs, 1), np.nan),
            average_precision=np.where(positives > 0, sums.average_precision / np.maximum(positives, 1), np.nan),
        )


def _draws_first(sums: np.ndarray, *, draws: int) -> np.ndarray:
    """(pairs, labels, blocks, BLOCK) as (draws, pairs, labels)."""
    return np.moveaxis(sums.reshape(*sums.shape[:2], -1)[:, :, :draws], 2, 0)
