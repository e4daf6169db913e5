"""What array files must hold before they are believed: real numbers, one array of a kind, a row that is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from einthoven.foundation.errors import DataError, unknown_name

# What an array may say it takes: no signal is packed 64 times smaller than it is, and a GiB can always be tried.
MOST_PACKED = 64
ALWAYS = 2**30


def not_there(kind: str, name: str, known: list[str] | tuple[str, ...], place: str) -> DataError:
    """What to tell of an array, variable or field that a file lacks."""
    # A file that lacks an array is bad data, as one cut short is, and is left out like it where that is asked for.
    return DataError(str(unknown_name(kind, name, known, where=place)))


def only_candidate(candidates: list[str], names: list[str], place: str) -> str:
    """The only array that could be the signal.

    Args:
        names: all arrays, for messages.

    Raises:
        DataError: there is none, or there are several.
    """
    if len(candidates) == 1:
        return candidates[0]
    raise DataError(
        f"{place} has {len(candidates)} arrays that could be the signal ({', '.join(names[:20]) or 'it has none'}). "
        "Name the one to take with `key`."
    )


def checked_row(row: int, shape: tuple[int, ...], place: str) -> int:
    """The row, if an array of this shape has it.

    Raises:
        DataError: it has not.
    """
    if not 0 <= row < shape[0]:
        raise DataError(f"{place} has {shape[0]} rows, 0 to {shape[0] - 1}; row {row} was asked for.")
    return row


def check_numeric(dtype: Any, place: str) -> None:
    """Refuse what is no real number.

    Raises:
        DataError: with the type it is of.
    """
    if np.dtype(dtype).kind not in "iuf":
        raise DataError(f"{place} holds {dtype}; real numbers were expected. Name another array with `key`.")
