"""Kendall's tau-b: how far two or more orders of the same encoders agree."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import DataError, UsageError


def kendall_tau_b(a: ArrayLike, b: ArrayLike) -> float:
    """Kendall's tau-b of two lists of values of the same items; NaN if all of one list are equal.

    (C - D) / sqrt((C + D + ties in a only) (C + D + ties in b only)) over the pairs of items, C of them in the same
    and D in the opposite order (Kendall 1945, "The treatment of ties in ranking problems").

    Args:
        a: (items,) values or ranks.
        b: (items,) values or ranks of the same items.

    Raises:
        UsageError: different lengths, or not one axis.
        DataError: a value that is not finite; leave the item out of both lists, and say so.

    Example:
        >>> round(kendall_tau_b([1, 2, 3, 4], [1, 3, 2, 4]), 4)
        0.6667
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(f"a and b: expected one value of each item, found shapes {first.shape} and {second.shape}.")
    return float(kendall_matrix(np.column_stack([first, second]))[0, 1])


def kendall_matrix(values: ArrayLike) -> np.ndarray:
    """Tau-b between every two columns, such as seeds, tasks or sizes, over the rows.

    Args:
        values: (items, columns) values or ranks.

    Returns:
        float64 (columns, columns), symmetric; NaN in row and column of a column whose values are all equal.

    Raises:
        UsageError: not two axes.
        DataError: a value that is not finite.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 2:
        raise UsageError(f"values: expected (items, columns), found shape {numbers.shape}.")
    if not np.isfinite(numbers).all():
        raise DataError(
            f"values: expected finite numbers, found {np.count_nonzero(~np.isfinite(numbers))} that are not. "
            "An order exists only among items that have a value everywhere: leave the others out, and say which."
        )
    above, below = np.triu_indices(len(numbers), k=1)
    order = np.sign(numbers[above] - numbers[below])
    agreement = order.T @ order
    untied = np.diag(agreement)
    # The product is an exact integer, its root correctly rounded: a list and itself have a tau of exactly 1.
    possible = np.sqrt(np.outer(untied, untied))
    return np.divide(agreement, possible, out=np.full(possible.shape, np.nan), where=possible > 0)


def smallest_attainable_p(items: int) -> float:
    """The smallest two-sided p-value that an exact test of tau can give: 2 / items!, when no values are equal.

    Of all orders of the items only one agrees fully and one is the full reverse. NaN with fewer than two items.

    Example:
        >>> smallest_attainable_p(4)
        0.08333333333333333
    """
    if items < 2:
        return math.nan
    return 2 / math.factorial(items)
