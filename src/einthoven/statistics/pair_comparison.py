"""Two encoders on the same records: what they differ by, label by label and on average, and what that shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_scores, check_targets
from einthoven.metrics.discrimination import Discrimination, auroc, average_precision

from .bootstrap import BootstrapDraws
from .delong import auroc_differences
from .intervals import Interval, paired_difference
from .macro import judge_labels, macro_average, macro_draws
from .multiplicity import Method, adjust_p
from .permutation import permutation_test
from .resampled import resample_discrimination

PairTest = Literal["permutation", "bootstrap", "delong"]
PairVerdict = Literal["a higher", "b higher", "no difference shown", "not judged", "undefined"]
_METRIC = {"auroc": auroc, "average_precision": average_precision}


@dataclass(frozen=True)
class Compared:
    """Two values of a metric, of a label or of the macro average.

    Attributes:
        a, b: the values; NaN where undefined.
        difference: a minus b with its interval.
        p: two-sided, raw; NaN where undefined, and of a label that is not judged.
        p_adjusted: over the family of judged labels; for the macro average, which is a family of its own, p itself.
        verdict: from the adjusted p.
        reason: why it is not judged or undefined, or None; why an interval alone is missing stands in `difference`.
    """

    a: float
    b: float
    difference: Interval
    p: float
    p_adjusted: float
    verdict: PairVerdict
    reason: str | None


@dataclass(frozen=True)
class ComparedLabel:
    """One label; `positives` and `negatives` are test records."""

    label: str
    positives: int
    negatives: int
    judged: bool
    compared: Compared


@dataclass(frozen=True)
class PairComparison:
    """Everything that is said of two encoders on one task by one metric.

    Attributes:
        test: whose p-values these are.
        adjust: how they are adjusted; None: they are not.
        family: how many p-values are adjusted together: the judged labels for which one is defined.
        draws: of the bootstrap, and swaps of the permutation test.
        least_draws: with fewer, no adjusted p-value of a label comes down to alpha, and no difference of a label is
            shown, however large; 0 for DeLong's test, and without a family.
        macro: over the judged labels.
        macro_labels: how many labels those are.
        labels: every label, in order.
    """

    metric: Discrimination
    test: PairTest
    adjust: Method | None
    family: int
    alpha: float
    draws: int
    least_draws: int
    units: int
    minimum_positives: int
    macro: Compared
    macro_labels: int
    labels: tuple[ComparedLabel, ...]


def compare_pair(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    labels: Sequence[str],
    units: Sequence[str] | Sequence[int] | np.ndarray,
    metric: Discrimination = "auroc",
    test: PairTest = "permutation",
    adjust: Method | None = "holm",
    draws: int = 1000,
    seed: int = 0,
    alpha: float = 0.05,
    minimum_positives: int = 10,
    undefined: Sequence[str | None] | None = None,
) -> PairComparison:
    """Compare two encoders on one task.

    The family of hypotheses is declared, not chosen: every judged label of the task, by one metric. The macro average
    is one question of its own and is not adjusted. Intervals are of the paired bootstrap, draws of whole units, and are
    not adjusted either.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (2, records, labels) finite numbers of one scale, encoder a first.
        labels: (labels,) names.
        units: (records,) patient ids, or record ids: what is drawn and swapped together.
        metric: AUROC or average precision.
        test: "permutation" of whole rows; "bootstrap", the p-value of the interval; or "delong" with patients as
            clusters, for AUROC of labels only.
        adjust: method of multiplicity; None leaves raw p-values.
        draws: bootstrap draws, and swaps.
        seed: of both.
        alpha: level of the verdicts; intervals have confidence 1 - alpha.
        minimum_positives: fewest test positives, and negatives, of a judged label.
        undefined: for each label, why an encoder has no prediction for it, or None; it is not judged then.

    Raises:
        UsageError: shapes that do not fit, a word that is none of the above, DeLong for average precision.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a record without a unit.
    """
    present = check_targets(target, dimensions=2)
    given = undefined if undefined is not None else [None] * len(labels)
    if len(given) != len(labels):
        raise UsageError(f"undefined: expected a reason or None for each of {len(labels)} labels, found {len(given)}.")
    without = np.array([reason is not None for reason in given], dtype=bool)
    # Of a label without predictions nothing is read, whatever stands there.
    values = np.asarray(scores)
    if without.any() and values.ndim == 3 and values.shape[2] == len(without):
        values = np.where(without, 0, values)
    values = check_scores(values, dimensions=3, name="scores")
    if values.shape != (2, *present.shape) or len(labels) != present.shape[1]:
        raise UsageError(
            f"Expected scores of shape (2, records, labels) and a name for each label to go with targets of shape "
            f"{present.shape}; found scores of shape {values.shape} and {len(labels)} names."
        )
    if test not in get_args(PairTest) or metric not in _METRIC:
        raise UsageError(
            f"Expected a test of {', '.join(get_args(PairTest))} and a metric of {', '.join(_METRIC)}; "
            f"found {test!r} and {metric!r}."
        )
    if test == "delong" and metric != "auroc":
        raise UsageError("DeLong's test is of AUROC; take the permutation test for average precision.")
    # What is so small that 1 - alpha is 1 has no interval.
    if not (0 < alpha < 1 and 1 - alpha < 1):
        raise UsageError(f"alpha: expected a number between 0 and 1, such as 0.05, found {alpha}.")
    support = judge_labels(present, minimum_positives=minimum_positives, minimum_negatives=minimum_positives)
    reasons = tuple(own or few for own, few in zip(given, support.reasons, strict=True))
    judged = np.array([reason is None for reason in reasons], dtype=bool)

    points = np.array([[_METRIC[metric](present[:, i], values[e, :, i]) for i in range(len(labels))] for e in (0, 1)])
    points[:, without] = np.nan
    drawn = resample_discrimination(present, values, units=units, draws=draws, seed=seed)
    p, macro_p, why = _p_values(test, metric, present, values, judged, units, drawn, points, draws=draws, seed=seed)
    adjusted = p if adjust is None else adjust_p(p, method=adjust).p
    of_draws = getattr(drawn, metric)
    compared = tuple(
        _compared(
            points[:, i], of_draws[:, :, i], float(p[i]), float(adjusted[i]), alpha, reasons[i], why[i], judged[i]
        )
        for i in range(len(labels))
    )
    averages = [macro_average(points[e], judged=judged, names=labels) for e in (0, 1)]
    macro = _compared(
        np.array([average.value for average in averages]),
        macro_draws(of_draws, judged=judged),
        macro_p,
        macro_p,
        alpha,
        averages[0].reason or averages[1].reason,
        "DeLong's test is of single labels" if test == "delong" else None,
        averages[0].reason is None and averages[1].reason is None,
    )
    return PairComparison(
        metric=metric,
        test=test,
        adjust=adjust,
        family=int(np.isfinite(p).sum()),
        alpha=alpha,
        draws=draws,
        least_draws=_least_draws(test, adjust, family=int(np.isfinite(p).sum()), alpha=alpha),
        units=len(np.unique(np.asarray(units))),
        minimum_positives=minimum_positives,
        macro=macro,
        macro_labels=int(judged.sum()),
        labels=tuple(
            ComparedLabel(name, int(support.positives[i]), int(support.negatives[i]), bool(judged[i]), compared[i])
            for i, name in enumerate(labels)
        ),
    )


def _p_values(
    test: PairTest,
    metric: Discrimination,
    present: np.ndarray,
    values: np.ndarray,
    judged: np.ndarray,
    units: Sequence[str] | Sequence[int] | np.ndarray,
    drawn: BootstrapDraws,
    points: np.ndarray,
    *,
    draws: int,
    seed: int,
) -> tuple[np.ndarray, float, tuple[str | None, ...]]:
    """Raw p-values (labels,), NaN for those that are not judged; that of the macro average; why one is undefined."""
    labels = present.shape[1]
    nothing: tuple[str | None, ...] = (None,) * labels
    if test == "delong":
        found = auroc_differences(present, values, pairs=[(0, 1)], units=units)
        return np.where(judged, found.p[0], np.nan), math.nan, found.reasons[0]
    if test == "permutation":
        swapped = permutation_test(present, values, pairs=[(0, 1)], judged=judged, units=units, draws=draws, seed=seed)
        of_metric = getattr(swapped, metric)
        return np.where(judged, of_metric.p[0], np.nan), float(of_metric.macro_p[0]), nothing
    of_draws = getattr(drawn, metric)
    p = np.full(labels, np.nan)
    for label in np.flatnonzero(judged):
        p[label] = _bootstrap_p(points[:, label], of_draws[:, :, label])
    macro_points = np.array([macro_average(row, judged=judged).value for row in points])
    return p, _bootstrap_p(macro_points, macro_draws(of_draws, judged=judged)), nothing


def _least_draws(test: PairTest, adjust: Method | None, *, family: int, alpha: float) -> int:
    if test == "delong" or family == 0:
        return 0
    # The least p-value is 1 / (draws + 1), and of the bootstrap, which doubles a tail, 2 / (draws + 1).
    small = 2.0**-40
    factor = 1.0 if adjust is None else float(adjust_p(np.full(family, small), method=adjust).p.min()) / small
    return math.ceil((2 if test == "bootstrap" else 1) * factor / alpha) - 1


def _bootstrap_p(points: np.ndarray, draws: np.ndarray) -> float:
    return paired_difference(draws[:, 0], draws[:, 1], point_a=float(points[0]), point_b=float(points[1])).p


def _compared(
    points: np.ndarray,
    draws: np.ndarray,
    p: float,
    p_adjusted: float,
    alpha: float,
    not_judged: str | None,
    no_test: str | None,
    judged: bool,
) -> Compared:
    a, b = (float(value) for value in points)
    interval = paired_difference(draws[:, 0], draws[:, 1], point_a=a, point_b=b, confidence=1 - alpha).interval
    verdict: PairVerdict
    if not judged:
        verdict = "not judged"
    elif math.isnan(p_adjusted):
        verdict = "undefined"
    elif p_adjusted > alpha or a == b:
        verdict = "no difference shown"
    else:
        verdict = "a higher" if a > b else "b higher"
    return Compared(
        a=a,
        b=b,
        difference=interval,
        p=p,
        p_adjusted=p_adjusted,
        verdict=verdict,
        # A bootstrap p-value is missing where its interval is, and for the same reason.
        reason=not_judged if not judged else (no_test or interval.reason) if verdict == "undefined" else None,
    )
