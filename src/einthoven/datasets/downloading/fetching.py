"""Fetching many files at the same time, until they are there or it is of no use to go on."""

from __future__ import annotations

import errno
import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .credentials import masked
from .disk_space import FULL, NoRoomError, check_room, free
from .job import Job
from .kept_state import Found
from .part import part_of
from .reading import OddFileError, in_words
from .stopping import TELL_SECONDS, in_threads
from .tally import Tally
from .transfer import Fetched, NotHadError, fetch

# So many files in a row that no server gave, though another time it may: the network is gone.
_GIVE_UP = 32
# What no other file will fare better with.
_DISK_IS_DONE = {
    getattr(errno, "EDQUOT", errno.ENOSPC): "the disk quota is used up",
    # Later than the quota's, which some systems have no number for.
    errno.ENOSPC: "the disk is full",
    errno.EROFS: "the disk may only be read",
}


@dataclass
class Came:
    """What came of many files.

    Attributes:
        fetched: paths that are there now, sorted.
        failures: path -> why it could not be had.
        size: bytes that came.
        barred: the way to a server was barred for one of them.
    """

    fetched: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    size: int = 0
    barred: bool = False


class _Counter:
    """Bytes that came, counted by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._size = 0

    def add(self, size: int) -> None:
        """Negative where some were thrown away."""
        with self._lock:
            self._size += size

    def size(self) -> int:
        return max(0, self._size)


def fetch_all(
    job: Job, sums: Mapping[str, str], found: Found, all_bytes: int | None, progress: Callable[[Tally], None]
) -> Came:
    """Fetch files in parallel; the job is stopped when this returns.

    Args:
        sums: path -> sha256 of what to fetch.
        found: is told of each file that came.
        all_bytes: that are to come, for `progress`, which is called four times a second and at the end.
    """
    came, counter = Came(), _Counter()
    started = time.monotonic()
    done = in_a_row = 0
    ended = ""
    last = 0.0

    def tell() -> None:
        progress(Tally(done, len(sums), counter.size(), all_bytes, time.monotonic() - started))

    def take(path: str, got: Fetched) -> None:
        found.add(path, sums[path], got.stamp)
        came.fetched.append(path)

    def work(path: str) -> Fetched:
        return _fetch(job, path, sums[path], counter.add)

    with in_threads(work, list(sums), job.workers, job.stop) as results:
        while done < len(sums) and not ended:
            try:
                path, got, error = results.get(timeout=TELL_SECONDS)
            except queue.Empty:
                job.stop.check()
                tell()
                continue
            done += 1
            if error is None:
                take(path, got)
                in_a_row = 0
            else:
                came.failures[path] = _reason(error)
                came.barred |= isinstance(error, NotHadError) and error.network
                in_a_row = in_a_row + 1 if isinstance(error, NotHadError) and error.passing else 0
                ended = _why_to_end(job, error, in_a_row)
            if time.monotonic() - last > TELL_SECONDS:
                last = time.monotonic()
                tell()
        job.stop.set()
    # Of those that were under way when it ended, some may be whole.
    while not results.empty():
        path, got, error = results.get()
        if error is None:
            take(path, got)
    for path in sums.keys() - came.failures.keys() - set(came.fetched):
        came.failures[path] = f"not tried: {ended}"
    tell()
    came.fetched.sort()
    came.size = counter.size()
    return came


def _fetch(job: Job, path: str, sha256: str, told: Callable[[int], None]) -> Fetched:
    return fetch(
        job.web,
        job.urls(path),
        job.folder / path,
        sha256=sha256,
        part=part_of(job.folder, path),
        room=lambda size: check_room(job.folder, size),
        told=told,
    )


def _why_to_end(job: Job, error: Exception, in_a_row: int) -> str:
    """Why no other file should be tried after an error; "" if they should."""
    if isinstance(error, NoRoomError) and free(job.folder) < FULL:
        return _DISK_IS_DONE[errno.ENOSPC]
    if isinstance(error, OSError) and error.errno in _DISK_IS_DONE:
        return _DISK_IS_DONE[error.errno]
    return f"{in_a_row} files in a row could not be had" if in_a_row >= _GIVE_UP else ""


def _reason(error: Exception) -> str:
    if isinstance(error, NotHadError | NoRoomError | OddFileError):
        return masked(str(error))
    if isinstance(error, OSError):
        return f"{in_words(error)} ({type(error).__name__})"
    # Foreseen by nobody; the others go on.
    return masked(f"{type(error).__name__}: {error}")
