"""The whole-row swap test against golden values, scikit-learn, brute force and its own null hypothesis."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.discrimination import auroc, average_precision
from einthoven.statistics import permutation_differences
from einthoven.statistics.permutation import permutation_test, permutation_test_of_swaps
from einthoven.statistics.permutation_counting import auroc_gains, check_exact, falling_ranks
from einthoven.statistics.permutation_differences import swap_differences
from einthoven.statistics.permutation_swaps import draw_swaps

METRICS = ("auroc", "average_precision")


class Both:
    """The tests, or differences, of both metrics, by name."""

    def __init__(self, function, *args, **settings) -> None:
        self.auroc = function(*args, metric="auroc", **settings)
        self.average_precision = function(*args, metric="average_precision", **settings)

    @property
    def draws(self) -> int:
        return self.auroc.draws

    @property
    def units(self) -> int:
        return self.auroc.units


def both_tests(*args, **settings) -> Both:
    return Both(permutation_test, *args, **settings)


def both_tests_of_swaps(*args, **settings) -> Both:
    return Both(permutation_test_of_swaps, *args, **settings)


def both_differences(*args, **settings) -> Both:
    return Both(swap_differences, *args, **settings)


def exchanged(scores: np.ndarray, swap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two encoders' scores (2, records, labels) after a swap, bool (records,)."""
    a, b = scores
    return np.where(swap[:, None], b, a), np.where(swap[:, None], a, b)


def same(one: Both, other: Both, *, sign: int = 1) -> None:
    """The same test to the bit; with sign -1, of the pairs the other way round."""
    for metric in METRICS:
        a, b = getattr(one, metric), getattr(other, metric)
        np.testing.assert_array_equal(a.difference, sign * b.difference)
        np.testing.assert_array_equal(a.macro_difference, sign * b.macro_difference)
        for field in ("exceeding", "p", "macro_exceeding", "macro_p"):
            np.testing.assert_array_equal(getattr(a, field), getattr(b, field))


@pytest.mark.parametrize("file", ["permutation", "permutation_rounded2"])
def test_golden_statistics_counts_and_p(golden: Path, file: str):
    folder = golden / "statistics"
    inputs, expected = np.load(folder / "inputs.npz"), np.load(folder / f"{file}.npz")
    told = json.loads((folder / f"{file}.json").read_text())
    scores = inputs["eval_prob"].astype(np.float64)
    if file == "permutation_rounded2":
        scores = np.round(scores, 2)
    records = int(expected["n_records"])
    swaps = np.unpackbits(expected["swap_mask_packed_rows_big_endian"], axis=1)[:, :records].astype(bool)
    models = inputs["models"].tolist()
    pairs = [(models.index(a), models.index(b)) for a, b in (name.split("|") for name in told["pairs"])]
    given = {"pairs": pairs, "units": np.arange(records)}
    differences = both_differences(inputs["eval_y"], scores, swaps=swaps, **given)
    test = both_tests_of_swaps(
        inputs["eval_y"], scores, judged=np.ones(5, dtype=bool), swaps=[swaps[:130], swaps[130:]], **given
    )
    assert (test.draws, test.units) == (200, 2198)
    for pair, (name, values) in enumerate(told["pairs"].items()):
        for metric in METRICS:
            found, wanted = getattr(test, metric), values[metric]
            drawn = getattr(differences, metric)[:, pair]
            np.testing.assert_allclose(drawn, expected[f"{metric}|{name}"], rtol=0, atol=1e-12)
            np.testing.assert_allclose(found.difference[pair], wanted["observed_per_label"], rtol=0, atol=1e-12)
            assert found.macro_difference[pair] == pytest.approx(wanted["observed_macro"], abs=1e-12)
            assert found.exceeding[pair].tolist() == wanted["k_per_label"]
            assert found.p[pair].tolist() == wanted["p_per_label"]
            assert found.macro_exceeding[pair] == wanted["k_macro"]
            assert found.macro_p[pair] == wanted["p_macro"]


