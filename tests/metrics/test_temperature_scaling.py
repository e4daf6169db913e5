"""Logits at a temperature, and its limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, softmax

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.temperature.probabilities import sigmoid_at_temperature, softmax_at_temperature


@pytest.mark.parametrize("temperature", [0.1, 1.0, 3.7])
def test_equal_to_the_definition(temperature: float):
    logit = np.random.default_rng(0).normal(size=(30, 4)) * 5
    assert sigmoid_at_temperature(logit, temperature) == pytest.approx(expit(logit / temperature), abs=1e-15)
    assert softmax_at_temperature(logit, temperature) == pytest.approx(softmax(logit / temperature, axis=1), abs=1e-15)


def test_a_temperature_for_each_label():
    assert sigmoid_at_temperature([[2.0, 2.0]], [1.0, 2.0]).tolist() == [[expit(2.0), expit(1.0)]]
    assert sigmoid_at_temperature([2.0, -2.0], 2.0).tolist() == [expit(1.0), expit(-1.0)]


def test_limits():
    assert sigmoid_at_temperature([[5.0, 0.0, -5.0]], 0.0).tolist() == [[1.0, 0.5, 0.0]]
    assert sigmoid_at_temperature([[5.0, 0.0, -5.0]], math.inf).tolist() == [[0.5, 0.5, 0.5]]
    assert softmax_at_temperature([[5.0, 5.0, 1.0, 0.0]], 0.0).tolist() == [[0.5, 0.5, 0.0, 0.0]]
    assert softmax_at_temperature([[5.0, 5.0, 1.0, 0.0]], math.inf).tolist() == [[0.25] * 4]


def test_extreme_logits_do_not_overflow():
    with np.errstate(all="raise", under="ignore"):
        assert softmax_at_temperature([[1.7e308, -1.7e308]], 1e-300).tolist() == [[1.0, 0.0]]
        assert sigmoid_at_temperature([[1.7e308, -1.7e308]], 1e-300).tolist() == [[1.0, 0.0]]
    assert softmax_at_temperature([[1.7e308, -1.7e308]], 1.7e308) == pytest.approx(softmax([[1.0, -1.0]], axis=1))


@pytest.mark.parametrize("temperature", [-1.0, math.nan])
def test_a_temperature_that_is_none_is_refused(temperature: float):
    for scaled in (sigmoid_at_temperature, softmax_at_temperature):
        with pytest.raises(UsageError, match="temperature: expected 0 or more, found"):
            scaled([[0.0, 1.0]], temperature)


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match=r"one for each of 2 labels, found shape \(3,\)"):
        sigmoid_at_temperature([[0.0, 1.0]], [1.0, 1.0, 1.0])
    with pytest.raises(DataError, match="found inf"):
        softmax_at_temperature([[0.0, math.inf]], 1.0)
