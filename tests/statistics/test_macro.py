"""Macro averages: a declared denominator, and the support rule that declares it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from einthoven.foundation.errors import DataError, UsageError
from einthoven.statistics.macro import judge_labels, macro_average, macro_draws

NAN = math.nan


def test_mean_over_the_judged_labels_says_how_many_of_how_many():
    macro = macro_average([0.9, 0.1, 0.7, NAN], judged=[True, False, True, False])
    assert macro.value == pytest.approx(0.8)
    assert (macro.labels, macro.of, macro.reason) == (2, 4, None)


def test_an_undefined_judged_label_is_never_dropped():
    macro = macro_average([0.9, NAN, NAN], judged=[True, True, False], names=("NORM", "FQRS", "PRIE"))
    assert math.isnan(macro.value)
    assert (macro.labels, macro.of) == (2, 3)
    assert macro.reason == "undefined for 1 of 2 judged labels: FQRS"
    assert macro_average([NAN, NAN], judged=[True, True]).reason == "undefined for 2 of 2 judged labels: 0, 1"


def test_no_judged_label_has_no_mean():
    macro = macro_average([0.9, 0.8], judged=[False, False])
    assert math.isnan(macro.value)
    assert (macro.labels, macro.reason) == (0, "none of 2 labels is judged")
    assert np.isnan(macro_draws(np.ones((3, 2)), judged=[False, False])).tolist() == [True] * 3


def test_draws_agree_with_the_average_of_each_draw():
    values = np.random.default_rng(0).random((6, 2, 4))
    values[2, 1, 0], values[4, 0, 3] = NAN, NAN
    judged = np.array([True, True, False, False])
    expected = [[macro_average(row, judged=judged).value for row in draw] for draw in values]
    np.testing.assert_array_equal(macro_draws(values, judged=judged), expected)
    assert np.isnan(expected).sum() == 1
    np.testing.assert_array_equal(macro_draws(np.moveaxis(values, 2, 0), judged=judged, axis=0), expected)


def test_support_rule_at_its_edges():
    positives = np.array([9, 10, 40, 41, 0, 50, 1])
    target = (np.arange(50)[:, None] < positives).astype(np.uint8)
    support = judge_labels(target)
    assert support.judged.tolist() == [False, True, True, False, False, False, False]
    assert support.positives.tolist() == positives.tolist()
    assert support.negatives.tolist() == (50 - positives).tolist()
    assert support.reasons == (
        "9 positives in 50 test records; at least 10 needed",
        None,
        None,
        "9 negatives in 50 test records; at least 10 needed",
        "0 positives in 50 test records; at least 10 needed",
        "0 negatives in 50 test records; at least 10 needed",
        "1 positive in 50 test records; at least 10 needed",
    )
    assert judge_labels(target, minimum_positives=1, minimum_negatives=1).judged.sum() == 5


def test_positives_are_counted_beyond_the_dtype_of_the_target():
    assert judge_labels(np.ones((300, 1), dtype=np.uint8)).positives.tolist() == [300]


@pytest.mark.parametrize("judged", [[1, 0], [True], np.array([True, False, True])])
def test_a_mask_of_another_kind_or_size_is_refused(judged):
    for call in (macro_average, macro_draws):
        with pytest.raises(UsageError, match="judged: expected one boolean for each of 2 labels"):
            call(np.array([0.5, 0.6]), judged=judged)


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match=r"found shape \(1, 2\); see macro_draws"):
        macro_average([[0.5, 0.6]], judged=[True, True])
    with pytest.raises(UsageError, match="names: expected one for each of 2 labels, found 1"):
        macro_average([0.5, 0.6], judged=[True, True], names=["a"])
    with pytest.raises(UsageError, match="minimum_positives: expected at least 1, found 0"):
        judge_labels([[0], [1]], minimum_positives=0)
    with pytest.raises(DataError, match=r"target: .* found 2 at \[1, 0\]"):
        judge_labels([[0], [2]])
