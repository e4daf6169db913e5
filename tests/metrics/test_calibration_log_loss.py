"""Categorical log-loss, and log-loss of probabilities, against scikit-learn and at their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import log_loss as sklearn_log_loss

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.calibration.log_loss import (
    categorical_log_loss,
    categorical_log_loss_of_probabilities,
    log_loss_of_probabilities,
)
from einthoven.metrics.log_loss import log_loss


def softmax(logit: np.ndarray) -> np.ndarray:
    odds = np.exp(logit)
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_equal_to_scikit_learn(classes: int):
    generator = np.random.default_rng(classes)
    logit, target = generator.normal(size=(60, classes)) * 3, generator.integers(0, classes, 60)
    counts = generator.integers(0, 4, 60)
    for weights in (None, counts):
        expected = sklearn_log_loss(target, softmax(logit), labels=range(classes), sample_weight=weights)
        assert categorical_log_loss(target, logit, counts=weights) == pytest.approx(expected, abs=1e-12)
        found = categorical_log_loss_of_probabilities(target, softmax(logit), counts=weights)
        assert found == pytest.approx(expected, abs=1e-12)
    rows = np.repeat(np.arange(60), counts)
    repeated = categorical_log_loss(target[rows], logit[rows])
    assert categorical_log_loss(target, logit, counts=counts) == pytest.approx(repeated, abs=1e-13)


def test_two_classes_are_a_label():
    generator = np.random.default_rng(0)
    logit, target = generator.normal(size=40) * 4, generator.integers(0, 2, 40)
    expected = log_loss(target[:, None], logit[:, None])[0]
    two = np.stack([np.zeros(40), logit], axis=1)
    assert categorical_log_loss(target, two) == pytest.approx(expected, abs=1e-14)
    assert log_loss_of_probabilities(target, 1 / (1 + np.exp(-logit)))[0] == pytest.approx(expected, abs=1e-12)


def test_extreme_logits_cost_their_difference():
    assert categorical_log_loss([1], [[1e5, -1e5, 0.0]]) == 2e5
    assert categorical_log_loss([0], [[1e300, -1e300]]) == 0.0
    assert categorical_log_loss([0, 0], np.array([[-3e38, 3e38]] * 2, dtype=np.float32)) == pytest.approx(6e38)
    assert categorical_log_loss([1], [[1.7e308, -1.7e308]]) == math.inf


def test_certainty_that_fails_costs_infinitely_much_and_none_that_holds():
    assert log_loss_of_probabilities([[1, 0, 1, 0]], [[0.0, 1.0, 1.0, 0.0]]).tolist() == [math.inf, math.inf, 0.0, 0.0]
    assert math.copysign(1, log_loss_of_probabilities([1], [1.0])[0]) == 1
    assert categorical_log_loss_of_probabilities([0, 1], [[1.0, 0.0], [0.0, 1.0]]) == 0.0
    assert categorical_log_loss_of_probabilities([0, 0], [[1.0, 0.0], [0.0, 1.0]]) == math.inf
    # Not in the resample, not in the mean.
    assert categorical_log_loss_of_probabilities([0, 0], [[1.0, 0.0], [0.0, 1.0]], counts=[2, 0]) == 0.0
    assert log_loss_of_probabilities([1, 1], [0.0, 0.5], counts=[0, 1])[0] == pytest.approx(math.log(2))


def test_without_a_record_there_is_no_value():
    assert math.isnan(categorical_log_loss([], np.zeros((0, 2))))
    assert math.isnan(categorical_log_loss([0], [[0.0, 1.0]], counts=[0]))
    assert math.isnan(categorical_log_loss_of_probabilities([0], [[0.5, 0.5]], counts=[0]))
    assert np.isnan(log_loss_of_probabilities(np.zeros((0, 2)), np.zeros((0, 2)))).tolist() == [True, True]


def test_bad_input_is_refused():
    with pytest.raises(DataError, match=r"logit: expected finite numbers, found inf at \[0, 1\]"):
        categorical_log_loss([0], [[0.0, math.inf]])
    with pytest.raises(UsageError, match="number of each record's class"):
        categorical_log_loss([0.0], [[0.0, 1.0]])
    with pytest.raises(DataError, match="a class from 0 to 1, found 5"):
        categorical_log_loss([5], [[0.0, 1.0]])
