"""The variance of AUROCs from the placements of scores, of one encoder or of several on the same records.

DeLong, DeLong and Clarke-Pearson (Biometrics 1988), counted as Sun and Xu do (IEEE Signal Process. Lett. 2014): one
sort instead of all pairs, equal scores as halves, in integers. That variance takes every record as independent
evidence. Where patients have several records, give patients as `units`: the variance is then that of Obuchowski
(Biometrics 1997) for clustered data, which is DeLong's when every patient has one record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_ndtr, logit, ndtr, ndtri

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_predictions

from .delong_placements import Placements, Split
from .encoder_pairs import check_pairs
from .units import number_units

Scale = Literal["normal", "logit"]
Units = Sequence[str] | Sequence[int] | np.ndarray | None


@dataclass(frozen=True, eq=False)
class AurocCovariance:
    """AUROCs on the same records, and how they vary together.

    Attributes:
        auroc: float64 (encoders, labels); NaN without both classes.
        covariance: float64 (labels, encoders, encoders); NaN where undefined.
        reasons: for each label, why it has no covariance, or None.
    """

    auroc: np.ndarray
    covariance: np.ndarray
    reasons: tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class AurocIntervals:
    """Limits of AUROCs.

    Attributes:
        low: float64 (encoders, labels); NaN where undefined.
        high: float64 (encoders, labels); NaN where undefined.
        confidence: nominal coverage, such as 0.95.
        reasons: for each encoder and label, why there are no limits, or None.
    """

    low: np.ndarray
    high: np.ndarray
    confidence: float
    reasons: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, eq=False)
class AurocDifferences:
    """AUROC of A minus that of B on the same records, and whether it is 0.

    Attributes:
        pairs: (A, B) numbers of encoders.
        difference: float64 (pairs, labels); NaN without both classes.
        variance: float64 (pairs, labels), of the difference; NaN where undefined.
        z: float64 (pairs, labels), difference over its standard error; NaN where undefined.
        p: float64 (pairs, labels), two-sided; 0 where it is below the smallest float.
        log10_p: float64 (pairs, labels), its logarithm, for the far tail.
        reasons: for each pair and label, why there is no test, or None.
    """

    pairs: tuple[tuple[int, int], ...]
    difference: np.ndarray
    variance: np.ndarray
    z: np.ndarray
    p: np.ndarray
    log10_p: np.ndarray
    reasons: tuple[tuple[str | None, ...], ...]


def auroc_covariance(target: ArrayLike, scores: ArrayLike, *, units: Units = None) -> AurocCovariance:
    """AUROCs of encoders on the same records with their covariance matrix, label by label.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (encoders, records, labels) finite numbers; only their order within an encoder and label matters.
        units: (records,) patient ids, strings or integers, where records of a patient are not independent; None takes
            every record as independent.

    Raises:
        UsageError: shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a record without a unit.

    Example:
        >>> estimate = auroc_covariance([[0], [1], [0], [1]], [[[0.1], [0.4], [0.5], [0.8]]])
        >>> estimate.auroc.item(), estimate.covariance.item()
        (0.75, 0.125)
    """
    present, values, unit_of_record = _check(target, scores, units)
    encoders, labels = len(values), present.shape[1]
    auroc = np.full((encoders, labels), np.nan)
    covariance = np.full((labels, encoders, encoders), np.nan)
    reasons = []
    for label in range(labels):
        split = Split(present[:, label], unit_of_record)
        placements = split.placements(values[:, :, label])
        auroc[:, label] = split.means(placements)
        reasons.append(split.shortage())
        if reasons[-1] is None:
            covariance[label] = split.covariance(placements)
    return AurocCovariance(auroc=auroc, covariance=covariance, reasons=tuple(reasons))


def auroc_intervals(estimate: AurocCovariance, *, confidence: float = 0.95, scale: Scale = "logit") -> AurocIntervals:
    """Limits of each AUROC from its variance.

    Args:
        estimate: from `auroc_covariance`.
        confidence: between 0 and 1.
        scale: "normal" is AUROC +- z se, cut off at 0 and 1; "logit" is the same on the log-odds of the AUROC with se
            divided by AUROC (1 - AUROC), which stays between 0 and 1 and covers better near 1 (Qin and Hotilovac, Stat.
            Methods Med. Res. 2008).

    Raises:
        UsageError: a setting outside its range.
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence: expected a number between 0 and 1, such as 0.95, found {confidence}.")
    if scale not in ("normal", "logit"):
        raise UsageError(f"scale: expected 'normal' or 'logit', found {scale!r}.")
    auroc = estimate.auroc
    variance = np.einsum("lee->el", estimate.covariance)
    reasons = tuple(
        tuple(
            estimate.reasons[label] or _no_limits(float(auroc[place]), float(variance[place]), scale=scale)
            for label in range(auroc.shape[1])
            for place in [(encoder, label)]
        )
        for encoder in range(len(auroc))
    )
    defined = np.array([[reason is None for reason in row] for row in reasons], dtype=bool).reshape(auroc.shape)
    area = np.where(defined, auroc, np.nan)
    reach = float(ndtri((1 + confidence) / 2)) * np.sqrt(np.where(defined, variance, np.nan))
    if scale == "normal":
        low, high = np.clip(area - reach, 0, 1), np.clip(area + reach, 0, 1)
    else:
        odds, reach = logit(area), reach / (area * (1 - area))
        low, high = expit(odds - reach), expit(odds + reach)
    return AurocIntervals(low=low, high=high, confidence=confidence, reasons=reasons)


