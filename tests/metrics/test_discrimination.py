"""AUROC and average precision against pair counting, scikit-learn, golden values, and their own laws."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.discrimination import auroc, average_precision, undefined_reason


@st.composite
def tied_data(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets, scores of few distinct values, and counts, with both classes in the resample."""
    size = draw(st.integers(2, 40))
    target = np.array(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)), dtype=np.uint8)
    score = np.array(draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size)), dtype=np.float32) / 4
    counts = np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)), dtype=np.int16)
    target[:2], counts[:2] = (0, 1), np.maximum(counts[:2], 1)
    return target, score, counts


def auroc_by_pairs(target: np.ndarray, score: np.ndarray) -> float:
    """The definition, pair by pair, in rational numbers."""
    positives, negatives = score[target == 1], score[target == 0]
    halves = sum(2 * int(p > n) + int(p == n) for p in positives for n in negatives)
    return float(Fraction(halves, 2 * len(positives) * len(negatives)))


def average_precision_by_thresholds(target: np.ndarray, score: np.ndarray) -> float:
    """The definition, threshold by threshold, in rational numbers."""
    total, recall = Fraction(0), Fraction(0)
    for threshold in sorted(set(score.tolist()), reverse=True):
        called = score >= threshold
        found = int(target[called].sum())
        reached = Fraction(found, int(target.sum()))
        total += (reached - recall) * Fraction(found, int(called.sum()))
        recall = reached
    return float(total)


def test_values_worked_by_hand():
    # Pairs (positive, negative): 2>1, 2=2, 3>1, 3>2: three and a half of four.
    assert auroc([0, 1, 0, 1], [1, 2, 2, 3]) == 3.5 / 4
    # Thresholds 3, 2, 1: precision 1/1, 2/3, 2/4; recall gained 1/2, 1/2, 0.
    assert average_precision([0, 1, 0, 1], [1, 2, 2, 3]) == pytest.approx(1 / 2 + 1 / 3, abs=1e-15)


@pytest.mark.parametrize("rounding", [None, 0, 1])
def test_a_constant_or_heavily_tied_score_does_not_depend_on_the_row_order(rounding: int | None):
    generator = np.random.default_rng(3)
    target = generator.permutation(np.repeat([0, 1], [70, 30]))
    score = np.zeros(100) if rounding is None else np.round(generator.normal(size=100), rounding)
    shuffled = generator.permutation(100)
    assert auroc(target, score) == auroc(target[shuffled], score[shuffled])
    assert average_precision(target, score) == average_precision(target[shuffled], score[shuffled])
    if rounding is None:
        assert auroc(target, score) == 0.5
        assert average_precision(target, score) == 0.3


@pytest.mark.parametrize("name", ["eval_raw", "eval_rounded2"])
def test_golden_values(golden: Path, name: str):
    inputs = np.load(golden / "statistics" / "inputs.npz")
    expected = json.loads((golden / "statistics" / "point_metrics.json").read_text())["sets"][name]
    scores = inputs["eval_prob"].astype(np.float64)
    scores = np.round(scores, 2) if name == "eval_rounded2" else scores
    compared = 0
    for model, score in zip(inputs["models"], scores, strict=True):
        for column, values in enumerate(expected[model]["per_label"]):
            target = inputs["eval_y"][:, column]
            assert auroc(target, score[:, column]) == pytest.approx(values["auroc"], abs=1e-12)
            assert average_precision(target, score[:, column]) == pytest.approx(values["average_precision"], abs=1e-12)
            compared += 1
    assert compared == 15


@pytest.mark.parametrize("size", [2, 3, 7, 30, 300])
def test_equal_to_scikit_learn_under_heavy_ties(size: int):
    generator = np.random.default_rng(size)
    for distinct in (1, 2, 5, 1000):
        target = np.r_[0, 1, generator.integers(0, 2, size - 2)]
        score = generator.integers(0, distinct, size) / 7
        assert auroc(target, score) == pytest.approx(roc_auc_score(target, score), abs=1e-12)
        assert average_precision(target, score) == pytest.approx(average_precision_score(target, score), abs=1e-12)


@given(tied_data())
def test_equal_to_the_definition(data: tuple[np.ndarray, np.ndarray, np.ndarray]):
    target, score, _ = data
    assert auroc(target, score) == auroc_by_pairs(target, score)
    assert average_precision(target, score) == pytest.approx(average_precision_by_thresholds(target, score), abs=1e-14)


@given(tied_data())
def test_counts_are_repeated_rows(data: tuple[np.ndarray, np.ndarray, np.ndarray]):
    target, score, counts = data
    rows = np.repeat(np.arange(len(target)), counts)
    assert auroc(target, score, counts=counts) == auroc(target[rows], score[rows])
    assert average_precision(target, score, counts=counts) == average_precision(target[rows], score[rows])


@given(tied_data())
def test_only_the_order_of_scores_matters(data: tuple[np.ndarray, np.ndarray, np.ndarray]):
    target, score, counts = data
    stretched = np.exp(5 * score.astype(np.float64)) - 7
    assert auroc(target, stretched, counts=counts) == auroc(target, score, counts=counts)
    assert average_precision(target, stretched, counts=counts) == average_precision(target, score, counts=counts)


