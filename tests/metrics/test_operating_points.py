"""Counts and rates at thresholds: golden values, scikit-learn, resamples, their own laws, and every undefined case."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics import counting
from einthoven.metrics.confusion import ConfusionCounts, confusion_counts
from einthoven.metrics.operating_points import operating_rates, undefined_reasons
from einthoven.metrics.thresholds import sensitivity_threshold, youden_threshold

COUNTS = {"tp": "true_positives", "fp": "false_positives", "fn": "false_negatives", "tn": "true_negatives"}
RATES = ("sensitivity", "specificity", "ppv", "npv", "f1", "mcc", "balanced_accuracy", "accuracy")


@st.composite
def tied_labels(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets of three labels, scores of few distinct values, and counts of two draws; any label may have one class."""
    size = draw(st.integers(1, 20))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    target = (generator.random((size, 3)) < generator.random(3)).astype(np.uint8)
    score = generator.integers(-2, 3, (size, 3)).astype(np.float32) / 4
    return target, score, generator.integers(0, 4, (2, size)).astype(np.int16)


def by_hand(target: np.ndarray, positive: np.ndarray) -> tuple[int, int, int, int]:
    pairs = list(zip(target.tolist(), positive.tolist(), strict=True))
    return pairs.count((1, True)), pairs.count((0, True)), pairs.count((1, False)), pairs.count((0, False))


def four(confusion: ConfusionCounts) -> np.ndarray:
    return np.stack([getattr(confusion, field) for field in COUNTS.values()])


@pytest.mark.parametrize("name", ["raw", "rounded2"])
def test_golden_values(golden: Path, name: str):
    inputs = np.load(golden / "statistics" / "inputs.npz")
    expected = json.loads((golden / "statistics" / "operating_points.json").read_text())["sets"][name]

    def scores(split: str) -> np.ndarray:
        exact = inputs[f"{split}_prob"].astype(np.float64)
        return np.round(exact, 2) if name == "rounded2" else exact

    def chosen(rule: Any) -> np.ndarray:
        return np.array([[rule(inputs["fit_y"][:, i], m[:, i]).value for i in range(5)] for m in scores("fit")])

    youden, sensitive = chosen(youden_threshold), chosen(sensitivity_threshold)
    points: list[tuple[str, str, Any, Literal[">=", ">"]]] = [
        ("fixed_0.5_ge", "eval", 0.5, ">="),
        ("fixed_0.5_gt", "eval", 0.5, ">"),
        ("youden", "eval", youden, ">="),
        ("youden", "fit", youden, ">="),
        ("sensitivity95", "eval", sensitive, ">="),
        ("sensitivity95", "fit", sensitive, ">="),
    ]
    compared = 0
    for point, split, thresholds, comparison in points:
        confusion = confusion_counts(inputs[f"{split}_y"], scores(split), thresholds=thresholds, comparison=comparison)
        rates = operating_rates(confusion)
        for model, label in np.ndindex(3, 5):
            values = expected[inputs["models"][model]][label][point]
            values = values["fit_split"] if split == "fit" else values
            for short, field in COUNTS.items():
                assert getattr(confusion, field)[model, label] == values[short]
            for rate in ("sensitivity", "specificity", "ppv", "npv"):
                found = getattr(rates, rate)[model, label]
                assert found == pytest.approx(float(values[rate]), abs=1e-12, nan_ok=True)
                compared += 1
    assert compared == 6 * 15 * 4


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_scikit_learn(seed: int):
    generator = np.random.default_rng(seed)
    target = (generator.random((200, 4)) < [0.01, 0.2, 0.5, 0.9]).astype(np.uint8)
    scores = np.round(generator.random((2, 200, 4)), 1).astype(np.float32)
    thresholds = generator.choice([0.2, 0.5, float(np.float32(0.7))], (2, 4))
    rates = operating_rates(confusion_counts(target, scores, thresholds=thresholds))
    undefined: Any = math.nan  # scikit-learn's annotation knows only its own words
    for encoder, label in np.ndindex(2, 4):
        arguments = target[:, label], scores[encoder, :, label].astype(np.float64) >= thresholds[encoder, label]
        theirs = {
            "sensitivity": recall_score(*arguments, zero_division=undefined),
            "specificity": recall_score(*arguments, pos_label=0, zero_division=undefined),
            "ppv": precision_score(*arguments, zero_division=undefined),
            "npv": precision_score(*arguments, pos_label=0, zero_division=undefined),
            "f1": f1_score(*arguments, zero_division=undefined),
            "accuracy": accuracy_score(*arguments),
        }
        if 0 < target[:, label].sum() < 200:
            theirs["balanced_accuracy"] = balanced_accuracy_score(*arguments)
            theirs["mcc"] = matthews_corrcoef(*arguments)
        for rate, value in theirs.items():
            assert getattr(rates, rate)[encoder, label] == pytest.approx(value, abs=1e-12, nan_ok=True)


