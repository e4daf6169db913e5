"""Which encoders cannot be told from the best one, metric by metric.

Berger, Prakah-Asante, Guttag and Stultz ("Position: Evaluation of ECG Representations Must Be Fixed", section 5): for
each task and metric the best encoder is found, every other one is compared with it by a two-sided paired permutation
test, and counts as not significantly different "if its Bonferroni-corrected p-value exceeds 0.05 on any metric".

The verdict of one metric is `verdicts_against_best`; the words "on any metric" are `verdict_on_any_metric`. Not
different is not the same as equal, and the best encoder was chosen on the records it is tested on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError

from .direction import Better, oriented
from .multiplicity import Method, adjust_p, check_p

Verdict = Literal["best", "not different", "different", "undefined"]

# What one encoder is called over several metrics: the first of these that it is on any of them. An undefined metric
# could have been one on which it does not differ, so it outweighs a difference.
_OVER_METRICS: tuple[Verdict, ...] = ("best", "not different", "undefined", "different")


@dataclass(frozen=True)
class BestVerdict:
    """How one encoder stands to the best by one metric.

    Attributes:
        encoder: its name.
        metric: the metric's name.
        verdict: "best" for the reference itself, "not different", "different", or "undefined".
        reference: the best encoder, or None if no encoder has a value.
        value: the encoder's own value; NaN where undefined.
        p: raw p-value against the reference; NaN for the reference and where undefined.
        p_adjusted: the p-value adjusted over the comparisons of this metric.
        reason: why the verdict is "undefined", or None.
    """

    encoder: str
    metric: str
    verdict: Verdict
    reference: str | None
    value: float
    p: float
    p_adjusted: float
    reason: str | None


def best_encoder(values: ArrayLike, *, better: Better) -> int | None:
    """The position of the best value, the first of them where several are equal; None if every value is undefined.

    Args:
        values: (encoders,) values of one metric; NaN where undefined.
        better: whether higher or lower values are better.

    Raises:
        UsageError: not one axis of numbers, or another word for `better`.
        DataError: an infinite value.

    Example:
        >>> best_encoder([0.7, float("nan"), 0.9, 0.9], better="higher")
        2
    """
    numbers = oriented(values, better=better)
    return None if np.isnan(numbers).all() else int(np.nanargmax(numbers))


def verdicts_against_best(
    values: ArrayLike,
    p: ArrayLike,
    *,
    encoders: Sequence[str],
    metric: str,
    better: Better,
    alpha: float = 0.05,
    method: Method = "bonferroni",
) -> tuple[BestVerdict, ...]:
    """The verdict on every encoder by one metric.

    Args:
        values: (encoders,) point values; NaN where undefined.
        p: (encoders,) two-sided p-values of each encoder against `best_encoder(values)`, and NaN for that one itself;
            NaN where a comparison is undefined. The family is these comparisons; the undefined are not in it.
        encoders: (encoders,) names.
        metric: its name, for the verdicts.
        better: whether higher or lower values are better.
        alpha: an adjusted p above it is "not different".
        method: the seed of this rule adjusts by Bonferroni.

    Returns:
        One verdict for each encoder, in the order given.

    Raises:
        UsageError: lengths that do not fit, alpha outside 0 to 1, or a p-value for the best encoder itself (it was
            compared with another reference).
        DataError: an infinite value, or a p-value outside 0 to 1.

    Example:
        >>> found = verdicts_against_best(
        ...     [0.9, 0.88, 0.7],
        ...     [float("nan"), 0.03, 0.001],
        ...     encoders=["a", "b", "c"],
        ...     metric="auroc",
        ...     better="higher",
        ... )
        >>> [(one.encoder, one.verdict, one.p_adjusted) for one in found]
        [('a', 'best', nan), ('b', 'not different', 0.06), ('c', 'different', 0.002)]
    """
    best = best_encoder(values, better=better)
    numbers, raw = np.asarray(values, dtype=np.float64), check_p(p)
    if not len(numbers) == len(raw) == len(encoders):
        raise UsageError(
            f"Expected one value, p-value and name for each encoder, found {len(numbers)}, {len(raw)} and "
            f"{len(encoders)}."
        )
    if not 0 < alpha < 1:
        raise UsageError(f"alpha: expected a number between 0 and 1, such as 0.05, found {alpha}.")
    if best is not None and not math.isnan(raw[best]):
        raise UsageError(
            f"p: expected NaN for {encoders[best]!r}, which has the best {metric}, found {raw[best]}. "
            "The other encoders must be compared with it; see best_encoder."
        )
    adjusted = adjust_p(np.where(np.isnan(numbers), np.nan, raw), method=method)
    reference = None if best is None else encoders[best]
    found = []
    for place, encoder in enumerate(encoders):
        verdict, reason = _judge(numbers[place], adjusted.p[place], is_best=place == best, alpha=alpha)
        found.append(
            BestVerdict(
                encoder=encoder,
                metric=metric,
                verdict=verdict,
                reference=reference,
                value=float(numbers[place]),
                p=float(raw[place]),
                p_adjusted=float(adjusted.p[place]),
                reason=reason,
            )
        )
    return tuple(found)


def verdict_on_any_metric(verdicts: Iterable[BestVerdict]) -> dict[str, Verdict]:
    """One verdict for each encoder over several metrics of one task.

    "best" if it is the best by any metric; else "not different" if it is so by any; else "undefined" if it is so by
    any; and "different" only if it differs from the best by every metric.

    Args:
        verdicts: those of `verdicts_against_best`, of all metrics.

    Raises:
        UsageError: two verdicts on one encoder by one metric, or an encoder without a verdict by one of the metrics.
    """
    by_encoder: dict[str, dict[str, Verdict]] = {}
    for one in verdicts:
        metrics = by_encoder.setdefault(one.encoder, {})
        if one.metric in metrics:
            raise UsageError(f"Expected one verdict on {one.encoder!r} by {one.metric!r}, found two.")
        metrics[one.metric] = one.verdict
    all_metrics = {metric for metrics in by_encoder.values() for metric in metrics}
    for encoder, metrics in by_encoder.items():
        if lacking := sorted(all_metrics - metrics.keys()):
            raise UsageError(f"{encoder!r}: expected a verdict by every metric, found none by {', '.join(lacking)}.")
    return {
        encoder: next(word for word in _OVER_METRICS if word in metrics.values())
        for encoder, metrics in by_encoder.items()
    }


def _judge(value: float, p_adjusted: float, *, is_best: bool, alpha: float) -> tuple[Verdict, str | None]:
    if is_best:
        return "best", None
    if math.isnan(value):
        return "undefined", "the value itself is undefined"
    if math.isnan(p_adjusted):
        return "undefined", "there is no p-value against the best"
    return ("not different" if p_adjusted > alpha else "different"), None