@given(tied_data())
def test_a_reversed_score_and_a_reversed_target_both_mirror_auroc(data: tuple[np.ndarray, np.ndarray, np.ndarray]):
    target, score, counts = data
    mirrored = 1 - auroc(target, score, counts=counts)
    assert auroc(target, -score, counts=counts) == pytest.approx(mirrored, abs=1e-15)
    assert auroc(1 - target, score, counts=counts) == pytest.approx(mirrored, abs=1e-15)


def test_scores_are_not_cast():
    # Two float64 scores that would be equal as float32, and integers that would be equal as float64.
    assert auroc([0, 1], np.array([1.0, 1.0 + 1e-12])) == 1.0
    assert auroc([0, 1], np.array([2**53, 2**53 + 1])) == 1.0
    assert auroc([0, 1], np.array([0.0, -0.0])) == 0.5


@pytest.mark.parametrize("score", [[0.5, 0.5, 0.5], [0.1, 0.2, 0.3]])
def test_one_class_is_undefined_and_not_a_stand_in(score: list[float]):
    assert math.isnan(auroc([0, 0, 0], score))
    assert math.isnan(auroc([1, 1, 1], score))
    assert math.isnan(average_precision([0, 0, 0], score))
    assert average_precision([1, 1, 1], score) == 1.0
    assert math.isnan(auroc([0, 1, 0], score, counts=[2, 0, 1]))
    assert math.isnan(average_precision([0, 1, 0], score, counts=[2, 0, 1]))


def test_no_record_is_undefined():
    assert math.isnan(auroc([], []))
    assert math.isnan(average_precision([], []))
    assert math.isnan(auroc([0, 1], [0.0, 1.0], counts=[0, 0]))


def test_huge_counts_do_not_overflow():
    counts = np.array([2**29, 2**29, 2**29])
    assert auroc([0, 1, 0], [0.1, 0.2, 0.3], counts=counts) == 0.5
    assert average_precision([0, 1, 0], [0.1, 0.2, 0.3], counts=counts) == 0.5
    with pytest.raises(DataError, match="at most 2147483647 records"):
        auroc([0, 1, 0], [0.1, 0.2, 0.3], counts=counts * 2)


def test_reasons():
    target = np.zeros(255, dtype=np.uint8)
    assert undefined_reason(target) == "no positive in 255 test records"
    assert undefined_reason(1 - target) == "no negative in 255 test records"
    assert undefined_reason(1 - target, metric="average_precision") is None
    assert undefined_reason(target, metric="average_precision") == "no positive in 255 test records"
    assert undefined_reason([0, 1], [1, 0]) == "no positive in 1 test record"
    assert undefined_reason([0, 1], [0, 0]) == "no test record"
    assert undefined_reason([0, 1]) is None


@given(tied_data(), st.booleans())
def test_a_reason_is_given_exactly_where_a_value_is_missing(
    data: tuple[np.ndarray, np.ndarray, np.ndarray], negatives_too: bool
):
    target, score, counts = data
    target = target if negatives_too else target * 0 + target[1]
    counts = counts * (score > 0)
    for metric, name in ((auroc, "auroc"), (average_precision, "average_precision")):
        value = metric(target, score, counts=counts)
        assert math.isnan(value) == (undefined_reason(target, counts, metric=name) is not None)  # type: ignore[arg-type]


@pytest.mark.parametrize("metric", [auroc, average_precision])
@pytest.mark.parametrize(
    ("target", "score", "counts", "error", "message"),
    [
        ([0, 1, 1], [0.1, math.nan, math.nan], None, DataError, r"score: .* found nan at \[1\] \(2 of 3 values"),
        ([0, 1, 1], [0.1, 0.2, math.inf], None, DataError, r"score: .* found inf at \[2\]"),
        ([0, 1, 2], [0.1, 0.2, 0.3], None, DataError, r"target: expected 0 .* found 2 at \[2\]"),
        ([0, math.nan, 1], [0.1, 0.2, 0.3], None, DataError, r"target: expected 0 .* found nan at \[1\]"),
        ([0, 1], [0.1, 0.2, 0.3], None, UsageError, "one of each a record, found 2 and 3"),
        ([[0, 1]], [[0.1, 0.2]], None, UsageError, r"target: expected 1 axes, found 2 \(shape \(1, 2\)\)"),
        (["0", "1"], [0.1, 0.2], None, UsageError, "target: expected numbers, found dtype"),
        ([0, 1], ["a", "b"], None, UsageError, "score: expected numbers, found dtype"),
        ([0, 1], [0.1, 0.2], [1, -1], DataError, r"counts: expected 0 or more, found -1 at \[1\]"),
        ([0, 1], [0.1, 0.2], [1.0, 0.5], UsageError, "Fractional weights are not resample counts"),
        ([0, 1], [0.1, 0.2], [1, 1, 1], UsageError, r"each of 2 records .* found shape \(3,\)"),
    ],
)
def test_bad_input_is_refused_with_its_place(metric, target, score, counts, error, message):
    with pytest.raises(error, match=message):
        metric(target, score, counts=counts)