@given(tied_labels(), st.sampled_from([-0.25, 0.0, 0.1, math.inf]))
def test_draws_are_counts_of_repeated_rows(data: tuple[np.ndarray, np.ndarray, np.ndarray], threshold: float):
    target, score, counts = data
    both = np.stack([score, -score])
    confusion = confusion_counts(target, both, thresholds=threshold, counts=counts)
    assert confusion.true_positives.shape == (2, 2, 3)
    for draw, encoder, label in np.ndindex(2, 2, 3):
        rows = np.repeat(np.arange(len(target)), counts[draw])
        expected = by_hand(target[rows, label], both[encoder, rows, label] >= threshold)
        assert tuple(four(confusion)[:, draw, encoder, label].tolist()) == expected
    # Fewer axes in, fewer axes out, and the same numbers.
    one = confusion_counts(target[:, 0], score[:, 0], thresholds=threshold, counts=counts[1])
    assert four(one).shape == (4,)
    assert four(one).tolist() == four(confusion)[:, 1, 0, 0].tolist()
    assert four(confusion_counts(target[:, 0], both[:, :, 0], thresholds=[threshold] * 2)).shape == (4, 2)
    once = confusion_counts(target, score, thresholds=threshold, counts=np.ones(len(target), dtype=np.int8))
    assert (four(once) == four(confusion_counts(target, score, thresholds=threshold))).all()


@given(tied_labels(), st.randoms(use_true_random=False))
def test_the_row_order_does_not_matter(data: tuple[np.ndarray, np.ndarray, np.ndarray], randoms):
    target, score, counts = data
    order = randoms.sample(range(len(target)), len(target))
    before = confusion_counts(target, score, thresholds=0.25, counts=counts)
    after = confusion_counts(target[order], score[order], thresholds=0.25, counts=counts[:, order])
    assert (four(before) == four(after)).all()


@given(tied_labels())
def test_exchanging_the_classes_exchanges_the_rates(data: tuple[np.ndarray, np.ndarray, np.ndarray]):
    target, score, counts = data
    rates = operating_rates(confusion_counts(target, score, thresholds=0.25, counts=counts))
    mirror = operating_rates(confusion_counts(1 - target, -score, thresholds=-0.25, counts=counts, comparison=">"))
    for rate, mirrored in (("sensitivity", "specificity"), ("ppv", "npv"), ("mcc", "mcc"), ("accuracy", "accuracy")):
        np.testing.assert_array_equal(getattr(rates, rate), getattr(mirror, mirrored))
        np.testing.assert_array_equal(getattr(mirror, rate), getattr(rates, mirrored))
    np.testing.assert_array_equal(rates.balanced_accuracy, mirror.balanced_accuracy)


@given(tied_labels(), st.sampled_from(RATES))
def test_a_reason_is_given_exactly_where_a_rate_is_missing(data: tuple[np.ndarray, np.ndarray, np.ndarray], rate: Any):
    target, score, counts = data
    confusion = confusion_counts(target, score, thresholds=[0.25, math.nan, -1.0], counts=counts)
    reasons = undefined_reasons(confusion, rate=rate)
    missing = np.isnan(getattr(operating_rates(confusion), rate))
    assert reasons.shape == missing.shape == (2, 3)
    assert ((reasons != None) == missing).all()  # noqa: E711  # element by element
    assert set(reasons[:, 1]) == {"no threshold could be chosen on validation"}


# target, score at threshold 0.5; rates that are undefined, with their reasons.
NOTHING_CALLED = "no record called positive in 3 test records"
UNDEFINED = [
    ([1, 0, 1], [0, 0, 0], {"ppv": NOTHING_CALLED, "mcc": NOTHING_CALLED}),
    (
        [0, 0, 0],
        [0, 0, 0],
        {
            "sensitivity": "no positive in 3 test records",
            "ppv": NOTHING_CALLED,
            "f1": "no positive and no record called positive in 3 test records",
            "mcc": "no positive and no record called positive in 3 test records",
            "balanced_accuracy": "no positive in 3 test records",
        },
    ),
    (
        [0, 0, 0],
        [0, 1, 0],
        {
            "sensitivity": "no positive in 3 test records",
            "mcc": "no positive in 3 test records",
            "balanced_accuracy": "no positive in 3 test records",
        },
    ),
    (
        [1],
        [1],
        {
            "specificity": "no negative in 1 test record",
            "npv": "no record called negative in 1 test record",
            "mcc": "no negative and no record called negative in 1 test record",
            "balanced_accuracy": "no negative in 1 test record",
        },
    ),
    ([], [], dict.fromkeys(RATES, "no test record")),
    ([1, 0, 0], [1, 0, 1], {}),
]


