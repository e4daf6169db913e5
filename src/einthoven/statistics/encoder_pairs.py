"""Which encoders are compared with which."""

from __future__ import annotations

from collections.abc import Sequence

from einthoven.foundation.errors import UsageError


def check_pairs(pairs: Sequence[tuple[int, int]], *, encoders: int) -> tuple[tuple[int, int], ...]:
    """Pairs as plain integers, all of two different encoders that exist.

    Args:
        pairs: (A, B) numbers of encoders, from 0.
        encoders: how many there are.

    Raises:
        UsageError: no pair, an encoder that does not exist, or one paired with itself.

    Example:
        >>> check_pairs([(0, 2), (1, 2)], encoders=3)
        ((0, 2), (1, 2))
    """
    checked = []
    for pair in pairs:
        if len(pair) != 2:
            raise UsageError(f"pairs: expected two encoders in each, found {tuple(pair)}.")
        a, b = (int(encoder) for encoder in pair)
        if not (0 <= a < encoders and 0 <= b < encoders):
            raise UsageError(f"pairs: expected encoders from 0 to {encoders - 1}, found ({a}, {b}).")
        if a == b:
            raise UsageError(f"pairs: expected two different encoders, found ({a}, {b}).")
        checked.append((a, b))
    if not checked:
        raise UsageError("pairs: expected at least one (A, B) pair of encoders, found none.")
    return tuple(checked)
