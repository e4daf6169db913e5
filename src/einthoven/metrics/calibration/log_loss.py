"""Log-loss of classes that exclude each other, and of probabilities whose logits are not to be had.

From logits no value is clipped or infinite (`einthoven.metrics.log_loss` does the same for labels). A probability of 0
for what came true costs infinitely much, and that is what is returned: clipping would make the clip the score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from .arguments import check_class_logits, check_class_probabilities, check_classes, record_weights
from .streams import positive_class_streams


def categorical_log_loss(target: ArrayLike, logit: ArrayLike, *, counts: ArrayLike | None = None) -> float:
    """Mean over records of -log softmax(logit)[target], in nats.

    Args:
        target: (records,) integers, the number of each record's class.
        logit: (records, classes) finite numbers.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        A value of 0 or more; NaN without a record.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a number that is no class, a logit that is not finite, a negative count.

    Example:
        >>> categorical_log_loss([0, 1], [[1000.0, 0.0], [1000.0, 0.0]])
        500.0
    """
    logits = check_class_logits(logit)
    records, classes = logits.shape
    truth = check_classes(target, records=records, classes=classes)
    with np.errstate(over="ignore"):
        margins = logits - np.take_along_axis(logits, truth[:, None], axis=1)
    losses = np.asarray(logsumexp(margins, axis=1), dtype=np.float64) if records else np.zeros(0)
    return float(_means(losses[:, None], record_weights(counts, records=records))[0])


def categorical_log_loss_of_probabilities(
    target: ArrayLike, probability: ArrayLike, *, counts: ArrayLike | None = None
) -> float:
    """Mean over records of -log of the probability of the record's class, in nats; never clipped.

    Args:
        target: (records,) integers, the number of each record's class.
        probability: (records, classes) in [0, 1], rows that sum to 1; float32 is cast to float64 without change.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        A value of 0 or more, infinite if what came true once had probability 0; NaN without a record.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a number that is no class, a probability outside [0, 1], a row that does not sum to 1, a negative
            count.

    Example:
        >>> categorical_log_loss_of_probabilities([0, 1], [[0.5, 0.5], [1.0, 0.0]])
        inf
    """
    probabilities = check_class_probabilities(probability)
    records, classes = probabilities.shape
    truth = check_classes(target, records=records, classes=classes)
    with np.errstate(divide="ignore"):
        losses = np.abs(np.log(np.take_along_axis(probabilities, truth[:, None], axis=1)))
    return float(_means(losses, record_weights(counts, records=records))[0])


def log_loss_of_probabilities(
    target: ArrayLike, probability: ArrayLike, *, counts: ArrayLike | None = None
) -> np.ndarray:
    """Mean over records of -log p where the label is present and -log(1 - p) where not, in nats; never clipped.

    Args:
        target: (records, labels) of 0 and 1; (records,) is one label.
        probability: of the same shape, in [0, 1]; float32 is cast to float64 without change.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        float64 (labels,), infinite where what came true once had probability 0; NaN without a record.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a probability outside [0, 1], a negative count.

    Example:
        >>> log_loss_of_probabilities([[1, 0], [1, 0]], [[0.5, 0.0], [0.5, 1.0]]).round(4).tolist()
        [0.6931, inf]
    """
    streams = positive_class_streams(target, probability)
    with np.errstate(divide="ignore"):
        present, absent = np.log(streams.confidence), np.log1p(-streams.confidence)
    losses = np.abs(np.where(streams.outcome == 1, present, absent))
    return _means(losses, record_weights(counts, records=streams.records))


def _means(losses: np.ndarray, weights: np.ndarray) -> np.ndarray:
    # A record that is not in the resample costs nothing, also if its loss is infinite.
    held = weights > 0
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(weights[held] * losses[held].T).sum(axis=1) / weights.sum()
