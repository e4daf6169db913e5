"""Thresholds chosen on validation: golden values, scikit-learn's curve, hand-worked points, and what is undefined."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.thresholds import fixed_threshold, sensitivity_threshold, youden_threshold


@st.composite
def tied_validation(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Targets of both classes, and scores of few distinct values."""
    size = draw(st.integers(2, 40))
    target = np.array(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)), dtype=np.uint8)
    score = np.array(draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size)), dtype=np.float32) / 8
    target[:2] = (0, 1)
    return target, score


@pytest.mark.parametrize("name", ["raw", "rounded2"])
def test_golden_values(golden: Path, name: str):
    inputs = np.load(golden / "statistics" / "inputs.npz")
    expected = json.loads((golden / "statistics" / "operating_points.json").read_text())["sets"][name]
    scores = inputs["fit_prob"].astype(np.float64)
    scores = np.round(scores, 2) if name == "rounded2" else scores
    compared = 0
    for model, score in zip(inputs["models"], scores, strict=True):
        for column, values in enumerate(expected[model]):
            target, of_label = inputs["fit_y"][:, column], score[:, column]
            chosen = {
                "youden": youden_threshold(target, of_label),
                "sensitivity95": sensitivity_threshold(target, of_label),
            }
            for rule, threshold in chosen.items():
                assert threshold.value == values[rule]["threshold"]
                reached = values[rule]["fit_split"]
                assert threshold.sensitivity == pytest.approx(reached["sensitivity"], abs=1e-12)
                assert threshold.specificity == pytest.approx(reached["specificity"], abs=1e-12)
                assert (threshold.positives, threshold.negatives) == (
                    reached["tp"] + reached["fn"],
                    reached["tn"] + reached["fp"],
                )
                compared += 1
            youden = chosen["youden"]
            assert list(youden.maximisers) == values["youden"]["all_maximisers"]
            gain = youden.sensitivity + youden.specificity - 1
            assert gain == pytest.approx(values["youden"]["youden_j_on_fit_split"], abs=1e-12)
    assert compared == 30


def test_points_worked_by_hand():
    target, score = [0, 0, 1, 1, 1], [0.1, 0.4, 0.4, 0.4, 0.8]
    # Thresholds 0.8, 0.4, 0.1: sensitivity 1/3, 1, 1; specificity 1, 1/2, 0.
    youden = youden_threshold(target, score)
    assert (youden.value, youden.sensitivity, youden.specificity, youden.maximisers) == (0.4, 1.0, 0.5, (0.4,))
    assert sensitivity_threshold(target, score, at_least=1 / 3).value == 0.8
    assert sensitivity_threshold(target, score, at_least=0.34).value == 0.4
    assert sensitivity_threshold(target, score).asked == 0.95


@given(tied_validation())
def test_equal_to_scikit_learns_curve(data: tuple[np.ndarray, np.ndarray]):
    target, score = data
    false, true, values = roc_curve(target, score, drop_intermediate=False)
    best = np.flatnonzero(true - false >= (true - false).max() - 1e-12)
    youden = youden_threshold(target, score)
    assert youden.maximisers == tuple(values[best].tolist())
    assert youden.value == youden.maximisers[0] == max(youden.maximisers)
    assert (youden.sensitivity, 1 - youden.specificity) == pytest.approx((true[best[0]], false[best[0]]), abs=1e-12)
    for at_least in (0.5, 0.95, 1.0):
        chosen = sensitivity_threshold(target, score, at_least=at_least)
        place = np.flatnonzero(true >= at_least - 1e-12)[0]
        assert chosen.value == values[place]
        assert (chosen.sensitivity, 1 - chosen.specificity) == pytest.approx((true[place], false[place]), abs=1e-12)


@given(tied_validation(), st.randoms(use_true_random=False))
def test_the_row_order_does_not_matter(data: tuple[np.ndarray, np.ndarray], randoms):
    target, score = data
    order = randoms.sample(range(len(target)), len(target))
    for choose in (fixed_threshold, youden_threshold, sensitivity_threshold):
        assert choose(target, score) == choose(target[order], score[order])


@given(tied_validation(), st.sampled_from([-math.inf, -1.0, -0.25, 0.0, 0.1, 0.375, math.inf]))
def test_a_fixed_threshold_reaches_what_counting_says(data: tuple[np.ndarray, np.ndarray], value: float):
    target, score = data
    threshold = fixed_threshold(target, score, value=value)
    assert (threshold.rule, threshold.asked, threshold.value, threshold.reason) == ("fixed", value, value, None)
    assert threshold.sensitivity == (score[target == 1] >= value).mean()
    assert threshold.specificity == (score[target == 0] < value).mean()


