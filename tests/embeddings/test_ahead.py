"""One thing is made while another is worked on."""

from __future__ import annotations

import threading

import pytest

from einthoven.embeddings.ahead import made_ahead


def test_everything_comes_in_order_and_once() -> None:
    made: list[int] = []

    def make(n: int) -> int:
        made.append(n)
        return n * n

    assert [(n, get()) for n, get in made_ahead(make, range(5))] == [(n, n * n) for n in range(5)]
    assert made == list(range(5))
    assert list(made_ahead(make, [])) == []


def test_the_next_is_made_while_the_caller_works_and_no_more_than_that() -> None:
    made: list[int] = []
    ready = {n: threading.Event() for n in range(4)}

    def make(n: int) -> int:
        made.append(n)
        ready[n].set()
        return n

    for n, get in made_ahead(make, range(4)):
        assert get() == n
        if n < 3:
            assert ready[n + 1].wait(10), "the next was not begun while this one is worked on"
        assert len(made) <= n + 2


def test_an_error_is_raised_in_its_turn() -> None:
    def make(n: int) -> int:
        if n == 2:
            raise ValueError("two")
        return n

    seen: list[int] = []
    with pytest.raises(ValueError, match="two"):
        for _, get in made_ahead(make, range(5)):
            seen.append(get())
    assert seen == [0, 1]


def test_no_thread_is_left_when_the_caller_stops() -> None:
    before = threading.active_count()
    results = made_ahead(lambda n: n, range(100))
    assert next(results)[1]() == 0
    results.close()  # type: ignore[attr-defined]  # it is a generator
    assert threading.active_count() == before
