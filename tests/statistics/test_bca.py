"""BCa against scipy on the same draws, and where it does not exist."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from einthoven.foundation.errors import UsageError
from einthoven.metrics.discrimination import auroc, average_precision
from einthoven.statistics.bca import bca_interval
from einthoven.statistics.bootstrap import bootstrap_discrimination
from einthoven.statistics.intervals import percentile_interval
from einthoven.statistics.jackknife import jackknife_discrimination
from einthoven.statistics.macro import macro_draws

METRICS = {"auroc": auroc, "average_precision": average_precision}
RECORDS = 60


def _predictions(seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    target = (generator.random((RECORDS, 3)) < [0.5, 0.4, 0.3]).astype(int)
    return target, (generator.normal(size=(2, RECORDS, 3)) + 0.7 * target).round(1)


def _scipy_limits(statistic, rows: np.ndarray) -> tuple[float, float]:
    draws = np.array([statistic(row) for row in rows])
    # No new draws, and an earlier result that holds the given ones.
    earlier = stats.bootstrap((np.arange(RECORDS),), statistic, n_resamples=2, method="percentile", vectorized=False)
    earlier.bootstrap_distribution = draws
    found = stats.bootstrap(
        (np.arange(RECORDS),),
        statistic,
        n_resamples=0,
        method="BCa",
        vectorized=False,
        bootstrap_result=earlier,
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", [1])
def test_equal_to_scipy_on_the_same_draws_of_records(metric: str, seed: int):
    target, scores = _predictions(seed)
    rows = np.random.default_rng(seed).integers(0, RECORDS, (150, RECORDS))
    counts = np.array([np.bincount(row, minlength=RECORDS) for row in rows])
    draws = getattr(bootstrap_discrimination(target, scores, counts=counts), metric)
    left_out = getattr(jackknife_discrimination(target, scores, units=np.arange(RECORDS)), metric)
    function = METRICS[metric]

    def value(encoder: int, label: int, chosen: np.ndarray) -> float:
        chosen = chosen.astype(int)
        return function(target[chosen, label], scores[encoder, chosen, label])

    everyone = np.arange(RECORDS)
    for encoder, label in np.ndindex(2, 3):
        found = bca_interval(
            value(encoder, label, everyone), draws[:, encoder, label], jackknife=left_out[:, encoder, label]
        )
        limits = _scipy_limits(lambda chosen, e=encoder, la=label: value(e, la, chosen), rows)
        assert (found.low, found.high) == pytest.approx(limits, abs=1e-12)

    # A macro average and a difference of two, from the same draws and the same values left out.
    judged = np.ones(3, dtype=bool)
    macro, without = macro_draws(draws, judged=judged), macro_draws(left_out, judged=judged)

    def difference(chosen: np.ndarray) -> float:
        return float(np.mean([value(0, la, chosen) - value(1, la, chosen) for la in range(3)]))

    found = bca_interval(difference(everyone), macro[:, 0] - macro[:, 1], jackknife=without[:, 0] - without[:, 1])
    assert (found.low, found.high) == pytest.approx(_scipy_limits(difference, rows), abs=1e-11)


def test_without_bias_and_skewness_it_is_the_percentile_interval():
    draws = np.r_[np.linspace(-1, 1, 1001)]
    plain = percentile_interval(0.0, draws)
    found = bca_interval(0.0, draws, jackknife=[-1.0, 1.0, -2.0, 2.0])
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-12)


def test_ties_with_the_point_count_half():
    # One below, eight equal up to rounding, one above: no bias.
    draws = [0.1, *[0.5] * 4, *[0.5 + 1e-16] * 4, 0.9]
    found = bca_interval(0.5, draws, jackknife=[0.4, 0.6])
    plain = percentile_interval(0.5, draws)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-12)


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_mirrored_numbers_have_the_mirrored_interval(seed: int):
    generator = np.random.default_rng(seed)
    draws, left_out = generator.gamma(2, size=400), generator.gamma(2, size=30)
    here = bca_interval(2.0, draws, jackknife=left_out)
    mirrored = bca_interval(-2.0, -draws, jackknife=-left_out)
    assert (mirrored.low, mirrored.high) == pytest.approx((-here.high, -here.low), abs=1e-10, nan_ok=True)


@pytest.mark.parametrize(
    ("point", "draws", "left_out", "reason"),
    [
        (0.5, [0.6, 0.7], [0.4, 0.6], "all 2 draws are above the value, so its bias correction is infinite"),
        (0.9, [0.6, 0.7], [0.4, 0.6], "all 2 draws are below the value, so its bias correction is infinite"),
        (0.5, [0.4, 0.6], [0.5, 0.5, 0.5], "the same whichever unit is left out, so its acceleration is undefined"),
        (0.5, [0.4, 0.6], [0.5, math.nan], "undefined without 1 of 2 units, so its acceleration is too"),
        (0.5, [0.4, 0.6], [], "undefined without 0 of 0 units, so its acceleration is too"),
        (0.5, [math.nan, 0.5], [0.4, 0.6], "undefined in 1 of 2 draws; at least 95% must be defined"),
        (math.nan, [0.4, 0.6], [0.4, 0.6], "the value itself is undefined"),
    ],
)
def test_no_limits_come_with_the_reason(point, draws, left_out, reason):
    interval = bca_interval(point, draws, jackknife=left_out)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.reason == reason
    assert interval.draws == len(draws)


def test_an_acceleration_that_folds_has_no_limits():
    # All skewness in one unit: the acceleration is about its largest possible, 1/6.
    left_out = np.r_[np.zeros(400), -1.0]
    draws = np.r_[np.zeros(97), np.ones(3)] + 0.5
    interval = bca_interval(0.9, draws, jackknife=left_out, confidence=1 - 1e-12)
    assert interval.reason is not None
    assert "folds" in interval.reason


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match=r"jackknife: expected one value for each unit left out, found shape \(1, 1\)"):
        bca_interval(0.5, [0.5], jackknife=[[0.5]])
