"""What metrics take: targets of 0 and 1, finite scores, and counts that say how often a resample holds each record."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import DataError, UsageError

# Sums of counts are kept below this, so that twice the number of pairs of a positive and a negative fits in int64.
_MOST_RECORDS = 2**31 - 1


def check_targets(target: ArrayLike, *, dimensions: int, name: str = "target") -> np.ndarray:
    """Targets as uint8 of 0 and 1.

    Args:
        target: booleans or numbers, all of them 0 or 1.
        dimensions: how many axes are expected.
        name: what the caller calls it, for messages.

    Raises:
        UsageError: not numbers, or another number of axes.
        DataError: a value that is neither 0 nor 1; the message has its position.
    """
    array = _numbers(target, dimensions=dimensions, name=name)
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        raise DataError(
            f"{name}: expected 0 (absent) or 1 (present), found {first_wrong(array, wrong)}. "
            "Map the labels to 0 and 1, and leave out records whose label is unknown, before scoring."
        )
    return array.astype(np.uint8, copy=False)


def check_scores(score: ArrayLike, *, dimensions: int, name: str = "score") -> np.ndarray:
    """Scores in their own dtype (a cast could make or break ties), all finite.

    Args:
        score: numbers; a higher one speaks for the label.
        dimensions: how many axes are expected.
        name: what the caller calls it, for messages.

    Raises:
        UsageError: not numbers, or another number of axes.
        DataError: NaN or infinity; the message has its position.
    """
    array = _numbers(score, dimensions=dimensions, name=name)
    wrong = ~np.isfinite(array)
    if wrong.any():
        raise DataError(
            f"{name}: expected finite numbers, found {first_wrong(array, wrong)}. A metric never skips a record: "
            "find out why there is no score, or leave the whole label out and say so."
        )
    return array


def check_predictions(target: ArrayLike, scores: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Targets (records, labels) as uint8, and scores of several encoders (encoders, records, labels) that go with them.

    Raises:
        UsageError: not numbers, or shapes that do not fit.
        DataError: a target that is neither 0 nor 1, a score that is not finite.

    Example:
        >>> present, values = check_predictions([[0], [1]], [[[0.2], [0.7]]])
        >>> present.shape, values.shape
        ((2, 1), (1, 2, 1))
    """
    present, values = check_targets(target, dimensions=2), check_scores(scores, dimensions=3, name="scores")
    if values.shape[1:] != present.shape:
        raise UsageError(
            f"scores: expected (encoders, {present.shape[0]}, {present.shape[1]}) to go with targets of shape "
            f"{present.shape}, found {values.shape}."
        )
    return present, values


def check_counts(counts: ArrayLike, *, records: int, dimensions: int = 1, name: str = "counts") -> np.ndarray:
    """Resample counts in their own integer dtype, none negative, one for each record on the last axis.

    Args:
        counts: (..., records) integers.
        records: how many records the targets have.
        dimensions: how many axes are expected.
        name: what the caller calls it, for messages.

    Raises:
        UsageError: not integers, or another shape.
        DataError: a negative count, or so many records that pairs could not be counted in 64 bits.
    """
    array = _numbers(counts, dimensions=dimensions, name=name)
    if array.dtype.kind not in "iu":
        raise UsageError(
            f"{name}: expected integers (how often each record is in a resample), found dtype {array.dtype}. "
            "Fractional weights are not resample counts."
        )
    if array.shape[-1] != records:
        raise UsageError(
            f"{name}: expected one count for each of {records} records on the last axis, found shape {array.shape}."
        )
    if array.size and array.min() < 0:
        raise DataError(f"{name}: expected 0 or more, found {first_wrong(array, array < 0)}.")
    if array.size and int(array.sum(axis=-1, dtype=np.uint64).max()) > _MOST_RECORDS:
        raise DataError(f"{name}: a resample may hold at most {_MOST_RECORDS} records, found more.")
    return array


def _numbers(values: ArrayLike, *, dimensions: int, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{name}: expected numbers, found dtype {array.dtype}.")
    if array.ndim != dimensions:
        raise UsageError(f"{name}: expected {dimensions} axes, found {array.ndim} (shape {array.shape}).")
    return array


def first_wrong(array: np.ndarray, wrong: np.ndarray) -> str:
    """The first wrong value of an array with its position, and how many there are, for messages."""
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    return f"{array[place]} at {list(place)} ({np.count_nonzero(wrong)} of {array.size} values are wrong)"
