"""The calibration error of draws against that of repeated rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.calibration.expected_error import expected_calibration_error
from einthoven.metrics.calibration.expected_error_draws import expected_calibration_error_draws
from einthoven.metrics.calibration.streams import positive_class_streams


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 3), st.sampled_from([1, 4, 15]))
def test_equal_to_repeated_rows(seed: int, records: int, labels: int, bins: int):
    generator = np.random.default_rng(seed)
    target = generator.integers(0, 2, (records, labels))
    probability = generator.integers(0, 16, (records, labels)) / 15
    counts = generator.integers(0, 3, (7, records))
    counts[0] = 0
    found = expected_calibration_error_draws(positive_class_streams(target, probability), counts=counts, bins=bins)
    assert np.isnan(found[0]).all()
    for draw in range(1, 7):
        rows = np.repeat(np.arange(records), counts[draw])
        expected = expected_calibration_error(positive_class_streams(target[rows], probability[rows]), bins=bins)
        assert found[draw] == pytest.approx(expected, abs=1e-14, nan_ok=True)


@pytest.mark.parametrize("draws", [0, 1, 255, 256, 257, 700])
def test_blocks_of_draws_do_not_show(draws: int):
    generator = np.random.default_rng(draws)
    streams = positive_class_streams(generator.integers(0, 2, (30, 2)), generator.random((30, 2)))
    counts = generator.integers(0, 4, (draws, 30), dtype=np.int16)
    found = expected_calibration_error_draws(streams, counts=counts)
    assert found.shape == (draws, 2)
    for draw in range(draws):
        assert found[draw].tolist() == expected_calibration_error_draws(streams, counts=counts[[draw]])[0].tolist()


def test_row_order_does_not_change_a_bit():
    generator = np.random.default_rng(1)
    target, probability = generator.integers(0, 2, (200, 2)), np.round(generator.random((200, 2)), 1)
    counts, order = generator.integers(0, 4, (20, 200)), generator.permutation(200)
    found = expected_calibration_error_draws(positive_class_streams(target, probability), counts=counts)
    moved = positive_class_streams(target[order], probability[order])
    assert found.tolist() == expected_calibration_error_draws(moved, counts=counts[:, order]).tolist()


def test_edges_of_its_domain():
    nothing = positive_class_streams(np.zeros((0, 2)), np.zeros((0, 2)))
    assert np.isnan(expected_calibration_error_draws(nothing, counts=np.zeros((3, 0), dtype=int))).all()
    streams = positive_class_streams([0, 1], [0.25, 1.0])
    huge = expected_calibration_error_draws(streams, counts=[[2**30, 2**30 - 1]])
    assert huge[0, 0] == pytest.approx(0.125, abs=1e-9)
    assert not math.isnan(huge[0, 0])
    with pytest.raises(DataError, match="at most 2147483647 records"):
        expected_calibration_error_draws(streams, counts=[[2**30, 2**30]])
    with pytest.raises(UsageError, match="expected 2 axes, found 1"):
        expected_calibration_error_draws(streams, counts=[1, 1])
    with pytest.raises(UsageError, match="bins"):
        expected_calibration_error_draws(streams, counts=[[1, 1]], bins=0)
