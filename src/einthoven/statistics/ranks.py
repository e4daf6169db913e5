"""Ranks that say how sure they are: the probability of each rank over draws, and sets of ranks such as "1-3"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from einthoven.foundation.errors import UsageError

from .direction import Better, oriented
from .intervals import MINIMUM_DEFINED
from .multiplicity import check_p


@dataclass(frozen=True, eq=False)
class RankProbabilities:
    """How often each encoder has each rank.

    Attributes:
        probability: float64 (encoders, ranks); rows and columns each sum to 1; NaN where undefined.
        draws: how many draws there were.
        undefined_draws: how many of them lack the value of an encoder, and rank none.
        reason: why the probabilities are NaN, or None.
    """

    probability: np.ndarray
    draws: int
    undefined_draws: int
    reason: str | None


@dataclass(frozen=True)
class RankSet:
    """The ranks that an encoder may have; as text "2" or "1-3".

    Attributes:
        low: best rank, 1 + the number of encoders significantly better.
        high: worst rank, the number of encoders that are not significantly worse, itself included.
        of: how many encoders were ranked.
        undefined_pairs: how many of its comparisons have no p-value; each is taken as not told apart.
    """

    low: int
    high: int
    of: int
    undefined_pairs: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


def rank_probabilities(
    draws: ArrayLike, *, better: Better, minimum_defined: float = MINIMUM_DEFINED
) -> RankProbabilities:
    """The share of draws in which each encoder has each rank.

    Encoders with equal values in a draw share their ranks: two that are both first have ranks 1 and 2 half each. These
    are frequencies over resamples, not probabilities that an encoder is truly the best: over bootstrap draws they are
    centred on the observed values.

    Args:
        draws: (draws, encoders) values; NaN where undefined. A draw that lacks an encoder ranks none, as a rank among
            fewer is another number.
        better: whether higher or lower values are better.
        minimum_defined: smallest share of draws that must have all encoders.

    Raises:
        UsageError: not two axes, or a setting outside its range.
        DataError: an infinite value.

    Example:
        >>> rank_probabilities([[0.9, 0.8], [0.7, 0.7]], better="higher").probability.tolist()
        [[0.75, 0.25], [0.25, 0.75]]
    """
    values = oriented(draws, better=better, dimensions=2, name="draws")
    if not 0 <= minimum_defined <= 1:
        raise UsageError(f"minimum_defined: expected a share from 0 to 1, found {minimum_defined}.")
    total, encoders = values.shape
    defined = values[~np.isnan(values).any(axis=1)]
    undefined = total - len(defined)
    reason = None
    if len(defined) == 0:
        reason = f"undefined in all {total} draws" if total else "no draws"
    elif len(defined) < minimum_defined * total:
        reason = f"undefined in {undefined} of {total} draws; at least {minimum_defined:.0%} must be defined"
    if reason is not None:
        return RankProbabilities(np.full((encoders, encoders), np.nan), total, undefined, reason)
    first = rankdata(-defined, method="min", axis=1).astype(np.int64) - 1
    tied = rankdata(-defined, method="max", axis=1).astype(np.int64) - first
    weight = np.zeros(encoders * encoders)
    row = np.broadcast_to(np.arange(encoders) * encoders, first.shape)
    for place in range(int(tied.max(initial=0))):
        holds = tied > place
        weight += np.bincount((row + first + place)[holds], weights=1 / tied[holds], minlength=len(weight))
    return RankProbabilities(weight.reshape(encoders, encoders) / len(defined), total, undefined, None)


def rank_sets(points: ArrayLike, p_adjusted: ArrayLike, *, better: Better, alpha: float = 0.05) -> tuple[RankSet, ...]:
    """The ranks each encoder may have, given which pairs are significantly different.

    If the pairwise verdicts hold together with probability 1 - alpha, so do all rank sets (Mogstad, Romano, Shaikh and
    Wilhelm 2024, "Inference for Ranks", Review of Economic Studies 91:476, in its simple form: one test a pair, no
    step-down over ranks). That takes p-values adjusted for the family-wise error over all pairs (`holm`,
    `bonferroni`); with `bh` the sets are narrower and have no such coverage.

    Args:
        points: (encoders,) point values; NaN where undefined.
        p_adjusted: (encoders, encoders) symmetric adjusted p-values; the diagonal is not read; NaN where undefined.
            From the pairs in the order of `itertools.combinations` it is `scipy.spatial.distance.squareform(p)`.
        better: whether higher or lower values are better.
        alpha: a pair is different if its p is at most this.

    Raises:
        UsageError: shapes that do not fit, p-values that are not symmetric, alpha outside 0 to 1.
        DataError: an infinite point, a p-value outside 0 to 1.

    Example:
        >>> sets = rank_sets([0.9, 0.89, 0.7], [[1, 0.6, 0.01], [0.6, 1, 0.2], [0.01, 0.2, 1]], better="higher")
        >>> [str(one) for one in sets]
        ['1-2', '1-3', '2-3']
    """
    values = oriented(points, better=better, name="points")
    encoders = len(values)
    p = np.array(p_adjusted, dtype=np.float64)
    if p.shape != (encoders, encoders):
        raise UsageError(f"p_adjusted: expected ({encoders}, {encoders}), found {p.shape}.")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha: expected a number between 0 and 1, such as 0.05, found {alpha}.")
    np.fill_diagonal(p, 1)
    check_p(p.ravel(), name="p_adjusted")
    if not np.array_equal(p, p.T, equal_nan=True):
        raise UsageError("p_adjusted: expected the same p-value of (a, b) and (b, a), found different ones.")
    difference = values[:, None] - values[None, :]
    undefined = np.isnan(p) | np.isnan(difference)
    np.fill_diagonal(undefined, False)
    with np.errstate(invalid="ignore"):
        told_apart = ~undefined & (p <= alpha)
        better_than_it = (told_apart & (difference < 0)).sum(axis=1)
        worse_than_it = (told_apart & (difference > 0)).sum(axis=1)
    return tuple(
        RankSet(low=1 + int(above), high=encoders - int(under), of=encoders, undefined_pairs=int(lacking))
        for above, under, lacking in zip(better_than_it, worse_than_it, undefined.sum(axis=1), strict=True)
    )
