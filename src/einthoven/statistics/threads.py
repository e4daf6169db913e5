"""One function on many items, side by side in plain threads, for kernels that release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from einthoven.foundation.errors import UsageError

Item = TypeVar("Item")


def for_each(function: Callable[[Item], object], items: Iterable[Item], *, threads: int | None = None) -> None:
    """Call the function once for each item; the first exception is raised.

    Plain threads around a kernel without the GIL: unlike numba's own threading layers they may be used from threads,
    survive a fork, and need no parallel compilation.

    Args:
        function: what writes its result to a place of its own, so that the order of calls does not matter.
        items: what it is called with.
        threads: how many calls at once; None is one for each core the process may use.

    Raises:
        UsageError: fewer than one thread.
    """
    check_threads(threads)
    with ThreadPoolExecutor(max_workers=threads or _cores()) as pool:
        list(pool.map(function, items))


def check_threads(threads: int | None) -> None:
    """Refuse fewer than one thread; None is one for each core.

    Raises:
        UsageError: fewer than one thread.
    """
    if threads is not None and threads < 1:
        raise UsageError(f"threads: expected at least 1, found {threads}.")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
