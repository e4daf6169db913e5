"""The bootstrap kernel against golden values, the point metrics on repeated rows, and scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.discrimination import auroc, average_precision
from einthoven.statistics.bootstrap import bootstrap_discrimination
from einthoven.statistics.intervals import paired_difference, percentile_interval
from einthoven.statistics.macro import macro_draws
from einthoven.statistics.resampling import draw_counts

METRICS = ("auroc", "average_precision")


@pytest.mark.parametrize("file", ["bootstrap_record", "bootstrap_patient"])
def test_golden_draws_macros_and_percentiles(golden: Path, file: str):
    inputs = np.load(golden / "statistics" / "inputs.npz")
    expected = np.load(golden / "statistics" / f"{file}.npz")
    if file == "bootstrap_patient":
        counts = expected["patient_counts"][:, expected["patient_of_record"]]
        assert (counts.sum(axis=1, dtype=np.int64) == expected["n_records_in_draw"]).all()
    else:
        counts = expected["counts"]
    draws = bootstrap_discrimination(inputs["eval_y"], inputs["eval_prob"], counts=counts)
    everything = np.ones(5, dtype=bool)
    for metric in METRICS:
        values = getattr(draws, metric)
        macro = macro_draws(values, judged=everything)
        assert values.shape == (200, 3, 5)
        np.testing.assert_allclose(values, expected[metric], rtol=0, atol=1e-12)
        np.testing.assert_allclose(macro, expected[f"macro_{metric}"], rtol=0, atol=1e-12)
        for model in range(3):
            for label in range(5):
                interval = percentile_interval(0.9, values[:, model, label])
                limits = expected[f"{metric}_pct"][:, model, label]
                assert (interval.low, interval.high) == pytest.approx(tuple(limits), abs=1e-12)
                assert (interval.undefined_draws, interval.reason) == (0, None)
            interval = percentile_interval(0.9, macro[:, model])
            limits = expected[f"macro_{metric}_pct"][:, model]
            assert (interval.low, interval.high) == pytest.approx(tuple(limits), abs=1e-12)


def test_golden_paired_difference_of_patients(golden: Path):
    inputs = np.load(golden / "statistics" / "inputs.npz")
    expected = np.load(golden / "statistics" / "bootstrap_patient.npz")
    counts = expected["patient_counts"][:, expected["patient_of_record"]]
    area = bootstrap_discrimination(inputs["eval_y"], inputs["eval_prob"][:2], counts=counts).auroc
    # bootstrap_info.json: paired_difference_patient_bootstrap_first_two_models.
    lows = [-0.0009307222664925978, -0.0007597516592582786, -0.00018853248154215285, -0.002529163678979768]
    highs = [0.0011930289372327292, 0.002110930279872259, 0.00280100883349603, 0.001634536977655718]
    for label, limits in enumerate(zip(lows, highs, strict=True)):
        difference = paired_difference(area[:, 0, label], area[:, 1, label], point_a=0.9, point_b=0.9)
        assert (difference.interval.low, difference.interval.high) == pytest.approx(limits, abs=1e-12)


def test_golden_small_subset_has_the_same_undefined_draws(golden: Path):
    inputs = np.load(golden / "statistics" / "inputs.npz")
    expected = np.load(golden / "statistics" / "bootstrap_small_subset.npz")
    target, scores = inputs["eval_y"][expected["rows"]], inputs["eval_prob"][:, expected["rows"]]
    draws = bootstrap_discrimination(target, scores, counts=expected["counts"])
    for metric in METRICS:
        np.testing.assert_array_equal(np.isnan(getattr(draws, metric)), np.isnan(expected[metric]))
        np.testing.assert_allclose(getattr(draws, metric), expected[metric], rtol=0, atol=1e-12)
    assert np.isnan(draws.auroc[:, 0]).sum(axis=0).tolist() == [0, 0, 88, 0, 27]
    for label in range(5):
        interval = percentile_interval(0.9, draws.auroc[:, 0, label], minimum_defined=0.5)
        assert (interval.low, interval.high) == pytest.approx(tuple(expected["auroc_pct"][:, 0, label]), abs=1e-12)
    # The golden macro is over whichever labels are defined; ours has no value in those draws.
    macro = macro_draws(draws.auroc, judged=np.ones(5, dtype=bool))
    whole = ~np.isnan(draws.auroc).any(axis=2)
    assert 0 < whole.sum() < whole.size
    np.testing.assert_allclose(macro[whole], expected["macro_auroc"][whole], rtol=0, atol=1e-12)
    assert np.isnan(macro[~whole]).all()


@given(st.integers(2, 25), st.integers(1, 6), st.integers(0, 2**32))
@settings(deadline=None)
def test_a_draw_is_the_metric_on_repeated_rows(records: int, distinct: int, seed: int):
    generator = np.random.default_rng(seed)
    target = generator.integers(0, 2, (records, 2))
    scores = generator.integers(0, distinct, (2, records, 2)).astype(np.float32) / 3
    counts = generator.integers(0, 3, (4, records))
    draws = bootstrap_discrimination(target, scores, counts=counts)
    for (draw, encoder, label), area in np.ndenumerate(draws.auroc):
        rows = np.repeat(np.arange(records), counts[draw])
        y, s = target[rows, label], scores[encoder, rows, label]
        assert area == pytest.approx(auroc(y, s), abs=1e-15, nan_ok=True)
        precision = draws.average_precision[draw, encoder, label]
        assert precision == pytest.approx(average_precision(y, s), abs=1e-14, nan_ok=True)


@pytest.mark.parametrize("records", [2, 17, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_equal_to_scikit_learn_on_repeated_rows(records: int, dtype: type):
    generator = np.random.default_rng(records)
    target = generator.integers(0, 2, (records, 3))
    target[:2] = [[0, 0, 0], [1, 1, 1]]
    scores = (generator.normal(size=(2, records, 3)) * 4).astype(dtype)
    counts = 1 + draw_counts(list(range(records)), draws=3, seed=1)
    draws = bootstrap_discrimination(target, scores, counts=counts)
    for (draw, encoder, label), area in np.ndenumerate(draws.auroc):
        rows = np.repeat(np.arange(records), counts[draw])
        y, s = target[rows, label], scores[encoder, rows, label]
        assert area == pytest.approx(roc_auc_score(y, s), abs=1e-12)
        precision = draws.average_precision[draw, encoder, label]
        assert precision == pytest.approx(average_precision_score(y, s), abs=1e-12)


@pytest.mark.parametrize("draws", [1, 255, 256, 257, 600])
def test_blocks_of_draws_and_threads_leave_no_seam(draws: int):
    generator = np.random.default_rng(draws)
    target, scores = generator.integers(0, 2, (30, 2)), generator.normal(size=(3, 30, 2)).round(1)
    counts = draw_counts(list(range(30)), draws=draws, seed=5)
    whole = bootstrap_discrimination(target, scores, counts=counts, threads=1)
    threaded = bootstrap_discrimination(target, scores, counts=counts, threads=4)
    for metric in METRICS:
        values = getattr(whole, metric)
        np.testing.assert_array_equal(values, getattr(threaded, metric))
        one_by_one = [getattr(bootstrap_discrimination(target, scores, counts=c[None]), metric)[0] for c in counts[-3:]]
        np.testing.assert_array_equal(values[-3:], one_by_one)


def test_copies_of_a_patient_add_no_certainty():
    generator = np.random.default_rng(8)
    target = generator.integers(0, 2, (80, 1))
    scores = (generator.normal(size=(80, 1)) + target)[None]
    patients = np.arange(80)
    single = bootstrap_discrimination(target, scores, counts=draw_counts(patients, draws=300, seed=3)).auroc
    copied = np.tile(np.arange(80), 4)
    by_patient, by_record = (
        bootstrap_discrimination(target[copied], scores[:, copied], counts=draw_counts(units, draws=300, seed=3)).auroc[
            :, 0, 0
        ]
        for units in (copied, np.arange(320))
    )
    np.testing.assert_allclose(by_patient, single[:, 0, 0], rtol=0, atol=1e-15)
    assert by_record.std() == pytest.approx(by_patient.std() / 2, rel=0.15)


def test_nominal_coverage_holds_with_enough_records():
    # Two normals one apart: AUROC = Phi(1 / sqrt 2).
    truth = 0.7602499389065233
    generator = np.random.default_rng(1)
    target = np.repeat([0, 1], [100, 100])[:, None]
    held = 0
    for repetition in range(200):
        scores = (generator.normal(size=(200, 1)) + target)[None]
        area = bootstrap_discrimination(
            target, scores, counts=draw_counts(np.arange(200), draws=400, seed=repetition), threads=1
        ).auroc
        interval = percentile_interval(auroc(target[:, 0], scores[0, :, 0]), area[:, 0, 0])
        held += interval.low <= truth <= interval.high
    # 95 % of 200 with four standard errors of room.
    assert 177 <= held <= 200


def test_counts_at_the_edge_of_int16_do_not_overflow():
    counts = np.full((2, 4), 32767)
    draws = bootstrap_discrimination([[0], [1], [0], [1]], [[[1], [2], [2], [3]]], counts=counts)
    assert draws.auroc[:, 0, 0].tolist() == [3.5 / 4, 3.5 / 4]
    with pytest.raises(UsageError, match="counts: expected at most 32767, found 32768"):
        bootstrap_discrimination([[0], [1], [0], [1]], [[[1], [2], [2], [3]]], counts=counts + 1)


def test_many_records_do_not_overflow_the_counters():
    target = np.repeat([0, 1], 35_000)[:, None]
    draws = bootstrap_discrimination(target, np.zeros((1, 70_000, 1)), counts=np.full((1, 70_000), 30_000))
    assert draws.auroc.item() == 0.5
    assert draws.average_precision.item() == 0.5


def test_nothing_to_count_is_undefined():
    draws = bootstrap_discrimination(np.zeros((0, 2)), np.zeros((1, 0, 2)), counts=np.zeros((3, 0), dtype=int))
    assert draws.auroc.shape == (3, 1, 2)
    assert np.isnan(draws.auroc).all()
    empty = bootstrap_discrimination([[0], [1]], [[[0.0], [1.0]]], counts=[[0, 0]])
    assert np.isnan(empty.auroc).all()
    assert np.isnan(empty.average_precision).all()


@pytest.mark.parametrize(
    ("target", "scores", "options", "error", "message"),
    [
        ([[0], [1]], [[[0.0], [np.nan]]], {}, DataError, r"scores: .* found nan at \[0, 1, 0\]"),
        ([[0], [2]], [[[0.0], [1.0]]], {}, DataError, r"target: .* found 2 at \[1, 0\]"),
        ([[0], [1]], [[[0.0], [1.0]]], {"counts": [[1, -2]]}, DataError, r"counts: .* found -2 at \[0, 1\]"),
        ([[0], [1]], [[[0.0], [1.0]]], {"counts": [[1, 1, 1]]}, UsageError, r"each of 2 records .* \(1, 3\)"),
        ([[0], [1]], [[[0.0, 1.0]]], {}, UsageError, r"scores: expected \(encoders, 2, 1\) .* found \(1, 1, 2\)"),
        ([[0], [1]], [[0.0], [1.0]], {}, UsageError, "scores: expected 3 axes, found 2"),
        ([[0], [1]], [[[0.0], [1.0]]], {"threads": 0}, UsageError, "threads: expected at least 1, found 0"),
    ],
)
def test_bad_input_is_refused(target, scores, options, error, message):
    with pytest.raises(error, match=message):
        bootstrap_discrimination(target, scores, **({"counts": [[1, 1]]} | options))
