"""Draws of patients or records with replacement, as counts: one table of draws serves every encoder and label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from einthoven.foundation.errors import DataError, UsageError

from .units import number_units

_LARGEST_COUNT = int(np.iinfo(np.int16).max)


def draw_counts(units: Sequence[str] | Sequence[int] | np.ndarray, *, draws: int = 1000, seed: int) -> np.ndarray:
    """How often each record is in each bootstrap draw.

    A draw takes as many units as there are, with replacement, and every record of a unit as often as its unit (the
    cluster bootstrap: Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8). With patients
    as units, records of one patient stay together, as they are not independent evidence.

    Units are numbered by first appearance: what they are called does not matter, in which rows they appear does. The
    first k draws are the same however many are asked for.

    Args:
        units: (records,) patient ids, or record ids to draw records one by one; strings or integers.
        draws: how many.
        seed: of the draws; the same seed and rows give the same draws.

    Returns:
        int16 (draws, records).

    Raises:
        UsageError: no draw asked for, a negative seed, units that are not a list of strings or integers.
        DataError: a record without a unit, fewer than two units, or a count beyond int16.

    Example:
        >>> draw_counts(["p1", "p1", "p2"], draws=4, seed=0)[:, :2].tolist()
        [[0, 0], [1, 1], [2, 2], [2, 2]]
    """
    return next(count_chunks(units, draws=draws, seed=seed, chunk=draws))


def count_chunks(
    units: Sequence[str] | Sequence[int] | np.ndarray, *, draws: int = 1000, seed: int, chunk: int
) -> Iterator[np.ndarray]:
    """The draws of `draw_counts`, a few at a time, for test sets whose table of draws would not fit in memory.

    Args:
        units: (records,) patient ids, or record ids to draw records one by one; strings or integers.
        draws: how many.
        seed: of the draws; the chunks in sequence are `draw_counts` of the same seed.
        chunk: how many draws at a time.

    Yields:
        int16 (chunk, records); the last one may be shorter.

    Raises:
        UsageError, DataError: as `draw_counts`, or a chunk below one draw; when the first chunk is asked for.

    Example:
        >>> [len(counts) for counts in count_chunks(["p1", "p1", "p2"], draws=5, seed=0, chunk=2)]
        [2, 2, 1]
    """
    for name, number in (("draws", draws), ("chunk", chunk)):
        if number < 1:
            raise UsageError(f"{name}: expected at least 1, found {number}.")
    if seed < 0:
        raise UsageError(f"seed: expected 0 or more, found {seed}.")
    unit_of_record, unit_count = number_units(units)
    generator = np.random.default_rng(seed)
    for low in range(0, draws, chunk):
        counts = np.empty((min(chunk, draws - low), len(unit_of_record)), dtype=np.int16)
        for draw in range(len(counts)):
            drawn = np.bincount(generator.integers(0, unit_count, size=unit_count), minlength=unit_count)
            if drawn.max() > _LARGEST_COUNT:
                raise DataError(f"A unit was drawn {drawn.max()} times; counts hold at most {_LARGEST_COUNT}.")
            counts[draw] = drawn[unit_of_record]
        yield counts
