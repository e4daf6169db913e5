"""A Brier score is the sum of its parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.metrics.calibration.brier import brier_per_label
from einthoven.metrics.calibration.brier_decomposition import brier_decomposition

rows = st.tuples(st.one_of(st.integers(0, 5).map(lambda k: k / 5), st.floats(0, 1)), st.integers(0, 1))


@given(st.lists(st.tuples(rows, st.integers(0, 3)), min_size=1, max_size=40), st.integers(0, 2**32 - 1))
def test_the_parts_are_the_score(drawn: list[tuple[tuple[float, int], int]], seed: int):
    probability, target = (np.array([row[0][i] for row in drawn]) for i in range(2))
    counts = np.array([row[1] for row in drawn])
    counts[0] = max(counts[0], 1)
    parts = brier_decomposition(target, probability, counts=counts)
    assert parts.reliability - parts.resolution + parts.uncertainty == pytest.approx(
        brier_per_label(target, probability, counts=counts), abs=1e-14
    )
    assert min(parts.reliability[0], parts.resolution[0], parts.uncertainty[0]) >= 0
    chosen = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(target)), counts))
    repeated = brier_decomposition(target[chosen], probability[chosen])
    for part in ("reliability", "resolution", "uncertainty"):
        assert getattr(parts, part).tolist() == getattr(repeated, part).tolist()


def test_the_prevalence_as_a_constant_prediction_is_all_uncertainty():
    parts = brier_decomposition([1, 0, 0, 0], [0.25] * 4)
    assert (parts.reliability[0], parts.resolution[0], parts.uncertainty[0]) == (0.0, 0.0, 0.1875)


def test_without_a_record_there_are_no_parts():
    parts = brier_decomposition([[1, 0]], [[0.5, 0.5]], counts=[0])
    assert np.isnan([parts.reliability, parts.resolution, parts.uncertainty]).all()
    assert brier_decomposition(np.zeros((0, 2)), np.zeros((0, 2))).reliability.shape == (2,)
