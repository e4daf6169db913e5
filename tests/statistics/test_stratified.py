"""The paper's protocol: golden draws, what a stratified draw holds, and its mean beside the value."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einthoven.foundation.errors import UsageError
from einthoven.statistics.bootstrap import bootstrap_discrimination
from einthoven.statistics.macro import macro_draws
from einthoven.statistics.stratified import paper_estimate, stratified_counts


def test_golden_draws_means_and_percentiles(golden: Path):
    inputs = np.load(golden / "statistics" / "inputs.npz")
    expected = np.load(golden / "statistics" / "bootstrap_stratified_per_label.npz")
    target, scores, counts = inputs["eval_y"], inputs["eval_prob"], expected["counts"]
    one_label = [bootstrap_discrimination(target[:, [la]], scores[:, :, [la]], counts=counts[:, la]) for la in range(5)]
    for metric in ("auroc", "average_precision"):
        values = np.concatenate([getattr(found, metric) for found in one_label], axis=2)
        np.testing.assert_allclose(values, expected[metric], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(np.isnan(values), np.isnan(expected[metric]))
        macro = macro_draws(values, judged=np.ones(5, dtype=bool))
        for encoder in range(3):
            found = paper_estimate(0.9, macro[:, encoder])
            if metric == "auroc":
                assert found.reported == pytest.approx(expected["reported_macro_mean_auroc"][encoder], abs=1e-12)
            limits = expected[f"macro_{metric}_pct"][:, encoder]
            assert (found.interval.low, found.interval.high) == pytest.approx(tuple(limits), abs=1e-12)
            for label in range(5):
                found = paper_estimate(0.9, values[:, encoder, label])
                assert found.reported == pytest.approx(expected[f"reported_mean_{metric}"][encoder, label], abs=1e-12)
                limits = expected[f"{metric}_pct"][:, encoder, label]
                assert (found.interval.low, found.interval.high) == pytest.approx(tuple(limits), abs=1e-12)
                assert found.interval.point == 0.9


@given(st.lists(st.integers(0, 1), min_size=1, max_size=40), st.integers(0, 2**62), st.integers(1, 9))
@settings(deadline=None)
def test_numbers_of_positives_and_negatives_stay(present: list[int], seed: int, chunk: int):
    target = np.array(present)
    whole = next(stratified_counts(present, draws=8, seed=seed))
    assert (whole.shape, whole.dtype) == ((8, len(present)), np.int16)
    assert (whole[:, target == 1].sum(axis=1) == target.sum()).all()
    assert (whole.sum(axis=1) == len(present)).all()
    np.testing.assert_array_equal(
        np.concatenate(list(stratified_counts(present, draws=8, seed=seed, chunk=chunk))), whole
    )
    np.testing.assert_array_equal(next(stratified_counts(present, draws=3, seed=seed)), whole[:3])


def test_labels_and_seeds_are_independent_and_draws_have_the_moments_of_a_multinomial():
    present = np.repeat([1, 0], [40, 160])
    draws = next(stratified_counts(present, draws=2000, seed=5, chunk=2000)).astype(float)
    other = next(stratified_counts(present, draws=2000, seed=5, label=1, chunk=2000)).astype(float)
    assert abs(np.corrcoef(draws[:, 0], other[:, 0])[0, 1]) < 0.1
    for rows, size in ((slice(0, 40), 40), (slice(40, 200), 160)):
        assert draws[:, rows].mean() == 1.0
        assert draws[:, rows].var() == pytest.approx(1 - 1 / size, abs=0.02)
        assert abs(draws[:, rows].mean(axis=0) - 1).max() < 5 / np.sqrt(2000)


def test_undefined_draws_are_out_of_the_mean_and_counted():
    found = paper_estimate(0.5, [0.25] * 96 + [math.nan] * 4)
    assert (found.reported, found.interval.undefined_draws) == (0.25, 4)
    found = paper_estimate(0.5, [0.25, math.nan])
    assert math.isnan(found.reported)
    assert found.interval.reason == "undefined in 1 of 2 draws; at least 95% must be defined"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 0, "seed": 0}, "draws: expected at least 1, found 0"),
        ({"chunk": 0, "seed": 0}, "chunk: expected at least 1, found 0"),
        ({"seed": -1}, "seed: expected at least 0, found -1"),
        ({"seed": 0, "label": -1}, "label: expected at least 0, found -1"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        next(stratified_counts([0, 1], **options))
