"""The exact minimiser of a log-loss over temperature, and what it is where there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq


@dataclass(frozen=True)
class TemperatureFit:
    """A fitted temperature.

    Attributes:
        temperature: what logits are to be divided by. 0 and infinity are limits that the loss falls towards but no T
            reaches; NaN if no T is better than another. `reason` says so in each of these cases.
        loss_before: mean log-loss of the validation records at T = 1, in nats.
        loss_after: the same at `temperature` (its limit, at 0 and infinity); never above `loss_before` but by rounding.
        iterations: how often the derivative of the loss was computed.
        reason: why the temperature is no positive number, or None.
    """

    temperature: float
    loss_before: float
    loss_after: float
    iterations: int
    reason: str | None


def fit_margins(margins: np.ndarray, *, scale: float, weights: np.ndarray) -> TemperatureFit:
    """The temperature that minimises the weighted mean of log(sum over classes of exp(scale * margin / T)).

    The loss is convex in 1/T. Its derivative there rises from the mean margin over classes (T to infinity) to the mean
    largest margin (T to 0), so both ends are told apart from a root before one is sought.

    Args:
        margins: float64 (choices, classes), a class's logit less that of the true class, over `scale`: at most 4 in
            size, and 0 for the true class.
        scale: a positive number.
        weights: int64 (choices,), none negative.

    Example:
        >>> fit_margins(np.array([[0.0, -1.0]]), scale=1.0, weights=np.array([1])).reason
        'separable: no class scores above the true one in 1 validation choice, so the loss falls as T goes to 0'
    """
    margins, weights = margins[weights > 0], weights[weights > 0]
    choices = int(weights.sum())
    if choices == 0:
        return TemperatureFit(math.nan, math.nan, math.nan, 0, "no validation record")
    share = weights / choices
    before = _loss(margins, share, scale)
    number = f"{choices} validation choice{'s' if choices > 1 else ''}"

    if not margins.any():
        reason = f"all classes score the same in {number}, so the loss does not depend on T"
        return TemperatureFit(math.nan, before, before, 0, reason)
    # An exact sum: a balance of right and wrong must not be decided by rounding.
    if math.fsum(weights * margins.mean(axis=1)) >= 0:
        reason = f"no better than chance in {number}: the loss falls as T goes to infinity"
        return TemperatureFit(math.inf, before, math.log(margins.shape[1]), 0, reason)
    if margins.max() <= 0:
        reason = f"separable: no class scores above the true one in {number}, so the loss falls as T goes to 0"
        return TemperatureFit(0.0, before, _loss_at_zero(margins, share), 0, reason)

    inverse, iterations = _root(margins, share)
    temperature = scale / inverse if inverse > 0 else math.inf
    after = _loss(margins, share, inverse)
    reason = None if 0 < temperature < math.inf else "the minimiser lies beyond the range of float64"
    return TemperatureFit(temperature, before, after, iterations, reason)


def _root(margins: np.ndarray, share: np.ndarray) -> tuple[float, int]:
    """Where the derivative of the loss by the inverse temperature is zero, and how often it was computed."""
    computed = 0

    def slope(inverse: float) -> float:
        nonlocal computed
        computed += 1
        exponent = inverse * margins
        odds = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        return float(share @ ((odds * margins).sum(axis=1) / odds.sum(axis=1)))

    low = high = 1.0
    at_low = at_high = slope(1.0)
    # Margins are of size 1: an inverse temperature beyond 2^1000 is that of no data.
    while at_high < 0 and high < 2.0**1000:
        low, at_low, high = high, at_high, 2 * high
        at_high = slope(high)
    while at_low > 0 and low > 0:
        high, at_high, low = low, at_low, low / 2
        at_low = slope(low)
    if at_low >= 0 or at_high <= 0:
        return (low if at_low >= 0 else high), computed
    # As near as floats get: the tolerance is relative, and the absolute one is far below it.
    narrow, relative = max(2.0**-1000, 2.0**-60 * low), np.float64(2.0**-50)
    root = brentq(slope, low, high, xtol=narrow, rtol=relative, maxiter=500)
    return float(root), computed  # type: ignore[arg-type]  # a float without full_output


def _loss(margins: np.ndarray, share: np.ndarray, inverse: float) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = inverse * margins
        top = exponent.max(axis=1)
        losses = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
        return float((share * np.where(np.isinf(top), np.inf, losses)).sum())


def _loss_at_zero(margins: np.ndarray, share: np.ndarray) -> float:
    """The limit where none is above the true class: it shares with those that tie with it."""
    return float((share * np.log((margins == 0).sum(axis=1))).sum())
