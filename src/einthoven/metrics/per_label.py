"""Discrimination label by label, with a reason wherever a label has no value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError

from .arguments import check_scores, check_targets
from .discrimination import Discrimination, auroc, average_precision, undefined_reason


@dataclass(frozen=True, eq=False)
class LabelValues:
    """One value for each label, none left out.

    Attributes:
        values: float64 (labels,); NaN where undefined.
        reasons: for each label, why its value is NaN, or None.
    """

    values: np.ndarray
    reasons: tuple[str | None, ...]


def discriminate_labels(
    target: ArrayLike, score: ArrayLike, *, metric: Discrimination = "auroc", counts: ArrayLike | None = None
) -> LabelValues:
    """AUROC or average precision of each label.

    For many draws see `bootstrap_discrimination`; for the mean, `macro_average`, which carries its denominator.

    Args:
        target: (records, labels) of 0 and 1.
        score: (records, labels) finite numbers.
        metric: "auroc" or "average_precision".
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Raises:
        UsageError: shapes that do not fit, another metric.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a negative count.

    Example:
        >>> discriminate_labels([[0, 0], [1, 0]], [[0.1, 0.3], [0.4, 0.2]])
        LabelValues(values=array([ 1., nan]), reasons=(None, 'no positive in 2 test records'))
    """
    metrics = {"auroc": auroc, "average_precision": average_precision}
    if metric not in metrics:
        raise UsageError(f"metric: expected one of {', '.join(metrics)}, found {metric!r}.")
    present = check_targets(target, dimensions=2)
    scores = check_scores(score, dimensions=2)
    if present.shape != scores.shape:
        raise UsageError(f"target and score: expected the same shape, found {present.shape} and {scores.shape}.")
    labels = range(present.shape[1])
    return LabelValues(
        values=np.array([metrics[metric](present[:, i], scores[:, i], counts=counts) for i in labels], np.float64),
        reasons=tuple(undefined_reason(present[:, i], counts, metric=metric) for i in labels),
    )
