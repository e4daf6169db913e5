"""AUROC variances against pROC's golden values, pair-by-pair definitions, and simulated samples."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.discrimination import auroc
from einthoven.statistics.delong import auroc_covariance, auroc_differences, auroc_intervals


@pytest.mark.parametrize("which", ["raw", "rounded2"])
def test_golden_variances_intervals_and_tests(golden: Path, which: str):
    inputs = np.load(golden / "statistics" / "inputs.npz")
    told = json.loads((golden / "statistics" / "delong.json").read_text())["sets"][which]
    target, scores = inputs["eval_y"], inputs["eval_prob"].astype(np.float64)
    if which == "rounded2":
        scores = np.round(scores, 2)
    models = inputs["models"].tolist()
    names = list(told[0]["pairs"])
    pairs = [(models.index(a), models.index(b)) for a, b in (name.split("|") for name in names)]
    estimate = auroc_covariance(target, scores)
    normal, logit = (auroc_intervals(estimate, scale=scale) for scale in ("normal", "logit"))
    test = auroc_differences(target, scores, pairs=pairs)
    assert [entry["label"] for entry in told] == inputs["labels"].tolist()
    for label, entry in enumerate(told):
        for model, name in enumerate(models):
            wanted = entry["models"][name]
            assert estimate.auroc[model, label] == pytest.approx(wanted["auroc"], abs=1e-12)
            assert estimate.covariance[label, model, model] == pytest.approx(wanted["variance"], rel=1e-9)
            for found, limits in ((normal, "ci95_wald_clipped"), (logit, "ci95_logit_single_source")):
                assert found.low[model, label] == pytest.approx(wanted[limits][0], abs=1e-9)
                assert found.high[model, label] == pytest.approx(wanted[limits][1], abs=1e-9)
        for pair, name in enumerate(names):
            wanted = entry["pairs"][name]
            assert estimate.covariance[label][pairs[pair]] == pytest.approx(wanted["covariance"], rel=1e-9)
            assert test.difference[pair, label] == pytest.approx(wanted["difference"], abs=1e-12)
            assert test.variance[pair, label] == pytest.approx(wanted["variance_of_difference"], rel=1e-9)
            assert test.z[pair, label] == pytest.approx(wanted["z"], abs=1e-9)
            assert test.p[pair, label] == pytest.approx(wanted["p_two_sided"], abs=1e-9)
            assert test.log10_p[pair, label] == pytest.approx(wanted["log10_p_two_sided"], abs=1e-6)
    assert set(estimate.reasons) | {reason for row in test.reasons for reason in row} == {None}


def slow_covariance(target: np.ndarray, scores: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Obuchowski 1997 as it is written, pair by pair: one label, scores (encoders, records)."""
    encoders, names = len(scores), list(dict.fromkeys(units.tolist()))
    positives, negatives = int(target.sum()), int((1 - target).sum())
    x, y = np.zeros((encoders, len(names))), np.zeros((encoders, len(names)))
    m, n = np.zeros(len(names)), np.zeros(len(names))
    for i in range(len(target)):
        cluster = names.index(units[i])
        m[cluster] += target[i]
        n[cluster] += 1 - target[i]
        for j in range(len(target)):
            for encoder, s in enumerate(scores):
                kernel = 1.0 if s[i] > s[j] else 0.5 if s[i] == s[j] else 0.0
                if target[i] == 1 and target[j] == 0:
                    x[encoder, cluster] += kernel / negatives
                    y[encoder, names.index(units[j])] += kernel / positives
    theta = x.sum(axis=1) / positives
    count, with_positive, with_negative = len(names), int((m > 0).sum()), int((n > 0).sum())
    result = np.empty((encoders, encoders))
    for a in range(encoders):
        for b in range(encoders):
            xa, xb = x[a] - m * theta[a], x[b] - m * theta[b]
            ya, yb = y[a] - n * theta[a], y[b] - n * theta[b]
            s10 = with_positive / ((with_positive - 1) * positives) * (xa * xb).sum()
            s01 = with_negative / ((with_negative - 1) * negatives) * (ya * yb).sum()
            s11 = count / (count - 1) * ((xa * yb).sum() + (xb * ya).sum())
            result[a, b] = s10 / positives + s01 / negatives + s11 / (positives * negatives)
    return result


