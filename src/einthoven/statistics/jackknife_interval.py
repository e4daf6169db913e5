"""Intervals from leaving one patient out: no draws, and close to their nominal coverage with 20 positives."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, stdtrit

from einthoven.foundation.errors import UsageError

from .intervals import Interval

Scale = Literal["logit", "identity"]

# Of Satterthwaite's degrees of freedom. Placements are skewed: a sample without the hardest positives has both too high
# an AUROC and too small a variance. Chosen so that 20 positives at AUROC 0.95 hold in about 94 % (docs/intervals.md,
# benchmarks/coverage.py).
_SHARE_OF_FREEDOM = 0.75
_NO_SPREAD = 1e-30


def jackknife_interval(
    point: float, jackknife: ArrayLike, *, confidence: float = 0.95, scale: Scale = "logit"
) -> Interval:
    """A t interval from the values without each unit, taken on the scale of log-odds and brought back.

    The variance is the delete-one-unit jackknife's, (U - 1)/U sum(d^2) with d the values' deviations from their mean
    (Efron and Stein, Annals of Statistics 1981); with patients as units it is that of clustered data (for AUROC,
    Obuchowski, Biometrics 1997, to first order). Its degrees of freedom are read from the data, as its own variance is
    about sum(d^4): 2 (sum d^2)^2 / sum(d^4) (Satterthwaite, Biometrics 1946), three quarters of which are used. Few
    patients with positives, or one that matters much, so widen the interval. Log-odds keep it inside (0, 1) and make it
    longer towards 0.5, as it must be near 1 (Pepe, The Statistical Evaluation of Medical Tests, 2003, section 5.2).

    Args:
        point: the value on the data themselves.
        jackknife: (units,) values without each unit, as `jackknife_discrimination` gives them; of a macro average or a
            difference, the macro averages or differences of these.
        confidence: between 0 and 1.
        scale: "logit" for a value in [0, 1]; "identity" for a difference.

    Returns:
        The interval, with 0 draws; its limits are NaN, with the reason, where the value or one without a unit is
        undefined, where nothing varies, and where a value on the logit scale is 0 or 1.

    Raises:
        UsageError: `jackknife` is not one axis of numbers, or a setting is outside its range.

    Example:
        >>> interval = jackknife_interval(0.8, [0.79, 0.80, 0.81, 0.80, 0.78, 0.82])
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.712, 0.866)
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence: expected a number between 0 and 1, such as 0.95, found {confidence}.")
    if scale not in ("logit", "identity"):
        raise UsageError(f"scale: expected 'logit' or 'identity', found {scale!r}.")
    left_out = np.asarray(jackknife, dtype=np.float64)
    if left_out.ndim != 1:
        raise UsageError(f"jackknife: expected one value for each unit left out, found shape {left_out.shape}.")
    if scale == "logit" and not math.isnan(point) and not 0 <= point <= 1:
        raise UsageError(f"point: expected a value from 0 to 1 on the logit scale, found {point}; see scale.")

    units = len(left_out)
    undefined = int(np.count_nonzero(~np.isfinite(left_out)))
    away = left_out - left_out.mean() if units and not undefined else np.zeros(0)
    squares = float((away**2).sum())
    reason = None
    if math.isnan(point):
        reason = "the value itself is undefined"
    elif units < 2:
        reason = f"{units} unit{'s' if units != 1 else ''} to leave out; at least 2 needed"
    elif undefined:
        reason = f"undefined without {undefined} of {units} units"
    elif scale == "logit" and point in (0.0, 1.0):
        reason = f"a value of {point:.0f} has no finite log-odds"
    elif squares <= units * _NO_SPREAD:
        reason = "the same whichever unit is left out"
    low = high = math.nan
    if reason is None:
        error = math.sqrt((units - 1) / units * squares)
        freedom = _SHARE_OF_FREEDOM * 2 * squares**2 / float((away**4).sum())
        reach = float(stdtrit(freedom, (1 + confidence) / 2)) * error
        if scale == "identity":
            low, high = point - reach, point + reach
        else:
            reach /= point * (1 - point)
            low, high = (float(expit(logit(point) + side * reach)) for side in (-1, 1))
    return Interval(
        point=float(point), low=low, high=high, confidence=confidence, draws=0, undefined_draws=0, reason=reason
    )
