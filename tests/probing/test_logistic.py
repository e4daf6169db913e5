"""Probes: the right optimum, the right choice, and honest gaps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import log_loss as sklearn_log_loss

from einthoven.foundation.errors import DataError
from einthoven.probing.grid import ProbeGrid, ProbeSetting
from einthoven.probing.logistic import fit_probes


def problem(seed: int = 0, *, rows: int = 120, dim: int = 6, labels: int = 3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, dim)) * np.array([1, 10, 0.1, 1, 3, 0.5])[:dim] + 2
    truth = rng.normal(size=(dim, labels)) / np.array([1, 10, 0.1, 1, 3, 0.5])[:dim, None]
    y = (rng.random((rows, labels)) < 1 / (1 + np.exp(-(x - 2) @ truth))).astype(np.uint8)
    return (x[:80], y[:80]), (x[80:], y[80:])


def objective_minimum(x: np.ndarray, y: np.ndarray, setting: ProbeSetting) -> tuple[np.ndarray, float]:
    """The minimiser of |w|^2/2 + C sum weight log(1 + exp(-s z)), by another optimiser."""
    sign = np.where(y == 1, 1.0, -1.0)
    weight = np.ones(len(y))
    if setting.class_weight == "balanced":
        weight = np.where(y == 1, len(y) / (2 * y.sum()), len(y) / (2 * (len(y) - y.sum())))

    def value(p: np.ndarray):
        margin = sign * (x @ p[:-1] + p[-1])
        slope = -setting.C * weight * sign / (1 + np.exp(margin))
        loss = 0.5 * p[:-1] @ p[:-1] + setting.C * (weight * np.logaddexp(0, -margin)).sum()
        return loss, np.append(p[:-1] + x.T @ slope, slope.sum())

    found = minimize(value, np.zeros(x.shape[1] + 1), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    return found.x[:-1], float(found.x[-1])


@pytest.mark.parametrize("setting", list(ProbeGrid()), ids=str)
def test_each_setting_reaches_the_optimum_of_an_independent_solver(setting: ProbeSetting) -> None:
    train, val = problem()
    grid = ProbeGrid(scale=(setting.scale,), C=(setting.C,), class_weight=(setting.class_weight,))
    probes = fit_probes(train, val, grid=grid)
    x = (train[0] - train[0].mean(0)) / train[0].std(0) if setting.scale else train[0]
    x_val = (val[0] - train[0].mean(0)) / train[0].std(0) if setting.scale else val[0]
    for label in range(3):
        weights, bias = objective_minimum(x, train[1][:, label], setting)
        np.testing.assert_allclose(probes.logits(val[0])[:, label], x_val @ weights + bias, rtol=2e-4, atol=2e-4)
    assert probes.converged.all()


def test_the_setting_with_the_least_validation_loss_is_kept_label_by_label() -> None:
    train, val = problem(3)
    probes = fit_probes(train, val)
    settings = list(ProbeGrid())
    assert len(settings) == 16
    for label in range(3):
        losses = []
        for setting in settings:
            single = ProbeGrid(scale=(setting.scale,), C=(setting.C,), class_weight=(setting.class_weight,))
            logit = fit_probes(train, val, grid=single).logits(val[0])[:, label].astype(np.float64)
            losses.append(sklearn_log_loss(val[1][:, label], 1 / (1 + np.exp(-logit)), labels=[0, 1]))
        assert probes.chosen[label] == int(np.argmin(losses))
        np.testing.assert_allclose(probes.validation_loss[label], losses, rtol=1e-5)


def test_test_data_cannot_reach_the_fit() -> None:
    train, val = problem(1)
    with_other_val = fit_probes(train, (val[0][::-1].copy(), val[1][::-1].copy()))
    assert np.array_equal(fit_probes(train, val).weights, with_other_val.weights)


def test_a_label_without_a_positive_or_a_negative_has_no_probe_and_says_why() -> None:
    train, val = problem(2)
    train[1][:, 0], train[1][:, 2] = 0, 1
    probes = fit_probes(train, val)
    assert probes.reasons == ("no positive among 80 training records", None, "no negative among 80 training records")
    logits = probes.logits(val[0])
    assert np.isnan(logits[:, [0, 2]]).all()
    assert np.isfinite(logits[:, 1]).all()
    assert probes.chosen[0] == probes.chosen[2] == -1


def test_one_positive_a_constant_column_and_more_dimensions_than_rows_are_fine() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 40))
    x[:, 3] = 7.0
    y = np.zeros((20, 1), dtype=np.uint8)
    y[4] = 1
    probes = fit_probes((x, y), (x, y))
    assert np.isfinite(probes.logits(x)).all()
    assert probes.logits(x)[:, 0].argmax() == 4


def test_scale_makes_the_probe_independent_of_the_embeddings_units() -> None:
    train, val = problem(4)
    grid = ProbeGrid(scale=(True,))
    factor = np.array([1e3, 1e-3, 5, 1, 2, 7])
    base = fit_probes(train, val, grid=grid).logits(val[0])
    other = fit_probes((train[0] * factor, train[1]), (val[0] * factor, val[1]), grid=grid).logits(val[0] * factor)
    np.testing.assert_allclose(base, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("train", "val", "message"),
    [
        ((np.zeros((0, 2)), np.zeros((0, 1))), (np.zeros((1, 2)), np.zeros((1, 1))), "train split has no records"),
        ((np.zeros((3, 2)), np.zeros((3, 1))), (np.zeros((0, 2)), np.zeros((0, 1))), "validation split has no records"),
        ((np.zeros((3, 2)), np.zeros((4, 1))), (np.zeros((1, 2)), np.zeros((1, 1))), r"\(3, 2\) and targets \(4, 1\)"),
        ((np.full((3, 2), np.nan), np.zeros((3, 1))), (np.zeros((1, 2)), np.zeros((1, 1))), "3 of 3 train embeddings"),
        ((np.zeros((3, 2)), np.zeros((3, 1))), (np.zeros((1, 5)), np.zeros((1, 1))), "must agree"),
    ],
)
def test_bad_input_is_refused(train, val, message) -> None:
    with pytest.raises(DataError, match=message):
        fit_probes(train, val)


def test_an_empty_or_repeated_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="one or more distinct values"):
        ProbeGrid(C=())
    with pytest.raises(ValueError, match="one or more distinct values"):
        ProbeGrid(C=(1.0, 1.0))
