"""True and false positives and negatives at given thresholds, for every label, encoder and resample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .counting import check_resamples, count_marked
from .decisions import Comparison, check_decision, decide


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """The four counts, each int64 of one shape: ([draws,] [encoders,] [labels]).

    Attributes:
        true_positives: records with the label, called positive.
        false_positives: records without it, called positive.
        false_negatives: records with it, called negative.
        true_negatives: records without it, called negative.
        undecided: bool, broadcasting to the counts: no threshold, so nothing was called; its counts are all 0.
    """

    true_positives: np.ndarray
    false_positives: np.ndarray
    false_negatives: np.ndarray
    true_negatives: np.ndarray
    undecided: np.ndarray


def confusion_counts(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    thresholds: ArrayLike,
    counts: ArrayLike | None = None,
    comparison: Comparison = ">=",
) -> ConfusionCounts:
    """Decisions against targets, counted exactly; draw b equals the count over rows repeated counts[b] times.

    Args:
        target: (records,) or (records, labels) of 0 and 1.
        scores: finite numbers, shaped as the targets, or with an axis of encoders before.
        thresholds: one number, or one for each label (and encoder), chosen on validation and held through all draws;
            NaN where none could be chosen.
        counts: (records,) or (draws, records) integers, how often each record is in a resample; None is once each.
        comparison: a record is called positive where its score is ">=" the threshold, or ">" it.

    Returns:
        Counts of shape ([draws,] [encoders,] [labels]): the axes that `counts`, `scores` and `target` have.

    Raises:
        UsageError: shapes that do not fit, scores that float64 cannot hold, another comparison.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a negative count.

    Example:
        >>> found = confusion_counts([0, 1, 1], [0.5, 0.2, 0.9], thresholds=0.5, counts=[[1, 1, 1], [0, 2, 1]])
        >>> found.true_positives.tolist(), found.false_negatives.tolist()
        ([1, 1], [1, 2])
    """
    present, values, cuts = check_decision(target, scores, thresholds)
    often = check_resamples(counts, records=len(present))
    draws = () if often is None else often.shape[:-1]
    encoders, records, labels = values.shape

    # Columns before the reshape: (draws or 1, encoders, labels).
    found, called = np.empty((2, *draws, encoders, labels), dtype=np.int64)
    for encoder in range(encoders):
        positive = decide(values[encoder], thresholds=cuts[encoder], comparison=comparison)
        both = count_marked(np.hstack([positive & (present == 1), positive]), counts=often)
        found[..., encoder, :], called[..., encoder, :] = both[..., :labels], both[..., labels:]
    has = count_marked(present, counts=often)[..., None, :]
    total = np.int64(records) if often is None else often.sum(axis=-1, dtype=np.int64)[..., None, None]

    undecided = np.isnan(cuts)
    decided = ~undecided
    shape = draws + np.shape(scores)[: np.ndim(scores) - np.ndim(target)] + np.shape(target)[1:]
    return ConfusionCounts(
        true_positives=(found * decided).reshape(shape),
        false_positives=((called - found) * decided).reshape(shape),
        false_negatives=((has - found) * decided).reshape(shape),
        true_negatives=((total - has - called + found) * decided).reshape(shape),
        undecided=undecided.reshape(shape[len(draws) :]),
    )
