"""Paired differences: finding one, turning it round, and saying what it shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from einthoven.studies.results import ComparisonResult, Difference, Estimate, LabelScores, MacroScores, Metric

Shows = Literal["higher", "lower", "undecided", "undefined"]
METRIC_NAMES: dict[Metric, str] = {"auroc": "AUROC", "average_precision": "AUPRC"}


def estimates_of(scores: MacroScores | LabelScores, metric: Metric) -> tuple[Estimate, ...]:
    """Every encoder's estimate of one metric."""
    return scores.auroc if metric == "auroc" else scores.average_precision


def reversed_difference(difference: Difference) -> Difference:
    """The difference turned round: b minus a, from a minus b."""
    e = difference.estimate

    def minus(value: float | None) -> float | None:
        return None if value is None else 0.0 - value

    turned = e.model_copy(update={"point": minus(e.point), "low": minus(e.high), "high": minus(e.low)})
    return Difference(a=difference.b, b=difference.a, estimate=turned, p=difference.p)


def find_difference(differences: Iterable[Difference], a: str, b: str) -> Difference | None:
    """`a` minus `b`, whichever way round it is stored; None if the pair was not compared."""
    for difference in differences:
        if (difference.a, difference.b) == (a, b):
            return difference
        if (difference.a, difference.b) == (b, a):
            return reversed_difference(difference)
    return None


def what_it_shows(difference: Difference | None) -> Shows:
    """Whether `a` is shown to be higher or lower than `b`: the interval of the difference excludes zero.

    An interval that holds zero shows neither a difference nor equality.
    """
    if difference is None or difference.estimate.low is None or difference.estimate.high is None:
        return "undefined"
    if difference.estimate.low > 0:
        return "higher"
    return "lower" if difference.estimate.high < 0 else "undecided"


def best_macro(comparison: ComparisonResult, metric: Metric) -> str | None:
    """The encoder with the highest macro mean; the first of equals; None if no mean is defined."""
    points = [estimate.point for estimate in estimates_of(comparison.macro, metric)]
    defined = [point for point in points if point is not None]
    return comparison.encoders[points.index(max(defined))] if defined else None


def marks_against(best: str | None, encoders: Iterable[str], differences: Iterable[Difference]) -> dict[str, str]:
    """Encoder -> "best", "undecided" or "": what a table marks."""
    known = tuple(differences)
    marks = {}
    for encoder in encoders:
        if encoder == best:
            marks[encoder] = "best"
        elif best is None:
            marks[encoder] = ""
        else:
            shows = what_it_shows(find_difference(known, encoder, best))
            marks[encoder] = "undecided" if shows == "undecided" else ""
    return marks
