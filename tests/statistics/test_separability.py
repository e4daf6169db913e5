"""After a study: what its own draws could have told apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from einthoven.foundation.errors import UsageError
from einthoven.statistics.separability import separability

RNG = np.random.default_rng(3)
COMMON = RNG.standard_normal(4000)
DRAWS = np.stack(
    [
        0.8 + 0.02 * COMMON,
        0.78 + 0.02 * COMMON + 0.01 * RNG.standard_normal(4000),
        0.7 + 0.03 * RNG.standard_normal(4000),
    ],
    axis=1,
)
POINTS = np.array([0.8, 0.78, 0.7])


def test_each_pair_has_its_own_error_and_smallest_difference() -> None:
    first, second, third = separability(POINTS, DRAWS, encoders=("a", "b", "c"), comparisons=1)
    assert (first.a, first.b, second.b, third.a) == ("a", "b", "c", "b")
    assert first.error == pytest.approx(0.01, rel=0.05)
    assert first.correlation == pytest.approx(0.02**2 / (0.02 * math.hypot(0.02, 0.01)), rel=0.02)
    z = norm.isf(0.025) + norm.ppf(0.8)
    assert first.smallest == pytest.approx(z * first.error)
    assert first.times == pytest.approx((first.smallest / 0.02) ** 2)
    assert third.smallest > 2 * first.smallest


def test_all_pairs_are_the_family_unless_another_is_declared() -> None:
    family = separability(POINTS, DRAWS, encoders=("a", "b", "c"))[0]
    assert family.smallest == pytest.approx((norm.isf(0.025 / 3) + norm.ppf(0.8)) * family.error)


def test_equal_encoders_can_never_be_told_apart() -> None:
    same = np.stack([DRAWS[:, 0], DRAWS[:, 0]], axis=1)
    (pair,) = separability([0.8, 0.8], same, encoders=("a", "b"))
    assert pair.smallest == 0
    assert math.isnan(pair.times)
    (close,) = separability([0.8, 0.8], DRAWS[:, :2], encoders=("a", "b"))
    assert close.times == math.inf


def test_undefined_draws_are_left_out_while_they_are_few() -> None:
    some = DRAWS[:, :2].copy()
    some[:100, 0] = np.nan
    assert separability(POINTS[:2], some, encoders=("a", "b"))[0].reason is None
    some[:1000, 1] = np.nan
    (pair,) = separability(POINTS[:2], some, encoders=("a", "b"))
    assert pair.reason == "undefined in 1000 of 4000 draws"
    assert math.isnan(pair.smallest)
    (pair,) = separability([np.nan, 0.5], DRAWS[:, :2], encoders=("a", "b"))
    assert pair.reason == "the difference itself is undefined"


@pytest.mark.parametrize(
    ("points", "draws", "settings"),
    [
        (POINTS[:2], DRAWS, {}),
        (POINTS, DRAWS[:, :2], {}),
        (POINTS, DRAWS, {"alpha": 0.0}),
        (POINTS, DRAWS, {"power": 0.01}),
        (POINTS, DRAWS, {"comparisons": 0}),
    ],
)
def test_what_does_not_fit_is_refused(points: np.ndarray, draws: np.ndarray, settings: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        separability(points, draws, encoders=("a", "b", "c"), **settings)  # type: ignore[arg-type]  # numbers
