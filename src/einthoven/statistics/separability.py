"""Which encoders a finished comparison could tell apart, by its own paired draws: no assumption is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from einthoven.foundation.errors import UsageError

from .intervals import MINIMUM_DEFINED
from .rounding import ROUNDING


@dataclass(frozen=True)
class Separability:
    """Two encoders after a study.

    Attributes:
        a, b: their names.
        difference: a minus b on the data; NaN where undefined.
        error: standard deviation of the paired difference over the draws.
        correlation: of the two over the draws.
        smallest: the smallest true difference this test set would have shown with the given power.
        times: how many times as large the test set would have to be for a true difference as large as the observed one;
            1 or less: it is large enough. Infinite for no difference.
        reason: why the numbers are NaN, or None.
    """

    a: str
    b: str
    difference: float
    error: float
    correlation: float
    smallest: float
    times: float
    reason: str | None


def separability(
    points: ArrayLike,
    draws: ArrayLike,
    *,
    encoders: Sequence[str],
    alpha: float = 0.05,
    power: float = 0.8,
    comparisons: int | None = None,
    minimum_defined: float = MINIMUM_DEFINED,
) -> tuple[Separability, ...]:
    """What each pair of encoders would have had to differ by to be told apart.

    An observed difference that is smaller than `smallest` may be real and was not within reach of this test set; that
    it was not shown then says nothing. Power is of the true difference, which is unknown: it is not computed from the
    observed one, which would only repeat the p-value (Hoenig and Heisey, The American Statistician 55, 19, 2001).

    Args:
        points: (encoders,) values on the data.
        draws: (draws, encoders) values of a metric in the same draws; NaN where undefined.
        encoders: their names.
        alpha: two-sided level of the family.
        power: with which a true difference is to be found.
        comparisons: in the family; None is all pairs. The level of each is alpha divided by it (Bonferroni).
        minimum_defined: smallest share of draws in which both of a pair are defined.

    Returns:
        one for each pair, in the order (0, 1), (0, 2), ..., (1, 2), ...

    Raises:
        UsageError: shapes that do not fit, or a setting outside its range.

    Example:
        >>> (pair,) = separability([0.9, 0.8], [[0.88, 0.8], [0.92, 0.8]], encoders=["a", "b"])
        >>> round(pair.difference, 3), round(pair.smallest, 3)
        (0.1, 0.079)
    """
    values, drawn = np.asarray(points, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    count = len(encoders)
    if values.shape != (count,) or drawn.ndim != 2 or drawn.shape[1] != count:
        raise UsageError(
            f"points and draws: expected ({count},) and (draws, {count}), found {values.shape} and {drawn.shape}."
        )
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    family = comparisons if comparisons is not None else max(1, len(pairs))
    if family < 1 or not 0 < alpha < 1 or not alpha / family < power < 1:
        raise UsageError(
            f"Expected alpha between 0 and 1, power between alpha and 1 and at least one comparison; found alpha "
            f"{alpha}, power {power}, comparisons {family}."
        )
    z = float(norm.isf(alpha / family / 2) + norm.ppf(power))
    return tuple(_pair(values, drawn, encoders, a, b, z, minimum_defined) for a, b in pairs)


def _pair(
    points: np.ndarray, draws: np.ndarray, encoders: Sequence[str], a: int, b: int, z: float, minimum_defined: float
) -> Separability:
    defined = ~np.isnan(draws[:, [a, b]]).any(axis=1)
    difference = float(points[a] - points[b])
    reason = None
    if math.isnan(difference):
        reason = "the difference itself is undefined"
    elif defined.sum() < max(2, minimum_defined * len(draws)):
        reason = f"undefined in {len(draws) - int(defined.sum())} of {len(draws)} draws"
    if reason is not None:
        nan = math.nan
        return Separability(encoders[a], encoders[b], difference, nan, nan, nan, nan, reason)
    one, other = draws[defined, a], draws[defined, b]
    error = float((one - other).std(ddof=1))
    spread = float(one.std() * other.std())
    correlation = float(((one - one.mean()) * (other - other.mean())).mean() / spread) if spread > 0 else math.nan
    smallest = z * error
    # The error falls with the root of the number of patients.
    if abs(difference) > ROUNDING:
        times = (smallest / difference) ** 2
    else:
        times = math.inf if smallest > ROUNDING else math.nan
    return Separability(encoders[a], encoders[b], difference, error, correlation, smallest, times, None)
