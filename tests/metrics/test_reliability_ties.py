"""Records of equal confidence as one."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from einthoven.metrics.calibration.ties import by_distinct_confidence

rows = st.tuples(st.sampled_from([0.0, -0.0, 0.1, 0.2, 1.0]), st.integers(0, 1), st.integers(0, 3))


@given(st.lists(rows, max_size=30))
def test_every_held_record_is_counted_under_its_confidence(drawn: list[tuple[float, int, int]]):
    confidence, outcome, weights = (np.array([row[i] for row in drawn]) for i in range(3))
    found = by_distinct_confidence(outcome.astype(np.uint8), confidence, weights.astype(np.int64))
    count, came_true = Counter(), Counter()
    for value, true, weight in drawn:
        count[value] += weight
        came_true[value] += weight * true
    expected = sorted(value for value in count if count[value])
    assert found.confidence.tolist() == expected
    assert found.count.tolist() == [count[value] for value in expected]
    assert found.came_true.tolist() == [came_true[value] for value in expected]
