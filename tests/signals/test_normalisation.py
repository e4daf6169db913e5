from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from einthoven.foundation.errors import SignalError, UnknownNameError, UsageError
from einthoven.signals.normalisation import normalise

METHODS: list[Any] = ["none", "lead-z", "record-z", "record-minmax", "lead-minmax", "dataset-z"]


def extra(method: str) -> dict[str, Any]:
    return {"mean": -0.0008, "sd": 0.2365} if method == "dataset-z" else {}


# mean 2, deviations -1 0 1, unbiased sd 1; mean 4, deviations -4 0 4, unbiased sd 4.
SIGNAL = np.array([[[1.0, 2.0, 3.0], [0.0, 4.0, 8.0]]])


def test_lead_z_by_hand():
    np.testing.assert_allclose(normalise(SIGNAL, "lead-z"), [[[-1, 0, 1], [-1, 0, 1]]], atol=1e-7)
    population = np.sqrt(1.5)
    np.testing.assert_allclose(normalise(SIGNAL, "lead-z", ddof=0)[0, 1], [-population, 0, population], rtol=1e-6)


def test_eps_is_added_to_the_sd():
    np.testing.assert_allclose(normalise(SIGNAL, "lead-z", eps=1.0)[0], [[-0.5, 0, 0.5], [-0.8, 0, 0.8]], atol=1e-7)


def test_record_z_by_hand():
    # Six values of mean 3, squared deviations 4 1 0 9 1 25 = 40.
    expected = (SIGNAL - 3) / np.sqrt(40 / 5)
    np.testing.assert_allclose(normalise(SIGNAL, "record-z"), expected, rtol=1e-6)


def test_minmax_by_hand():
    np.testing.assert_allclose(normalise(SIGNAL, "record-minmax"), SIGNAL / 8, atol=1e-7)
    np.testing.assert_allclose(normalise(SIGNAL, "lead-minmax"), [[[-1, 0, 1], [-1, 0, 1]]], atol=1e-7)


def test_dataset_z_by_hand():
    np.testing.assert_allclose(normalise(SIGNAL, "dataset-z", mean=1, sd=2), (SIGNAL - 1) / 2, rtol=1e-6)


def test_none_is_a_copy():
    same = normalise(SIGNAL, "none")
    np.testing.assert_array_equal(same, SIGNAL)
    assert not np.shares_memory(same, SIGNAL)


@pytest.mark.parametrize("method", ["lead-z", "lead-minmax"])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e6])
def test_a_constant_lead_becomes_zero(method, value):
    signal = np.stack([np.full(1000, value, np.float32), np.arange(1000, dtype=np.float32)])
    normalised = normalise(signal, method)
    np.testing.assert_array_equal(normalised[0], 0)
    assert normalised[1].std() > 0.5


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_record_is_never_nan(method):
    assert np.isfinite(normalise(np.full((2, 12, 50), 0.3), method, **extra(method))).all()
    if method not in ("none", "dataset-z"):
        np.testing.assert_array_equal(normalise(np.full((2, 12, 50), 0.3), method), 0)
    assert np.isfinite(normalise(np.ones((1, 1, 1)), method, **extra(method))).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_record_does_not_depend_on_its_batch_nor_on_strides(method):
    batch = np.random.default_rng(0).normal(size=(7, 12, 333)).astype(np.float32)
    before = batch.copy()
    whole = normalise(batch, method, **extra(method))
    assert whole.dtype == np.float32
    for index in range(7):
        np.testing.assert_array_equal(whole[index], normalise(batch[index : index + 1], method, **extra(method))[0])
    strided = batch.transpose(2, 1, 0).copy().transpose(2, 1, 0)
    np.testing.assert_array_equal(whole, normalise(strided, method, **extra(method)))
    np.testing.assert_array_equal(batch, before)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (2, 3, 20), elements=st.floats(-5, 5, width=32)), st.floats(0.1, 10), st.floats(-5, 5))
def test_z_and_minmax_forget_scale_and_offset(signal, scale, offset):
    wide = np.ptp(signal, axis=-1, keepdims=True) > 1e-3
    for method in ("lead-z", "lead-minmax"):
        moved = normalise(signal * scale + offset, method)
        np.testing.assert_allclose(np.where(wide, moved - normalise(signal, method), 0), 0, atol=2e-3)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float32, (2, 3, 20), elements=st.floats(-5, 5, width=32)))
def test_ranges(signal):
    unit = normalise(signal, "record-minmax")
    both = normalise(signal, "lead-minmax")
    assert unit.min() >= 0
    assert unit.max() <= 1
    assert np.abs(both).max() <= 1
    assert np.isfinite(normalise(signal, "lead-z")).all()


@pytest.mark.parametrize(
    ("method", "statistics", "message"),
    [
        ("dataset-z", {}, "needs the mean and sd of the training records"),
        ("dataset-z", {"mean": 0.0, "sd": 0.0}, "sd above 0"),
        ("dataset-z", {"mean": float("nan"), "sd": 1.0}, "finite mean"),
        ("lead-z", {"mean": 0.0, "sd": 1.0}, "'lead-z' takes none"),
        ("lead-z", {"eps": -1.0}, "eps must be"),
    ],
)
def test_statistics_that_cannot_be_used(method, statistics, message):
    with pytest.raises(UsageError, match=message):
        normalise(SIGNAL, method, **statistics)


def test_unknown_method_and_missing_samples():
    wrong: Any = "lead_z"
    with pytest.raises(UnknownNameError, match="Did you mean 'lead-z'"):
        normalise(SIGNAL, wrong)
    with pytest.raises(SignalError, match="Normalisation needs finite samples"):
        normalise(np.array([[1.0, np.nan]]), "lead-z")
