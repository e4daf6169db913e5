"""Calls side by side."""

from __future__ import annotations

import pytest

from einthoven.foundation.errors import UsageError
from einthoven.statistics.threads import for_each


@pytest.mark.parametrize("threads", [None, 1, 5])
def test_every_item_once(threads: int | None):
    found = [0] * 30

    def add(item: int) -> None:
        found[item] += item

    for_each(add, range(30), threads=threads)
    assert found == list(range(30))


def test_the_exception_of_a_call_is_raised_and_threads_are_checked():
    with pytest.raises(ZeroDivisionError):
        for_each(lambda item: 1 // item, [1, 0])
    with pytest.raises(UsageError, match="threads: expected at least 1, found 0"):
        for_each(print, [], threads=0)
