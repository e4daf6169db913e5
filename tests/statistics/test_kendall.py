"""Kendall's tau-b: R's and scipy's values, ties, and symmetry."""

from __future__ import annotations

import json
import math
from itertools import permutations
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from einthoven.foundation.errors import DataError, UsageError
from einthoven.statistics.kendall import kendall_matrix, kendall_tau_b, smallest_attainable_p


def scipy_tau(a, b) -> float:
    tau, _ = scipy.stats.kendalltau(a, b)
    return cast("float", tau)


PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12)


def test_golden_values(golden: Path):
    document = json.loads((golden / "statistics" / "repeated_runs.json").read_text())
    for case in document["kendall_tau_b"].values():
        for expected in (case["tau_b"], case["R_cor_kendall"]):
            assert kendall_tau_b(case["a"], case["b"]) == pytest.approx(float(expected), rel=1e-10, nan_ok=True)
    assert len(document["kendall_tau_b"]) >= 5
    for items, expected in document["min_attainable_kendall_p"].items():
        assert smallest_attainable_p(int(items)) == pytest.approx(expected, rel=1e-10)


@settings(deadline=None)
@given(PAIRS)
def test_scipy_agrees(pairs: list[tuple[int, int]]):
    a, b = zip(*pairs, strict=True)
    expected = scipy_tau(a, b)
    assert kendall_tau_b(a, b) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@settings(deadline=None)
@given(PAIRS)
def test_symmetric_and_turned_round_by_a_reversal(pairs: list[tuple[int, int]]):
    a, b = (np.array(one) for one in zip(*pairs, strict=True))
    tau = kendall_tau_b(a, b)
    assert kendall_tau_b(b, a) == pytest.approx(tau, nan_ok=True)
    assert kendall_tau_b(a, -b) == pytest.approx(-tau, nan_ok=True)
    assert math.isnan(tau) == (len(set(a)) == 1 or len(set(b)) == 1)
    if len(set(a)) > 1:
        assert kendall_tau_b(a, a) == 1.0


def test_the_matrix_is_every_pair_of_columns():
    values = np.random.default_rng(1).integers(0, 5, (9, 4)).astype(float)
    found = kendall_matrix(values)
    for i in range(4):
        for j in range(4):
            assert found[i, j] == pytest.approx(scipy_tau(values[:, i], values[:, j]))


def test_the_smallest_p_is_that_of_the_two_extreme_orders():
    orders = list(permutations(range(4)))
    extreme = [order for order in orders if abs(kendall_tau_b(range(4), order)) == 1]
    assert smallest_attainable_p(4) == pytest.approx(len(extreme) / len(orders))
    assert math.isnan(smallest_attainable_p(1))
    assert 0 <= smallest_attainable_p(200) < 1e-300


def test_an_item_without_a_value_is_not_skipped():
    with pytest.raises(DataError, match="found 1 that are not"):
        kendall_tau_b([1, 2, math.nan], [1, 2, 3])
    with pytest.raises(UsageError, match=r"shapes \(2,\) and \(3,\)"):
        kendall_tau_b([1, 2], [1, 2, 3])
    with pytest.raises(UsageError, match=r"expected \(items, columns\)"):
        kendall_matrix([1, 2])
