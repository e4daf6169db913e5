"""Leaving one patient out: against recomputing without its rows, and what names and order may not change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einthoven.foundation.errors import DataError, UsageError
from einthoven.metrics.discrimination import auroc, average_precision
from einthoven.statistics.jackknife import jackknife_discrimination

METRICS = {"auroc": auroc, "average_precision": average_precision}


@given(
    st.integers(3, 40),
    st.integers(1, 9),
    st.integers(1, 8),
    st.sampled_from([0.1, 0.5, 0.9]),
    st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=40)
def test_equal_to_recomputing_without_the_unit(records: int, distinct: int, size: int, prevalence: float, seed: int):
    generator = np.random.default_rng(seed)
    target = (generator.random((records, 2)) < prevalence).astype(int)
    scores = generator.integers(0, distinct, (2, records, 2)) / 3
    units = generator.integers(0, 1 + records // size, records)
    units[:2] = 90, 91
    left_out = jackknife_discrimination(target, scores, units=units, threads=1)
    for number, unit in enumerate(dict.fromkeys(units.tolist())):
        rest = units != unit
        for metric, function in METRICS.items():
            for encoder, label in np.ndindex(2, 2):
                found = getattr(left_out, metric)[number, encoder, label]
                expected = function(target[rest, label], scores[encoder, rest, label])
                assert found == pytest.approx(expected, abs=1e-14, nan_ok=True)


def test_one_giant_unit_among_many():
    generator = np.random.default_rng(3)
    target, scores = generator.integers(0, 2, (400, 1)), generator.normal(size=(1, 400, 1)).round(1)
    units = np.where(np.arange(400) < 300, 0, np.arange(400))
    left_out = jackknife_discrimination(target, scores, units=units)
    rest = units != 0
    assert left_out.auroc[0, 0, 0] == pytest.approx(auroc(target[rest, 0], scores[0, rest, 0]), abs=1e-14)
    found = left_out.average_precision[0, 0, 0]
    assert found == pytest.approx(average_precision(target[rest, 0], scores[0, rest, 0]), abs=1e-13)


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_names_order_and_threads_do_not_matter(seed: int):
    generator = np.random.default_rng(seed)
    target, scores = generator.integers(0, 2, (30, 2)), generator.integers(0, 9, (2, 30, 2))
    units = generator.integers(0, 8, 30)
    units[:2] = 0, 1
    left_out = jackknife_discrimination(target, scores, units=units, threads=1)
    renamed = jackknife_discrimination(target, scores, units=[f"patient {u * 7}" for u in units], threads=3)
    order = generator.permutation(30)
    moved = jackknife_discrimination(target[order], scores[:, order], units=units[order])
    first = [list(dict.fromkeys(units[order].tolist())).index(u) for u in dict.fromkeys(units.tolist())]
    for metric in METRICS:
        np.testing.assert_array_equal(getattr(left_out, metric), getattr(renamed, metric))
        np.testing.assert_allclose(getattr(left_out, metric), getattr(moved, metric)[first], rtol=0, atol=1e-14)


def test_a_patient_with_all_positives_leaves_nothing_behind():
    left_out = jackknife_discrimination([[1], [1], [0], [0]], [[[4], [3], [2], [5]]], units=["a", "a", "b", "c"])
    assert np.isnan(left_out.auroc[:, 0, 0]).tolist() == [True, False, False]
    assert left_out.average_precision[1:, 0, 0] == pytest.approx([(1 / 2 + 2 / 3) / 2, 1.0])


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match=r"scores: expected \(encoders, 2, 1\)"):
        jackknife_discrimination([[0], [1]], [[[0.1]]], units=["a", "b"])
    with pytest.raises(UsageError, match="units: expected one for each of 2 records, found 3"):
        jackknife_discrimination([[0], [1]], [[[0.1], [0.2]]], units=["a", "b", "c"])
    with pytest.raises(DataError, match="at least 2 different ones"):
        jackknife_discrimination([[0], [1]], [[[0.1], [0.2]]], units=["a", "a"])
    with pytest.raises(UsageError, match="threads: expected at least 1, found 0"):
        jackknife_discrimination([[0], [1]], [[[0.1], [0.2]]], units=["a", "b"], threads=0)
