"""The interval types by name, for what chooses one in a setting."""

from __future__ import annotations

import math
from typing import Literal, get_args

from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError

from .bca import bca_interval
from .intervals import MINIMUM_DEFINED, Interval, percentile_interval
from .jackknife_interval import jackknife_interval

IntervalKind = Literal["percentile", "bca", "jackknife_logit", "jackknife"]


def interval_of_kind(
    kind: IntervalKind,
    point: float,
    *,
    draws: ArrayLike | None = None,
    jackknife: ArrayLike | None = None,
    confidence: float = 0.95,
    minimum_defined: float = MINIMUM_DEFINED,
) -> Interval:
    """An interval of a named type, from what that type needs.

    Args:
        kind: "percentile" (needs draws), "bca" (draws and jackknife), "jackknife_logit" (jackknife; a value in [0, 1])
            or "jackknife" (jackknife; a difference). docs/intervals.md says which one to use.
        point: the value on the data themselves.
        draws: (draws,) values in bootstrap draws; NaN where undefined.
        jackknife: (units,) values without each unit.
        confidence: between 0 and 1.
        minimum_defined: smallest share of defined draws with which limits are given.

    Raises:
        UsageError: a kind that does not exist, or without what it needs.

    Example:
        >>> interval_of_kind("percentile", 0.5, draws=[0.0, 1.0], confidence=0.5).high
        0.75
    """
    if kind not in get_args(IntervalKind):
        raise UsageError(f"kind: expected one of {', '.join(get_args(IntervalKind))}, found {kind!r}.")
    for name, given, kinds in (
        ("draws", draws, ("percentile", "bca")),
        ("jackknife", jackknife, ("bca", "jackknife_logit", "jackknife")),
    ):
        if given is None and kind in kinds:
            raise UsageError(f"{name}: a {kind} interval needs them, found none; another kind may do without.")
    if kind == "percentile" and draws is not None:
        return percentile_interval(point, draws, confidence=confidence, minimum_defined=minimum_defined)
    if kind == "bca" and draws is not None and jackknife is not None:
        return bca_interval(point, draws, jackknife=jackknife, confidence=confidence, minimum_defined=minimum_defined)
    scale = "logit" if kind == "jackknife_logit" else "identity"
    return jackknife_interval(point, [math.nan] if jackknife is None else jackknife, confidence=confidence, scale=scale)
