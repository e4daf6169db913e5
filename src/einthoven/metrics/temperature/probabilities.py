"""Logits at a temperature: the probabilities a fitted T gives, without overflow and with its limits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_scores
from einthoven.metrics.calibration.arguments import check_class_logits


def sigmoid_at_temperature(logit: ArrayLike, temperature: ArrayLike) -> np.ndarray:
    """sigmoid(logit / T): probabilities of labels, each by itself.

    At T = 0 they are 1, 0, or, for a logit of 0, one half; at T = infinity all are one half.

    Args:
        logit: (records, labels) finite log-odds; (records,) is one label.
        temperature: one T, or (labels,) one for each.

    Returns:
        float64 of the shape of `logit`.

    Raises:
        UsageError: shapes that do not fit, or a temperature that is negative or NaN.
        DataError: a logit that is not finite.

    Example:
        >>> sigmoid_at_temperature([[2.0, 0.0]], 0.0).tolist()
        [[1.0, 0.5]]
    """
    dimensions = 1 if np.ndim(logit) == 1 else 2
    logits = check_scores(logit, dimensions=dimensions, name="logit").astype(np.float64, copy=False)
    chosen = np.asarray(temperature, dtype=np.float64)
    labels = 1 if dimensions == 1 else logits.shape[1]
    if chosen.shape not in ((), (labels,)):
        raise UsageError(f"temperature: expected one, or one for each of {labels} labels, found shape {chosen.shape}.")
    if not (chosen >= 0).all():
        raise _refused(temperature)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scaled = logits / chosen
    # A logit of 0 stays 0 at every temperature; 0 / 0 is its only NaN.
    return expit(np.where(logits == 0, 0.0, scaled))


def softmax_at_temperature(logit: ArrayLike, temperature: float) -> np.ndarray:
    """softmax(logit / T): probabilities of classes that exclude each other.

    At T = 0 the highest class has all, and equal ones share; at T = infinity all classes share.

    Args:
        logit: (records, classes) finite numbers.
        temperature: T.

    Returns:
        float64 (records, classes), rows that sum to 1.

    Raises:
        UsageError: shapes that do not fit, or a temperature that is negative or NaN.
        DataError: a logit that is not finite.

    Example:
        >>> softmax_at_temperature([[2.0, 2.0, 0.0]], 0.0).tolist()
        [[0.5, 0.5, 0.0]]
    """
    logits = check_class_logits(logit)
    if math.isnan(temperature) or temperature < 0:
        raise _refused(temperature)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Halves cannot overflow when subtracted.
        below = logits / 2 - logits.max(axis=1, keepdims=True) / 2
        odds = np.exp(np.where(below == 0, 0.0, below / temperature * 2))
    return odds / odds.sum(axis=1, keepdims=True)


def _refused(temperature: object) -> UsageError:
    return UsageError(
        f"temperature: expected 0 or more, found {temperature}. A fit without a temperature says why in its reason."
    )