@pytest.mark.parametrize("records", [3, 40, 400])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_equal_to_scikit_learn_on_exchanged_rows(records: int, dtype: type):
    generator = np.random.default_rng(records)
    target = generator.integers(0, 2, (records, 4))
    target[:2] = [[0, 0, 0, 0], [1, 1, 1, 1]]
    target[:, 2], target[:, 3] = 0, 1
    scores = (generator.normal(size=(3, records, 4)) * 4).astype(dtype)
    scores[:, :, 1] = scores[:, :, 1].round()
    patients = generator.integers(0, records, records)
    patients[:2] = [records, records + 1]
    _, first, numbers = np.unique(patients, return_index=True, return_inverse=True)
    in_order = np.argsort(np.argsort(first))[numbers]
    swaps = draw_swaps(len(first), draws=4, seed=1)
    pairs = [(0, 1), (2, 0)]
    drawn = both_differences(target, scores, pairs=pairs, units=patients, swaps=swaps)
    assert np.isnan(drawn.auroc[:, :, 2:]).all()
    assert np.isnan(drawn.average_precision[:, :, 2]).all()
    assert (drawn.average_precision[:, :, 3] == 0).all()
    for draw, (pair, encoders), label in itertools.product(range(4), enumerate(pairs), (0, 1)):
        a, b = exchanged(scores[list(encoders)], swaps[draw][in_order])
        y = target[:, label]
        for metric, function in (("auroc", roc_auc_score), ("average_precision", average_precision_score)):
            expected = function(y, a[:, label]) - function(y, b[:, label])
            assert getattr(drawn, metric)[draw, pair, label] == pytest.approx(expected, abs=1e-12)


def slow_counts(target: np.ndarray, scores: np.ndarray, swaps: np.ndarray) -> dict[str, list[int]]:
    """Draws at least as far from 0 as the observed difference, in rational numbers."""

    def difference(metric: str, swap: np.ndarray, label: int) -> Fraction:
        values = []
        for held in exchanged(scores, swap):
            s, y = held[:, label], target[:, label]
            value = Fraction(0)
            for i in np.flatnonzero(y == 1):
                if metric == "auroc":
                    below, tied = int((s[y == 0] < s[i]).sum()), int((s[y == 0] == s[i]).sum())
                    value += Fraction(2 * below + tied, 2 * int((y == 0).sum()))
                else:
                    value += Fraction(int((y[s >= s[i]] == 1).sum()), int((s >= s[i]).sum()))
            values.append(value / int(y.sum()))
        return values[0] - values[1]

    none = np.zeros(len(target), dtype=bool)
    return {
        metric: [
            sum(abs(difference(metric, swap, label)) >= abs(difference(metric, none, label)) for swap in swaps)
            for label in range(target.shape[1])
        ]
        for metric in METRICS
    }


