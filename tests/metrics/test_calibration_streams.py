"""Which probability is held against what."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.foundation.errors import UsageError
from einthoven.metrics.calibration.expected_error import expected_calibration_error
from einthoven.metrics.calibration.streams import (
    binary_top_label_streams,
    classwise_streams,
    positive_class_streams,
    top_label_streams,
)


def test_a_binary_task_has_two_streams_and_they_say_which():
    target, probability = [0, 1, 1], [0.25, 0.25, 0.75]
    positive, top = positive_class_streams(target, probability), binary_top_label_streams(target, probability)
    assert (positive.kind, top.kind) == ("positive_class", "top_label")
    assert positive.confidence.ravel().tolist() == probability
    assert positive.outcome.ravel().tolist() == target
    assert top.confidence.ravel().tolist() == [0.75, 0.75, 0.75]
    assert top.outcome.ravel().tolist() == [1, 0, 1]
    assert expected_calibration_error(positive)[0] == pytest.approx((2 * 0.25 + 0.25) / 3)
    assert expected_calibration_error(top)[0] == pytest.approx(0.75 - 2 / 3)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=20))
def test_the_binary_top_label_is_that_of_two_classes(rows: list[tuple[float, int]]):
    probability, target = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    binary = binary_top_label_streams(target, probability)
    classes = top_label_streams(target, np.stack([1 - probability, probability], axis=1))
    assert binary.confidence.tolist() == classes.confidence.tolist()
    # 1 - p rounds to 0.5 for p just below: two classes then tie, and the first is the answer here too.
    assert binary.outcome.tolist() == classes.outcome.tolist()


def test_of_equal_classes_the_first_is_the_answer():
    assert top_label_streams([0, 1], [[0.5, 0.5], [0.5, 0.5]]).outcome.ravel().tolist() == [1, 0]
    assert binary_top_label_streams([0, 1], [0.5, 0.5]).outcome.ravel().tolist() == [1, 0]


def test_float32_is_cast_before_the_complement_is_taken():
    narrow = np.array([0.1], dtype=np.float32)
    assert binary_top_label_streams([0], narrow).confidence[0, 0] == 1 - float(narrow[0])


def test_classes_one_by_one():
    streams = classwise_streams([2, 0], [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])
    assert streams.kind == "positive_class"
    assert streams.outcome.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert (streams.records, streams.streams) == (2, 3)


@pytest.mark.parametrize("build", [positive_class_streams, binary_top_label_streams])
def test_shapes_that_do_not_fit(build):
    with pytest.raises(UsageError, match=r"same shape, found \(2,\) and \(3,\)"):
        build([0, 1], [0.1, 0.2, 0.3])
    with pytest.raises(UsageError, match="probability: expected 1 axes, found 2"):
        build([0, 1], [[0.1], [0.2]])
    with pytest.raises(UsageError, match="target: expected 2 axes, found 3"):
        build([[[0]]], [[[0.5]]])
