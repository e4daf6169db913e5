"""Adjusted p-values: golden values of statsmodels and R, scipy's own, slow definitions, and what must always hold."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from einthoven.foundation.errors import DataError, UsageError
from einthoven.statistics.multiplicity import Method, adjust_p

METHODS = get_args(Method)
NAN = math.nan
P_VALUES = st.lists(
    st.one_of(st.floats(0, 1, allow_subnormal=False), st.just(NAN), st.sampled_from([0.0, 0.001, 0.05, 1.0])),
    max_size=30,
)


def test_golden_values(golden: Path):
    families = json.loads((golden / "statistics" / "multiplicity.json").read_text())["families"]
    compared = 0
    for family in families.values():
        for method in METHODS:
            found = adjust_p([float(p) for p in family["p"]], method=method)
            expected = [float(p) for p in family[method]]
            np.testing.assert_allclose(found.p, expected, rtol=0, atol=1e-12, equal_nan=True)
            assert found.undefined == np.isnan(expected).sum()
            assert found.tested + found.undefined == len(expected)
            compared += 1
    assert compared >= 12


@settings(deadline=None)
@given(P_VALUES)
def test_scipy_agrees_on_false_discovery(p: list[float]):
    family = np.array(p)
    finite = family[~np.isnan(family)]
    for method in ("bh", "by"):
        found = adjust_p(family, method=method).p
        if len(finite):
            np.testing.assert_allclose(
                found[~np.isnan(family)], false_discovery_control(finite, method=method), rtol=1e-12, atol=0
            )


@settings(deadline=None)
@given(P_VALUES)
def test_holm_rejects_what_holms_procedure_rejects(p: list[float]):
    # The procedure as Holm states it: reject in rising order until p(i) > alpha / (m - i + 1).
    adjusted = adjust_p(p, method="holm").p
    finite = sorted(value for value in p if not math.isnan(value))
    for alpha in (0.01, 0.05, 0.3):
        rejected = 0
        while rejected < len(finite) and finite[rejected] * (len(finite) - rejected) <= alpha:
            rejected += 1
        assert np.count_nonzero(adjusted <= alpha) == rejected


@settings(deadline=None)
@given(P_VALUES, st.sampled_from(METHODS), st.randoms())
def test_what_always_holds(p: list[float], method: Method, random):
    raw, adjusted = np.array(p), adjust_p(p, method=method).p
    defined = ~np.isnan(raw)
    assert np.array_equal(np.isnan(adjusted), ~defined)
    assert (adjusted[defined] >= raw[defined] * (1 - 1e-15)).all()
    assert (adjusted[defined] <= 1).all()
    order = np.argsort(raw[defined], kind="stable")
    assert (np.diff(adjusted[defined][order]) >= 0).all()
    shuffled = list(range(len(p)))
    random.shuffle(shuffled)
    np.testing.assert_array_equal(adjust_p(raw[shuffled], method=method).p, adjusted[shuffled])


@settings(deadline=None)
@given(P_VALUES)
def test_holm_is_between_raw_and_bonferroni_and_bh_below_by(p: list[float]):
    found = {method: np.nan_to_num(adjust_p(p, method=method).p) for method in METHODS}
    assert (found["holm"] <= found["bonferroni"] * (1 + 1e-15)).all()
    assert (found["bh"] <= found["holm"] * (1 + 1e-12)).all()
    assert (found["bh"] <= found["by"] * (1 + 1e-12)).all()


def test_a_family_without_a_p_value_and_one_without_tests():
    nothing = adjust_p([NAN, NAN], method="by")
    assert (nothing.tested, nothing.undefined) == (0, 2)
    assert np.isnan(nothing.p).all()
    assert adjust_p([], method="holm").p.shape == (0,)


@pytest.mark.parametrize(
    ("p", "method", "error", "message"),
    [
        ([0.5, 1.2, -1], "bh", DataError, r"found 1.2 at position 1 \(2 of 3 values are wrong\)"),
        ([math.inf], "bh", DataError, "found inf"),
        ([[0.5]], "bh", UsageError, r"one p-value for each test of the family, found shape \(1, 1\)"),
        ([0.5], "holms", UsageError, "Did you mean 'holm'"),
    ],
)
def test_bad_input_is_refused(p, method, error, message):
    with pytest.raises(error, match=message):
        adjust_p(p, method=method)
