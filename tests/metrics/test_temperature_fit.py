"""The minimiser over temperature, from margins."""

from __future__ import annotations

import math

import numpy as np
import pytest

from einthoven.metrics.temperature.minimiser import fit_margins


def test_root_of_one_wrong_in_three():
    # exp(1/T) = 2: as often right as the odds say.
    margins = np.array([[0.0, -1.0], [0.0, -1.0], [0.0, 1.0]])
    fit = fit_margins(margins, scale=1.0, weights=np.ones(3, dtype=np.int64))
    assert fit.temperature == pytest.approx(1 / math.log(2), rel=1e-15)
    weighted = fit_margins(margins[1:], scale=8.0, weights=np.array([2, 1]))
    assert weighted.temperature == pytest.approx(8 / math.log(2), rel=1e-15)


@pytest.mark.parametrize("wrong", [1, 2, 10, 499])
def test_far_roots_are_bracketed(wrong: int):
    right = 1000 - wrong
    margins = np.array([[0.0, -1.0], [0.0, 1.0]])
    fit = fit_margins(margins, scale=1.0, weights=np.array([right, wrong]))
    assert fit.temperature == pytest.approx(1 / math.log(right / wrong), rel=1e-13)


def test_records_of_weight_0_are_not_there():
    margins = np.array([[0.0, -1.0], [0.0, 1.0]])
    fit = fit_margins(margins, scale=1.0, weights=np.array([1, 0]))
    assert fit == fit_margins(margins[:1], scale=1.0, weights=np.array([1]))
    assert fit.loss_before == pytest.approx(math.log1p(math.exp(-1)), abs=1e-15)
    assert (fit.temperature, fit.loss_after, fit.iterations) == (0.0, 0.0, 0)


def test_balance_is_exact():
    # Summed one by one, 0.1 + 0.2 - 0.1 - 0.2 is not 0.
    margins = np.array([[0.0, 0.1], [0.0, 0.2], [0.0, -0.1], [0.0, -0.2]])
    for order in ([0, 1, 2, 3], [0, 3, 1, 2], [2, 0, 1, 3]):
        assert fit_margins(margins[order], scale=1.0, weights=np.ones(4, dtype=np.int64)).temperature == math.inf