@pytest.mark.parametrize(("target", "score", "undefined"), UNDEFINED)
def test_every_undefined_rate_names_the_denominator_that_is_zero(target, score, undefined):
    confusion = confusion_counts(target, score, thresholds=0.5)
    rates = operating_rates(confusion)
    for rate in RATES:
        assert undefined_reasons(confusion, rate=rate).item() == undefined.get(rate)  # type: ignore[arg-type]
        assert np.isnan(getattr(rates, rate)) == (rate in undefined)


def test_f1_of_positives_that_are_not_found_is_zero():
    assert operating_rates(confusion_counts([1, 0], [0.1, 0.1], thresholds=0.5)).f1 == 0.0
    assert operating_rates(confusion_counts([0, 0], [0.9, 0.1], thresholds=0.5)).f1 == 0.0


def test_huge_counts_do_not_overflow():
    counts = np.array([2**29 - 1, 2**29 + 1, 2**28])
    rates = operating_rates(confusion_counts([0, 1, 0], [0.1, 0.9, 0.2], thresholds=0.5, counts=counts))
    assert (rates.mcc, rates.f1, rates.balanced_accuracy) == (1.0, 1.0, 1.0)
    wrong = operating_rates(confusion_counts([0, 1, 0], [0.9, 0.1, 0.8], thresholds=0.5, counts=counts))
    assert wrong.mcc == -1.0


def test_blocks_do_not_change_the_counts(monkeypatch: pytest.MonkeyPatch):
    generator = np.random.default_rng(1)
    target, scores = generator.integers(0, 2, (50, 7)), generator.random((2, 50, 7))
    counts = generator.integers(0, 5, (23, 50))
    whole = four(confusion_counts(target, scores, thresholds=0.3, counts=counts))
    monkeypatch.setattr(counting, "_BLOCK", 160)
    assert (four(confusion_counts(target, scores, thresholds=0.3, counts=counts)) == whole).all()


def test_scores_are_compared_as_float64():
    single = np.array([0.7], dtype=np.float32)
    assert confusion_counts([1], single, thresholds=0.7).true_positives == 0
    assert confusion_counts([1], single, thresholds=float(single[0])).true_positives == 1
    assert confusion_counts([1], single, thresholds=float(single[0]), comparison=">").true_positives == 0
    with pytest.raises(UsageError, match="scores: expected numbers that float64 holds exactly"):
        confusion_counts([1], np.array([2**53 + 1]), thresholds=0)


@pytest.mark.parametrize(
    ("target", "scores", "changes", "error", "message"),
    [
        ([0, 1], [0.1, math.nan], {}, DataError, r"scores: .* found nan at \[1\]"),
        ([0, 3], [0.1, 0.2], {}, DataError, r"target: expected 0 .* found 3"),
        ([0, 1], [0.1, 0.2, 0.3], {}, UsageError, r"the shape of the targets \(2,\), .* found \(3,\)"),
        ([[0, 1]], [0.1, 0.2], {}, UsageError, r"scores: expected 3 axes, found 1"),
        ([[[0]]], [[[0.1]]], {}, UsageError, r"target: expected \(records,\) or \(records, labels\)"),
        ([[0, 1]], [[0.1, 0.2]], {"thresholds": [0.5]}, UsageError, r"numbers of shape \(2,\) .* found shape \(1,\)"),
        ([[0, 1]], [[[0.1, 0.2]]], {"thresholds": [0.5, 0.5]}, UsageError, r"numbers of shape \(1, 2\)"),
        ([0, 1], [0.1, 0.2], {"thresholds": "0.5"}, UsageError, "thresholds: expected one number"),
        ([0, 1], [0.1, 0.2], {"counts": [[1, -1]]}, DataError, r"counts: expected 0 or more, found -1"),
        ([0, 1], [0.1, 0.2], {"counts": [0.5, 0.5]}, UsageError, "Fractional weights"),
        ([0, 1], [0.1, 0.2], {"counts": [1, 1, 1]}, UsageError, r"each of 2 records .* found shape \(3,\)"),
        ([0, 1], [0.1, 0.2], {"counts": 1}, UsageError, "counts: expected 1 axes, found 0"),
        ([0, 1], [0.1, 0.2], {"comparison": "<"}, UsageError, "comparison: expected '>=' or '>', found '<'"),
    ],
)
def test_bad_input_is_refused_with_its_place(target, scores, changes, error, message):
    with pytest.raises(error, match=message):
        confusion_counts(target, scores, **({"thresholds": 0.5} | changes))


def test_an_unknown_rate_is_refused():
    with pytest.raises(UsageError, match=r"rate: expected one of sensitivity, .* found 'recall'"):
        undefined_reasons(confusion_counts([1], [1], thresholds=0), rate="recall")  # type: ignore[arg-type]
