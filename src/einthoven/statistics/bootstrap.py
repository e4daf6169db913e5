"""AUROC and average precision of every encoder and label in every bootstrap draw.

A draw changes how often a record counts, not how records are ordered: each (encoder, label) is sorted once, and the
draws are then counted side by side down that order, in integers, run of equal scores by run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_counts, check_predictions
from einthoven.metrics.ties import tie_groups

from .threads import for_each

# Draws counted side by side: wide enough for vector instructions, and the counters of a block stay in the L1 cache.
_BLOCK = 256
_LARGEST_COUNT = int(np.iinfo(np.int16).max)


@dataclass(frozen=True, eq=False)
class BootstrapDraws:
    """The metrics of every draw.

    Attributes:
        auroc: float64 (draws, encoders, labels); NaN where a draw has one class only.
        average_precision: float64 (draws, encoders, labels); NaN where a draw has no positive.
    """

    auroc: np.ndarray
    average_precision: np.ndarray


def bootstrap_discrimination(
    target: ArrayLike, scores: ArrayLike, *, counts: ArrayLike, threads: int | None = None
) -> BootstrapDraws:
    """AUROC and average precision in every draw; draw b equals the metric on rows repeated counts[b] times.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (encoders, records, labels) finite numbers.
        counts: (draws, records) integers, the same draws for all encoders and labels, as `draw_counts` gives them.
        threads: how many (encoder, label) pairs are counted at once; None is one for each core the process may use.
            The result does not depend on it.

    Returns:
        Both metrics, each float64 (draws, encoders, labels).

    Raises:
        UsageError: shapes that do not fit, a count beyond 32767, fewer than one thread.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a negative count.

    Example:
        >>> draws = bootstrap_discrimination([[0], [1], [1]], [[[0.1], [0.1], [0.9]]], counts=[[1, 1, 1], [0, 2, 1]])
        >>> draws.auroc[:, 0, 0].tolist(), draws.average_precision[0, 0, 0].round(4).item()
        ([0.75, nan], 0.8333)
    """
    present, values = check_predictions(target, scores)
    often = check_counts(counts, records=len(present), dimensions=2)
    if often.size and often.max() > _LARGEST_COUNT:
        raise UsageError(f"counts: expected at most {_LARGEST_COUNT}, found {often.max()}.")

    record_major = np.ascontiguousarray(often.T, dtype=np.int16)
    encoders, labels = values.shape[0], present.shape[1]
    shape = (encoders, labels, len(often))
    area, precision = np.full(shape, np.nan), np.full(shape, np.nan)

    def count(pair: tuple[int, int]) -> None:
        encoder, label = pair
        order, starts = tie_groups(values[encoder, :, label])
        bounds = np.append(starts, len(order))
        _count_draws(order, bounds, present[order, label], record_major, area[pair], precision[pair])

    for_each(count, np.ndindex(encoders, labels) if len(present) else (), threads=threads)
    return BootstrapDraws(auroc=np.moveaxis(area, 2, 0), average_precision=np.moveaxis(precision, 2, 0))


# Compiled in each process (about a second) and not cached on disk: a cache would be written beside the package.
# numpy's division: a check for zero in each step would keep the loop from vector instructions.
@njit(nogil=True, error_model="numpy")
def _count_draws(
    order: np.ndarray,
    bounds: np.ndarray,
    present: np.ndarray,
    counts: np.ndarray,
    area: np.ndarray,
    precision: np.ndarray,
) -> None:
    """Fill `area` and `precision` (draws,) of one encoder and label.

    `order`: rows by falling score; `bounds`: where runs of equal scores begin, and the end; `present`: targets in that
    order; `counts`: int16 (records, draws). Counters are int32 as a draw holds fewer than 2**31 records; products of
    two are int64.
    """
    draws = counts.shape[1]
    for low in range(0, draws, _BLOCK):
        width = min(_BLOCK, draws - low)
        positives = np.zeros(width, np.int32)
        negatives = np.zeros(width, np.int32)
        run_positives = np.empty(width, np.int32)
        run_negatives = np.empty(width, np.int32)
        twice_out_of_order = np.zeros(width, np.int64)
        precision_sum = np.zeros(width, np.float64)
        for run in range(len(bounds) - 1):
            first, last = bounds[run], bounds[run + 1]
            any_positive = False
            for position in range(first, last):
                any_positive |= present[position] == 1
            if not any_positive:
                for position in range(first, last):
                    row = counts[order[position], low : low + width]
                    for draw in range(width):
                        negatives[draw] += row[draw]
                continue
            run_positives[:] = 0
            run_negatives[:] = 0
            for position in range(first, last):
                row = counts[order[position], low : low + width]
                here = run_positives if present[position] == 1 else run_negatives
                for draw in range(width):
                    here[draw] += row[draw]
            for draw in range(width):
                gained, tied = np.int64(run_positives[draw]), np.int64(run_negatives[draw])
                twice_out_of_order[draw] += gained * (2 * np.int64(negatives[draw]) + tied)
                positives[draw] += run_positives[draw]
                negatives[draw] += run_negatives[draw]
                found = np.float64(positives[draw])
                # A draw may hold nothing so far; then nothing was gained either, and the term is 0 of 1.
                precision_sum[draw] += gained * (found / max(1.0, found + np.float64(negatives[draw])))
        for draw in range(width):
            twice_pairs = 2 * np.int64(positives[draw]) * np.int64(negatives[draw])
            if twice_pairs > 0:
                area[low + draw] = (twice_pairs - twice_out_of_order[draw]) / twice_pairs
            if positives[draw] > 0:
                precision[low + draw] = precision_sum[draw] / positives[draw]
