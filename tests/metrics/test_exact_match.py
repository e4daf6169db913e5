"""Exact match and label accuracy against scikit-learn, repeated rows, and what is undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, hamming_loss

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.confusion import confusion_counts
from einthoven.metrics.exact_match import exact_match, exact_match_reason
from einthoven.metrics.operating_points import operating_rates
from einthoven.statistics.macro import macro_average


@pytest.mark.parametrize("seed", range(3))
def test_equal_to_scikit_learn_in_every_draw(seed: int):
    generator = np.random.default_rng(seed)
    target = generator.integers(0, 2, (60, 3))
    scores = np.round(0.6 * target + 0.6 * generator.random((2, 60, 3)), 1)
    thresholds = generator.choice([0.4, 0.5, 0.6], (2, 3))
    counts = np.vstack([np.ones(60, int), generator.integers(0, 3, (4, 60))])
    shares = exact_match(target, scores, thresholds=thresholds, counts=counts)
    labels = operating_rates(confusion_counts(target, scores, thresholds=thresholds, counts=counts)).accuracy
    assert shares.shape == (5, 2)
    for draw, encoder in np.ndindex(5, 2):
        rows = np.repeat(np.arange(60), counts[draw])
        called = scores[encoder, rows] >= thresholds[encoder]
        assert shares[draw, encoder] == pytest.approx(accuracy_score(target[rows], called), abs=1e-12)
        mean = macro_average(labels[draw, encoder], judged=[True] * 3)
        assert (mean.labels, mean.of) == (3, 3)
        assert mean.value == pytest.approx(1 - hamming_loss(target[rows], called), abs=1e-12)
    np.testing.assert_array_equal(exact_match(target, scores, thresholds=thresholds), shares[0])
    one = exact_match(target, scores[1], thresholds=thresholds[1], counts=counts[2])
    assert one.shape == ()
    assert one == shares[2, 1]


def test_one_wrong_label_makes_a_record_wrong():
    target = [[1, 0], [1, 1], [0, 0]]
    score = [[0.5, 0.5], [0.5, 0.5], [0.2, 0.1]]
    assert exact_match(target, score, thresholds=0.5) == 2 / 3
    assert exact_match(target, score, thresholds=0.5, comparison=">") == 1 / 3


def test_a_label_without_a_threshold_leaves_nothing_to_match():
    target, scores = np.array([[1, 0], [0, 1]]), np.array([[[0.9, 0.1], [0.1, 0.9]]] * 2)
    thresholds = np.array([[0.5, 0.5], [0.5, math.nan]])
    np.testing.assert_array_equal(exact_match(target, scores, thresholds=thresholds), [1.0, math.nan])
    draws = exact_match(target, scores, thresholds=thresholds, counts=[[1, 1], [0, 0]])
    np.testing.assert_array_equal(draws, [[1.0, math.nan], [math.nan, math.nan]])
    assert exact_match_reason(thresholds[0], records=2) is None
    assert exact_match_reason(thresholds[0], records=0) == "no test record"
    assert exact_match_reason(thresholds[1], records=2).endswith("for 1 of 2 labels: 1")  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="as many names"):
        exact_match_reason(thresholds[1], records=2, names=["AFIB"])


def test_no_record_is_undefined():
    assert math.isnan(exact_match(np.zeros((0, 2)), np.zeros((0, 2)), thresholds=0.5))


def test_bad_input_is_refused():
    for target in ([0, 1], np.zeros((3, 0))):
        with pytest.raises(UsageError, match="with at least one label"):
            exact_match(target, target, thresholds=0.5)
    with pytest.raises(DataError, match="scores: expected finite"):
        exact_match([[0, 1]], [[0.1, math.inf]], thresholds=0.5)
