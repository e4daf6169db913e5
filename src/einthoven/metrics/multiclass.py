"""One class a record: one-vs-rest discrimination, and rates of the predicted class, over the declared classes.

Classes are numbered from 0. How many there are is declared, never inferred from the records at hand: a class that is
absent from the test split, or that is never predicted, keeps its place and is NaN with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import DataError, UsageError

from .arguments import check_scores
from .counting import check_resamples, count_marked, ratio
from .discrimination import Discrimination
from .per_label import LabelValues, discriminate_labels

ClassRate = Literal["recall", "precision", "f1"]


@dataclass(frozen=True, eq=False)
class ClassRates:
    """Rates of predicted classes. Means over classes are left to `macro_average`, which carries its denominator.

    Attributes:
        recall: float64 ([draws,] classes); NaN for a class without a test record.
        precision: float64 ([draws,] classes); NaN for a class that is never predicted.
        f1: float64 ([draws,] classes), the harmonic mean of both, 0 where both are 0; NaN where one of them is.
        accuracy: float64 ([draws]), share of records called right; NaN without a record.
        balanced_accuracy: float64 ([draws]), mean recall of all declared classes; NaN where one of them is absent.
    """

    recall: np.ndarray
    precision: np.ndarray
    f1: np.ndarray
    accuracy: np.ndarray
    balanced_accuracy: np.ndarray


def class_indicators(target: ArrayLike, *, classes: int, name: str = "target") -> np.ndarray:
    """One column of 0 and 1 for each declared class: one-vs-rest targets for every metric of labels.

    Args:
        target: (records,) integers from 0 to classes - 1.
        classes: how many are declared.
        name: what the caller calls them, for messages.

    Returns:
        uint8 (records, classes).

    Raises:
        UsageError: not integers, another number of axes, fewer than two classes.
        DataError: a class that is not declared; the message has its position.

    Example:
        >>> class_indicators([2, 0], classes=3).tolist()
        [[0, 0, 1], [1, 0, 0]]
    """
    ids = _check_classes(target, classes=classes, name=name)
    return (ids[:, None] == np.arange(classes)).astype(np.uint8)


def one_vs_rest(
    target: ArrayLike, score: ArrayLike, *, metric: Discrimination = "auroc", counts: ArrayLike | None = None
) -> LabelValues:
    """AUROC or average precision of each declared class against all others (Provost and Domingos, 2000).

    Args:
        target: (records,) integers, the class of each record.
        score: (records, classes) finite numbers, usually probabilities. Records are ordered by one column at a time, so
            logits and their softmax give different values.
        metric: "auroc" or "average_precision".
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        One value for each class; NaN with a reason for a class that is absent, or alone.

    Raises:
        UsageError: shapes that do not fit, fewer than two classes, another metric.
        DataError: a class without a column of scores, a score that is not finite, a negative count.

    Example:
        >>> one_vs_rest([0, 1, 1], [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]]).reasons
        (None, None, 'no positive in 3 test records')
    """
    scores = check_scores(score, dimensions=2)
    return discriminate_labels(class_indicators(target, classes=scores.shape[1]), scores, metric=metric, counts=counts)


def predicted_classes(score: ArrayLike) -> np.ndarray:
    """The class of the highest score; of equal ones, that with the lowest number.

    Args:
        score: (records, classes) finite numbers.

    Returns:
        int64 (records,).

    Raises:
        UsageError: another number of axes, fewer than two classes.
        DataError: a score that is not finite.

    Example:
        >>> predicted_classes([[0.2, 0.4, 0.4]]).tolist()
        [1]
    """
    scores = check_scores(score, dimensions=2)
    _check_declared(scores.shape[1])
    return scores.argmax(axis=1).astype(np.int64)


def confusion_matrix(
    target: ArrayLike, predicted: ArrayLike, *, classes: int, counts: ArrayLike | None = None
) -> np.ndarray:
    """Records of each class (rows) that were called each class (columns).

    Args:
        target: (records,) integers from 0 to classes - 1.
        predicted: (records,) integers from 0 to classes - 1, as `predicted_classes` gives them.
        classes: how many are declared.
        counts: (records,) or (draws, records) integers, how often each record is in a resample; None is once each.

    Returns:
        int64 ([draws,] classes, classes).

    Raises:
        UsageError: not integers, shapes that do not fit, fewer than two classes.
        DataError: a class that is not declared, a negative count.

    Example:
        >>> confusion_matrix([0, 0, 1], [0, 1, 1], classes=3).tolist()
        [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    """
    true = _check_classes(target, classes=classes, name="target")
    called = _check_classes(predicted, classes=classes, name="predicted")
    if len(true) != len(called):
        raise UsageError(f"target and predicted: expected one of each a record, found {len(true)} and {len(called)}.")
    often = check_resamples(counts, records=len(true))
    # Only the cells that occur are counted: of the square of 71 classes nearly all are empty.
    cells, cell_of_record = np.unique(true * classes + called, return_inverse=True)
    marked = cell_of_record[:, None] == np.arange(len(cells))
    draws = () if often is None else often.shape[:-1]
    matrix = np.zeros((*draws, classes * classes), dtype=np.int64)
    matrix[..., cells] = count_marked(marked, counts=often)
    return matrix.reshape((*draws, classes, classes))


def class_rates(confusion: np.ndarray) -> ClassRates:
    """Recall, precision and F1 of each class, accuracy and balanced accuracy.

    Args:
        confusion: int64 ([draws,] classes, classes), as `confusion_matrix` gives it.

    Raises:
        UsageError: not a square of integers.

    Example:
        >>> rates = class_rates(confusion_matrix([0, 0, 1], [0, 1, 1], classes=2))
        >>> rates.recall.tolist(), rates.precision.tolist(), rates.balanced_accuracy.item()
        ([0.5, 1.0], [1.0, 0.5], 0.75)
    """
    matrix = _check_matrix(confusion)
    right = np.diagonal(matrix, axis1=-2, axis2=-1)
    present, called = matrix.sum(axis=-1), matrix.sum(axis=-2)
    recall = ratio(right, present)
    return ClassRates(
        recall=recall,
        precision=ratio(right, called),
        f1=ratio(2 * right, np.where((present > 0) & (called > 0), present + called, 0)),
        accuracy=ratio(right.sum(axis=-1), present.sum(axis=-1)),
        balanced_accuracy=recall.mean(axis=-1),
    )


def class_reasons(confusion: np.ndarray, *, rate: ClassRate) -> tuple[str | None, ...]:
    """Why a rate of a class is NaN, for each class, or None where it has a value.

    Args:
        confusion: int64 (classes, classes), as `confusion_matrix` gives it without draws.
        rate: "recall", "precision" or "f1".

    Raises:
        UsageError: another rate, not one square of integers.

    Example:
        >>> class_reasons(confusion_matrix([0, 0, 1], [0, 2, 0], classes=3), rate="f1")
        (None, 'never predicted in 3 test records', 'absent from 3 test records')
    """
    if rate not in ("recall", "precision", "f1"):
        raise UsageError(f"rate: expected recall, precision or f1, found {rate!r}.")
    matrix = _check_matrix(confusion)
    if matrix.ndim != 2:
        raise UsageError(f"confusion: expected (classes, classes), found shape {matrix.shape}; reasons are for one.")
    total = int(matrix.sum())
    if total == 0:
        return ("no test record",) * len(matrix)
    records = f"{total} test record{'s' if total > 1 else ''}"
    reasons = []
    for present, called in zip(matrix.sum(axis=1).tolist(), matrix.sum(axis=0).tolist(), strict=True):
        missing = [f"absent from {records}"] if present == 0 and rate != "precision" else []
        missing += [f"never predicted in {records}"] if called == 0 and rate != "recall" else []
        reasons.append(" and ".join(missing) or None)
    return tuple(reasons)


def _check_declared(classes: int) -> None:
    if classes < 2:
        raise UsageError(f"classes: expected at least 2 declared, found {classes}.")


def _check_classes(values: ArrayLike, *, classes: int, name: str) -> np.ndarray:
    _check_declared(classes)
    ids = np.asarray(values)
    if ids.size == 0 and ids.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if ids.dtype.kind not in "iu" or ids.ndim != 1:
        raise UsageError(
            f"{name}: expected one integer for each record, found shape {ids.shape} of dtype {ids.dtype}. "
            "Number the classes from 0, in the order in which they are declared."
        )
    wrong = np.flatnonzero((ids < 0) | (ids >= classes))
    if len(wrong):
        raise DataError(
            f"{name}: expected classes from 0 to {classes - 1}, found {ids[wrong[0]]} at [{wrong[0]}] "
            f"({len(wrong)} of {len(ids)} values are wrong). Declare all classes, also those of few records."
        )
    return ids.astype(np.int64)


def _check_matrix(confusion: np.ndarray) -> np.ndarray:
    matrix = np.asarray(confusion)
    if matrix.dtype.kind not in "iu" or matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise UsageError(
            f"confusion: expected integers (..., classes, classes), found shape {matrix.shape} of dtype {matrix.dtype}."
        )
    _check_declared(matrix.shape[-1])
    return matrix.astype(np.int64)
