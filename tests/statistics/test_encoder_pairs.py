"""Pairs of encoders that exist and differ."""

from __future__ import annotations

import numpy as np
import pytest

from einthoven.foundation.errors import UsageError
from einthoven.statistics.encoder_pairs import check_pairs


def test_pairs_may_be_of_any_integers():
    assert check_pairs(np.array([[0, 1], [1, 0]]).tolist(), encoders=2) == ((0, 1), (1, 0))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "at least one"),
        ([(0, 0)], r"two different encoders, found \(0, 0\)"),
        ([(0, 2)], r"encoders from 0 to 1, found \(0, 2\)"),
        ([(-1, 0)], r"encoders from 0 to 1, found \(-1, 0\)"),
        ([(0, 1, 1)], "two encoders in each"),
    ],
)
def test_other_pairs_are_refused(pairs, message):
    with pytest.raises(UsageError, match=f"pairs: expected .*{message}"):
        check_pairs(pairs, encoders=2)
