"""Fair coins that can be looked up."""

from __future__ import annotations

import numpy as np
import pytest

from einthoven.foundation.errors import UsageError
from einthoven.statistics.permutation_swaps import draw_swaps


@pytest.mark.parametrize("units", [1, 63, 64, 65, 300])
def test_a_draw_does_not_depend_on_how_many_are_asked_for_or_on_chunks(units: int):
    whole = draw_swaps(units, draws=20, seed=4)
    assert whole.shape == (20, units)
    assert whole.dtype == np.bool_
    np.testing.assert_array_equal(whole[:7], draw_swaps(units, draws=7, seed=4))
    np.testing.assert_array_equal(whole[7:], draw_swaps(units, draws=13, seed=4, first=7))


def test_the_bits_of_a_seed_are_these():
    # From numpy's raw PCG64 output alone; stored results would no longer be re-computable if these changed.
    words = np.random.PCG64(11).random_raw(4)
    bits = [[(int(words[2 * draw + unit // 64]) >> (unit % 64)) & 1 for unit in range(70)] for draw in range(2)]
    assert draw_swaps(70, draws=2, seed=11).astype(int).tolist() == bits
    assert "".join(map(str, bits[0][:16])) == "0111001000110011"


def test_coins_are_fair_and_independent():
    swaps = draw_swaps(100, draws=4000, seed=2).astype(float)
    # Four and a half standard errors, of 100 means and of 4950 correlations.
    assert np.abs(swaps.mean(axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(4000)
    correlations = np.corrcoef(swaps.T)[np.triu_indices(100, 1)]
    assert np.abs(correlations).max() < 4.5 / np.sqrt(4000)
    assert (draw_swaps(100, draws=10, seed=2) != draw_swaps(100, draws=10, seed=3)).mean() > 0.4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 0}, "draws: expected at least 1, found 0"),
        ({"seed": -1}, "seed: expected at least 0, found -1"),
        ({"first": -1}, "first: expected 0 or more, found -1"),
        ({"unit_count": 0}, "unit_count: expected at least 1, found 0"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        draw_swaps(**({"unit_count": 3, "draws": 1, "seed": 0} | options))
