"""One class a record: scikit-learn, repeated rows, absent and never predicted classes, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.multiclass import (
    class_indicators,
    class_rates,
    class_reasons,
    confusion_matrix,
    one_vs_rest,
    predicted_classes,
)
from einthoven.statistics.bootstrap import bootstrap_discrimination
from einthoven.statistics.macro import macro_average, macro_draws


def tied_classes(seed: int, *, size: int = 120, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Targets in which every class occurs, and probabilities with ties."""
    generator = np.random.default_rng(seed)
    target = generator.permutation(np.r_[np.arange(classes), generator.integers(0, classes, size - classes)])
    raw = generator.integers(1, 5, (size, classes)) + 2 * (target[:, None] == np.arange(classes))
    return target, raw / raw.sum(axis=1, keepdims=True)


@st.composite
def few_records(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets and predictions of four classes, any of which may be absent, and counts of three draws."""
    size = draw(st.integers(0, 15))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = generator.dirichlet([0.5] * 4)
    ids = generator.choice(4, (2, size), p=share)
    return ids[0], ids[1], generator.integers(0, 3, (3, size))


@pytest.mark.parametrize("seed", range(4))
def test_one_vs_rest_is_that_of_scikit_learn(seed: int):
    target, score = tied_classes(seed)
    by_class: Any = None  # scikit-learn's annotation knows only words
    areas = one_vs_rest(target, score)
    theirs = sk.roc_auc_score(target, score, multi_class="ovr", average=by_class)
    assert areas.values.tolist() == pytest.approx(np.asarray(theirs).tolist(), abs=1e-12)
    precisions = one_vs_rest(target, score, metric="average_precision")
    theirs = sk.average_precision_score(class_indicators(target, classes=4), score, average=by_class)
    assert precisions.values.tolist() == pytest.approx(np.asarray(theirs).tolist(), abs=1e-12)
    mean = macro_average(areas.values, judged=np.ones(4, dtype=bool))
    assert mean.value == pytest.approx(sk.roc_auc_score(target, score, multi_class="ovr"), abs=1e-12)
    assert (mean.labels, mean.of) == (4, 4)


@pytest.mark.parametrize("seed", range(4))
def test_rates_are_those_of_scikit_learn(seed: int):
    target, score = tied_classes(seed)
    called = predicted_classes(score)
    matrix = confusion_matrix(target, called, classes=4)
    assert (matrix == sk.confusion_matrix(target, called, labels=range(4))).all()
    rates = class_rates(matrix)
    precision, recall, f1, _ = sk.precision_recall_fscore_support(target, called, labels=range(4))
    for ours, theirs in ((rates.precision, precision), (rates.recall, recall), (rates.f1, f1)):
        assert ours.tolist() == pytest.approx(np.asarray(theirs).tolist(), abs=1e-12)
    assert rates.accuracy == pytest.approx(sk.accuracy_score(target, called), abs=1e-12)
    assert rates.balanced_accuracy == pytest.approx(sk.balanced_accuracy_score(target, called), abs=1e-12)
    mean = macro_average(rates.f1, judged=np.ones(4, dtype=bool))
    assert mean.value == pytest.approx(sk.f1_score(target, called, average="macro"), abs=1e-12)


def test_absent_and_never_predicted_classes_keep_their_place():
    target, called = [0, 0, 1, 1, 3, 3], [0, 1, 1, 1, 2, 0]
    matrix = confusion_matrix(target, called, classes=5)
    rates = class_rates(matrix)
    # Class 2 is absent and predicted, class 3 is there and never predicted, class 4 is neither.
    np.testing.assert_array_equal(rates.recall, [0.5, 1.0, math.nan, 0.0, math.nan])
    np.testing.assert_array_equal(rates.precision, [0.5, 2 / 3, 0.0, math.nan, math.nan])
    np.testing.assert_array_equal(rates.f1, [0.5, 0.8, math.nan, math.nan, math.nan])
    assert rates.accuracy == 0.5
    assert math.isnan(rates.balanced_accuracy)
    absent, never = "absent from 6 test records", "never predicted in 6 test records"
    assert class_reasons(matrix, rate="recall") == (None, None, absent, None, absent)
    assert class_reasons(matrix, rate="precision") == (None, None, None, never, never)
    assert class_reasons(matrix, rate="f1") == (None, None, absent, never, f"{absent} and {never}")
    mean = macro_average(rates.f1, judged=np.ones(5, dtype=bool), names=list("ABCDE"))
    assert math.isnan(mean.value)
    assert (mean.labels, mean.of, mean.reason) == (5, 5, "undefined for 3 of 5 judged labels: C, D, E")
    areas = one_vs_rest([0, 1, 1], np.full((3, 3), 1 / 3))
    np.testing.assert_array_equal(areas.values, [0.5, 0.5, math.nan])
    assert areas.reasons == (None, None, "no positive in 3 test records")
    assert one_vs_rest([1, 1], [[0.1, 0.9]] * 2).reasons == (
        "no positive in 2 test records",
        "no negative in 2 test records",
    )


def test_of_equal_scores_the_lowest_class_is_predicted():
    assert predicted_classes([[0.2, 0.4, 0.4], [0.5, 0.5, 0.0], [1, 1, 1]]).tolist() == [1, 0, 0]


@given(few_records())
def test_draws_are_counts_of_repeated_rows(data: tuple[np.ndarray, np.ndarray, np.ndarray]):
    target, called, counts = data
    matrices = confusion_matrix(target, called, classes=4, counts=counts)
    rates = class_rates(matrices)
    assert matrices.shape == (3, 4, 4)
    for draw in range(3):
        rows = np.repeat(np.arange(len(target)), counts[draw])
        expected = confusion_matrix(target[rows], called[rows], classes=4)
        by_hand = np.zeros((4, 4), dtype=int)
        np.add.at(by_hand, (target[rows], called[rows]), 1)
        assert (matrices[draw] == expected).all()
        assert (expected == by_hand).all()
        assert (confusion_matrix(target, called, classes=4, counts=counts[draw]) == expected).all()
        one = class_rates(expected)
        for field in ("recall", "precision", "f1", "accuracy", "balanced_accuracy"):
            np.testing.assert_array_equal(getattr(rates, field)[draw], getattr(one, field))


@given(few_records())
def test_a_reason_is_given_exactly_where_a_rate_is_missing(data: tuple[np.ndarray, np.ndarray, np.ndarray]):
    matrix = confusion_matrix(data[0], data[1], classes=4)
    rates = class_rates(matrix)
    for rate in ("recall", "precision", "f1"):
        reasons = class_reasons(matrix, rate=rate)
        assert [reason is not None for reason in reasons] == np.isnan(getattr(rates, rate)).tolist()


@given(few_records(), st.randoms(use_true_random=False))
def test_the_row_order_and_the_side_do_not_matter(data: tuple[np.ndarray, np.ndarray, np.ndarray], randoms):
    target, called, _ = data
    order = randoms.sample(range(len(target)), len(target))
    matrix = confusion_matrix(target, called, classes=4)
    assert (confusion_matrix(target[order], called[order], classes=4) == matrix).all()
    exchanged = class_rates(confusion_matrix(called, target, classes=4))
    np.testing.assert_array_equal(exchanged.recall, class_rates(matrix).precision)
    np.testing.assert_array_equal(exchanged.f1, class_rates(matrix).f1)


def test_class_indicators_serve_the_bootstrap():
    target, score = tied_classes(7)
    counts = np.random.default_rng(7).integers(0, 3, (5, len(target)))
    draws = bootstrap_discrimination(class_indicators(target, classes=4), score[None], counts=counts)
    for draw in range(5):
        expected = one_vs_rest(target, score, counts=counts[draw]).values
        np.testing.assert_allclose(draws.auroc[draw, 0], expected, rtol=0, atol=1e-12)
    assert macro_draws(draws.auroc, judged=np.ones(4, dtype=bool)).shape == (5, 1)


def test_no_record_is_undefined():
    matrix = confusion_matrix([], [], classes=2)
    assert matrix.tolist() == [[0, 0], [0, 0]]
    assert math.isnan(class_rates(matrix).accuracy)
    assert class_reasons(matrix, rate="recall") == ("no test record",) * 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: confusion_matrix([0, 1], [0, 4], classes=4), DataError, r"predicted: .* 0 to 3, found 4 at \[1\]"),
        (lambda: confusion_matrix([0, -1], [0, 1], classes=4), DataError, r"target: .* found -1 at \[1\] \(1 of 2"),
        (lambda: one_vs_rest([0, 2], [[0.5, 0.5]] * 2), DataError, r"target: expected classes from 0 to 1, found 2"),
        (lambda: one_vs_rest([0, 1], [[0.5, math.nan]] * 2), DataError, "score: expected finite"),
        (lambda: one_vs_rest([0, 1, 1], [[0.5, 0.5]] * 2), UsageError, "the same shape"),
        (lambda: confusion_matrix([0, 1], [0], classes=2), UsageError, "one of each a record, found 2 and 1"),
        (lambda: confusion_matrix([0.0, 1.0], [0, 1], classes=2), UsageError, "target: expected one integer"),
        (lambda: class_indicators(["A", "B"], classes=2), UsageError, "Number the classes from 0"),
        (lambda: class_indicators([0], classes=1), UsageError, "classes: expected at least 2 declared, found 1"),
        (lambda: predicted_classes([[0.1], [0.2]]), UsageError, "at least 2 declared"),
        (lambda: confusion_matrix([0], [0], classes=2, counts=[[-1]]), DataError, "counts: expected 0 or more"),
        (lambda: class_rates(np.zeros((2, 3), dtype=int)), UsageError, r"confusion: expected integers .* \(2, 3\)"),
        (lambda: class_rates(np.zeros((2, 2))), UsageError, "of dtype float64"),
        (lambda: class_reasons(np.zeros((1, 2, 2), dtype=int), rate="f1"), UsageError, "reasons are for one"),
        (lambda: class_reasons(np.zeros((2, 2), dtype=int), rate="ppv"), UsageError, "found 'ppv'"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_refused_with_its_place(call, error, message):
    with pytest.raises(error, match=message):
        call()
