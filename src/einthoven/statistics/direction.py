"""Whether higher or lower values of a metric are better; it is always said, never assumed."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import DataError, UsageError

Better = Literal["higher", "lower"]


def oriented(values: ArrayLike, *, better: Better, dimensions: int = 1, name: str = "values") -> np.ndarray:
    """Values as float64 of which the highest is the best, NaN where undefined.

    Args:
        values: numbers; NaN where undefined.
        better: whether higher or lower values are better.
        dimensions: how many axes are expected.
        name: what the caller calls it, for messages.

    Raises:
        UsageError: another number of axes, or another word for `better`.
        DataError: an infinite value.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != dimensions:
        raise UsageError(f"{name}: expected {dimensions} axes, found {numbers.ndim} (shape {numbers.shape}).")
    if np.isinf(numbers).any():
        raise DataError(f"{name}: expected finite values, or NaN where undefined, found infinity.")
    if better not in ("higher", "lower"):
        raise UsageError(f"better: expected 'higher' or 'lower', found {better!r}.")
    return numbers if better == "higher" else -numbers
