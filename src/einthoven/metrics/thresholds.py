"""Where a score becomes a yes: thresholds chosen on validation records, and kept with what they reached there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError

from .arguments import check_scores, check_targets
from .decisions import check_float64
from .ties import tie_groups

# A sensitivity of 19 of 20 is 0.95, whichever way 0.95 was computed.
_TOLERANCE = 1e-12

Rule = Literal["fixed", "youden", "sensitivity"]


@dataclass(frozen=True)
class Threshold:
    """A threshold, how it was chosen, and what it reached on the validation records. Positive is score >= value.

    Attributes:
        rule: "fixed", "youden" or "sensitivity".
        asked: the fixed value, or the sensitivity asked for; None for Youden's point.
        value: float64; a validation score, or infinity where calling nothing positive is best. NaN where undefined.
        sensitivity: on validation; NaN without a positive there.
        specificity: on validation; NaN without a negative there.
        positives: validation records with the label.
        negatives: validation records without it.
        maximisers: every threshold at Youden's point, highest first; empty for the other rules.
        reason: why the value is NaN, or None.
    """

    rule: Rule
    asked: float | None
    value: float
    sensitivity: float
    specificity: float
    positives: int
    negatives: int
    maximisers: tuple[float, ...]
    reason: str | None


@dataclass(frozen=True, eq=False)
class _Curve:
    """Records called positive at each candidate: infinity, then the distinct scores from the highest."""

    values: np.ndarray
    found: np.ndarray
    false: np.ndarray

    @property
    def positives(self) -> int:
        return int(self.found[-1])

    @property
    def negatives(self) -> int:
        return int(self.false[-1])


def fixed_threshold(target: ArrayLike, score: ArrayLike, *, value: float = 0.5) -> Threshold:
    """A threshold that needs no data, with what it reaches on the validation records.

    Args:
        target: (records,) of 0 and 1, of the validation split.
        score: (records,) finite numbers; a higher one speaks for the label.
        value: the threshold; an infinite one calls nothing, or everything, positive.

    Raises:
        UsageError: a threshold that is not a number, shapes that do not fit, scores that float64 cannot hold.
        DataError: a target that is neither 0 nor 1, a score that is not finite.

    Example:
        >>> fixed_threshold([0, 1, 1], [0.2, 0.4, 0.9]).sensitivity
        0.5
    """
    if math.isnan(value):
        raise UsageError("value: expected a number to compare scores with, found nan.")
    curve = _curve(target, score)
    # Candidates fall, so those not below the value come first; the last of them calls the same records positive.
    place = int(np.count_nonzero(curve.values >= value)) - 1
    return _at(curve, max(place, 0), rule="fixed", asked=float(value), value=float(value))


def youden_threshold(target: ArrayLike, score: ArrayLike) -> Threshold:
    """The highest threshold with the greatest sensitivity + specificity - 1 (Youden, Cancer 1950).

    Candidates are infinity and every distinct score. They are compared in integers, so that rounding can neither make
    nor break a tie; `maximisers` holds all of them.

    Args:
        target: (records,) of 0 and 1, of the validation split.
        score: (records,) finite numbers; a higher one speaks for the label.

    Returns:
        A threshold; undefined, with a reason, without a positive or without a negative.

    Raises:
        UsageError: shapes that do not fit, scores that float64 cannot hold.
        DataError: a target that is neither 0 nor 1, a score that is not finite.

    Example:
        >>> youden_threshold([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).maximisers
        (0.8, 0.35)
    """
    curve = _curve(target, score)
    reason = _shortage(curve, "positive", curve.positives) or _shortage(curve, "negative", curve.negatives)
    if reason:
        return _undefined(curve, rule="youden", asked=None, reason=reason)
    gain = curve.found * curve.negatives - curve.false * curve.positives
    best = np.flatnonzero(gain == gain.max())
    return _at(curve, int(best[0]), rule="youden", maximisers=tuple(curve.values[best].tolist()))


def sensitivity_threshold(target: ArrayLike, score: ArrayLike, *, at_least: float = 0.95) -> Threshold:
    """The highest threshold that finds at least a share of the positives, within 1e-12.

    Args:
        target: (records,) of 0 and 1, of the validation split.
        score: (records,) finite numbers; a higher one speaks for the label.
        at_least: the sensitivity asked for, above 0 and at most 1.

    Returns:
        A threshold; undefined, with a reason, without a positive. It does not depend on the negatives.

    Raises:
        UsageError: a sensitivity outside (0, 1], shapes that do not fit, scores that float64 cannot hold.
        DataError: a target that is neither 0 nor 1, a score that is not finite.

    Example:
        >>> sensitivity_threshold([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], at_least=0.5).value
        0.8
    """
    if not 0 < at_least <= 1:
        raise UsageError(f"at_least: expected a sensitivity above 0 and at most 1, found {at_least}.")
    curve = _curve(target, score)
    reason = _shortage(curve, "positive", curve.positives)
    if reason:
        return _undefined(curve, rule="sensitivity", asked=float(at_least), reason=reason)
    enough = curve.found / curve.positives >= at_least - _TOLERANCE
    return _at(curve, int(np.argmax(enough)), rule="sensitivity", asked=float(at_least))


def _curve(target: ArrayLike, score: ArrayLike) -> _Curve:
    present = check_targets(target, dimensions=1)
    scores = check_scores(score, dimensions=1)
    check_float64(scores, name="score")
    if len(present) != len(scores):
        raise UsageError(f"target and score: expected one of each a record, found {len(present)} and {len(scores)}.")
    order, starts = tie_groups(scores)
    positives = np.add.reduceat(present[order], starts, dtype=np.int64) if len(starts) else np.zeros(0, np.int64)
    sizes = np.diff(np.append(starts, len(order)))
    return _Curve(
        # The sum with 0 turns -0.0 into 0.0: the rows' order does not show in the stored value.
        values=np.append(np.inf, scores[order[starts]].astype(np.float64) + 0.0),
        found=np.append(0, np.cumsum(positives)),
        false=np.append(0, np.cumsum(sizes - positives)),
    )


def _at(
    curve: _Curve,
    place: int,
    *,
    rule: Rule,
    asked: float | None = None,
    value: float | None = None,
    maximisers: tuple[float, ...] = (),
) -> Threshold:
    positives, negatives = curve.positives, curve.negatives
    return Threshold(
        rule=rule,
        asked=asked,
        value=float(curve.values[place]) if value is None else value,
        sensitivity=int(curve.found[place]) / positives if positives else math.nan,
        specificity=(negatives - int(curve.false[place])) / negatives if negatives else math.nan,
        positives=positives,
        negatives=negatives,
        maximisers=maximisers,
        reason=None,
    )


def _undefined(curve: _Curve, *, rule: Rule, asked: float | None, reason: str) -> Threshold:
    return Threshold(
        rule=rule,
        asked=asked,
        value=math.nan,
        sensitivity=math.nan,
        specificity=math.nan,
        positives=curve.positives,
        negatives=curve.negatives,
        maximisers=(),
        reason=reason,
    )


def _shortage(curve: _Curve, kind: str, found: int) -> str | None:
    total = curve.positives + curve.negatives
    if total == 0:
        return "no validation record"
    return None if found else f"no {kind} in {total} validation record{'s' if total > 1 else ''}"
