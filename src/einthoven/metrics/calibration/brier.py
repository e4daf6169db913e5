"""Brier scores, each named by its convention: the same word stands for numbers that differ by factors of two and more.

    binary and multilabel   (p - y)^2 of the label alone             0 to 1   `brier_per_label`
    multiclass              sum over classes of (p_k - [y = k])^2    0 to 2   `brier_sum_over_classes`

A binary task written as two classes scores twice its per-label value; scikit-learn halves it back. The mean over
labels of a multilabel task is a mean over declared labels, as for any other metric.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .arguments import check_class_probabilities, check_classes, record_weights
from .streams import positive_class_streams


def brier_per_label(target: ArrayLike, probability: ArrayLike, *, counts: ArrayLike | None = None) -> np.ndarray:
    """Mean of (p - y)^2 over records, label by label: 0 at best, 1 at worst.

    Brier (Monthly Weather Review 1950) with the sum over the two answers halved. It is defined for a label without
    positives, or without negatives.

    Args:
        target: (records, labels) of 0 and 1; (records,) is one label.
        probability: of the same shape, in [0, 1]; float32 is cast to float64 without change.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        float64 (labels,); NaN without a record.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a probability outside [0, 1], a negative count.

    Example:
        >>> brier_per_label([[1, 0], [0, 0]], [[0.5, 0.0], [0.5, 1.0]]).tolist()
        [0.25, 0.5]
    """
    errors = squared_errors_per_label(target, probability)
    weights = record_weights(counts, records=len(errors))
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(weights * errors.T).sum(axis=1) / weights.sum()


def brier_sum_over_classes(target: ArrayLike, probability: ArrayLike, *, counts: ArrayLike | None = None) -> float:
    """Mean over records of the sum over classes of (p_k - [y = k])^2: 0 at best, 2 at worst.

    Brier (Monthly Weather Review 1950), eq. 2. It is defined where a class is absent.

    Args:
        target: (records,) integers, the number of each record's class.
        probability: (records, classes) in [0, 1], rows that sum to 1; float32 is cast to float64 without change.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        A value in [0, 2]; NaN without a record.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a number that is no class, a probability outside [0, 1], a row that does not sum to 1, a negative
            count.

    Example:
        >>> brier_sum_over_classes([0, 2], [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
        1.0
    """
    errors = squared_errors_over_classes(target, probability)
    weights = record_weights(counts, records=len(errors))
    with np.errstate(invalid="ignore"):
        return float((weights * errors).sum() / weights.sum())


def squared_errors_per_label(target: ArrayLike, probability: ArrayLike) -> np.ndarray:
    """float64 (records, labels) of (p - y)^2; arguments and errors as for `brier_per_label`."""
    streams = positive_class_streams(target, probability)
    return (streams.confidence - streams.outcome) ** 2


def squared_errors_over_classes(target: ArrayLike, probability: ArrayLike) -> np.ndarray:
    """float64 (records,) of the sum of (p_k - [y = k])^2; arguments and errors as for `brier_sum_over_classes`."""
    probabilities = check_class_probabilities(probability)
    records, classes = probabilities.shape
    truth = check_classes(target, records=records, classes=classes)
    return ((probabilities - (truth[:, None] == np.arange(classes))) ** 2).sum(axis=1)
