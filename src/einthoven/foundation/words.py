"""Counts and lists in messages."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number and what it counts, in the singular or the plural; a verb may be part of both.

    Args:
        number: not negative.
        one: the words after 1.
        many: the words after any other number; by default `one` with an s.

    Example:
        >>> counted(1, "tensor"), counted(1200, "tensor"), counted(1, "of 9 is random", "of 9 are random")
        ('1 tensor', '1,200 tensors', '1 of 9 is random')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def some(names: Iterable[str], *, shown: int) -> str:
    """The first names of many, and how many more there are.

    Example:
        >>> some(["a", "b", "c"], shown=2)
        'a, b and 1 more'
    """
    names = list(names)
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
