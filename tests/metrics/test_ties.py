"""Runs of equal scores."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from einthoven.metrics.ties import tie_groups


@given(st.lists(st.sampled_from([-1.5, -0.0, 0.0, 2.0, 7.25]), min_size=0, max_size=30))
def test_runs_are_the_distinct_scores_from_high_to_low(values: list[float]):
    score = np.array(values, dtype=np.float32)
    order, starts = tie_groups(score)
    assert sorted(order.tolist()) == list(range(len(values)))
    runs = np.split(score[order], starts[1:]) if len(values) else []
    assert [run[0] for run in runs] == sorted(set(values), reverse=True)
    assert all((run == run[0]).all() for run in runs)
