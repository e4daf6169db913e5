"""P times the difference of two average precisions, counted for many swaps side by side in compiled code.

In a swap some records exchange their two scores. Encoder A then holds one score of each record and B the other, so
whatever A holds of the 2n scores tells what B holds: one walk down the merged order gives both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from .permutation_counting import BLOCK, SwapCounter, falling_ranks
from .threads import for_each


class PairLayout(NamedTuple):
    """Two encoders' scores of a label in the order in which they are counted.

    A step is a run of equal scores that holds a positive, with the negatives since the step before; negatives below the
    last step do not matter for average precision. A swapped unit takes its record's first score out of A and puts its
    second in; where both are in one step nothing changes, and the record is left out.

    Attributes:
        negatives: int32, units whose swap takes a negative out of A in a step, then units whose swap puts one in.
        negative_bounds: int32 (2 steps + 1,), where those lists begin: out, in, out, in, ..., and the end.
        positives: int32, the same of positives.
        positive_bounds: int32 (2 steps + 1,).
        negatives_a: int32 (steps,), negatives down to the end of a step by A's own scores.
        negatives_b: int32 (steps,), by B's own scores.
        positives_a: int32 (steps,), positives down to the end of a step by A's own scores.
        positives_b: int32 (steps,), by B's own scores.
    """

    negatives: np.ndarray
    negative_bounds: np.ndarray
    positives: np.ndarray
    positive_bounds: np.ndarray
    negatives_a: np.ndarray
    negatives_b: np.ndarray
    positives_a: np.ndarray
    positives_b: np.ndarray


class PrecisionSums(SwapCounter):
    """P times the difference of the average precisions, to about 1e-16 of it."""

    def __init__(
        self,
        target: np.ndarray,
        scores: np.ndarray,
        *,
        pairs: tuple[tuple[int, int], ...],
        unit_of_record: np.ndarray,
        unit_count: int,
        threads: int | None,
    ) -> None:
        self._shape = len(pairs), target.shape[1]
        layouts: dict[tuple[int, int], PairLayout] = {}

        def lay_out(label: int) -> None:
            ranks, distinct = falling_ranks(scores[:, :, label])
            present = np.ascontiguousarray(target[:, label])
            for pair, (a, b) in enumerate(pairs):
                layouts[pair, label] = pair_layout(ranks[a], ranks[b], distinct, present, unit_of_record)

        for_each(lay_out, range(target.shape[1]), threads=threads)
        self._layouts = layouts
        # Without a positive a metric is undefined, and so is its every draw.
        positives = target.sum(axis=0, dtype=np.int64)
        self.divisor = np.where(positives > 0, positives, np.nan)

    def observed(self) -> np.ndarray:
        """Float64 (pairs, labels), where nothing is swapped."""
        sums = np.empty(self._shape, np.float64)
        for place, layout in self._layouts.items():
            sums[place] = observed_precision(layout)
        return sums

    def count(self, swaps: np.ndarray, *, threads: int | None) -> np.ndarray:
        """Float64 (draws, pairs, labels)."""
        blocks = swap_blocks(swaps)
        sums = np.empty((*self._shape, len(blocks), BLOCK), np.float64)

        def count(place: tuple[int, int]) -> None:
            count_average_precision(self._layouts[place], blocks, sums[place])

        for_each(count, self._layouts, threads=threads)
        return np.moveaxis(sums.reshape(*self._shape, -1)[:, :, : len(swaps)], 2, 0)


def swap_blocks(swaps: np.ndarray) -> np.ndarray:
    """Draws in the order in which they are counted.

    Args:
        swaps: bool (draws, units).

    Returns:
        int8 (blocks, units, BLOCK); the last block is filled up with draws that swap nothing.
    """
    draws, units = swaps.shape
    blocks = -(-draws // BLOCK)
    padded = np.zeros((blocks * BLOCK, units), dtype=np.int8)
    padded[:draws] = swaps
    return np.ascontiguousarray(padded.reshape(blocks, BLOCK, units).transpose(0, 2, 1))


# Kernels are compiled in each process (a few seconds together) and not cached on disk: a cache would be written beside
# the package. numpy's error model leaves out a check for division by zero that would keep divisions one by one.
@njit(nogil=True, error_model="numpy")
def pair_layout(
    ranks_a: np.ndarray,
    ranks_b: np.ndarray,
    distinct: int,
    present: np.ndarray,
    unit_of_record: np.ndarray,
) -> PairLayout:
    """Put the merged scores of two encoders in the order in which they are counted; linear in the records.

    Args:
        ranks_a: int32 (records,), from `falling_ranks`.
        ranks_b: int32 (records,), from the same call.
        distinct: how many ranks there are.
        present: uint8 (records,) of 0 and 1.
        unit_of_record: int64 (records,), from 0.
    """
    records = len(present)
    # A rank that holds a positive of either encoder ends a step.
    holds_positive = np.zeros(distinct, np.bool_)
    for record in range(records):
        if present[record] == 1:
            holds_positive[ranks_a[record]] = True
            holds_positive[ranks_b[record]] = True
    step_of_rank = np.empty(distinct, np.int32)
    steps = 0
    for rank in range(distinct):
        step_of_rank[rank] = steps
        if holds_positive[rank]:
            steps += 1

    bounds = np.zeros((2, 2 * steps + 1), np.int32)
    own = np.zeros((2, 2, steps), np.int32)
    for record in range(records):
        kind = present[record]
        out_step, in_step = step_of_rank[ranks_a[record]], step_of_rank[ranks_b[record]]
        if out_step < steps:
            own[kind, 0, out_step] += 1
        if in_step < steps:
            own[kind, 1, in_step] += 1
        if out_step != in_step:
            if out_step < steps:
                bounds[kind, 2 * out_step + 1] += 1
            if in_step < steps:
                bounds[kind, 2 * in_step + 2] += 1
    for kind in range(2):
        for place in range(2 * steps):
            bounds[kind, place + 1] += bounds[kind, place]
        for step in range(1, steps):
            own[kind, 0, step] += own[kind, 0, step - 1]
            own[kind, 1, step] += own[kind, 1, step - 1]

    negatives = np.empty(bounds[0, -1], np.int32)
    positives = np.empty(bounds[1, -1], np.int32)
    free = bounds.copy()
    for record in range(records):
        kind = present[record]
        out_step, in_step = step_of_rank[ranks_a[record]], step_of_rank[ranks_b[record]]
        if out_step == in_step:
            continue
        units = positives if kind == 1 else negatives
        if out_step < steps:
            units[free[kind, 2 * out_step]] = unit_of_record[record]
            free[kind, 2 * out_step] += 1
        if in_step < steps:
            units[free[kind, 2 * in_step + 1]] = unit_of_record[record]
            free[kind, 2 * in_step + 1] += 1
    return PairLayout(negatives, bounds[0], positives, bounds[1], own[0, 0], own[0, 1], own[1, 0], own[1, 1])


def observed_precision(layout: PairLayout) -> float:
    """What `count_average_precision` gives where nothing is swapped."""
    terms = [
        np.diff(positives, prepend=0) * (positives / np.maximum(1, positives + negatives))
        for positives, negatives in (
            (layout.positives_a, layout.negatives_a),
            (layout.positives_b, layout.negatives_b),
        )
    ]
    return float((terms[0] - terms[1]).sum())


@njit(nogil=True, error_model="numpy")
def count_average_precision(layout: PairLayout, blocks: np.ndarray, sums: np.ndarray) -> None:
    """Fill `sums`, float64 (blocks, BLOCK): P times the difference of the average precisions in every swap.

    The terms of A and B are subtracted step by step, so that exchanging A and B changes the sign and no bit else.
    """
    steps = len(layout.positives_a)
    for block in range(len(blocks)):
        # What swaps have put into A down to here; B has lost the same.
        negatives_in = np.zeros(BLOCK, np.int32)
        positives_in = np.zeros(BLOCK, np.int32)
        before = np.empty(BLOCK, np.int32)
        total = np.zeros(BLOCK, np.float64)
        gained_a, gained_b = np.int32(0), np.int32(0)
        for step in range(steps):
            first, last = layout.negative_bounds[2 * step], layout.negative_bounds[2 * step + 2]
            middle = layout.negative_bounds[2 * step + 1]
            for place in range(first, middle):
                row = blocks[block, layout.negatives[place]]
                for draw in range(BLOCK):
                    negatives_in[draw] -= row[draw]
            for place in range(middle, last):
                row = blocks[block, layout.negatives[place]]
                for draw in range(BLOCK):
                    negatives_in[draw] += row[draw]

            first, last = layout.positive_bounds[2 * step], layout.positive_bounds[2 * step + 2]
            middle = layout.positive_bounds[2 * step + 1]
            found_a, found_b = layout.positives_a[step], layout.positives_b[step]
            passed_a, passed_b = layout.negatives_a[step], layout.negatives_b[step]
            own_a, own_b = found_a - gained_a, found_b - gained_b
            gained_a, gained_b = found_a, found_b
            if own_a + own_b == 1 and last - first == 1:
                # One score of one positive, by far the most common step: it is A's or B's, and one division does.
                row = blocks[block, layout.positives[first]]
                for draw in range(BLOCK):
                    swapped = np.int32(row[draw])
                    positives_in[draw] += swapped * (own_b - own_a)
                    in_a = (swapped == 1) == (own_b == 1)
                    sign = np.int32(1) if in_a else np.int32(-1)
                    found = (found_a if in_a else found_b) + sign * positives_in[draw]
                    passed = (passed_a if in_a else passed_b) + sign * negatives_in[draw]
                    total[draw] += np.float64(sign * found) / np.float64(found + passed)
                continue
            # Element by element: an assignment of a slice brings numba's checks of shapes and their messages into the
            # compilation, two seconds of it.
            for draw in range(BLOCK):
                before[draw] = positives_in[draw]
            for place in range(first, middle):
                row = blocks[block, layout.positives[place]]
                for draw in range(BLOCK):
                    positives_in[draw] -= row[draw]
            for place in range(middle, last):
                row = blocks[block, layout.positives[place]]
                for draw in range(BLOCK):
                    positives_in[draw] += row[draw]
            for draw in range(BLOCK):
                more = positives_in[draw] - before[draw]
                of_a = np.float64(found_a + positives_in[draw])
                of_b = np.float64(found_b - positives_in[draw])
                # An encoder may hold nothing so far; then it gained nothing either, and its term is 0 of 1.
                all_a = max(1.0, of_a + np.float64(passed_a + negatives_in[draw]))
                all_b = max(1.0, of_b + np.float64(passed_b - negatives_in[draw]))
                total[draw] += np.float64(own_a + more) * (of_a / all_a) - np.float64(own_b - more) * (of_b / all_b)
        for draw in range(BLOCK):
            sums[block, draw] = total[draw]
