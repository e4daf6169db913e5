"""Brier scores in each convention, against scikit-learn and rational numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.calibration.brier import brier_per_label, brier_sum_over_classes


def test_the_conventions_differ_as_they_say():
    target, probability = np.array([0, 1, 1]), np.array([0.25, 0.5, 1.0])
    assert brier_per_label(target, probability).tolist() == [pytest.approx((1 / 16 + 1 / 4) / 3, abs=1e-16)]
    two_classes = np.stack([1 - probability, probability], axis=1)
    assert brier_sum_over_classes(target, two_classes) == 2 * brier_per_label(target, probability)[0]
    assert brier_per_label([1, 0], [0.0, 1.0])[0] == 1.0
    assert brier_sum_over_classes([0, 1], [[0.0, 1.0], [1.0, 0.0]]) == 2.0


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=30),
    st.integers(0, 2**32 - 1),
)
def test_equal_to_the_definition_counted_or_repeated(drawn: list[tuple[float, int, int]], seed: int):
    probability, target, counts = (np.array([row[i] for row in drawn]) for i in range(3))
    counts[0] = max(counts[0], 1)
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(target)), counts))
    exact = sum((Fraction(float(probability[row])) - int(target[row])) ** 2 for row in rows) / len(rows)
    counted = brier_per_label(target, probability, counts=counts)[0]
    assert counted == pytest.approx(float(exact), rel=1e-14, abs=1e-300)
    assert brier_per_label(target[rows], probability[rows])[0] == pytest.approx(counted, rel=1e-14, abs=1e-300)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_equal_to_scikit_learn(classes: int):
    generator = np.random.default_rng(classes)
    probability = generator.dirichlet(np.ones(classes), 80)
    target = generator.integers(0, classes - 1, 80)
    counts = generator.integers(0, 4, 80)
    for weights in (None, counts):
        one_by_one = [brier_score_loss(target == k, probability[:, k], sample_weight=weights) for k in range(classes)]
        found = brier_sum_over_classes(target, probability, counts=weights)
        assert found == pytest.approx(sum(one_by_one), abs=1e-14)
    present, label = (target == 0).astype(int), probability[:, 0]
    assert brier_per_label(present, label)[0] == pytest.approx(brier_score_loss(present, label), abs=1e-14)


def test_labels_without_positives_and_absent_classes_are_measured():
    assert brier_per_label([[0, 1], [0, 1]], [[0.5, 0.5], [0.0, 1.0]]).tolist() == [0.125, 0.125]
    assert brier_sum_over_classes([0, 0], [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]) == 0.25


def test_without_a_record_there_is_no_value():
    assert math.isnan(brier_per_label([0, 1], [0.5, 0.5], counts=[0, 0])[0])
    assert np.isnan(brier_per_label(np.zeros((0, 2)), np.zeros((0, 2)))).tolist() == [True, True]
    assert math.isnan(brier_sum_over_classes([], np.zeros((0, 3))))
    assert math.isnan(brier_sum_over_classes([0], [[0.5, 0.5]], counts=[0]))


def test_bad_input_is_refused():
    with pytest.raises(DataError, match=r"from 0 to 1, found 1\.5"):
        brier_per_label([0], [1.5])
    with pytest.raises(DataError, match="rows that sum to 1"):
        brier_sum_over_classes([0], [[0.5, 0.0]])
    with pytest.raises(DataError, match="a class from 0 to 1, found 2"):
        brier_sum_over_classes([2], [[0.5, 0.5]])
    with pytest.raises(UsageError, match="counts"):
        brier_per_label([0], [0.5], counts=[1, 1])
