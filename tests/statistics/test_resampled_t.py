"""The corrected resampled t: deepecgkit's and R's numbers, scipy's t, the formula by hand, and runs in two groups."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from einthoven.foundation.errors import DataError, UsageError
from einthoven.statistics.resampled_t import ZERO_VARIANCE, has_no_reason, largest_gap, resampled_t, split_ratio

NAN = math.nan
RUNS = st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), min_size=2, max_size=10)


@pytest.fixture
def document(golden: Path) -> dict:
    return json.loads((golden / "statistics" / "repeated_runs.json").read_text())


def test_golden_paired_summaries(document: dict):
    zero_variance = 0
    for name, expected in document["paired_nadeau_bengio"].items():
        ratio = split_ratio(expected["n_train"], expected["n_test"])
        # The differences are of values near 1: the constant pair differs by 1e-16 on delta, where deepecgkit's test of
        # a deviation of exactly 0 gives an interval of width 1e-16.
        found = resampled_t(expected["differences"], test_train_ratio=ratio, scale=1.0)
        assert (int(found.runs), int(found.wins)) == (expected["n"], expected["n_wins"])
        assert float(found.mean) == pytest.approx(expected["mean"], rel=1e-10)
        if name.startswith("m_flat|m_twin"):
            assert found.reason.item() == ZERO_VARIANCE
            assert np.isnan([found.low, found.high, found.t, found.p, found.half_width]).all()
            assert found.sd == pytest.approx(0, abs=1e-15)
            zero_variance += 1
            continue
        for ours, theirs in (
            ("sd", "std"),
            ("standard_error", "sem"),
            ("low", "lower_ci"),
            ("high", "upper_ci"),
            ("t", "t_stat"),
            ("p", "p_value"),
            ("half_width", "half_width"),
        ):
            assert float(getattr(found, ours)) == pytest.approx(expected[theirs], rel=1e-10, abs=1e-15), (name, ours)
        assert bool(found.low > 0 or found.high < 0) == expected["excludes_zero"]
    assert zero_variance == 4
    assert len(document["paired_nadeau_bengio"]) > 50


def test_golden_intervals_of_one_network(document: dict, golden: Path):
    with (golden / "statistics" / "flip_results_table.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["metric"] == "f1" and row["value"]]
    compared = 0
    for name, expected in document["t_intervals"].items():
        task, network, confidence = name.split("|")
        values = [float(row["value"]) for row in rows if (row["dataset"], row["model"]) == (task, network)]
        found = resampled_t(values, test_train_ratio=0, confidence=float(confidence))
        assert int(found.runs) == expected["n"]
        for ours, theirs in (
            ("mean", "mean"),
            ("sd", "std"),
            ("standard_error", "sem"),
            ("low", "lower_ci"),
            ("high", "upper_ci"),
            ("half_width", "half_width"),
        ):
            assert float(getattr(found, ours)) == pytest.approx(expected[theirs], rel=1e-10), (name, ours)
        compared += 1
    assert compared > 50


def test_golden_factors(document: dict):
    # Where deepecgkit has no training size, or 0, it silently gives the uncorrected factor; here that is a ratio of 0,
    # asked for, and a training set of 0 records is refused.
    for name, expected in document["nadeau_bengio_factor"].items():
        n, train, test = (part.split("=")[1] for part in name.split(","))
        ratio = 0.0 if train in ("None", "0") else split_ratio(int(train), int(test))
        spread = np.linspace(-1, 1, int(n))
        found = resampled_t(spread, test_train_ratio=ratio)
        assert float(found.standard_error / found.sd) == pytest.approx(float(expected), rel=1e-10, nan_ok=True)


def test_golden_bayesian_variance(document: dict):
    check = document["baycomp_check"]
    found = resampled_t(check["differences"], test_train_ratio=1 / 9)
    assert abs(float(found.mean)) == pytest.approx(abs(check["mean_var_dof"][0]), rel=1e-10)
    assert float(found.standard_error) ** 2 == pytest.approx(check["mean_var_dof"][1], rel=1e-10)


def test_golden_bimodal_rule(document: dict):
    for values, (bimodal, words) in document["is_bimodal_min_gap_0.10"].items():
        found = largest_gap(json.loads(values))
        assert bool(found.bimodal) == bimodal
        if bimodal:
            expected = f"{found.below} of {found.below + found.above} seeds sit {found.gap:.3f} below the other"
            assert words == f"{expected} {found.above}"


@settings(deadline=None)
@given(RUNS, st.floats(0.5, 0.99))
def test_without_correction_it_is_scipys_t(values: list[float], confidence: float):
    assume(np.ptp(values) > 0)
    found = resampled_t(values, test_train_ratio=0, confidence=confidence)
    expected: Any = ttest_1samp(values, 0.0)
    interval = expected.confidence_interval(confidence)
    assert float(found.t) == pytest.approx(expected.statistic, rel=1e-9, abs=1e-12)
    assert float(found.p) == pytest.approx(expected.pvalue, rel=1e-9)
    assert (float(found.low), float(found.high)) == pytest.approx((interval.low, interval.high), rel=1e-9, abs=1e-12)


@settings(deadline=None)
@given(RUNS, st.floats(0, 2))
def test_the_formula_written_out(values: list[float], ratio: float):
    assume(np.ptp(values) > 0)
    n, mean = len(values), math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    error = math.sqrt(variance * (1 / n + ratio))
    found = resampled_t(values, test_train_ratio=ratio)
    assert float(found.standard_error) == pytest.approx(error, rel=1e-9)
    assert float(found.p) == pytest.approx(2 * student.sf(abs(mean) / error, n - 1), rel=1e-6, abs=1e-300)
    assert float(found.half_width) == pytest.approx(error * student.ppf(0.975, n - 1), rel=1e-9)
    # The correction never narrows.
    assert float(found.half_width) >= float(resampled_t(values, test_train_ratio=0).half_width) * (1 - 1e-12)


@settings(deadline=None)
@given(st.lists(RUNS, min_size=1, max_size=5), st.floats(0, 1))
def test_many_at_once_are_each_by_itself(rows: list[list[float]], ratio: float):
    width = max(map(len, rows))
    table = np.array([row + [NAN] * (width - len(row)) for row in rows])
    together, gaps = resampled_t(table, test_train_ratio=ratio), largest_gap(table)
    for place, row in enumerate(rows):
        alone, gap = resampled_t(row, test_train_ratio=ratio), largest_gap(row)
        assert together.runs[place] == len(row)
        assert together.reason[place] == alone.reason.item()
        for name in ("mean", "sd", "standard_error", "half_width", "t", "p"):
            found, expected = getattr(together, name)[place], float(getattr(alone, name))
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-15, nan_ok=True)
        assert (gaps.gap[place], gaps.bimodal[place]) == (gap.gap, gap.bimodal)
        assert (gaps.below[place], gaps.above[place]) == (gap.below, gap.above)


def test_no_interval_comes_with_the_reason():
    table = [[NAN, NAN, NAN], [0.5, NAN, NAN], [0.3, 0.3, 0.1 + 0.2], [0.1, 0.2, NAN]]
    found = resampled_t(table, test_train_ratio=0)
    assert found.reason.tolist() == ["no runs", "one run has no spread", ZERO_VARIANCE, None]
    assert has_no_reason(found.reason).tolist() == [False, False, False, True]
    assert np.isnan(found.half_width[:3]).all()
    assert np.isnan(found.p[:3]).all()
    assert found.mean[1:].tolist() == pytest.approx([0.5, 0.3, 0.15])
    assert np.isnan(found.sd).tolist() == [True, True, False, False]
    unknown = resampled_t([0.1, 0.2], test_train_ratio=NAN)
    assert unknown.reason.item() == "the sizes of the training and test sets are unknown"
    assert resampled_t(np.empty((2, 0)), test_train_ratio=0).reason.tolist() == ["no runs"] * 2


def test_small_is_not_zero():
    # Deviations of 1e-9 around 1e-9 are real unless the values they come from are near 1000.
    values = [1e-9, 2e-9, 3e-9]
    assert resampled_t(values, test_train_ratio=0).reason.item() is None
    assert resampled_t(values, test_train_ratio=0, scale=10_000.0).reason.item() == ZERO_VARIANCE


def test_a_gap_that_is_a_tenth_in_decimals_is_wide_enough():
    assert 0.9 - 0.8 < 0.1
    assert bool(largest_gap([0.9, 0.8, 0.9]).bimodal)
    assert not bool(largest_gap([0.9, NAN, 0.8]).bimodal)
    assert math.isnan(float(largest_gap([0.9]).gap))
    assert math.isnan(float(largest_gap([NAN, 0.9]).gap))
    assert largest_gap([NAN, NAN]).below == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: resampled_t(0.5, test_train_ratio=0), UsageError, "runs on the last axis"),
        (lambda: resampled_t([0.5, math.inf], test_train_ratio=0), DataError, "found infinity"),
        (lambda: resampled_t([0.5, 0.6], test_train_ratio=-1), UsageError, "0 or more"),
        (lambda: resampled_t([0.5, 0.6], test_train_ratio=0, confidence=95), UsageError, "found 95"),
        (lambda: split_ratio(0, 10), DataError, r"train: expected at least 1 record, found 0\.0"),
        (lambda: split_ratio([10, 10], [5, -5]), DataError, r"test: expected at least 1 record, found -5\.0"),
        (lambda: largest_gap([0.5], smallest=0), UsageError, "a gap above 0"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
