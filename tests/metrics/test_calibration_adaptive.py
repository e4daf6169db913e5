"""Adaptive calibration error: array_split without ties, and no row order with them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.foundation.errors import UsageError
from einthoven.metrics.calibration.adaptive_error import adaptive_calibration_error
from einthoven.metrics.calibration.streams import positive_class_streams

rows = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=50)


def error_by_definition(target: np.ndarray, probability: np.ndarray, bins: int) -> float:
    """Each row carries the mean outcome of its probability; the sorted rows are split; in rational numbers."""
    order = np.argsort(probability, kind="stable")
    mean = {
        value: Fraction(int(target[probability == value].sum()), int((probability == value).sum()))
        for value in probability.tolist()
    }
    total = Fraction(0)
    for part in np.array_split(probability[order], bins):
        total += abs(sum(Fraction(value) - mean[value] for value in part.tolist()))
    return float(total / len(target))


def unpack(drawn: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    probability, target, counts = (np.array([row[i] for row in drawn]) for i in range(3))
    counts[0] = max(counts[0], 1)
    return target, probability / 12, counts


@given(rows, st.integers(1, 20))
def test_equal_to_the_definition(drawn: list[tuple[int, int, int]], bins: int):
    target, probability, _ = unpack(drawn)
    found = adaptive_calibration_error(positive_class_streams(target, probability), bins=bins)[0]
    assert found == pytest.approx(error_by_definition(target, probability, bins), abs=1e-14)


@given(rows, st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_neither_row_order_nor_counts_in_place_of_rows_change_a_bit(
    drawn: list[tuple[int, int, int]], bins: int, seed: int
):
    target, probability, counts = unpack(drawn)
    chosen = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(target)), counts))
    repeated = adaptive_calibration_error(positive_class_streams(target[chosen], probability[chosen]), bins=bins)
    counted = adaptive_calibration_error(positive_class_streams(target, probability), bins=bins, counts=counts)
    assert counted.tolist() == repeated.tolist()


@pytest.mark.parametrize("size", [3, 14, 15, 16, 100, 1000])
def test_without_ties_it_is_the_plain_split(size: int):
    generator = np.random.default_rng(size)
    probability = generator.random(size)
    target = generator.integers(0, 2, size)
    order = np.argsort(probability)
    parts = zip(np.array_split(probability[order], 15), np.array_split(target[order], 15), strict=True)
    expected = sum(abs(p.sum() - y.sum()) for p, y in parts) / size
    found = adaptive_calibration_error(positive_class_streams(target, probability))
    assert found[0] == pytest.approx(expected, abs=1e-14)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20))
def test_the_prevalence_as_a_constant_prediction_is_calibrated(positives: int, negatives: int, bins: int):
    size = positives + negatives
    if size == 0:
        return
    streams = positive_class_streams(np.repeat([1, 0], [positives, negatives]), np.full(size, positives / size))
    assert adaptive_calibration_error(streams, bins=bins)[0] == pytest.approx(0, abs=1e-15)


def test_edges_of_its_domain():
    streams = positive_class_streams([[0, 1], [0, 1]], [[0.25, 0.0], [0.75, 1.0]])
    assert adaptive_calibration_error(streams).tolist() == [0.5, 0.5]
    assert np.isnan(adaptive_calibration_error(streams, counts=[0, 0])).all()
    assert math.isnan(adaptive_calibration_error(positive_class_streams([], []))[0])
    with pytest.raises(UsageError, match="bins"):
        adaptive_calibration_error(streams, bins=0)


def test_many_records_in_few_rows():
    streams = positive_class_streams([0, 1, 1], [0.25, 0.5, 0.75])
    counts = np.array([2**29, 2**29, 2**29])
    assert adaptive_calibration_error(streams, counts=counts, bins=3)[0] == pytest.approx(1 / 3, abs=1e-15)
