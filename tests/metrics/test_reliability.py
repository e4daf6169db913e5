"""Reliability bins against the definition in rational numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from einthoven.foundation.errors import UsageError
from einthoven.metrics.calibration.reliability import bin_edges, bin_of, reliability_bins
from einthoven.metrics.calibration.streams import positive_class_streams, top_label_streams


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 15, 49, 100, 1000])
def test_edges_are_the_floats_nearest_to_the_fractions(bins: int):
    edges = bin_edges(bins)
    assert edges.tolist() == [float(Fraction(k, bins)) for k in range(bins + 1)]


@pytest.mark.parametrize("bins", [1, 2, 10, 15, 49])
def test_a_probability_on_an_edge_opens_the_bin_above_and_its_neighbour_below_does_not(bins: int):
    edges = bin_edges(bins)
    assert bin_of(edges, edges).tolist() == [*range(bins), bins - 1]
    assert bin_of(np.nextafter(edges[1:], 0), edges).tolist() == list(range(bins))
    assert bin_of(np.nextafter(edges[:-1], 1), edges).tolist() == list(range(bins))


def test_a_float32_is_placed_by_its_value():
    edges = bin_edges(10)
    narrow = edges.astype(np.float32).astype(np.float64)
    places = bin_of(narrow, edges).tolist()
    assert places == [
        max(k for k in range(10) if Fraction(float(edges[k])) <= Fraction(float(value))) for value in narrow
    ]
    # 0.7 as float32 is less than 0.7 as float64.
    assert (places[6], places[7]) == (6, 6)


def test_a_table_worked_by_hand():
    table = reliability_bins(positive_class_streams([1, 0, 1, 1], [0.0, 0.25, 0.5, 1.0]), bins=4, counts=[1, 2, 1, 1])
    assert table.kind == "positive_class"
    assert table.low.tolist() == [0.0, 0.25, 0.5, 0.75]
    assert table.high.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert table.count.tolist() == [[1, 2, 1, 1]]
    assert table.mean_confidence.tolist() == [[0.0, 0.25, 0.5, 1.0]]
    assert table.share.tolist() == [[1.0, 0.0, 1.0, 1.0]]


def test_empty_bins_have_no_mean():
    table = reliability_bins(top_label_streams([0, 1], [[1.0, 0.0], [1.0, 0.0]]), bins=2)
    assert table.kind == "top_label"
    assert table.count.tolist() == [[0, 2]]
    assert math.isnan(table.mean_confidence[0, 0])
    assert math.isnan(table.share[0, 0])
    assert table.share[0, 1] == 0.5
    nothing = reliability_bins(positive_class_streams([0, 1], [0.5, 0.5]), counts=[0, 0])
    assert not nothing.count.any()
    assert np.isnan(nothing.share).all()


@pytest.mark.parametrize("bins", [5, 15])
def test_equal_to_scikit_learn_off_the_edges(bins: int):
    generator = np.random.default_rng(bins)
    probability = generator.random(400) ** 3
    target = (generator.random(400) < probability).astype(int)
    share, confidence = calibration_curve(target, probability, n_bins=bins)
    table = reliability_bins(positive_class_streams(target, probability), bins=bins)
    held = table.count[0] > 0
    assert table.share[0, held] == pytest.approx(share, abs=1e-14)
    assert table.mean_confidence[0, held] == pytest.approx(confidence, abs=1e-14)


@given(
    st.integers(1, 20),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=40),
)
def test_equal_to_the_definition(bins: int, drawn: list[tuple[int, int, int]]):
    probability = np.array([row[0] / 60 for row in drawn])
    target, counts = np.array([row[1] for row in drawn]), np.array([row[2] for row in drawn])
    table = reliability_bins(positive_class_streams(target, probability), bins=bins, counts=counts)
    for k in range(bins):
        low, high = Fraction(float(Fraction(k, bins))), Fraction(float(Fraction(k + 1, bins)))
        inside = [
            (Fraction(float(p)), int(y), int(c))
            for p, y, c in zip(probability, target, counts, strict=True)
            if c and low <= Fraction(float(p)) and (Fraction(float(p)) < high or k == bins - 1)
        ]
        number = sum(c for _, _, c in inside)
        assert table.count[0, k] == number
        if number:
            assert table.mean_confidence[0, k] == pytest.approx(float(sum(p * c for p, _, c in inside) / number))
            assert table.share[0, k] == sum(y * c for _, y, c in inside) / number
        else:
            assert math.isnan(table.share[0, k])


def test_counts_that_do_not_fit():
    with pytest.raises(UsageError, match="each of 2 records"):
        reliability_bins(positive_class_streams([0, 1], [0.5, 0.5]), counts=[1, 1, 1])
