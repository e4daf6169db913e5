"""Percentile intervals and paired differences: values worked by hand, undefined draws, an independent p-value."""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.foundation.errors import DataError, UsageError
from einthoven.statistics.intervals import paired_difference, percentile_interval

NAN = math.nan


def test_limits_worked_by_hand():
    # 0, 1, ..., 200: the 2.5th percentile is 200 * 0.025 = 5.
    interval = percentile_interval(100.0, np.random.default_rng(0).permutation(201))
    assert (interval.low, interval.high) == pytest.approx((5.0, 195.0), abs=1e-9)
    assert (interval.point, interval.confidence, interval.draws, interval.undefined_draws) == (100.0, 0.95, 201, 0)
    assert interval.reason is None


def test_undefined_draws_are_left_out_and_counted():
    draws = np.r_[np.arange(96.0), [NAN] * 4]
    interval = percentile_interval(50.0, draws, confidence=0.9)
    assert (interval.low, interval.high) == pytest.approx((95 * 0.05, 95 * 0.95), abs=1e-9)
    assert (interval.draws, interval.undefined_draws, interval.reason) == (100, 4, None)


@pytest.mark.parametrize(
    ("point", "draws", "reason"),
    [
        (0.5, [0.5] * 94 + [NAN] * 6, "undefined in 6 of 100 draws; at least 95% must be defined"),
        (0.5, [NAN, NAN], "undefined in all 2 draws"),
        (0.5, [], "no draws"),
        (NAN, [0.5, 0.6], "the value itself is undefined"),
    ],
)
def test_no_limits_come_with_the_reason(point: float, draws: list[float], reason: str):
    interval = percentile_interval(point, draws)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.reason == reason
    assert interval.draws == len(draws)


def test_exactly_enough_defined_draws_are_enough():
    assert percentile_interval(0.5, [0.5] * 95 + [NAN] * 5).reason is None


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=50), st.floats(0.01, 0.98))
def test_more_confidence_is_never_narrower(draws: list[float], confidence: float):
    narrow = percentile_interval(0.0, draws, confidence=confidence)
    wide = percentile_interval(0.0, draws, confidence=confidence + 0.01)
    assert min(draws) <= wide.low <= narrow.low + 1e-12
    assert narrow.high - 1e-12 <= wide.high <= max(draws)


def test_golden_p_values_and_limits(golden: Path):
    # ECG-InterpBench's own p and limits over its own draws, every pair of six models, two metrics.
    document = json.loads((golden / "statistics" / "crossed_design.json").read_text())
    arrays = np.load(golden / "statistics" / "crossed_design.npz")
    compared = 0
    for metric, values in document["metrics"].items():
        models = list(values["profiles"])
        draws = dict(zip(models, arrays[f"boot_{metric}"], strict=True))
        for a, b in combinations(models, 2):
            expected = values["pairs"][f"{a}|{b}"]
            found = paired_difference(draws[a], draws[b], point_a=expected["diff"], point_b=0.0)
            assert found.p == pytest.approx(expected["p_two_sided"], abs=1e-12)
            assert found.interval.low == pytest.approx(expected["ci_low"], abs=1e-12)
            assert found.interval.high == pytest.approx(expected["ci_high"], abs=1e-12)
            compared += 1
    assert compared == 30


def test_p_worked_by_hand():
    # d = 1, 2, ..., 38, -1: one draw at or below zero, so 2 * (1 + 1) / (39 + 1).
    a = np.r_[np.arange(1.0, 39.0), -1.0]
    difference = paired_difference(a, np.zeros(39), point_a=3.0, point_b=1.0)
    assert difference.p == pytest.approx(0.1)
    assert difference.interval.point == 2.0
    reversed_difference = paired_difference(np.zeros(39), a, point_a=1.0, point_b=3.0)
    assert reversed_difference.p == difference.p
    assert reversed_difference.interval.low == pytest.approx(-difference.interval.high)


def test_p_is_one_for_equal_models_and_never_zero():
    draws = np.random.default_rng(2).random(999)
    assert paired_difference(draws, draws, point_a=0.5, point_b=0.5).p == 1.0
    # Equal in rational numbers, always a little above in floating point: still no evidence.
    rounded = draws + np.spacing(draws)
    assert (rounded > draws).all()
    assert paired_difference(rounded, draws, point_a=0.5, point_b=0.5).p == 1.0
    assert paired_difference(draws + 1, draws, point_a=1.5, point_b=0.5).p == 2 / 1000


def test_a_draw_undefined_on_either_side_is_left_out_of_the_difference():
    a, b = np.arange(100.0) + 1, np.zeros(100)
    a[0], b[1] = NAN, NAN
    difference = paired_difference(a, b, point_a=1.0, point_b=0.0)
    assert difference.interval.undefined_draws == 2
    assert difference.p == pytest.approx(2 / 99)
    a[2:40] = NAN
    undefined = paired_difference(a, b, point_a=1.0, point_b=0.0)
    assert math.isnan(undefined.p)
    assert undefined.interval.reason == "undefined in 40 of 100 draws; at least 95% must be defined"
    assert math.isnan(paired_difference(b, b, point_a=NAN, point_b=0.0).p)


@pytest.mark.parametrize(
    ("draws", "options", "error", "message"),
    [
        ([[0.5]], {}, UsageError, r"one value for each draw, found shape \(1, 1\)"),
        ([0.5, math.inf], {}, DataError, "found infinity"),
        ([0.5], {"confidence": 95}, UsageError, "between 0 and 1, such as 0.95, found 95"),
        ([0.5], {"minimum_defined": 2}, UsageError, "minimum_defined: expected a share"),
    ],
)
def test_bad_input_is_refused(draws, options, error, message):
    with pytest.raises(error, match=message):
        percentile_interval(0.5, draws, **options)


def test_different_draws_are_not_paired():
    with pytest.raises(UsageError, match="expected the same draws, found 2 and 3 values"):
        paired_difference([0.1, 0.2], [0.1, 0.2, 0.3], point_a=0.1, point_b=0.1)
