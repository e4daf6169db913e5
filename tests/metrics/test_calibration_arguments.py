"""What calibration metrics refuse, with its place."""

from __future__ import annotations

import math

import numpy as np
import pytest

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.calibration.arguments import (
    check_bins,
    check_class_logits,
    check_class_probabilities,
    check_classes,
    check_probabilities,
    record_weights,
)


def test_narrow_floats_are_cast_without_change():
    narrow = np.array([0.1, 1 / 3], dtype=np.float32)
    wide = check_probabilities(narrow, dimensions=1)
    assert wide.dtype == np.float64
    assert wide.tolist() == [float(value) for value in narrow]
    assert check_probabilities([0, 1], dimensions=1).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("probability", "error", "message"),
    [
        ([0.5, 1.0 + 1e-12, 2.0], DataError, r"from 0 to 1, found 1\.000000000001 at \[1\] \(2 of 3 values"),
        ([0.5, -0.25], DataError, r"found -0\.25 at \[1\] .* Logits become probabilities"),
        ([0.5, math.nan], DataError, r"expected finite numbers, found nan at \[1\]"),
        ([[0.5]], UsageError, "expected 1 axes, found 2"),
        (["0.5"], UsageError, "expected numbers"),
    ],
)
def test_probabilities_that_are_none(probability, error, message):
    with pytest.raises(error, match=message):
        check_probabilities(probability, dimensions=1)


def test_rows_that_are_no_distribution():
    with pytest.raises(DataError, match=r"rows that sum to 1, found a sum of 1\.5 at \[1\] \(1 of 2"):
        check_class_probabilities([[0.5, 0.5], [0.75, 0.75]])
    with pytest.raises(UsageError, match="two classes or more, found 1"):
        check_class_probabilities([[1.0]])
    with pytest.raises(UsageError, match="two classes or more, found 1"):
        check_class_logits([[1.0]])
    half = np.full((4, 3), 1 / 3, dtype=np.float16)
    assert check_class_probabilities(half).dtype == np.float64


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ([0, 3], DataError, r"a class from 0 to 2, found 3 at \[1\]"),
        ([0, -1], DataError, r"a class from 0 to 2, found -1 at \[1\]"),
        ([0.0, 1.0], UsageError, "number of each record's class, found dtype float64"),
        ([0, 1, 2], UsageError, r"each of 2 records, found shape \(3,\)"),
        ([[0, 1]], UsageError, r"each of 2 records, found shape \(1, 2\)"),
    ],
)
def test_classes_that_are_none(target, error, message):
    with pytest.raises(error, match=message):
        check_classes(target, records=2, classes=3)


@pytest.mark.parametrize("bins", [0, -3, 1.5, True, "15"])
def test_bins_that_are_none(bins):
    with pytest.raises(UsageError, match="bins: expected an integer of at least 1"):
        check_bins(bins)


def test_weights():
    assert record_weights(None, records=2).tolist() == [1, 1]
    assert record_weights(np.array([0, 3], dtype=np.int16), records=2).dtype == np.int64
    with pytest.raises(DataError, match="found -1"):
        record_weights([-1, 1], records=2)
