"""Two encoders on the same records: what they differ by, label by label and on average, and what that shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_predictions
from einthoven.metrics.discrimination import METRICS, Discrimination, check_metric

from .bootstrap_protocols import resample_discrimination
from .interval_kinds import IntervalKind, interval_of_kind
from .intervals import Interval, paired_difference
from .macro import judge_labels, macro_average, macro_draws
from .multiplicity import Method, adjust_p
from .permutation import midranks, permutation_test

PairTest = Literal["permutation", "bootstrap", "delong"]
PairVerdict = Literal["a higher", "b higher", "no difference shown", "not judged", "undefined"]
Exchange = Literal["ranks", "scores"]
DifferenceInterval = Literal["percentile", "bca", "jackknife"]
_INTERVALS: tuple[IntervalKind, ...] = ("percentile", "bca", "jackknife")


@dataclass(frozen=True)
class Compared:
    """Two values of a metric, of a label or of the macro average.

    Attributes:
        a, b: the values; NaN where undefined.
        difference: a minus b with its interval.
        p: two-sided, raw; NaN where undefined, and of a label that is not judged.
        p_adjusted: over the family of judged labels; for the macro average, which is a family of its own, p itself.
        p_at_floor: whether p is the least that so many draws can give: it is that or less.
        verdict: one is higher only where the adjusted p is at most alpha and the interval excludes zero.
        only: which of the two alone shows a difference, "p" or "interval"; None where they agree.
        reason: why it is not judged or undefined, or None; why an interval alone is missing stands in `difference`.
    """

    a: float
    b: float
    difference: Interval
    p: float
    p_adjusted: float
    p_at_floor: bool
    verdict: PairVerdict
    only: Literal["p", "interval"] | None
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
        exchange: what the permutation test exchanges, ranks or scores; None for another test.
        interval: of which kind the intervals are.
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
    exchange: Exchange | None
    interval: DifferenceInterval
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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Question:
    """Checked predictions of two encoders, and what is asked of them."""

    metric: Discrimination
    exchange: Exchange
    present: np.ndarray
    values: np.ndarray
    units: Sequence[str] | Sequence[int] | np.ndarray
    points: np.ndarray
    judged: np.ndarray
    draws: int
    seed: int

    @cached_property
    def drawn(self) -> np.ndarray:
        """(draws, 2, labels) of the paired bootstrap."""
        found = resample_discrimination(self.present, self.values, units=self.units, draws=self.draws, seed=self.seed)
        return getattr(found, self.metric)

    @cached_property
    def left_out(self) -> np.ndarray:
        """(units, 2, labels) without each unit."""
        from .jackknife import jackknife_discrimination

        return getattr(jackknife_discrimination(self.present, self.values, units=self.units), self.metric)


@dataclass(frozen=True, eq=False)
class _Tested:
    """Raw p-values (labels,), NaN for those that are not judged, and that of the macro average, each with the least
    that could have been; why one is undefined.
    """

    p: np.ndarray
    macro_p: float
    floor: np.ndarray
    macro_floor: float
    reasons: tuple[str | None, ...]
    macro_reason: str | None = None


def compare_pair(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    labels: Sequence[str],
    units: Sequence[str] | Sequence[int] | np.ndarray,
    metric: Discrimination = "auroc",
    test: PairTest = "permutation",
    exchange: Exchange = "ranks",
    interval: DifferenceInterval = "percentile",
    adjust: Method | None = "holm",
    draws: int = 1000,
    seed: int = 0,
    alpha: float = 0.05,
    minimum_positives: int = 10,
    undefined: Sequence[str | None] | None = None,
) -> PairComparison:
    """Compare two encoders on one task.

    The family of hypotheses is declared, not chosen: every judged label of the task, by one metric. The macro average
    is one question of its own and is not adjusted. Intervals are of whole units and are not adjusted either. One is
    called higher only where both speak for it: the adjusted p is at most alpha and the interval excludes zero. They
    answer different questions (are the two exchangeable; how large is the difference), and to claim what one of them
    denies would be to choose the answer after the fact.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (2, records, labels) finite numbers, encoder a first.
        labels: (labels,) names.
        units: (records,) patient ids, or record ids: what is drawn and swapped together.
        metric: AUROC or average precision.
        test: "permutation" of whole rows; "bootstrap", the p-value of the paired draws; or "delong" with patients as
            clusters, for AUROC of labels only.
        exchange: what the permutation test exchanges. "ranks": each score's mid-rank among those of its own encoder and
            label, so that p does not depend on the scales of the two (Venkatraman and Begg, Biometrika 83, 835, 1996);
            "scores": the scores themselves, which then must be of one scale.
        interval: "percentile" of the paired draws, "bca", or "jackknife"; docs/intervals.md says which one to use.
        adjust: method of multiplicity; None leaves raw p-values.
        draws: bootstrap draws, and swaps.
        seed: of both.
        alpha: level of the verdicts; intervals have confidence 1 - alpha.
        minimum_positives: fewest test positives, and negatives, of a judged label.
        undefined: for each label, why an encoder has no prediction for it, or None; it is not judged then.

    Returns:
        Every label and the macro average, with whatever the p-values and intervals rest on.

    Raises:
        UsageError: shapes that do not fit, a word that is none of the above, DeLong for average precision.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a record without a unit.

    Example:
        >>> target = [[0], [1]] * 20
        >>> scores = [[[0.1], [0.9]] * 20, [[0.5], [0.4]] * 20]
        >>> found = compare_pair(target, scores, labels=["AFIB"], units=list(range(40)), draws=199)
        >>> found.labels[0].compared.difference.point, found.labels[0].compared.verdict
        (1.0, 'a higher')
    """
    _check_words(metric=metric, test=test, exchange=exchange, interval=interval, alpha=alpha)
    present, values, given = _check_numbers(target, scores, labels, undefined)
    support = judge_labels(present, minimum_positives=minimum_positives, minimum_negatives=minimum_positives)
    reasons = tuple(own or few for own, few in zip(given, support.reasons, strict=True))
    judged = np.array([reason is None for reason in reasons], dtype=bool)
    points = np.array([[METRICS[metric](present[:, i], values[e, :, i]) for i in range(len(labels))] for e in (0, 1)])
    points[:, [reason is not None for reason in given]] = np.nan
    question = _Question(
        metric=metric,
        exchange=exchange,
        present=present,
        values=values,
        units=units,
        points=points,
        judged=judged,
        draws=draws,
        seed=seed,
    )
    tested = _TESTS[test](question)
    adjusted = tested.p if adjust is None else adjust_p(tested.p, method=adjust).p
    family = int(np.isfinite(tested.p).sum())
    averages = [macro_average(points[e], judged=judged, names=labels) for e in (0, 1)]
    macro_reason = averages[0].reason or averages[1].reason
    return PairComparison(
        metric=metric,
        test=test,
        exchange=exchange if test == "permutation" else None,
        interval=interval,
        adjust=adjust,
        family=family,
        alpha=alpha,
        draws=draws,
        least_draws=_least_draws(test, adjust, family=family, alpha=alpha),
        units=len(np.unique(np.asarray(units))),
        minimum_positives=minimum_positives,
        macro=_compared(
            np.array([average.value for average in averages]),
            _interval(question, interval, label=None, confidence=1 - alpha),
            p=tested.macro_p,
            p_adjusted=tested.macro_p,
            floor=tested.macro_floor,
            alpha=alpha,
            not_judged=macro_reason,
            no_test=tested.macro_reason,
        ),
        macro_labels=int(judged.sum()),
        labels=tuple(
            ComparedLabel(
                name,
                int(support.positives[i]),
                int(support.negatives[i]),
                bool(judged[i]),
                _compared(
                    points[:, i],
                    _interval(question, interval, label=i, confidence=1 - alpha),
                    p=float(tested.p[i]),
                    p_adjusted=float(adjusted[i]),
                    floor=float(tested.floor[i]),
                    alpha=alpha,
                    not_judged=reasons[i],
                    no_test=tested.reasons[i],
                ),
            )
            for i, name in enumerate(labels)
        ),
    )


def _check_words(*, metric: str, test: str, exchange: str, interval: str, alpha: float) -> None:
    check_metric(metric)
    for name, word, known in (
        ("test", test, tuple(_TESTS)),
        ("exchange", exchange, ("ranks", "scores")),
        ("interval", interval, _INTERVALS),
    ):
        if word not in known:
            hint = " A jackknife on log-odds is of a value from 0 to 1, not of a difference." if "logit" in word else ""
            raise UsageError(f"{name}: expected one of {', '.join(known)}, found {word!r}.{hint}")
    if test == "delong" and metric != "auroc":
        raise UsageError("DeLong's test is of AUROC; take the permutation test for average precision.")
    # What is so small that 1 - alpha is 1 has no interval.
    if not (0 < alpha < 1 and 1 - alpha < 1):
        raise UsageError(f"alpha: expected a number between 0 and 1, such as 0.05, found {alpha}.")


def _check_numbers(
    target: ArrayLike, scores: ArrayLike, labels: Sequence[str], undefined: Sequence[str | None] | None
) -> tuple[np.ndarray, np.ndarray, Sequence[str | None]]:
    given = undefined if undefined is not None else [None] * len(labels)
    if len(given) != len(labels):
        raise UsageError(f"undefined: expected a reason or None for each of {len(labels)} labels, found {len(given)}.")
    without = np.array([reason is not None for reason in given], dtype=bool)
    # Of a label without predictions nothing is read, whatever stands there.
    values = np.asarray(scores)
    if without.any() and values.ndim == 3 and values.shape[2] == len(without):
        values = np.where(without, 0, values)
    present, values = check_predictions(target, values)
    if len(values) != 2 or len(labels) != present.shape[1]:
        raise UsageError(
            f"Expected scores of shape (2, records, labels) and a name for each label to go with targets of shape "
            f"{present.shape}; found scores of shape {values.shape} and {len(labels)} names."
        )
    return present, values, given


def _permutation(question: _Question) -> _Tested:
    values = midranks(question.values) if question.exchange == "ranks" else question.values
    found = permutation_test(
        question.present,
        values,
        metric=question.metric,
        pairs=[(0, 1)],
        judged=question.judged,
        units=question.units,
        draws=question.draws,
        seed=question.seed,
    )
    p = np.where(question.judged, found.p[0], np.nan)
    floor = 1 / (1 + question.draws)
    return _Tested(p, float(found.macro_p[0]), np.full(len(p), floor), floor, (None,) * len(p))


def _bootstrap(question: _Question) -> _Tested:
    labels = question.points.shape[1]
    p, floor = np.full(labels, np.nan), np.full(labels, np.nan)
    for label in np.flatnonzero(question.judged):
        p[label], floor[label] = _bootstrap_p(question.points[:, label], question.drawn[:, :, label])
    points = np.array([macro_average(row, judged=question.judged).value for row in question.points])
    macro_p, macro_floor = _bootstrap_p(points, macro_draws(question.drawn, judged=question.judged))
    return _Tested(p, macro_p, floor, macro_floor, (None,) * labels)


def _delong(question: _Question) -> _Tested:
    from .delong import auroc_differences

    found = auroc_differences(question.present, question.values, pairs=[(0, 1)], units=question.units)
    p = np.where(question.judged, found.p[0], np.nan)
    macro_reason = "DeLong's test is of single labels; take the permutation or the bootstrap test for the macro average"
    return _Tested(p, math.nan, np.full(len(p), -1.0), -1.0, found.reasons[0], macro_reason)


_TESTS: dict[str, Callable[[_Question], _Tested]] = {
    "permutation": _permutation,
    "bootstrap": _bootstrap,
    "delong": _delong,
}


def _least_draws(test: PairTest, adjust: Method | None, *, family: int, alpha: float) -> int:
    if test == "delong" or family == 0:
        return 0
    # The least p-value is 1 / (draws + 1), and of the bootstrap, which doubles a tail, 2 / (draws + 1).
    small = 2.0**-40
    factor = 1.0 if adjust is None else float(adjust_p(np.full(family, small), method=adjust).p.min()) / small
    return math.ceil((2 if test == "bootstrap" else 1) * factor / alpha) - 1


def _bootstrap_p(points: np.ndarray, draws: np.ndarray) -> tuple[float, float]:
    """The p-value, and the least that the defined draws could have given."""
    found = paired_difference(draws[:, 0], draws[:, 1], point_a=float(points[0]), point_b=float(points[1]))
    return found.p, 2 / (found.interval.draws - found.interval.undefined_draws + 1)


def _interval(question: _Question, kind: IntervalKind, *, label: int | None, confidence: float) -> Interval:
    """Of the difference of a label, or of the macro average (None)."""

    def difference(values: np.ndarray) -> np.ndarray:
        chosen = macro_draws(values, judged=question.judged) if label is None else values[..., label]
        return chosen[:, 0] - chosen[:, 1]

    return interval_of_kind(
        kind,
        float(difference(question.points[None])[0]),
        draws=None if kind == "jackknife" else difference(question.drawn),
        jackknife=None if kind == "percentile" else difference(question.left_out),
        confidence=confidence,
    )


def _compared(
    points: np.ndarray,
    interval: Interval,
    *,
    p: float,
    p_adjusted: float,
    floor: float,
    alpha: float,
    not_judged: str | None,
    no_test: str | None,
) -> Compared:
    a, b = (float(value) for value in points)
    by_p = p_adjusted <= alpha and a != b
    by_interval = interval.low > 0 or interval.high < 0
    verdict: PairVerdict = "no difference shown"
    only: Literal["p", "interval"] | None = None
    reason = None
    if not_judged is not None:
        verdict, reason = "not judged", not_judged
    elif math.isnan(p_adjusted):
        # A bootstrap p-value is missing where its interval is, and for the same reason.
        verdict, reason = "undefined", no_test or interval.reason
    elif by_p and by_interval:
        verdict = "a higher" if a > b else "b higher"
    elif by_p or by_interval:
        only = "p" if by_p else "interval"
    return Compared(
        a=a,
        b=b,
        difference=interval,
        p=p,
        p_adjusted=p_adjusted,
        p_at_floor=p <= floor * (1 + 1e-9),
        verdict=verdict,
        only=only,
        reason=reason,
    )
