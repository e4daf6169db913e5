"""P-values of one declared family of tests, adjusted together.

The family is what was declared before the tests were run: every test of it is handed in, also those that came out
undefined. Those cannot be discoveries; they are counted and stand outside the adjustment, as R's p.adjust has it.
(statsmodels' multipletests turns the whole family into NaN instead, and is not used for four formulas.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import DataError, UsageError, unknown_name

Method = Literal["bonferroni", "holm", "bh", "by"]


@dataclass(frozen=True, eq=False)
class AdjustedFamily:
    """The adjusted p-values of a family.

    Attributes:
        p: float64 (tests,), adjusted, in the order given; NaN where the raw one is.
        method: how they were adjusted.
        tested: how many p-values were adjusted together.
        undefined: how many more tests were declared and have no p-value.
    """

    p: np.ndarray
    method: Method
    tested: int
    undefined: int


def adjust_p(p: ArrayLike, *, method: Method) -> AdjustedFamily:
    """Adjust the p-values of one family; a test is a discovery at level alpha if its adjusted p is at most alpha.

    With m defined p-values in rising order p(1), ..., p(m):

    - `bonferroni`: m p. Family-wise error, any dependence.
    - `holm`: the running maximum of (m - i + 1) p(i) (Holm 1979). Family-wise error, any dependence; never weaker.
    - `bh`: the running minimum from the end of m p(i) / i (Benjamini and Hochberg 1995). False discovery rate, for
      independent or positively dependent tests.
    - `by`: `bh` times 1 + 1/2 + ... + 1/m (Benjamini and Yekutieli 2001, theorem 1.3). False discovery rate, any
      dependence.

    All are cut at 1.

    Args:
        p: (tests,) p-values of every declared test; NaN where a test is undefined.
        method: one of the four.

    Raises:
        UsageError: not one axis, or another method.
        DataError: a p-value outside 0 to 1.

    Example:
        >>> adjust_p([0.01, float("nan"), 0.02, 0.2], method="holm").p.round(3).tolist()
        [0.03, nan, 0.04, 0.2]
    """
    if method not in get_args(Method):
        raise unknown_name("method", method, get_args(Method))
    raw = check_p(p)
    defined = ~np.isnan(raw)
    adjusted = np.full(len(raw), np.nan)
    family = raw[defined]
    order = np.argsort(family, kind="stable")
    within = np.empty(len(family))
    within[order] = np.minimum(_adjust_rising(family[order], method), 1)
    adjusted[defined] = within
    return AdjustedFamily(p=adjusted, method=method, tested=int(defined.sum()), undefined=int(len(raw) - defined.sum()))


def check_p(p: ArrayLike, *, name: str = "p") -> np.ndarray:
    """P-values as float64 (tests,), NaN where undefined.

    Args:
        p: (tests,) numbers.
        name: what the caller calls it, for messages.

    Raises:
        UsageError: not one axis of numbers.
        DataError: a value outside 0 to 1; the message has its position.
    """
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1:
        raise UsageError(f"{name}: expected one p-value for each test of the family, found shape {values.shape}.")
    outside = np.flatnonzero((values < 0) | (values > 1))
    if len(outside):
        first = int(outside[0])
        raise DataError(
            f"{name}: expected values from 0 to 1, or NaN where a test is undefined, found {values[first]} at "
            f"position {first} ({len(outside)} of {len(values)} values are wrong)."
        )
    return values


def _adjust_rising(p: np.ndarray, method: Method) -> np.ndarray:
    tests = len(p)
    place = np.arange(1, tests + 1)
    if method == "bonferroni":
        return p * tests
    if method == "holm":
        return np.maximum.accumulate(p * (tests - place + 1))
    weight = np.sum(1 / place) if method == "by" else 1.0
    return np.minimum.accumulate((p * weight * tests / place)[::-1])[::-1]
