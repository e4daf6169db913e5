"""Temperatures against closed forms, a bounded search, scikit-learn, and where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.calibration.log_loss import categorical_log_loss
from einthoven.metrics.log_loss import log_loss
from einthoven.metrics.temperature.fit import (
    fit_sigmoid_temperature,
    fit_sigmoid_temperatures,
    fit_softmax_temperature,
)
from einthoven.metrics.temperature.minimiser import TemperatureFit

FITS: list[Callable[..., TemperatureFit]] = [fit_sigmoid_temperature, fit_softmax_temperature]


def as_classes(logit: list[float]) -> np.ndarray:
    """The same odds as two classes."""
    return np.stack([np.zeros(len(logit)), np.array(logit)], axis=1)


def both(target: list[int], logit: list[float], **more) -> list[TemperatureFit]:
    """The fit as a label, and as two classes."""
    return [
        fit_sigmoid_temperature(target, logit, **more),
        fit_softmax_temperature(target, as_classes(logit), **more),
    ]


@pytest.mark.parametrize("share", [0.6, 0.75, 0.99])
def test_closed_form_of_a_constant_logit(share: float):
    positives = round(share * 100)
    target = [1] * positives + [0] * (100 - positives)
    for fit in both(target, [2.0] * 100):
        assert fit.temperature == pytest.approx(2 / math.log(positives / (100 - positives)), rel=1e-14)
        entropy = -(share * math.log(share) + (1 - share) * math.log(1 - share))
        assert fit.loss_after == pytest.approx(entropy, abs=1e-14)
        assert fit.loss_before == pytest.approx(math.log1p(math.exp(2)) - 2 * share, abs=1e-14)
        assert fit.reason is None
        assert 0 < fit.iterations < 40


@pytest.mark.parametrize("seed", range(5))
def test_no_temperature_nearby_is_better(seed: int):
    generator = np.random.default_rng(seed)
    logit = generator.normal(size=(200, 4)) * 3
    target = (generator.random((200, 4)) < 1 / (1 + np.exp(-logit / 2.5))).astype(int)
    classes = (logit / 2.5 + generator.gumbel(size=(200, 4))).argmax(axis=1)
    for fit, loss in (
        (fit_sigmoid_temperature(target, logit), lambda T: log_loss(target, logit / T).mean()),
        (fit_softmax_temperature(classes, logit), lambda T: categorical_log_loss(classes, logit / T)),
    ):
        searched = minimize_scalar(loss, bounds=(0.01, 100), method="bounded", options={"xatol": 1e-10})
        assert fit.temperature == pytest.approx(searched.x, rel=1e-6)  # type: ignore[attr-defined]
        assert fit.loss_after <= searched.fun + 1e-14  # type: ignore[attr-defined]
        assert fit.loss_after == pytest.approx(loss(fit.temperature), abs=1e-13)
        assert fit.loss_before == pytest.approx(loss(1.0), abs=1e-13)
        steps = 1e-5
        derivative = (loss(fit.temperature * (1 + steps)) - loss(fit.temperature * (1 - steps))) / (2 * steps)
        assert abs(derivative) < 1e-9


def test_the_true_temperature_is_found():
    generator = np.random.default_rng(0)
    logit = generator.normal(size=(200_000, 1)) * 2
    target = generator.random(logit.shape) < 1 / (1 + np.exp(-logit / 1.7))
    assert fit_sigmoid_temperature(target, logit).temperature == pytest.approx(1.7, abs=0.03)


@given(
    st.lists(
        st.tuples(st.integers(-8, 8), st.integers(-8, 8), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=30
    ),
    st.integers(0, 2**32 - 1),
)
def test_counts_are_repeated_rows_in_any_order(drawn: list[tuple[int, int, int, int]], seed: int):
    logit = np.array([[a / 2, b / 2, 0.0] for a, b, _, _ in drawn])
    target, counts = np.array([row[2] for row in drawn]), np.array([row[3] for row in drawn])
    counts[0] = max(counts[0], 1)
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(target)), counts))
    present = (target > 0).astype(int)
    for counted, repeated in (
        (
            fit_softmax_temperature(target, logit, counts=counts),
            fit_softmax_temperature(target[rows], logit[rows]),
        ),
        (
            fit_sigmoid_temperature(present, logit[:, 0], counts=counts),
            fit_sigmoid_temperature(present[rows], logit[rows, 0]),
        ),
    ):
        assert counted.reason == repeated.reason
        # Near chance the root is flat: T there is as certain as its loss.
        assert counted.loss_after == pytest.approx(repeated.loss_after, abs=1e-13)
        assert counted.loss_after <= counted.loss_before + 1e-13 or math.isnan(counted.loss_after)
        if math.isnan(counted.temperature) or not 1e-3 < counted.temperature < 1e3:
            assert math.isnan(counted.temperature) == math.isnan(repeated.temperature)
        else:
            assert counted.temperature == pytest.approx(repeated.temperature, rel=1e-9)


def test_one_temperature_over_labels_or_one_each():
    generator = np.random.default_rng(2)
    logit = generator.normal(size=(300, 2)) * 4
    target = (generator.random((300, 2)) < 1 / (1 + np.exp(-logit / [1.0, 4.0]))).astype(int)
    shared, apart = fit_sigmoid_temperature(target, logit), fit_sigmoid_temperatures(target, logit)
    assert len(apart) == 2
    assert apart[0].temperature < shared.temperature < apart[1].temperature
    assert [fit.temperature for fit in apart] == [
        fit_sigmoid_temperature(target[:, k], logit[:, k]).temperature for k in range(2)
    ]
    assert np.mean([fit.loss_after for fit in apart]) < shared.loss_after
    pooled = fit_sigmoid_temperature(target.ravel(), logit.ravel())
    assert pooled.temperature == pytest.approx(shared.temperature, rel=1e-13)
    assert fit_sigmoid_temperatures(np.zeros((3, 0)), np.zeros((3, 0))) == ()


def test_a_count_holds_for_all_labels_of_its_record():
    generator = np.random.default_rng(3)
    logit = generator.normal(size=(60, 3)) * 3
    target = (generator.random((60, 3)) < 1 / (1 + np.exp(-logit / 2))).astype(int)
    counts = generator.integers(0, 4, 60)
    rows = np.repeat(np.arange(60), counts)
    counted = [fit_sigmoid_temperature(target, logit, counts=counts)]
    counted.extend(fit_sigmoid_temperatures(target, logit, counts=counts))
    repeated = [fit_sigmoid_temperature(target[rows], logit[rows])]
    repeated.extend(fit_sigmoid_temperatures(target[rows], logit[rows]))
    for ours, theirs in zip(counted, repeated, strict=True):
        assert ours.reason is theirs.reason is None
        assert ours.temperature == pytest.approx(theirs.temperature, rel=1e-12)
        assert ours.loss_after == pytest.approx(theirs.loss_after, abs=1e-14)


def test_separable_records_have_no_finite_sharpness():
    for fit in both([0, 1, 1], [-1.0, 0.5, 3.0]):
        assert fit.temperature == 0.0
        assert fit.loss_after == 0.0
        assert fit.reason is not None
        assert fit.reason.startswith("separable: no class scores above the true one in 3 validation choices")
    # A tie stays a tie however sharp.
    for fit in both([0, 1], [-1.0, 0.0]):
        assert fit.temperature == 0.0
        assert fit.loss_after == pytest.approx(math.log(2) / 2)


def test_logits_no_better_than_chance_are_flattened():
    for target in ([1, 0, 0], [1, 0, 1]):
        # All wrong; and as much right as wrong, in exact balance.
        logit = [-2.0, 1.0, 1.0] if target == [1, 0, 0] else [-2.0, -1.0, 1.0]
        for fit in both(target, logit):
            assert fit.temperature == math.inf
            assert fit.loss_after == pytest.approx(math.log(2))
            assert fit.reason is not None
            assert fit.reason.startswith("no better than chance in 3 validation choices")
    fit = fit_softmax_temperature([0, 1, 2], [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert (fit.temperature, fit.loss_after) == (math.inf, pytest.approx(math.log(3)))


def test_equal_classes_leave_temperature_undefined():
    for fit in (
        fit_sigmoid_temperature([0, 1], [0.0, 0.0]),
        fit_softmax_temperature([0, 1], [[3.0, 3.0], [-7.0, -7.0]]),
    ):
        assert math.isnan(fit.temperature)
        assert fit.loss_before == fit.loss_after == pytest.approx(math.log(2))
        assert fit.reason == "all classes score the same in 2 validation choices, so the loss does not depend on T"


def test_one_class_only_is_like_any_other():
    for fit in both([1, 1, 1], [3.0, 2.0, -1.0]):
        assert 0 < fit.temperature < math.inf
        assert fit.reason is None
    for fit in both([1, 1, 1], [3.0, 2.0, 1.0]):
        assert fit.temperature == 0.0
    for fit in both([0, 0], [3.0, 2.0]):
        assert fit.temperature == math.inf


def test_without_a_record_there_is_no_temperature():
    for fit in (
        *both([0, 1], [1.0, 2.0], counts=[0, 0]),
        fit_softmax_temperature([], np.zeros((0, 3))),
        fit_sigmoid_temperature(np.zeros((0, 2)), np.zeros((0, 2))),
    ):
        assert math.isnan(fit.temperature)
        assert math.isnan(fit.loss_before)
        assert fit.reason == "no validation record"


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e-5, 1.0, 1e5, 1e30, 1e300])
def test_temperature_scales_with_the_logits_without_overflow(size: float):
    target, logit = [1, 1, 0, 1, 0], np.array([2.0, 1.0, -1.0, -0.5, 0.25])
    one, scaled = both(target, logit.tolist()), both(target, (logit * size).tolist())
    for ours, theirs in zip(one, scaled, strict=True):
        assert theirs.reason is None
        assert theirs.temperature == pytest.approx(ours.temperature * size, rel=1e-12)
        assert theirs.loss_after == pytest.approx(ours.loss_after, abs=1e-14)
        assert math.isfinite(theirs.loss_before)


def test_the_largest_floats_and_the_nearly_separable_do_not_crash():
    for fit in both([1, 1, 0], [1e308, -1e308, -1e308]):
        assert fit.reason is None
        assert fit.temperature == pytest.approx(1e308 / math.log(2), rel=1e-13)
    for fit in both([1, 1, 0], [1.7e308, -1.7e308, -1.7e308]):
        assert fit.reason == "the minimiser lies beyond the range of float64"
        assert fit.temperature == math.inf
    extreme = fit_softmax_temperature([0, 0, 1], [[1.7e308, -1.7e308, 0.0]] * 3)
    # One record alone costs 3.4e308, which is no float64.
    assert extreme.loss_before == math.inf
    assert extreme.loss_after < math.log(3)
    # One record is wrong by next to nothing beside the others.
    for fit in both([1, 1, 0], [1.0, -1e-200, -1.0]):
        # 2 sigmoid(-1/T) = 1e-200 / 2 at the minimum.
        assert fit.temperature == pytest.approx(1 / math.log(4e200), rel=1e-13)
        assert fit.loss_after == pytest.approx(math.log(2) / 3, abs=1e-9)
    # float32 stays what it is.
    narrow = np.array([2.0, 1.0, -1.0, -0.5], dtype=np.float32)
    assert fit_sigmoid_temperature([1, 1, 0, 1], narrow).temperature > 0


@pytest.mark.parametrize(
    ("target", "logit", "error", "message"),
    [
        ([0, 1], [0.0, math.nan], DataError, r"logit: .* found nan at \[1\]"),
        ([0, 2], [0.0, 1.0], DataError, r"target: .* found 2 at \[1\]"),
        ([0, 1], [0.0, 1.0, 2.0], UsageError, r"same shape, found \(2,\) and \(3,\)"),
    ],
)
@pytest.mark.parametrize("fit", [fit_sigmoid_temperature, fit_sigmoid_temperatures])
def test_bad_input_is_refused(fit, target, logit, error, message):
    with pytest.raises(error, match=message):
        fit(target, logit)


@pytest.mark.parametrize("fit", FITS)
def test_counts_that_do_not_fit_are_refused(fit):
    logit = [[0.0, 1.0], [1.0, 0.0]] if fit is fit_softmax_temperature else [0.0, 1.0]
    with pytest.raises(UsageError, match="counts"):
        fit([0, 1], logit, counts=[1])
