"""Draws of one label's positives and negatives apart, and the mean over draws that goes with them.

This is the resampling of Berger and others, Evaluation of ECG Representations Must Be Fixed (ICML 2026): numbers of
positives and negatives are as in the data in every draw. It leaves out that records share patients and that the number
of positives is itself chance, and it reports the mean of the draws in place of the value; here both are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_targets

from .intervals import MINIMUM_DEFINED, Interval, percentile_interval

_DRAWN_AT_ONCE = 64


@dataclass(frozen=True)
class PaperEstimate:
    """A number as the paper reports it.

    Attributes:
        reported: the mean over the draws in which it is defined; NaN where the limits are.
        interval: percentile interval; its point is the value on the data themselves.
    """

    reported: float
    interval: Interval


def stratified_counts(
    present: ArrayLike, *, draws: int = 1000, seed: int, label: int = 0, chunk: int = 1000
) -> Iterator[np.ndarray]:
    """How often each record is in each draw of one label, a few draws at a time.

    A draw takes as many positives as there are from the positives, and as many negatives from the negatives, with
    replacement.

    Args:
        present: (records,) of 0 and 1.
        draws: how many.
        seed: of the draws.
        label: number of the label: labels of one seed are drawn independently.
        chunk: how many draws at a time; the draws do not depend on it.

    Yields:
        int16 (chunk, records); the last one may be shorter.

    Raises:
        UsageError: no draw asked for, a negative seed or label; when the first chunk is asked for.
        DataError: a target that is neither 0 nor 1.

    Example:
        >>> next(stratified_counts([0, 1, 1, 0], draws=2, seed=0)).tolist()
        [[0, 1, 1, 2], [1, 2, 0, 1]]
    """
    for name, number, least in (("draws", draws, 1), ("chunk", chunk, 1), ("seed", seed, 0), ("label", label, 0)):
        if number < least:
            raise UsageError(f"{name}: expected at least {least}, found {number}.")
    target = check_targets(present, dimensions=1)
    strata = [np.flatnonzero(target == side) for side in (1, 0)]
    # A generator for each: then a whole chunk is drawn at once, and is the same whatever its size.
    generators = [np.random.default_rng([seed, label, side]) for side in (1, 0)]
    for low in range(0, draws, chunk):
        counts = np.zeros((min(chunk, draws - low), len(target)), dtype=np.int16)
        for rows, generator in zip(strata, generators, strict=True):
            for first in range(0, len(counts) if len(rows) else 0, _DRAWN_AT_ONCE):
                some = counts[first : first + _DRAWN_AT_ONCE]
                _tally(generator.integers(0, len(rows), size=(len(some), len(rows)), dtype=np.uint32), rows, some)
        yield counts


def paper_estimate(
    point: float, draws: ArrayLike, *, confidence: float = 0.95, minimum_defined: float = MINIMUM_DEFINED
) -> PaperEstimate:
    """The mean over draws and its percentile interval, beside the value on the data.

    Args:
        point: the value on the data themselves.
        draws: (draws,) values; NaN is a draw in which the number is undefined.
        confidence: between 0 and 1.
        minimum_defined: smallest share of defined draws with which limits are given.

    Raises:
        UsageError: `draws` is not one axis of numbers, or a setting is outside its range.
        DataError: an infinite draw.

    Example:
        >>> paper_estimate(0.5, [0.25, 0.5]).reported
        0.375
    """
    interval = percentile_interval(point, draws, confidence=confidence, minimum_defined=minimum_defined)
    reported = float(np.nanmean(np.asarray(draws, dtype=np.float64))) if interval.reason is None else np.nan
    return PaperEstimate(reported=reported, interval=interval)


@njit(nogil=True)
def _tally(drawn: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> None:
    """Add to `counts` (draws, records) one for each of `drawn` (draws, size), which are places in `rows` (size,)."""
    for draw in range(drawn.shape[0]):
        for place in range(drawn.shape[1]):
            counts[draw, rows[drawn[draw, place]]] += 1
