"""From scores to decisions: the one place where a score is compared with a threshold."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError

from .arguments import check_scores, check_targets

Comparison = Literal[">=", ">"]


def check_decision(
    target: ArrayLike, scores: ArrayLike, thresholds: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What decisions are made from, with one shape for all uses.

    Args:
        target: (records,) or (records, labels) of 0 and 1.
        scores: finite numbers, shaped as the targets, or with an axis of encoders before.
        thresholds: one number, or one for each score of a record: `scores` without the axis of records. NaN is a
            threshold that could not be chosen.

    Returns:
        Targets, uint8 (records, labels); scores, (encoders, records, labels); thresholds, float64 (encoders, labels).

    Raises:
        UsageError: shapes that do not fit, scores that float64 cannot hold.
        DataError: a target that is neither 0 nor 1, a score that is not finite.
    """
    axes = np.ndim(target)
    if axes not in (1, 2):
        raise UsageError(f"target: expected (records,) or (records, labels), found shape {np.shape(target)}.")
    present = check_targets(target, dimensions=axes)
    values = check_scores(scores, dimensions=axes if np.ndim(scores) == axes else axes + 1, name="scores")
    if values.shape[values.ndim - axes :] != present.shape:
        raise UsageError(
            f"scores: expected the shape of the targets {present.shape}, or encoders before it, found {values.shape}."
        )
    check_float64(values, name="scores")
    cuts = np.asarray(thresholds)
    one_each = values.shape[: values.ndim - axes] + present.shape[1:]
    if cuts.dtype.kind not in "iuf" or cuts.shape not in ((), one_each):
        raise UsageError(
            f"thresholds: expected one number, or numbers of shape {one_each} (the scores without their axis of "
            f"records), found shape {cuts.shape} of dtype {cuts.dtype}."
        )
    labels = present.shape[1] if axes == 2 else 1
    encoders = len(values) if values.ndim > axes else 1
    check_float64(cuts, name="thresholds")
    cuts = np.broadcast_to(cuts.astype(np.float64), one_each).reshape(encoders, labels)
    return present.reshape(-1, labels), values.reshape(encoders, len(present), labels), cuts


def decide(scores: np.ndarray, *, thresholds: np.ndarray, comparison: Comparison = ">=") -> np.ndarray:
    """Whether each record is called positive; never where the threshold is NaN.

    Scores are compared as float64: a float32 score of 0.7 is below a threshold of 0.7, as it is 0.699999988.

    Args:
        scores: (records, labels) finite numbers.
        thresholds: float64 (labels,).
        comparison: ">=" (the thresholds of `youden_threshold` and `sensitivity_threshold` are scores, and called
            positive) or ">".

    Returns:
        bool (records, labels).

    Raises:
        UsageError: another comparison.
    """
    if comparison not in (">=", ">"):
        raise UsageError(f"comparison: expected '>=' or '>', found {comparison!r}.")
    exact = scores.astype(np.float64, copy=False)
    return exact >= thresholds if comparison == ">=" else exact > thresholds


def check_float64(values: np.ndarray, *, name: str) -> None:
    """Refuse numbers that float64 would change: a threshold is stored, and compared with scores, as float64.

    Raises:
        UsageError: numbers that float64 cannot hold, such as integers beyond 2**53.
    """
    if np.can_cast(values.dtype, np.float64, casting="safe") and values.dtype.kind not in "iu":
        return
    if values.dtype.kind in "iu":
        fits = bool(((values <= 2**53) & (values >= -(2**53))).all())
    else:
        fits = bool(np.array_equal(values.astype(np.float64).astype(values.dtype), values, equal_nan=True))
    if not fits:
        raise UsageError(
            f"{name}: expected numbers that float64 holds exactly, found dtype {values.dtype} with others. "
            "Scale them before scoring; rounding could make or break ties."
        )