def test_a_score_worse_than_chance_is_best_left_alone():
    youden = youden_threshold([1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4])
    assert (youden.value, youden.sensitivity, youden.specificity) == (math.inf, 0.0, 1.0)
    assert youden.maximisers == (math.inf, 0.1)


def test_nineteen_of_twenty_is_95_percent():
    score = np.arange(20) / 20
    assert sensitivity_threshold(np.ones(20), score).value == score[1]
    # 0.1 + 0.2 is above 0.3 in float64, and means 0.3.
    assert sensitivity_threshold(np.ones(10), score[:10], at_least=0.1 + 0.2).sensitivity == 0.3


def test_a_gain_that_only_rounding_tells_apart_is_a_tie():
    # Ten of each class. At 9: 1 and 0 called; at 8: 3 and 2; at 5: 3 and 10; at 1: all.
    target = [1, *[1] * 2, *[0] * 2, *[0] * 8, *[1] * 7]
    score = [9, *[8] * 2, *[8] * 2, *[5] * 8, *[1] * 7]
    assert 3 / 10 - 2 / 10 < 1 / 10
    assert youden_threshold(target, score).maximisers == (9.0, 8.0)
    # And the other way round, where rounding would prefer the lower threshold: 3 and 0 called at 9, 8 and 5 at 8.
    target = [*[1] * 3, *[1] * 5, *[0] * 5, *[0] * 5, *[1] * 2]
    score = [*[9] * 3, *[8] * 5, *[8] * 5, *[5] * 5, *[1] * 2]
    assert 8 / 10 - 5 / 10 > 3 / 10
    assert youden_threshold(target, score).maximisers == (9.0, 8.0)


@pytest.mark.parametrize("choose", [fixed_threshold, youden_threshold, sensitivity_threshold])
def test_single_and_double_precision_of_the_same_scores_agree(choose):
    generator = np.random.default_rng(0)
    target, score = generator.integers(0, 2, 300), generator.random(300, dtype=np.float32)
    assert choose(target, score) == choose(target, score.astype(np.float64))


def test_a_stored_zero_has_no_sign():
    for score in ([0.0, -0.0, -1.0], [-0.0, 0.0, -1.0]):
        assert math.copysign(1, youden_threshold([1, 1, 0], score).value) == 1


def test_undefined_thresholds_say_why():
    for target, reason in (([0, 0], "no positive in 2 validation records"), ([], "no validation record")):
        for choose in (youden_threshold, sensitivity_threshold):
            threshold = choose(target, np.zeros(len(target)))
            assert math.isnan(threshold.value)
            assert threshold.reason == reason
            assert threshold.maximisers == ()
        fixed = fixed_threshold(target, np.zeros(len(target)))
        assert (fixed.value, fixed.reason) == (0.5, None)
        assert math.isnan(fixed.sensitivity)
    assert youden_threshold([1], [0.5]).reason == "no negative in 1 validation record"
    alone = sensitivity_threshold([1], [0.5])
    assert (alone.value, alone.sensitivity, alone.reason) == (0.5, 1.0, None)
    assert math.isnan(alone.specificity)


def test_a_threshold_is_the_exact_float64_of_a_score():
    score = np.array([0.7, 0.1], dtype=np.float32)
    threshold = youden_threshold([1, 0], score)
    assert threshold.value == float(score[0]) != 0.7
    assert type(threshold.value) is float
    assert youden_threshold([1, 0], np.array([2**53, -(2**53)])).value == 2.0**53
    with pytest.raises(UsageError, match=r"score: expected numbers that float64 holds exactly, found dtype int64"):
        youden_threshold([1, 0], np.array([2**53 + 1, 2**53]))


@pytest.mark.parametrize("at_least", [0.0, -0.1, 1.1, math.nan])
def test_a_sensitivity_that_cannot_be_asked_for(at_least: float):
    with pytest.raises(UsageError, match="at_least: expected a sensitivity above 0"):
        sensitivity_threshold([0, 1], [0.1, 0.2], at_least=at_least)


@pytest.mark.parametrize("choose", [fixed_threshold, youden_threshold, sensitivity_threshold])
def test_bad_input_is_refused(choose):
    with pytest.raises(DataError, match=r"score: .* found nan at \[1\]"):
        choose([0, 1], [0.1, math.nan])
    with pytest.raises(DataError, match=r"target: expected 0 .* found 2 at \[1\]"):
        choose([0, 2], [0.1, 0.2])
    with pytest.raises(UsageError, match="one of each a record, found 2 and 3"):
        choose([0, 1], [0.1, 0.2, 0.3])
    with pytest.raises(UsageError, match="value: expected a number"):
        fixed_threshold([0, 1], [0.1, 0.2], value=math.nan)
