"""What decisions are worth: sensitivity, specificity, predictive values, F1, MCC, accuracies, from confusion counts.

A rate whose denominator is 0 is NaN, and `undefined_reasons` says which; 0 and 1 are never stand-ins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from einthoven.foundation.errors import UsageError

from .confusion import ConfusionCounts
from .counting import ratio

Rate = Literal["sensitivity", "specificity", "ppv", "npv", "f1", "mcc", "balanced_accuracy", "accuracy"]

# Which of these must not be empty for a rate to exist. F1 is alone in needing any of its two, not both.
_NEEDS: dict[str, tuple[str, ...]] = {
    "sensitivity": ("positive",),
    "specificity": ("negative",),
    "ppv": ("record called positive",),
    "npv": ("record called negative",),
    "f1": ("positive", "record called positive"),
    "mcc": ("positive", "negative", "record called positive", "record called negative"),
    "balanced_accuracy": ("positive", "negative"),
    "accuracy": (),
}


@dataclass(frozen=True, eq=False)
class OperatingRates:
    """Rates, each float64 of the shape of the counts; NaN where a denominator is 0.

    Attributes:
        sensitivity: share of the positives that is called positive; NaN without a positive.
        specificity: share of the negatives that is called negative; NaN without a negative.
        ppv: positive predictive value (precision); NaN where nothing is called positive.
        npv: negative predictive value; NaN where nothing is called negative.
        f1: 2 TP / (2 TP + FP + FN); NaN only where there is no positive and nothing is called positive. It is 0 where
            there are positives and none is found.
        mcc: Matthews correlation coefficient; NaN where targets, or decisions, are all alike.
        balanced_accuracy: mean of sensitivity and specificity; NaN where one of them is.
        accuracy: share of records called right (label accuracy); NaN without a record.
    """

    sensitivity: np.ndarray
    specificity: np.ndarray
    ppv: np.ndarray
    npv: np.ndarray
    f1: np.ndarray
    mcc: np.ndarray
    balanced_accuracy: np.ndarray
    accuracy: np.ndarray


def operating_rates(confusion: ConfusionCounts) -> OperatingRates:
    """All rates of all counts; MCC as Matthews (Biochimica et Biophysica Acta 1975).

    Args:
        confusion: what `confusion_counts` returns, with or without draws.

    Example:
        >>> from einthoven.metrics.confusion import confusion_counts
        >>> rates = operating_rates(confusion_counts([0, 1, 1], [0.5, 0.2, 0.9], thresholds=0.5))
        >>> rates.sensitivity.item(), rates.specificity.item(), rates.npv.item()
        (0.5, 0.0, 0.0)
    """
    tp, fp = confusion.true_positives, confusion.false_positives
    fn, tn = confusion.false_negatives, confusion.true_negatives
    sensitivity, specificity = ratio(tp, tp + fn), ratio(tn, tn + fp)
    # Records are fewer than 2**31, so products of two counts fit in int64, and products of four do not. Of a perfect
    # decision each root below is of a square: the coefficient is exactly 1.
    spread = np.sqrt((tp + fp) * (tp + fn)) * np.sqrt((tn + fp) * (tn + fn))
    return OperatingRates(
        sensitivity=sensitivity,
        specificity=specificity,
        ppv=ratio(tp, tp + fp),
        npv=ratio(tn, tn + fn),
        f1=ratio(2 * tp, 2 * tp + fp + fn),
        mcc=ratio(tp * tn - fp * fn, spread),
        balanced_accuracy=(sensitivity + specificity) / 2,
        accuracy=ratio(tp + tn, tp + fp + fn + tn),
    )


def undefined_reasons(confusion: ConfusionCounts, *, rate: Rate) -> np.ndarray:
    """Why a rate is NaN, entry by entry: a string, or None where it has a value.

    Args:
        confusion: what `confusion_counts` returns.
        rate: the field of `OperatingRates`.

    Returns:
        object array of the shape of the counts.

    Raises:
        UsageError: another rate.

    Example:
        >>> from einthoven.metrics.confusion import confusion_counts
        >>> undefined_reasons(confusion_counts([[0, 1]] * 3, [[0.1, 0.9]] * 3, thresholds=0.5), rate="ppv").tolist()
        ['no record called positive in 3 test records', None]
    """
    if rate not in _NEEDS:
        raise UsageError(f"rate: expected one of {', '.join(_NEEDS)}, found {rate!r}.")
    tp, fp = confusion.true_positives, confusion.false_positives
    fn, tn = confusion.false_negatives, confusion.true_negatives
    sizes = {
        "positive": tp + fn,
        "negative": tn + fp,
        "record called positive": tp + fp,
        "record called negative": tn + fn,
    }
    total = tp + fp + fn + tn
    undecided = np.broadcast_to(confusion.undecided, total.shape)
    reasons = np.full(total.shape, None, dtype=object)
    for index in np.argwhere(np.isnan(getattr(operating_rates(confusion), rate))).tolist():
        place = tuple(index)
        records = int(total[place])
        if undecided[place]:
            reasons[place] = "no threshold could be chosen on validation"
        elif records == 0:
            reasons[place] = "no test record"
        else:
            missing = " and ".join(f"no {need}" for need in _NEEDS[rate] if sizes[need][place] == 0)
            reasons[place] = f"{missing} in {records} test record{'s' if records > 1 else ''}"
    return reasons
