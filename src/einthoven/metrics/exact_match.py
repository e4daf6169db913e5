"""Whether all labels of a record are decided right at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError

from .counting import check_resamples, count_marked
from .decisions import Comparison, check_decision, decide


def exact_match(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    thresholds: ArrayLike,
    counts: ArrayLike | None = None,
    comparison: Comparison = ">=",
) -> np.ndarray:
    """Share of records with every label decided right (subset accuracy).

    Label accuracy, which counts every decision by itself, is `operating_rates(...).accuracy`.

    Args:
        target: (records, labels) of 0 and 1.
        scores: finite numbers (records, labels) or (encoders, records, labels).
        thresholds: one number, or one for each label (and encoder), chosen on validation; NaN where none could be.
        counts: (records,) or (draws, records) integers, how often each record is in a resample; None is once each.
        comparison: a record is called positive where its score is ">=" the threshold, or ">" it.

    Returns:
        float64 ([draws,] [encoders]); NaN without a record, and where a label has no threshold: leaving the label out
        would call records right that were not decided. `exact_match_reason` says which.

    Raises:
        UsageError: shapes that do not fit, no label, scores that float64 cannot hold, another comparison.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a negative count.

    Example:
        >>> exact_match([[0, 1], [1, 1]], [[0.1, 0.8], [0.7, 0.3]], thresholds=0.5).item()
        0.5
    """
    if np.ndim(target) != 2 or np.shape(target)[1] == 0:
        raise UsageError(f"target: expected (records, labels) with at least one label, found {np.shape(target)}.")
    present, values, cuts = check_decision(target, scores, thresholds)
    often = check_resamples(counts, records=len(present))
    right = np.empty((len(present), len(values)), dtype=bool)
    for encoder, value in enumerate(values):
        right[:, encoder] = (decide(value, thresholds=cuts[encoder], comparison=comparison) == (present == 1)).all(
            axis=1
        )
    total = np.float64(len(present)) if often is None else often.sum(axis=-1, dtype=np.float64)[..., None]
    defined = (total > 0) & ~np.isnan(cuts).any(axis=1)
    share = np.divide(count_marked(right, counts=often), total, out=np.full(defined.shape, np.nan), where=defined)
    return share if np.ndim(scores) == 3 else share[..., 0]


def exact_match_reason(thresholds: ArrayLike, *, records: int, names: Sequence[str] | None = None) -> str | None:
    """Why the exact match of one encoder is NaN, or None where it has a value.

    Args:
        thresholds: (labels,) numbers; NaN where none could be chosen.
        records: how many test records there are.
        names: (labels,) names, for the reason.

    Raises:
        UsageError: shapes that do not fit.

    Example:
        >>> exact_match_reason([0.5, float("nan")], records=9, names=["AFIB", "WPW"])
        'no threshold could be chosen on validation for 1 of 2 labels: WPW'
    """
    cuts = np.asarray(thresholds, dtype=np.float64)
    if cuts.ndim != 1 or (names is not None and len(names) != len(cuts)):
        raise UsageError(f"thresholds: expected one for each label, and as many names, found shape {cuts.shape}.")
    undefined = np.flatnonzero(np.isnan(cuts)).tolist()
    if undefined:
        which = ", ".join(names[label] if names else str(label) for label in undefined)
        return f"no threshold could be chosen on validation for {len(undefined)} of {len(cuts)} labels: {which}"
    return None if records else "no test record"
