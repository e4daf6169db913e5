"""Calibration errors against the definition in rational numbers, and their own laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.calibration.expected_error import (
    expected_calibration_error,
    maximum_calibration_error,
    undefined_reason,
)
from einthoven.metrics.calibration.streams import positive_class_streams, top_label_streams

MEASURES = [expected_calibration_error, maximum_calibration_error]


@st.composite
def data(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Targets, probabilities on edges and off them, counts with at least one record, and a number of bins."""
    size, bins = draw(st.integers(1, 40)), draw(st.sampled_from([1, 2, 5, 15]))
    on_edges = st.integers(0, 15).map(lambda k: k / 15)
    beside = st.integers(0, 14).map(lambda k: float(np.nextafter(k / 15, 1)))
    probability = st.one_of(on_edges, beside, st.floats(0, 1))
    values = np.array(draw(st.lists(probability, min_size=size, max_size=size)))
    target = np.array(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)), dtype=np.uint8)
    counts = np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    counts[0] = max(counts[0], 1)
    return target, values, counts, bins


def gaps_by_definition(target: np.ndarray, probability: np.ndarray, bins: int) -> list[tuple[int, Fraction]]:
    """Size of each bin that holds a record, and its |mean confidence - share|."""
    inside: dict[int, list[tuple[Fraction, int]]] = {}
    for p, y in zip(probability.tolist(), target.tolist(), strict=True):
        exact = Fraction(p)
        place = max(k for k in range(bins) if Fraction(float(Fraction(k, bins))) <= exact)
        inside.setdefault(place, []).append((exact, y))
    return [(len(rows), abs(sum(p - y for p, y in rows)) / Fraction(len(rows))) for rows in inside.values()]


@given(data())
def test_equal_to_the_definition(drawn: tuple[np.ndarray, np.ndarray, np.ndarray, int]):
    target, probability, _, bins = drawn
    streams, gaps = positive_class_streams(target, probability), gaps_by_definition(target, probability, bins)
    expected = sum(size * gap for size, gap in gaps) / len(target)
    assert expected_calibration_error(streams, bins=bins)[0] == pytest.approx(float(expected), abs=1e-14)
    largest = max(gap for _, gap in gaps)
    assert maximum_calibration_error(streams, bins=bins)[0] == pytest.approx(float(largest), abs=1e-14)


@pytest.mark.parametrize("measure", MEASURES)
@given(drawn=data(), seed=st.integers(0, 2**32 - 1))
def test_neither_row_order_nor_counts_in_place_of_rows_change_a_bit(measure, drawn, seed: int):
    target, probability, counts, bins = drawn
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(target)), counts))
    repeated = measure(positive_class_streams(target[rows], probability[rows]), bins=bins)
    assert measure(positive_class_streams(target, probability), bins=bins, counts=counts).tolist() == repeated.tolist()


@pytest.mark.parametrize("measure", MEASURES)
@given(positives=st.integers(0, 20), negatives=st.integers(0, 20), bins=st.integers(1, 20))
def test_the_prevalence_as_a_constant_prediction_is_calibrated(measure, positives: int, negatives: int, bins: int):
    size = positives + negatives
    if size == 0:
        return
    target = np.repeat([1, 0], [positives, negatives])
    streams = positive_class_streams(target, np.full(size, positives / size))
    assert measure(streams, bins=bins)[0] == pytest.approx(0, abs=1e-15)


@given(data())
def test_no_bin_is_worse_than_the_worst(drawn: tuple[np.ndarray, np.ndarray, np.ndarray, int]):
    target, probability, counts, bins = drawn
    streams = positive_class_streams(target, probability)
    ece = expected_calibration_error(streams, bins=bins, counts=counts)[0]
    mce = maximum_calibration_error(streams, bins=bins, counts=counts)[0]
    one_bin = expected_calibration_error(streams, bins=1, counts=counts)[0]
    assert one_bin - 1e-14 <= ece <= mce + 1e-14
    assert mce <= 1


def test_a_label_without_positives_is_measured():
    streams = positive_class_streams(np.zeros((2, 1), dtype=int), [[0.25], [0.75]])
    assert expected_calibration_error(streams).tolist() == [0.5]
    assert maximum_calibration_error(streams).tolist() == [0.75]
    # Class 2 is absent.
    assert expected_calibration_error(top_label_streams([0, 1], [[0.75, 0.25, 0.0], [0.0, 0.75, 0.25]]))[0] == 0.25


def test_labels_are_measured_by_themselves():
    generator = np.random.default_rng(0)
    target, probability = generator.integers(0, 2, (50, 3)), generator.random((50, 3)).astype(np.float32)
    together = expected_calibration_error(positive_class_streams(target, probability))
    apart = [
        expected_calibration_error(positive_class_streams(target[:, k], probability[:, k])).item() for k in range(3)
    ]
    assert together.tolist() == apart


@pytest.mark.parametrize("measure", MEASURES)
def test_without_a_record_there_is_no_value_and_a_reason(measure):
    streams = positive_class_streams([0, 1], [0.25, 0.75])
    assert math.isnan(measure(streams, counts=[0, 0])[0])
    assert undefined_reason(streams, [0, 0]) == "no test record"
    assert undefined_reason(streams, [0, 1]) is None
    assert undefined_reason(streams) is None
    empty = positive_class_streams(np.zeros((0, 2)), np.zeros((0, 2)))
    assert np.isnan(measure(empty)).tolist() == [True, True]
    assert undefined_reason(empty) == "no test record"


@pytest.mark.parametrize("measure", MEASURES)
def test_bad_input_is_refused(measure):
    streams = positive_class_streams([0, 1], [0.25, 0.75])
    with pytest.raises(UsageError, match="bins: expected an integer of at least 1, found 0"):
        measure(streams, bins=0)
    with pytest.raises(DataError, match="counts: expected 0 or more"):
        measure(streams, counts=[1, -1])
    with pytest.raises(UsageError, match="Fractional weights"):
        measure(streams, counts=[0.5, 1.0])
