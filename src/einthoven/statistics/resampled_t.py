"""Student t over repeated runs, with the correction for runs that share their training data, and two humps in runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from einthoven.foundation.errors import DataError, UsageError

from .rounding import ROUNDING

ZERO_VARIANCE = "zero variance over the runs: the interval is undefined, not infinitely narrow"


@dataclass(frozen=True, eq=False)
class ResampledT:
    """The mean over runs and how sure it is; every array has the shape of the input without the axis of runs.

    Attributes:
        runs: int64, how many runs have a value.
        wins: int64, in how many the value is above 0.
        mean: over those runs.
        sd: sample standard deviation (n - 1); NaN with one run.
        standard_error: sd sqrt(1 / n + test / train).
        half_width: of the interval.
        low: mean - half_width.
        high: mean + half_width.
        t: mean / standard_error.
        p: two-sided, of a mean of 0.
        reason: object, why there is no standard error, interval, t and p (which are NaN then), or None.
    """

    runs: np.ndarray
    wins: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    standard_error: np.ndarray
    half_width: np.ndarray
    low: np.ndarray
    high: np.ndarray
    t: np.ndarray
    p: np.ndarray
    reason: np.ndarray


@dataclass(frozen=True, eq=False)
class LargestGap:
    """The widest empty stretch between sorted runs; arrays of the input's shape without the axis of runs.

    Attributes:
        gap: its width; NaN with fewer than two runs.
        below: int64, runs below it.
        above: int64, runs above it.
        bimodal: bool, whether there are at least three runs and the gap is as wide as asked.
    """

    gap: np.ndarray
    below: np.ndarray
    above: np.ndarray
    bimodal: np.ndarray


def resampled_t(
    values: ArrayLike, *, test_train_ratio: ArrayLike, confidence: float = 0.95, scale: ArrayLike | None = None
) -> ResampledT:
    """Mean, t interval and test over repeated runs, corrected for training sets that overlap.

    The variance of a mean over n runs is sd^2 (1 / n + test / train) with n - 1 degrees of freedom (Nadeau and Bengio
    2003, "Inference for the Generalization Error", Machine Learning 52:239, section 3, the corrected resampled t). A
    ratio of 0 gives the ordinary one-sample t, which is too sure of itself when the runs split the same records anew.

    Args:
        values: (..., runs) paired differences, or the values of one network; NaN where a run is missing.
        test_train_ratio: test records over training records, of the shape without runs or one number.
        confidence: of the interval, between 0 and 1.
        scale: size of the numbers the values were computed from, of the shape without runs; None takes the largest of
            the values themselves. A standard deviation below 1e-12 of it is rounding.

    Returns:
        Arrays of the shape without runs.

    Raises:
        UsageError: no axis of runs, a negative ratio, a confidence outside 0 to 1.
        DataError: an infinite value.

    Example:
        >>> found = resampled_t([0.01, 0.03, 0.02, 0.02], test_train_ratio=1 / 8)
        >>> found.mean.item(), found.half_width.round(4).item(), found.p.round(3).item()
        (0.02, 0.0159, 0.028)
    """
    runs = _runs(values)
    ratio = np.asarray(test_train_ratio, dtype=np.float64)
    if not 0 < confidence < 1:
        raise UsageError(f"confidence: expected a number between 0 and 1, such as 0.95, found {confidence}.")
    if (ratio < 0).any() or np.isinf(ratio).any():
        raise UsageError("test_train_ratio: expected test records over training records, 0 or more.")
    present = ~np.isnan(runs)
    count = present.sum(axis=-1)
    filled = np.where(present, runs, 0.0)
    mean = _over(filled.sum(axis=-1), count)
    deviation = np.where(present, runs - mean[..., None], 0.0)
    sd = np.sqrt(_over((deviation**2).sum(axis=-1), count - 1))
    size = np.abs(filled).max(axis=-1, initial=0.0) if scale is None else np.asarray(scale, dtype=np.float64)
    # Runs that are equal in decimal numbers are so within rounding of the values they were computed from.
    constant = (count >= 2) & (sd <= ROUNDING * size)
    reason = np.full(count.shape, None, dtype=object)
    reason[np.isnan(np.broadcast_to(ratio, count.shape))] = "the sizes of the training and test sets are unknown"
    reason[constant] = ZERO_VARIANCE
    reason[count == 1] = "one run has no spread"
    reason[count == 0] = "no runs"
    defined = has_no_reason(reason)
    freedom = np.where(defined, count - 1, 1)
    error = np.where(defined, sd * np.sqrt(_over(np.ones_like(mean), count) + ratio), np.nan)
    t = np.divide(mean, error, out=np.full(mean.shape, np.nan), where=defined)
    half = error * stdtrit(freedom, (1 + confidence) / 2)
    return ResampledT(
        runs=count,
        wins=(filled > 0).sum(axis=-1),
        mean=mean,
        sd=sd,
        standard_error=error,
        half_width=half,
        low=mean - half,
        high=mean + half,
        t=t,
        p=2 * stdtr(freedom, -np.abs(t)),
        reason=reason,
    )


def has_no_reason(reason: np.ndarray) -> np.ndarray:
    """Where an array of reasons holds None: bool of its shape."""
    return np.array([one is None for one in reason.ravel()], dtype=bool).reshape(reason.shape)


def split_ratio(train: ArrayLike, test: ArrayLike) -> np.ndarray:
    """Test records over training records, as `resampled_t` takes it; NaN where a size is unknown.

    Args:
        train: sizes of training sets; NaN where unknown.
        test: sizes of test sets.

    Raises:
        DataError: a size below 1. Without training records there is nothing to correct by, and falling back on the
            uncorrected t would be silent.
    """
    sizes = [np.asarray(size, dtype=np.float64) for size in (train, test)]
    for name, size in zip(("train", "test"), sizes, strict=True):
        if (size < 1).any() or np.isinf(size).any():
            raise DataError(f"{name}: expected at least 1 record, found {size[(size < 1) | np.isinf(size)].flat[0]}.")
    return sizes[1] / sizes[0]


def largest_gap(values: ArrayLike, *, smallest: float = 0.10) -> LargestGap:
    """Whether runs fall into two groups, such as those that learned and those that collapsed.

    A mean and a t interval describe one hump. Runs are called bimodal if the largest gap between neighbours in sorted
    order is at least `smallest` (deepecgkit's rule; 0.10 suits metrics from 0 to 1).

    Args:
        values: (..., runs) values of one network; NaN where a run is missing.
        smallest: gap from which on runs are bimodal.

    Raises:
        UsageError: no axis of runs, or a gap that is not positive.
        DataError: an infinite value.

    Example:
        >>> found = largest_gap([0.80, 0.81, 0.82, 0.83, 0.70])
        >>> bool(found.bimodal), int(found.below), int(found.above)
        (True, 1, 4)
    """
    if not smallest > 0:
        raise UsageError(f"smallest: expected a gap above 0, found {smallest}.")
    runs = np.sort(_runs(values), axis=-1)
    count = (~np.isnan(runs)).sum(axis=-1)
    if runs.shape[-1] < 2:
        nothing = np.zeros(count.shape, dtype=np.int64)
        return LargestGap(np.full(count.shape, np.nan), nothing, nothing, nothing.astype(bool))
    gaps = np.diff(runs, axis=-1)
    comparable = np.where(np.isnan(gaps), -np.inf, gaps)
    place = comparable.argmax(axis=-1)
    gap = np.where(count >= 2, comparable.max(axis=-1), np.nan)
    below = np.where(count >= 2, place + 1, 0)
    # 0.9 - 0.8 is a little less than 0.1.
    wide = (count >= 3) & (np.nan_to_num(gap) >= smallest - ROUNDING)
    return LargestGap(gap=gap, below=below, above=np.where(count >= 2, count - below, 0), bimodal=wide)


def _runs(values: ArrayLike) -> np.ndarray:
    runs = np.asarray(values, dtype=np.float64)
    if runs.ndim < 1:
        raise UsageError("values: expected runs on the last axis, found one number.")
    if np.isinf(runs).any():
        raise DataError("values: expected finite numbers, or NaN where a run is missing, found infinity.")
    return runs


def _over(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.divide(total, count, out=np.full(np.shape(count), np.nan), where=count > 0)