@given(st.integers(2, 7), st.integers(1, 6), st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_every_assignment_is_counted_exactly(records: int, distinct: int, seed: int):
    generator = np.random.default_rng(seed)
    target = generator.integers(0, 2, (records, 2))
    target[:2] = [[0, 1], [1, 0]]
    scores = generator.integers(0, distinct, (2, records, 2)) / 3
    swaps = np.array(list(itertools.product([False, True], repeat=records)))
    test = both_tests_of_swaps(
        target, scores, pairs=[(0, 1)], judged=[True, True], units=np.arange(records), swaps=[swaps]
    )
    for metric, counts in slow_counts(target, scores, swaps).items():
        assert getattr(test, metric).exceeding[0].tolist() == counts


@given(st.integers(2, 30), st.integers(1, 40), st.integers(0, 2**32))
@settings(deadline=None)
def test_a_draw_is_the_point_metrics_on_exchanged_rows(records: int, distinct: int, seed: int):
    generator = np.random.default_rng(seed)
    target = generator.integers(0, 2, (records, 1))
    scores = generator.integers(0, distinct, (2, records, 1)).astype(np.float32) / 7
    units = np.r_[0, 1, generator.integers(0, 2 + records // 2, records - 2)]
    units = np.array([list(dict.fromkeys(units.tolist())).index(unit) for unit in units])
    swaps = generator.random((5, units.max() + 1)) < 0.5
    drawn = both_differences(target, scores, pairs=[(0, 1)], units=units, swaps=swaps)
    for draw, swap in enumerate(swaps):
        a, b = exchanged(scores, swap[units])
        for metric, function in (("auroc", auroc), ("average_precision", average_precision)):
            expected = function(target[:, 0], a[:, 0]) - function(target[:, 0], b[:, 0])
            assert getattr(drawn, metric)[draw, 0, 0] == pytest.approx(expected, abs=1e-14, nan_ok=True)


def predictions(seed: int, records: int = 120) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    target = generator.integers(0, 2, (records, 3))
    scores = generator.normal(size=(3, records, 3)) + generator.random((3, 1, 1)) * target
    scores[:, :, 0] = scores[:, :, 0].round(1)
    return target, scores, np.r_[0, 1, generator.integers(0, records // 2, records - 2)]


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_exchanging_a_and_b_changes_the_sign_and_nothing_else(seed: int):
    target, scores, patients = predictions(seed)
    options = {"judged": np.ones(3, dtype=bool), "units": patients, "draws": 50, "seed": 7}
    one = both_tests(target, scores, pairs=[(0, 1), (2, 0)], **options)
    other = both_tests(target, scores, pairs=[(1, 0), (0, 2)], **options)
    same(one, other, sign=-1)


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_the_order_of_records_within_patients_does_not_matter(seed: int):
    target, scores, patients = predictions(seed)
    # Patients keep the order of their first records, and so their coins.
    order = np.lexsort((np.random.default_rng(seed).random(len(patients)), patients))
    by_patient = np.argsort(patients, kind="stable")
    options = {"pairs": [(0, 1), (1, 2)], "judged": np.ones(3, dtype=bool), "draws": 50, "seed": 3}
    one = both_tests(target[by_patient], scores[:, by_patient], units=patients[by_patient], **options)
    other = both_tests(target[order], scores[:, order], units=patients[order], **options)
    same(one, other)


def test_threads_and_chunks_give_the_same_bits(monkeypatch: pytest.MonkeyPatch):
    target, scores, patients = predictions(5)
    given = {"pairs": list(itertools.combinations(range(3), 2)), "units": patients}
    options = given | {"judged": np.array([True, False, True]), "draws": 700, "seed": 3}
    whole = both_tests(target, scores, threads=1, **options)
    same(whole, both_tests(target, scores, threads=4, **options))
    swaps = draw_swaps(whole.units, draws=700, seed=3)
    one, other = (both_differences(target, scores, swaps=swaps, threads=threads, **given) for threads in (1, 5))
    np.testing.assert_array_equal(one.auroc, other.auroc)
    np.testing.assert_array_equal(one.average_precision, other.average_precision)
    few = both_differences(target, scores, swaps=swaps[255:258], **given)
    np.testing.assert_array_equal(one.average_precision[255:258], few.average_precision)
    monkeypatch.setattr(permutation_differences, "_CHUNK_BYTES", 1)
    assert permutation_differences.PairedScores(target, scores, metric="auroc", threads=1, **given).chunk_draws() == 256
    same(whole, both_tests(target, scores, **options))


def test_a_draw_is_the_same_however_many_there_are():
    target, scores, patients = predictions(6)
    options = {"pairs": [(0, 1)], "judged": np.ones(3, dtype=bool), "units": patients, "seed": 3}
    more = both_tests(target, scores, draws=400, **options).auroc.exceeding
    fewer = both_tests(target, scores, draws=300, **options).auroc.exceeding
    added = more - fewer
    rest = [draw_swaps(len(np.unique(patients)), draws=100, seed=3, first=300)]
    del options["seed"]
    np.testing.assert_array_equal(added, both_tests_of_swaps(target, scores, swaps=rest, **options).auroc.exceeding)


def test_equal_encoders_have_p_1():
    target, scores, patients = predictions(7)
    options = {"judged": np.ones(3, dtype=bool), "units": patients, "draws": 99, "seed": 0}
    # Equal where it counts: another scale without exchanged order would be another encoder.
    test = both_tests(target, scores[[0, 0]], pairs=[(0, 1)], **options)
    for metric in METRICS:
        found = getattr(test, metric)
        assert (found.difference == 0).all()
        assert (found.exceeding == 99).all()
        assert (found.p == 1).all()
        assert found.macro_p.tolist() == [1.0]


def test_a_clear_difference_has_the_smallest_p():
    generator = np.random.default_rng(0)
    target = generator.integers(0, 2, (100, 1))
    scores = np.stack([target + 0.01 * generator.random((100, 1)), generator.random((100, 1))])
    test = both_tests(target, scores, pairs=[(0, 1)], judged=[True], units=np.arange(100), draws=999, seed=0)
    assert test.auroc.p.item() == test.average_precision.p.item() == test.auroc.macro_p.item() == 0.001


def test_the_macro_average_is_over_the_judged_labels_and_its_ties_count():
    target, scores, patients = predictions(8)
    target[:, 1] = 0
    options = {"pairs": [(0, 1), (2, 1)], "units": patients, "draws": 200, "seed": 0}
    test = both_tests(target, scores, judged=[True, False, True], **options)
    for metric in METRICS:
        found = getattr(test, metric)
        assert found.reasons == (None, "no positive in 120 test records", None)
        assert np.isnan(found.p[:, 1]).all()
        assert (found.exceeding[:, 1] == -1).all()
        np.testing.assert_allclose(found.macro_difference, found.difference[:, [0, 2]].mean(axis=1), atol=1e-15)
        assert found.macro_reason is None
        drawn = getattr(
            both_differences(
                target,
                scores,
                pairs=options["pairs"],
                units=patients,
                swaps=draw_swaps(test.units, draws=200, seed=0),
            ),
            metric,
        )[:, :, [0, 2]].mean(axis=2)
        far = np.abs(drawn) >= np.abs(found.macro_difference) - 1e-12
        assert found.macro_exceeding.tolist() == far.sum(axis=0).tolist()
        assert found.macro_p.tolist() == ((1 + far.sum(axis=0)) / 201).tolist()
    whole = both_tests(target, scores, judged=[True, True, True], **options).auroc
    assert np.isnan(whole.macro_p).all()
    assert (whole.macro_exceeding == -1).all()
    assert whole.macro_reason == "undefined for 1 of 3 judged labels: 1"


def share_below_5_percent(*, by_patient: bool, records_each: int) -> tuple[float, float]:
    """Under the null hypothesis; patients have an effect of their own on each encoder's scores."""
    below = np.zeros(2)
    repetitions = 300
    for repetition in range(repetitions):
        generator = np.random.default_rng(repetition)
        patients = np.repeat(np.arange(40), records_each)
        target = (np.arange(40) % 2)[patients][:, None]
        scores = (
            target
            + 1.5 * generator.normal(size=(2, 40, 1))[:, patients]
            + 0.5 * generator.normal(size=(2, len(patients), 1))
        )
        test = both_tests(
            target,
            scores,
            pairs=[(0, 1)],
            judged=[True],
            units=patients if by_patient else np.arange(len(patients)),
            draws=199,
            seed=repetition,
            threads=1,
        )
        below += [test.auroc.p.item() <= 0.05, test.average_precision.p.item() <= 0.05]
    return below[0] / repetitions, below[1] / repetitions


def test_under_the_null_hypothesis_p_is_below_5_percent_in_5_percent():
    # Three standard errors are 3.8 points.
    for share in share_below_5_percent(by_patient=True, records_each=1):
        assert 0.012 <= share <= 0.088


def test_records_of_a_patient_are_to_be_swapped_together():
    for share in share_below_5_percent(by_patient=True, records_each=5):
        assert 0.012 <= share <= 0.088
    for share in share_below_5_percent(by_patient=False, records_each=5):
        assert share > 0.25


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"target": [[0], [2]]}, DataError, r"target: .* found 2 at \[1, 0\]"),
        ({"scores": [[[0.0], [np.nan]]] * 2}, DataError, r"scores: .* found nan at \[0, 1, 0\]"),
        ({"scores": [[[0.0, 1.0]]] * 2}, UsageError, r"scores: expected \(encoders, 2, 1\) .* found \(2, 1, 2\)"),
        ({"pairs": [(0, 2)]}, UsageError, "pairs: expected encoders from 0 to 1"),
        ({"units": ["a"] * 2}, DataError, "units: expected at least 2 different ones"),
        ({"units": ["a", "b", "c"]}, UsageError, "units: expected one for each of 2 records, found 3"),
        ({"judged": [True, True]}, UsageError, "judged: expected one boolean for each of 1 labels"),
        ({"draws": 0}, UsageError, "draws: expected at least 1, found none"),
        ({"seed": -1}, UsageError, "seed: expected at least 0, found -1"),
        ({"threads": 0}, UsageError, "threads: expected at least 1, found 0"),
    ],
)
def test_bad_input_is_refused(changes, error, message):
    good = {
        "target": [[0], [1]],
        "scores": [[[0.0], [1.0]], [[1.0], [0.0]]],
        "pairs": [(0, 1)],
        "judged": [True],
        "units": ["a", "b"],
        "draws": 3,
        "seed": 0,
    }
    with pytest.raises(error, match=message):
        both_tests(**(good | changes))


@pytest.mark.parametrize("swaps", [np.zeros((3, 2), dtype=int), np.zeros((3, 3), dtype=bool), np.zeros(2, dtype=bool)])
def test_swaps_of_another_shape_are_refused(swaps):
    with pytest.raises(UsageError, match=r"swaps: expected booleans of shape \(draws, 2\)"):
        both_differences([[0], [1]], [[[0.0], [1.0]]] * 2, pairs=[(0, 1)], units=[1, 2], swaps=swaps)


def test_auroc_needs_no_compiled_code():
    code = (
        "import sys; from einthoven.statistics.permutation import permutation_test;"
        "permutation_test([[0], [1]], [[[0.1], [0.9]], [[0.9], [0.1]]], metric='auroc', pairs=[(0, 1)], judged=[True],"
        " units=['a', 'b'], draws=9, seed=0); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numbers_that_float64_would_round_are_refused():
    check_exact(np.array([[2**52], [-(2**52) + 1]]))
    with pytest.raises(UsageError, match=r"below 2\^53"):
        check_exact(np.array([[2**52], [-(2**52)]]))


@given(st.integers(2, 60), st.integers(1, 40), st.integers(0, 2**32))
@settings(deadline=None)
def test_the_bound_of_the_gains_holds(records: int, distinct: int, seed: int):
    generator = np.random.default_rng(seed)
    present = generator.integers(0, 2, records).astype(np.uint8)
    ranks, count = falling_ranks(generator.integers(0, distinct, (2, records)))
    gains = auroc_gains(ranks[0], ranks[1], count, present)
    positives = int(present.sum())
    assert np.abs(gains).sum() <= 8 * positives * (records - positives)


def test_a_metric_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="metric: expected one of auroc, average_precision, found 'f1'"):
        swap_differences(
            [[0], [1]], [[[0.0], [1.0]]] * 2, metric=cast("Any", "f1"), pairs=[(0, 1)], units=[1, 2], swaps=[[True] * 2]
        )
