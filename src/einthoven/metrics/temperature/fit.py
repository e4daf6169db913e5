"""Temperature scaling: the one number that logits are divided by, fitted on validation records.

Guo et al. (ICML 2017), section 4.2. The loss is convex in 1/T, and T is its minimiser, not the end of a grid or of a
bounded search. For labels it is the T of sigmoid(z/T): scikit-learn writes a single logit z as the pair (-z, z) and so
finds exactly twice this T.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_scores, check_targets
from einthoven.metrics.calibration.arguments import check_class_logits, check_classes, record_weights

from .minimiser import TemperatureFit, fit_margins


def fit_sigmoid_temperature(target: ArrayLike, logit: ArrayLike, *, counts: ArrayLike | None = None) -> TemperatureFit:
    """The one T that all labels share: the minimiser of the mean log-loss of sigmoid(logit / T).

    Args:
        target: (records, labels) of 0 and 1, of the validation split; (records,) is one label.
        logit: of the same shape, finite log-odds.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        T with the loss before and after. See `TemperatureFit` for when T is 0, infinite, or NaN.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a logit that is not finite, a negative count.

    Example:
        >>> fit = fit_sigmoid_temperature([1, 1, 1, 0], [2.0, 2.0, 2.0, 2.0])  # T turns 2 into log(3)
        >>> round(fit.temperature, 6), fit.reason
        (1.820478, None)
    """
    present, logits = _labels(target, logit)
    weights = record_weights(counts, records=len(present))
    return _fit_labels(present, logits, weights)


def fit_sigmoid_temperatures(
    target: ArrayLike, logit: ArrayLike, *, counts: ArrayLike | None = None
) -> tuple[TemperatureFit, ...]:
    """A T for each label by itself: the minimisers of the mean log-losses of sigmoid(logit / T).

    Args:
        target: (records, labels) of 0 and 1, of the validation split; (records,) is one label.
        logit: of the same shape, finite log-odds.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        One fit for each label. See `TemperatureFit` for when T is 0, infinite, or NaN.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a logit that is not finite, a negative count.

    Example:
        >>> fits = fit_sigmoid_temperatures([[1, 0], [1, 1]], [[2.0, -1.0], [1.0, 1.0]])
        >>> [fit.temperature for fit in fits]
        [0.0, 0.0]
    """
    present, logits = _labels(target, logit)
    weights = record_weights(counts, records=len(present))
    return tuple(_fit_labels(present[:, [label]], logits[:, [label]], weights) for label in range(present.shape[1]))


def fit_softmax_temperature(target: ArrayLike, logit: ArrayLike, *, counts: ArrayLike | None = None) -> TemperatureFit:
    """The minimiser of the mean log-loss of softmax(logit / T).

    Args:
        target: (records,) integers, the number of each record's class, of the validation split.
        logit: (records, classes) finite numbers.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        T with the loss before and after. See `TemperatureFit` for when T is 0, infinite, or NaN. A class that no record
        has does not matter.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a number that is no class, a logit that is not finite, a negative count.

    Example:
        >>> fit = fit_softmax_temperature([0, 0, 0, 1], [[2.0, 0.0]] * 4)
        >>> round(fit.temperature, 6), fit.reason
        (1.820478, None)
    """
    logits = check_class_logits(logit)
    records, classes = logits.shape
    truth = check_classes(target, records=records, classes=classes)
    weights = record_weights(counts, records=records)
    scaled, scale = _scale_down(logits)
    margins = scaled - np.take_along_axis(scaled, truth[:, None], axis=1)
    return fit_margins(margins, scale=scale, weights=weights)


def _fit_labels(present: np.ndarray, logits: np.ndarray, weights: np.ndarray) -> TemperatureFit:
    """One T for all columns: each (record, label) is a choice between what is so, at margin 0, and what is not."""
    scaled, scale = _scale_down(logits)
    against = np.where(present == 1, -scaled, scaled).ravel()
    margins = np.stack([np.zeros_like(against), against], axis=1)
    return fit_margins(margins, scale=scale, weights=np.repeat(weights, present.shape[1]))


def _scale_down(logits: np.ndarray) -> tuple[np.ndarray, float]:
    """Logits divided by a power of two to below 2 in size, and that power: differences then cannot overflow."""
    largest = float(np.abs(logits).max(initial=0.0))
    if largest == 0:
        return logits, 1.0
    exponent = int(np.frexp(largest)[1]) - 1
    return np.ldexp(logits, -exponent), float(np.ldexp(1.0, exponent))


def _labels(target: ArrayLike, logit: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Targets and float64 logits, both (records, labels)."""
    dimensions = 1 if np.ndim(target) == 1 else 2
    present = check_targets(target, dimensions=dimensions)
    logits = check_scores(logit, dimensions=dimensions, name="logit").astype(np.float64, copy=False)
    if present.shape != logits.shape:
        raise UsageError(f"target and logit: expected the same shape, found {present.shape} and {logits.shape}.")
    if dimensions == 1:
        return present[:, None], logits[:, None]
    return present, logits