def sample(seed: int, records: int, distinct: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two records of each class at least, in units of their own; other records are of any unit."""
    generator = np.random.default_rng(seed)
    target = generator.integers(0, 2, (records, 1))
    target[:4, 0] = [0, 1, 0, 1]
    scores = generator.integers(0, distinct, (3, records, 1)) / 3
    return target, scores, np.r_[0:4, generator.integers(0, records, records - 4)]


@given(st.integers(4, 25), st.integers(1, 30), st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_the_clustered_covariance_is_the_definition(records: int, distinct: int, seed: int):
    target, scores, units = sample(seed, records, distinct)
    pairs = [(0, 1), (2, 1)]
    for clustered in (units, None):
        estimate = auroc_covariance(target, scores, units=clustered)
        expected = slow_covariance(
            target[:, 0], scores[:, :, 0], np.arange(records) if clustered is None else clustered
        )
        np.testing.assert_allclose(estimate.covariance[0], expected, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(estimate.auroc[:, 0], [auroc(target[:, 0], s[:, 0]) for s in scores], atol=1e-15)
        test = auroc_differences(target, scores, pairs=pairs, units=clustered)
        for pair, (a, b) in enumerate(pairs):
            variance = expected[a, a] + expected[b, b] - 2 * expected[a, b]
            assert test.variance[pair, 0] == pytest.approx(variance, rel=1e-9, abs=1e-14)
            assert test.difference[pair, 0] == pytest.approx(estimate.auroc[a, 0] - estimate.auroc[b, 0], abs=1e-15)


@given(st.integers(4, 25), st.integers(2, 30), st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_what_must_not_matter_does_not(records: int, distinct: int, seed: int):
    target, scores, units = sample(seed, records, distinct)
    one = auroc_covariance(target, scores, units=units)
    order = np.random.default_rng(seed).permutation(records)
    shuffled = auroc_covariance(target[order], scores[:, order], units=units[order])
    np.testing.assert_allclose(one.covariance, shuffled.covariance, rtol=1e-12, atol=1e-17)
    stretched = auroc_covariance(target, np.exp(scores), units=units)
    np.testing.assert_array_equal(one.covariance, stretched.covariance)
    alone = auroc_covariance(target, scores, units=np.arange(records))
    np.testing.assert_allclose(alone.covariance, auroc_covariance(target, scores).covariance, rtol=1e-12, atol=1e-17)
    forth = auroc_differences(target, scores, pairs=[(0, 1)], units=units)
    back = auroc_differences(target, scores, pairs=[(1, 0)], units=units)
    np.testing.assert_array_equal(forth.difference, -back.difference)
    np.testing.assert_array_equal(forth.z, -back.z)
    np.testing.assert_array_equal(forth.p, back.p)
    against = auroc_covariance(1 - target, -scores, units=units)
    np.testing.assert_allclose(one.covariance, against.covariance, rtol=1e-12, atol=1e-17)


def test_copies_of_a_record_add_no_certainty_when_they_are_of_one_unit():
    target, scores, _ = sample(3, 40, 20)
    single = auroc_covariance(target, scores).covariance
    copied = np.tile(np.arange(40), 4)
    clustered = auroc_covariance(target[copied], scores[:, copied], units=copied).covariance
    np.testing.assert_allclose(clustered, single, rtol=1e-12)
    assert (
        np.diagonal(auroc_covariance(target[copied], scores[:, copied]).covariance[0]) < 0.3 * single[0, 0, 0]
    ).any()


def test_the_clustered_variance_is_that_of_repeated_samples_and_the_other_is_not():
    patients = np.repeat(np.arange(60), 5)
    areas, clustered, plain, below = [], [], [], np.zeros(2)
    for repetition in range(400):
        generator = np.random.default_rng(repetition)
        # Records of a patient are mostly, not always, of one class, so that all three terms count.
        inclined = np.where(np.arange(60) % 2 == 1, 0.85, 0.15)[patients]
        target = (generator.random(300) < inclined).astype(int)[:, None]
        scores = target + generator.normal(size=(2, 60, 1))[:, patients] + 0.5 * generator.normal(size=(2, 300, 1))
        estimate = auroc_covariance(target, scores, units=patients)
        areas.append(estimate.auroc[0, 0])
        clustered.append(estimate.covariance[0, 0, 0])
        plain.append(auroc_covariance(target, scores).covariance[0, 0, 0])
        below += [
            auroc_differences(target, scores, pairs=[(0, 1)], units=units).p.item() <= 0.05
            for units in (patients, None)
        ]
    true = np.var(areas, ddof=1)
    # The variance of 400 samples is known within 7 % (one standard error).
    assert np.mean(clustered) == pytest.approx(true, rel=0.2)
    assert np.mean(plain) < 0.5 * true
    # Three standard errors are 3.3 points.
    assert 0.017 <= below[0] / 400 <= 0.083
    assert below[1] / 400 > 0.15


def test_the_far_tail_does_not_underflow():
    # AUROC 1 of A, and of B one half: z is far beyond the 38 at which a normal tail leaves the floats.
    generator = np.random.default_rng(0)
    target = np.repeat([0, 1], 20_000)[:, None]
    scores = np.stack([target + 0.1 * generator.random((40_000, 1)), generator.random((40_000, 1))])
    test = auroc_differences(target, scores, pairs=[(0, 1)])
    assert test.z.item() > 100
    assert test.p.item() == 0
    # log10 of phi(z) / z * 2, the tail's leading term.
    z = test.z.item()
    leading = (-(z**2) / 2 - np.log(z * np.sqrt(2 * np.pi)) + np.log(2)) / np.log(10)
    assert test.log10_p.item() == pytest.approx(leading, rel=1e-6)


def test_undefined_is_nan_with_a_reason():
    target = np.array([[0, 0, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    scores = np.zeros((3, 4, 5))
    scores[0, :, 3] = scores[1, :, 3] = [0.1, 0.2, 0.8, 0.9]
    scores[0, :, 4] = [0.1, 0.3, 0.2, 0.9]
    estimate = auroc_covariance(target, scores)
    assert estimate.reasons == (
        "0 positives in 4 test records; at least 2 needed",
        "1 positive in 4 test records; at least 2 needed",
        "1 negative in 4 test records; at least 2 needed",
        None,
        None,
    )
    assert np.isnan(estimate.auroc[:, 0]).all()
    assert (estimate.auroc[:, 1:3] == 0.5).all()
    assert np.isnan(estimate.covariance[:3]).all()
    logit, normal = auroc_intervals(estimate), auroc_intervals(estimate, scale="normal")
    for intervals in (logit, normal):
        assert np.isnan(intervals.low[:, :4]).all()
        assert [reason is None for reason in intervals.reasons[0]] == [False] * 4 + [True]
        assert intervals.reasons[0][:3] == estimate.reasons[:3]
        assert "variance is 0: no record is placed differently" in str(intervals.reasons[2][3])
    assert logit.reasons[0][3] == "AUROC is exactly 1, whose log-odds are infinite"
    assert "variance is 0" in str(normal.reasons[0][3])
    assert 0 < logit.low[0, 4] < 0.75 < logit.high[0, 4] < 1
    assert normal.high[0, 4] == 1

    test = auroc_differences(target, scores, pairs=[(0, 1), (0, 2)])
    assert test.reasons[0][:3] == estimate.reasons[:3]
    assert test.reasons[0][3] == "the difference and its variance are 0: both encoders place every record alike"
    assert "but the difference is not" in str(test.reasons[1][3])
    assert (test.difference[:, 3], test.variance[1, 3]) == (pytest.approx([0, 0.5]), 0)
    for values in (test.z, test.p, test.log10_p):
        assert np.isnan(values[:, :4]).all()
        assert np.isfinite(values[:, 4]).all()


def test_positives_of_one_unit_say_nothing_of_another():
    target, scores = [[1], [1], [0], [0]], [[[0.9], [0.1], [0.2], [0.3]]]
    estimate = auroc_covariance(target, scores, units=["a", "a", "b", "c"])
    assert estimate.reasons == ("all 2 positives are of one unit; at least 2 units needed",)
    assert np.isnan(estimate.covariance).all()
    assert estimate.auroc.item() == 0.5


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"target": [[0], [2]]}, DataError, r"target: .* found 2 at \[1, 0\]"),
        ({"scores": [[[0.0], [np.inf]]] * 2}, DataError, r"scores: .* found inf at \[0, 1, 0\]"),
        ({"scores": [[[0.0, 1.0]]] * 2}, UsageError, r"scores: expected \(encoders, 2, 1\) .* found \(2, 1, 2\)"),
        ({"pairs": [(0, 2)]}, UsageError, "pairs: expected encoders from 0 to 1"),
        ({"units": ["a", "b", "c"]}, UsageError, "units: expected one for each of 2 records, found 3"),
    ],
)
def test_bad_input_is_refused(changes, error, message):
    good = {"target": [[0], [1]], "scores": [[[0.0], [1.0]]] * 2, "pairs": [(0, 1)]}
    with pytest.raises(error, match=message):
        auroc_differences(**(good | changes))


@pytest.mark.parametrize(("options", "message"), [({"confidence": 1.0}, "confidence"), ({"scale": "probit"}, "scale")])
def test_bad_settings_are_refused(options, message):
    estimate = auroc_covariance([[0], [1]], [[[0.0], [1.0]]])
    with pytest.raises(UsageError, match=f"{message}: expected"):
        auroc_intervals(estimate, **options)
