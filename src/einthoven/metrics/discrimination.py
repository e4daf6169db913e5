"""How well a score tells records with a label from records without: AUROC and average precision.

Both are counted over runs of equal scores in integers, so tied scores give the exact value, whatever the row order.
Where a value does not exist it is NaN, and `undefined_reason` says why; 0, 0.5 and 1 are never stand-ins.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError

from .arguments import check_counts, check_scores, check_targets
from .ties import tie_groups

Discrimination = Literal["auroc", "average_precision"]


def auroc(target: ArrayLike, score: ArrayLike, *, counts: ArrayLike | None = None) -> float:
    """Area under the ROC curve: the share of (positive, negative) pairs that the score puts in the right order.

    A tied pair counts one half (Hanley and McNeil, Radiology 1982; the Mann-Whitney U over its maximum).

    Args:
        target: (records,) of 0 and 1.
        score: (records,) finite numbers of any scale; only their order matters.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        A value in [0, 1]; NaN without a positive or without a negative.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a negative count.

    Example:
        >>> auroc([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
        0.875
    """
    positives, negatives = _by_distinct_score(target, score, counts)
    all_positives, all_negatives = int(positives.sum()), int(negatives.sum())
    if all_positives == 0 or all_negatives == 0:
        return math.nan
    negatives_below = all_negatives - np.cumsum(negatives)
    twice_in_order = int((positives * (2 * negatives_below + negatives)).sum())
    return twice_in_order / (2 * all_positives * all_negatives)


def average_precision(target: ArrayLike, score: ArrayLike, *, counts: ArrayLike | None = None) -> float:
    """Average precision: precision at each distinct score, weighted by the recall gained there.

    This is the step sum, sum of (R_i - R_(i-1)) P_i. The trapezoid under the precision-recall curve is another number
    and an optimistic one (Davis and Goadrich, ICML 2006).

    Args:
        target: (records,) of 0 and 1.
        score: (records,) finite numbers of any scale; only their order matters.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        A value in (0, 1]; NaN without a positive. Without a negative it is 1.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a negative count.

    Example:
        >>> average_precision([0, 1, 0, 1], [0.1, 0.4, 0.3, 0.8])
        1.0
    """
    positives, negatives = _by_distinct_score(target, score, counts)
    gains = positives > 0
    if not gains.any():
        return math.nan
    found = np.cumsum(positives)
    precision = found[gains] / (found + np.cumsum(negatives))[gains]
    return float((positives[gains] * precision).sum() / found[-1])


METRICS = {"auroc": auroc, "average_precision": average_precision}


def check_metric(metric: str) -> None:
    """Refuse a metric that does not exist.

    Raises:
        UsageError: a word that is none of `Discrimination`.
    """
    if metric not in METRICS:
        raise UsageError(f"metric: expected one of {', '.join(METRICS)}, found {metric!r}.")


def undefined_reason(
    target: ArrayLike, counts: ArrayLike | None = None, *, metric: Discrimination = "auroc"
) -> str | None:
    """Why a metric has no value on these targets, or None where it has one.

    Args:
        target: (records,) of 0 and 1.
        counts: (records,) integers, how often each record is in a resample; None is once each.
        metric: AUROC needs both classes, average precision only a positive.

    Example:
        >>> undefined_reason([0, 0, 0])
        'no positive in 3 test records'
    """
    present = check_targets(target, dimensions=1)
    weights = _weights(counts, records=len(present))
    total = int(weights.sum())
    positives = int(weights[present == 1].sum())
    if total == 0:
        return "no test record"
    if positives == 0:
        return f"no positive in {total} test record{'s' if total > 1 else ''}"
    if metric == "auroc" and positives == total:
        return f"no negative in {total} test record{'s' if total > 1 else ''}"
    return None


def _by_distinct_score(target: ArrayLike, score: ArrayLike, counts: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of positives and of negatives at each distinct score, highest first; int64."""
    present = check_targets(target, dimensions=1)
    scores = check_scores(score, dimensions=1)
    if len(present) != len(scores):
        raise UsageError(f"target and score: expected one of each a record, found {len(present)} and {len(scores)}.")
    weights = _weights(counts, records=len(present))
    if len(scores) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    order, starts = tie_groups(scores)
    weights, present = weights[order], present[order]
    return np.add.reduceat(weights * present, starts), np.add.reduceat(weights * (1 - present), starts)


def _weights(counts: ArrayLike | None, *, records: int) -> np.ndarray:
    if counts is None:
        return np.ones(records, dtype=np.int64)
    return check_counts(counts, records=records).astype(np.int64)
