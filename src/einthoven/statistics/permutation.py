"""Are two encoders' AUROC or average precision further apart than if it were a coin toss whose prediction is whose?

Under the null hypothesis the two prediction rows of a patient are exchangeable. In each draw a coin decides for every
patient whether they are exchanged, all labels together, and the metric is recomputed. The same coins serve every pair
and label, so a macro average is tested on the same draws. A swap moves scores and never targets: what is
undefined is undefined in all draws, and no draw is ever left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.discrimination import Discrimination, undefined_reason

from .macro import macro_average, macro_draws
from .permutation_differences import PairedScores
from .permutation_swaps import draw_swaps
from .rounding import ROUNDING


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """The test of one metric, for each pair of encoders and label and for the macro average over the judged labels.

    Attributes:
        metric: what was tested.
        pairs: (A, B) numbers of encoders.
        draws: how many; no p-value is below 1 / (1 + draws).
        units: how many patients or records were swapped or not.
        difference: float64 (pairs, labels), the metric of A minus that of B as observed; NaN where undefined.
        exceeding: int64 (pairs, labels), draws at least as far from 0 as the observed difference; -1 where undefined.
        p: float64 (pairs, labels), (1 + exceeding) / (1 + draws); NaN where undefined.
        reasons: for each label, why it has no value, or None.
        macro_difference: float64 (pairs,).
        macro_exceeding: int64 (pairs,); -1 where undefined.
        macro_p: float64 (pairs,).
        macro_reason: why the macro average has no value, or None.
    """

    metric: Discrimination
    pairs: tuple[tuple[int, int], ...]
    draws: int
    units: int
    difference: np.ndarray
    exceeding: np.ndarray
    p: np.ndarray
    reasons: tuple[str | None, ...]
    macro_difference: np.ndarray
    macro_exceeding: np.ndarray
    macro_p: np.ndarray
    macro_reason: str | None


def permutation_test(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    metric: Discrimination,
    pairs: Sequence[tuple[int, int]],
    judged: ArrayLike,
    units: Sequence[str] | Sequence[int] | np.ndarray,
    draws: int = 1000,
    seed: int,
    threads: int | None = None,
) -> PermutationTest:
    """The two-sided whole-row swap test of pairs of encoders.

    p = (1 + #{|T_b| >= |T|}) / (1 + draws): the observed assignment is one of those that the null hypothesis allows,
    so p is never 0 (Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 2010). Equal encoders have p = 1.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (encoders, records, labels) finite numbers, on one scale for all encoders: a swap compares a score of A
            with a score of B, so turn raw outputs into probabilities first, or into `midranks`.
        metric: "auroc", which needs no compilation, or "average_precision".
        pairs: (A, B) numbers of encoders; the difference is A minus B.
        judged: bool (labels,), the labels that the macro average is declared to be over.
        units: (records,) patient ids: all records of a patient are exchanged together, as they are not independent.
            Record ids swap records one by one.
        draws: how many.
        seed: of the coins; the first k draws are the same however many are asked for.
        threads: how many (pair, label) are counted at once; None is one for each core the process may use. The result
            does not depend on it.

    Raises:
        UsageError: shapes that do not fit, an encoder that does not exist or is paired with itself, no pair, no draw.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a record without a unit.

    Example:
        >>> test = permutation_test(
        ...     [[0], [0], [1], [1]],
        ...     [[[0.1], [0.2], [0.8], [0.9]], [[0.7], [0.2], [0.8], [0.3]]],
        ...     metric="auroc",
        ...     pairs=[(0, 1)],
        ...     judged=[True],
        ...     units=["p1", "p2", "p3", "p4"],
        ...     draws=99,
        ...     seed=0,
        ... )
        >>> test.difference.item(), test.p.item()
        (0.25, 0.47)
    """
    paired = PairedScores(target, scores, metric=metric, pairs=pairs, units=units, threads=threads)
    size = paired.chunk_draws()
    chunks = (
        draw_swaps(paired.unit_count, draws=min(size, draws - first), seed=seed, first=first)
        for first in range(0, draws, size)
    )
    return _test(paired, chunks, judged=judged, threads=threads)


def permutation_test_of_swaps(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    metric: Discrimination,
    pairs: Sequence[tuple[int, int]],
    judged: ArrayLike,
    units: Sequence[str] | Sequence[int] | np.ndarray,
    swaps: Iterable[np.ndarray],
    threads: int | None = None,
) -> PermutationTest:
    """`permutation_test` on given swaps.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (encoders, records, labels) finite numbers.
        metric: "auroc" or "average_precision".
        pairs: (A, B) numbers of encoders.
        judged: bool (labels,), the labels of the macro average.
        units: (records,) patient or record ids.
        swaps: chunks, each bool (draws, units) with units in order of first appearance; one chunk is held at a time.
        threads: how many (pair, label) are counted at once.

    Raises:
        UsageError, DataError: as `permutation_test`, or swaps of another shape.
    """
    paired = PairedScores(target, scores, metric=metric, pairs=pairs, units=units, threads=threads)
    return _test(paired, swaps, judged=judged, threads=threads)


def midranks(scores: np.ndarray) -> np.ndarray:
    """Each score's rank among those of its own encoder and label, equal scores their mean rank.

    Exchanged in place of the scores they make a test that depends on their order alone: a transform of one encoder's
    scores that keeps it changes no p-value, as it changes no AUROC and no average precision.

    Args:
        scores: (encoders, records, labels) finite numbers.

    Returns:
        float64 of the same shape, from 1.

    Example:
        >>> midranks(np.array([[[0.5], [-7.0], [0.5]]])).ravel().tolist()
        [2.5, 1.0, 2.5]
    """
    ranks = np.empty(scores.shape, np.float64)
    for encoder, label in np.ndindex(scores.shape[0], scores.shape[2]):
        _, inverse, sizes = np.unique(scores[encoder, :, label], return_inverse=True, return_counts=True)
        ranks[encoder, :, label] = (np.cumsum(sizes) - (sizes - 1) / 2)[inverse]
    return ranks


def _test(
    paired: PairedScores, chunks: Iterable[np.ndarray], *, judged: ArrayLike, threads: int | None
) -> PermutationTest:
    sums = paired.observed()
    observed = paired.differences(sums)
    exact = paired.metric == "auroc"
    farness = np.abs(sums) if exact else np.abs(observed) - ROUNDING
    macro_observed = macro_draws(observed, judged=judged)
    exceeding, macro_exceeding = np.zeros(observed.shape, np.int64), np.zeros(macro_observed.shape, np.int64)
    draws = 0
    for chunk in chunks:
        sums = paired.count(np.asarray(chunk), threads=threads)
        found = paired.differences(sums)
        exceeding += (np.abs(sums if exact else found) >= farness).sum(axis=0)
        macro = macro_draws(found, judged=judged)
        macro_exceeding += (np.abs(macro) >= np.abs(macro_observed) - ROUNDING).sum(axis=0)
        draws += len(chunk)
    if draws == 0:
        raise UsageError("draws: expected at least 1, found none.")
    undefined, macro_undefined = np.isnan(observed), np.isnan(macro_observed)
    return PermutationTest(
        metric=paired.metric,
        pairs=paired.pairs,
        draws=draws,
        units=paired.unit_count,
        difference=observed,
        exceeding=np.where(undefined, -1, exceeding),
        p=np.where(undefined, np.nan, (1 + exceeding) / (1 + draws)),
        reasons=tuple(undefined_reason(column, metric=paired.metric) for column in paired.target.T),
        macro_difference=macro_observed,
        macro_exceeding=np.where(macro_undefined, -1, macro_exceeding),
        macro_p=np.where(macro_undefined, np.nan, (1 + macro_exceeding) / (1 + draws)),
        # Targets are common to all pairs, and so is what is undefined.
        macro_reason=macro_average(observed[0], judged=judged).reason,
    )
