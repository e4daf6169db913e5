"""Bias-corrected and accelerated bootstrap intervals (Efron, Journal of the American Statistical Association 1987)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from einthoven.foundation.errors import UsageError

from .intervals import MINIMUM_DEFINED, Interval, percentile_interval
from .rounding import ROUNDING


def bca_interval(
    point: float,
    draws: ArrayLike,
    *,
    jackknife: ArrayLike,
    confidence: float = 0.95,
    minimum_defined: float = MINIMUM_DEFINED,
) -> Interval:
    """The BCa interval of a number: quantiles of its draws, moved for bias and skewness.

    z0 = Phi^-1(share of draws below the point, ties counted half) and a = sum(d^3) / (6 sum(d^2)^(3/2)), where d is the
    mean of the jackknife values minus each of them; the limits are the draws' quantiles at
    Phi(z0 + (z0 + z) / (1 - a (z0 + z))) (Efron 1987, equations 2.3 and 6.6 by the jackknife). A macro average or a
    difference has its interval from its own draws and its own jackknife values. Draws and
    jackknife must have the same units.

    Args:
        point: the value on the data themselves.
        draws: (draws,) values; NaN is a draw in which the number is undefined.
        jackknife: (units,) values without each unit, as `jackknife_discrimination` gives them.
        confidence: between 0 and 1.
        minimum_defined: smallest share of defined draws with which limits are given.

    Returns:
        The interval; its limits are NaN, with the reason, where the percentile interval's are, where all draws lie on
        one side of the point, and where the acceleration does not exist.

    Raises:
        UsageError: `draws` or `jackknife` is not one axis of numbers, or a setting is outside its range.
        DataError: an infinite draw.

    Example:
        >>> interval = bca_interval(1.0, [0.0, 1.0, 2.0], jackknife=[0.5, 1.5], confidence=0.5)
        >>> round(interval.low, 6), round(interval.high, 6)
        (0.5, 1.5)
    """
    plain = percentile_interval(point, draws, confidence=confidence, minimum_defined=minimum_defined)
    left_out = np.asarray(jackknife, dtype=np.float64)
    if left_out.ndim != 1:
        raise UsageError(f"jackknife: expected one value for each unit left out, found shape {left_out.shape}.")
    if plain.reason is not None:
        return plain
    values = np.asarray(draws, dtype=np.float64)
    values = values[~np.isnan(values)]
    # A draw equal to the point in rational numbers is a tie, not a draw below.
    ties = np.count_nonzero(np.abs(values - point) <= ROUNDING)
    below = np.count_nonzero(values < point - ROUNDING)
    bias = float(ndtri((below + ties / 2) / len(values)))
    acceleration, reason = _acceleration(left_out)
    if math.isinf(bias):
        side = "above" if bias < 0 else "below"
        reason = f"all {len(values)} draws are {side} the value, so its bias correction is infinite"
    if reason is not None:
        return _without_limits(plain, reason)

    tail = (1 - confidence) / 2
    reached = bias + np.array([1, -1]) * ndtri(tail)
    stretch = 1 - acceleration * reached
    if (stretch <= 0).any():
        return _without_limits(plain, f"the acceleration {acceleration:.3g} folds the quantiles over")
    low, high = np.percentile(values, 100 * ndtr(bias + reached / stretch))
    return Interval(
        point=plain.point,
        low=float(low),
        high=float(high),
        confidence=confidence,
        draws=plain.draws,
        undefined_draws=plain.undefined_draws,
        reason=None,
    )


def _acceleration(left_out: np.ndarray) -> tuple[float, str | None]:
    undefined = np.count_nonzero(~np.isfinite(left_out))
    if undefined or len(left_out) == 0:
        return math.nan, f"undefined without {undefined} of {len(left_out)} units, so its acceleration is too"
    away = left_out.mean() - left_out
    spread = float((away**2).sum())
    # Rounding leaves about 1e-16 where every value is the same.
    if spread <= len(left_out) * 1e-30:
        return math.nan, "the same whichever unit is left out, so its acceleration is undefined"
    return float((away**3).sum()) / (6 * spread**1.5), None


def _without_limits(interval: Interval, reason: str) -> Interval:
    return Interval(
        point=interval.point,
        low=math.nan,
        high=math.nan,
        confidence=interval.confidence,
        draws=interval.draws,
        undefined_draws=interval.undefined_draws,
        reason=reason,
    )