def auroc_differences(
    target: ArrayLike, scores: ArrayLike, *, pairs: Sequence[tuple[int, int]], units: Units = None
) -> AurocDifferences:
    """The paired test of two encoders' AUROCs on the same records.

    The variance is that of the placements' differences. From a covariance matrix it would be a small difference of
    large numbers, and two equal encoders would differ by rounding.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (encoders, records, labels) finite numbers; only their order within an encoder and label matters.
        pairs: (A, B) numbers of encoders; the difference is A minus B.
        units: (records,) patient ids, where records of a patient are not independent; None takes every record as
            independent.

    Raises:
        UsageError: shapes that do not fit, an encoder that does not exist or is paired with itself.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a record without a unit.

    Example:
        >>> test = auroc_differences(
        ...     [[0], [0], [1], [1]], [[[0.1], [0.2], [0.3], [0.4]], [[0.2], [0.1], [0.15], [0.4]]], pairs=[(0, 1)]
        ... )
        >>> test.difference.item(), round(test.p.item(), 4)
        (0.25, 0.4795)
    """
    present, values, unit_of_record = _check(target, scores, units)
    compared = check_pairs(pairs, encoders=len(values))
    shape = (len(compared), present.shape[1])
    difference, variance = np.full(shape, np.nan), np.full(shape, np.nan)
    reasons: list[list[str | None]] = [[] for _ in compared]
    first, second = (np.array(side, dtype=np.int64) for side in zip(*compared, strict=True))
    for label in range(shape[1]):
        split = Split(present[:, label], unit_of_record)
        each = split.placements(values[:, :, label])
        apart = Placements(
            each.positives[first] - each.positives[second], each.negatives[first] - each.negatives[second]
        )
        difference[:, label] = split.means(apart)
        shortage = split.shortage()
        if shortage is None:
            variance[:, label] = split.variance(apart)
        for pair, row in enumerate(reasons):
            row.append(shortage or _no_test(float(difference[pair, label]), float(variance[pair, label])))
    tested = variance > 0
    z = np.full(shape, np.nan)
    z[tested] = difference[tested] / np.sqrt(variance[tested])
    return AurocDifferences(
        pairs=compared,
        difference=difference,
        variance=variance,
        z=z,
        p=2 * ndtr(-np.abs(z)),
        log10_p=(math.log(2) + log_ndtr(-np.abs(z))) / math.log(10),
        reasons=tuple(tuple(row) for row in reasons),
    )


def _check(target: ArrayLike, scores: ArrayLike, units: Units) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    present, values = check_predictions(target, scores)
    if units is None:
        return present, values, None
    unit_of_record, _ = number_units(units)
    if len(unit_of_record) != len(present):
        raise UsageError(f"units: expected one for each of {len(present)} records, found {len(unit_of_record)}.")
    return present, values, unit_of_record


def _no_limits(auroc: float, variance: float, *, scale: Scale) -> str | None:
    if scale == "logit" and auroc in (0.0, 1.0):
        return f"AUROC is exactly {auroc:.0f}, whose log-odds are infinite"
    if variance == 0:
        return "variance is 0: no record is placed differently from another, which says nothing of the next sample"
    return None


def _no_test(difference: float, variance: float) -> str | None:
    if variance > 0:
        return None
    if difference == 0:
        return "the difference and its variance are 0: both encoders place every record alike"
    return "the variance of the difference is 0, as it is the same for every record, but the difference is not"
