"""What calibration metrics take: probabilities, classes by number, and how many bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.arguments import check_counts, check_scores, first_wrong

# Softmax in float16 sums to one within about a thousandth; logits or label-wise sigmoids are much further off.
_SUM_TOLERANCE = 1e-2


def check_probabilities(probability: ArrayLike, *, dimensions: int, name: str = "probability") -> np.ndarray:
    """Probabilities as float64.

    float16 and float32 values are cast without change; arithmetic (1 - p, say) is done after the cast. A value rounded
    to float32 before it came here may lie on the other side of a bin edge than the value it was rounded from.

    Args:
        probability: numbers in [0, 1].
        dimensions: how many axes are expected.
        name: what the caller calls it, for messages.

    Raises:
        UsageError: not numbers, or another number of axes.
        DataError: a value that is not finite or outside [0, 1]; the message has its position.
    """
    array = check_scores(probability, dimensions=dimensions, name=name)
    wrong = (array < 0) | (array > 1)
    if wrong.any():
        raise DataError(
            f"{name}: expected numbers from 0 to 1, found {first_wrong(array, wrong)}. "
            "Logits become probabilities by a sigmoid (a label each) or a softmax (one class of many)."
        )
    return array.astype(np.float64, copy=False)


def check_class_probabilities(probability: ArrayLike, *, name: str = "probability") -> np.ndarray:
    """Probabilities of classes that exclude each other, as float64 (records, classes); each row sums to one.

    Args:
        probability: (records, classes) numbers in [0, 1], two classes or more.
        name: what the caller calls it, for messages.

    Raises:
        UsageError: not numbers, not two axes, or fewer than two classes.
        DataError: a value outside [0, 1], or a row whose sum is off by more than 0.01.
    """
    array = check_probabilities(probability, dimensions=2, name=name)
    _refuse_one_class(array, name=name)
    sums = array.sum(axis=1)
    wrong = np.abs(sums - 1) > _SUM_TOLERANCE
    if wrong.any():
        raise DataError(
            f"{name}: expected rows that sum to 1, found a sum of {first_wrong(sums, wrong)}. "
            "Labels that do not exclude each other are scored one by one, as positive classes."
        )
    return array


def check_class_logits(logit: ArrayLike, *, name: str = "logit") -> np.ndarray:
    """Logits of classes that exclude each other, as float64 (records, classes), all finite.

    Args:
        logit: (records, classes) finite numbers, two classes or more.
        name: what the caller calls it, for messages.

    Raises:
        UsageError: not numbers, not two axes, or fewer than two classes.
        DataError: NaN or infinity; the message has its position.
    """
    array = check_scores(logit, dimensions=2, name=name)
    _refuse_one_class(array, name=name)
    return array.astype(np.float64, copy=False)


def check_classes(target: ArrayLike, *, records: int, classes: int, name: str = "target") -> np.ndarray:
    """Classes by number, as int64 (records,).

    Args:
        target: (records,) integers from 0 to classes - 1.
        records: how many are expected.
        classes: how many classes there are.
        name: what the caller calls it, for messages.

    Raises:
        UsageError: not integers, or another shape.
        DataError: a number that is no class; the message has its position.
    """
    array = np.asarray(target)
    if array.dtype.kind not in "iu" and array.size:
        raise UsageError(f"{name}: expected the number of each record's class, found dtype {array.dtype}.")
    if array.shape != (records,):
        raise UsageError(f"{name}: expected one class for each of {records} records, found shape {array.shape}.")
    wrong = (array < 0) | (array >= classes)
    if wrong.any():
        raise DataError(f"{name}: expected a class from 0 to {classes - 1}, found {first_wrong(array, wrong)}.")
    return array.astype(np.int64)


def check_bins(bins: int) -> int:
    """How many bins.

    Raises:
        UsageError: not an integer of at least 1.
    """
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise UsageError(f"bins: expected an integer of at least 1, found {bins!r}.")
    return int(bins)


def record_weights(counts: ArrayLike | None, *, records: int) -> np.ndarray:
    """How often each record counts, as int64 (records,); once each without `counts`.

    Raises:
        UsageError: not integers, or another shape.
        DataError: a negative count.
    """
    if counts is None:
        return np.ones(records, dtype=np.int64)
    return check_counts(counts, records=records).astype(np.int64)


def _refuse_one_class(array: np.ndarray, *, name: str) -> None:
    if array.shape[1] < 2:
        raise UsageError(
            f"{name}: expected a column for each of two classes or more, found {array.shape[1]}. "
            "A single column of a binary task is scored as a positive class."
        )
