"""Making the next thing while the last one is worked on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def made_ahead(make: Callable[[K], V], keys: Iterable[K]) -> Iterator[tuple[K, Callable[[], V]]]:
    """Each key with a call that gives `make(key)`; while the caller works on one, a thread makes the next.

    One is made ahead and no more, so that two are in memory at most. What `make` raises is raised by the call, once
    its turn has come.

    Example:
        >>> [(key, get()) for key, get in made_ahead(lambda n: n * n, [1, 2, 3])]
        [(1, 1), (2, 4), (3, 9)]
    """
    with ThreadPoolExecutor(1, thread_name_prefix="einthoven-prepare") as thread:
        waiting: tuple[K, Future[V]] | None = None
        try:
            for key in keys:
                following = (key, thread.submit(make, key))
                if waiting:
                    yield waiting[0], waiting[1].result
                waiting = following
            if waiting:
                yield waiting[0], waiting[1].result
        finally:
            thread.shutdown(wait=True, cancel_futures=True)
