"""Draws of patients and records: what a draw holds, and what it may depend on."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.foundation.errors import DataError, UsageError
from einthoven.statistics.resampling import draw_counts


@given(st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=30).filter(lambda u: len(set(u)) > 1), st.integers(0))
def test_each_draw_takes_as_many_units_as_there_are_and_keeps_them_whole(units: list[str], seed: int):
    counts = draw_counts(units, draws=5, seed=seed % 2**63)
    assert counts.dtype == np.int16
    assert counts.shape == (5, len(units))
    first_row = {unit: units.index(unit) for unit in set(units)}
    assert (counts[:, list(first_row.values())].sum(axis=1) == len(first_row)).all()
    assert (counts == counts[:, [first_row[unit] for unit in units]]).all()


def test_names_do_not_matter_and_records_as_units_are_the_plain_bootstrap():
    by_name = draw_counts(["z", "a", "z", "m"], draws=20, seed=4)
    assert (by_name == draw_counts([7, 900, 7, 3], draws=20, seed=4)).all()
    assert (by_name == draw_counts(np.array(["p", "q", "p", "r"], dtype=object), draws=20, seed=4)).all()
    assert (draw_counts(list("abcd"), draws=50, seed=4).sum(axis=1) == 4).all()


def test_a_seed_fixes_the_draws_and_more_draws_begin_with_the_same_ones():
    units = [f"patient {i // 2}" for i in range(100)]
    counts = draw_counts(units, draws=30, seed=11)
    assert (counts == draw_counts(units, draws=30, seed=11)).all()
    assert (counts[:7] == draw_counts(units, draws=7, seed=11)).all()
    assert (counts != draw_counts(units, draws=30, seed=12)).any()


def test_the_draws_of_a_seed_do_not_change_between_releases():
    counts = draw_counts([str(i) for i in range(101)], draws=50, seed=2026).astype("<i2")
    assert hashlib.sha256(counts.tobytes()).hexdigest()[:16] == "bb376e484d22b878"


def test_counts_have_the_moments_of_a_multinomial():
    units = 200
    counts = draw_counts(list(range(units)), draws=2000, seed=0).astype(float)
    assert counts.mean() == 1.0
    assert counts.var() == pytest.approx(1 - 1 / units, abs=0.01)
    assert (counts == 0).mean() == pytest.approx((1 - 1 / units) ** units, abs=0.003)
    assert abs(counts.mean(axis=0) - 1).max() < 5 / np.sqrt(2000)


@pytest.mark.parametrize(
    ("units", "options", "error", "message"),
    [
        (["a", "b"], {"draws": 0, "seed": 1}, UsageError, "draws: expected at least 1, found 0"),
        (["a", "b"], {"seed": -1}, UsageError, "seed: expected 0 or more, found -1"),
        (["a", "", "b"], {"seed": 1}, DataError, "record 1 has no unit"),
        (np.array(["a", None], dtype=object), {"seed": 1}, DataError, r"record 1 has no unit \(found None\)"),
        (["a", "a"], {"seed": 1}, DataError, "at least 2 different ones, found 1 over 2 records"),
        ([1.0, float("nan")], {"seed": 1}, UsageError, "dtype float64"),
        ([["a", "b"]], {"seed": 1}, UsageError, r"shape \(1, 2\)"),
    ],
)
def test_bad_input_is_refused(units, options, error, message):
    with pytest.raises(error, match=message):
        draw_counts(units, **options)
