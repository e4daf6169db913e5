"""Which units exchange their two predictions, in every draw: a stream of bits in which any draw can be looked up."""

from __future__ import annotations

import numpy as np

from einthoven.foundation.errors import UsageError

_WORD = 64


def draw_swaps(unit_count: int, *, draws: int = 1000, seed: int, first: int = 0) -> np.ndarray:
    """Draws of one fair coin for each unit.

    The bits are the raw output of PCG64, which numpy keeps stable; a draw takes whole 64-bit words of it. So a draw is
    the same however many are asked for and however they are divided into chunks.

    Args:
        unit_count: how many patients, or records.
        draws: how many.
        seed: of the stream.
        first: number of the first draw, to go on where another chunk ended.

    Returns:
        bool (draws, unit_count); True exchanges the two predictions of all records of the unit.

    Raises:
        UsageError: no unit or no draw asked for, a negative seed or first draw.

    Example:
        >>> draw_swaps(4, draws=3, seed=0)[1:].tolist() == draw_swaps(4, draws=2, seed=0, first=1).tolist()
        True
    """
    for name, number, smallest in (("unit_count", unit_count, 1), ("draws", draws, 1), ("seed", seed, 0)):
        if number < smallest:
            raise UsageError(f"{name}: expected at least {smallest}, found {number}.")
    if first < 0:
        raise UsageError(f"first: expected 0 or more, found {first}.")
    words = -(-unit_count // _WORD)
    stream = np.random.PCG64(seed).advance(first * words)
    # Bytes are put in little-endian order, so that the first bit is the lowest one on any machine.
    raw = np.asarray(stream.random_raw(draws * words), dtype="<u8").reshape(draws, words)
    return np.unpackbits(raw.view(np.uint8), axis=1, count=unit_count, bitorder="little").view(np.bool_)
