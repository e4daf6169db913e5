"""Threads that end when they are told to: whoever presses Ctrl-C waits for no server and no large file."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

TELL_SECONDS = 0.25
# For a thread that is in the middle of something that cannot be interrupted.
_JOIN_SECONDS = 1.5

Item = TypeVar("Item")
Value = TypeVar("Value")


class Stopped(Exception):  # noqa: N818  # not an error: somebody asked for it
    """The work was told to stop."""


class Stop:
    """Tells threads to stop, once and for all."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._publishing = threading.Lock()
        self._then: list[Callable[[], None]] = []

    def then(self, action: Callable[[], None]) -> None:
        """What is done when it is set, such as ending connections that threads wait for."""
        self._then.append(action)

    def set(self) -> None:
        """Stop; after this has returned nothing is published any more."""
        with self._publishing:
            self._event.set()
        for action in self._then:
            action()

    def is_set(self) -> bool:
        """Whether it was told to stop."""
        return self._event.is_set()

    def check(self) -> None:
        """Raises Stopped if it was told to stop."""
        if self._event.is_set():
            raise Stopped

    def wait(self, seconds: float) -> None:
        """Wait so long; raises Stopped as soon as it is told to stop."""
        if self._event.wait(seconds):
            raise Stopped

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """A short block that is done whole before a stop, or not at all."""
        with self._publishing:
            self.check()
            yield


@contextmanager
def in_threads(
    work: Callable[[Item], Value], items: Sequence[Item], workers: int, stop: Stop
) -> Iterator[queue.SimpleQueue]:
    """Threads that put (item, value, None) or (item, None, error) into a queue, as they come.

    An exception in the block stops them.
    """
    waiting: queue.SimpleQueue = queue.SimpleQueue()
    results: queue.SimpleQueue = queue.SimpleQueue()
    for item in items:
        waiting.put(item)

    def run() -> None:
        while not stop.is_set():
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                value = work(item)
            except Stopped:
                return
            except Exception as error:  # whatever it is, it is reported with its item
                results.put((item, None, error))
            else:
                results.put((item, value, None))

    # Daemons: one that waits for a silent server must not keep the process from ending.
    threads = [threading.Thread(target=run, daemon=True) for _ in range(min(workers, len(items)))]
    for thread in threads:
        thread.start()
    try:
        yield results
    except BaseException:
        stop.set()
        raise
    finally:
        if stop.is_set():
            for thread in threads:
                thread.join(_JOIN_SECONDS / len(threads))


def answers(
    work: Callable[[Item], Value], items: Sequence[Item], workers: int, stop: Stop
) -> Iterator[tuple[Item, Value]]:
    """(item, value) for each item, as they come; an interrupt is honoured between two quarters of a second.

    Raises:
        Exception: whatever `work` raises.
    """
    with in_threads(work, items, workers, stop) as results:
        left = len(items)
        while left:
            try:
                item, value, error = results.get(timeout=TELL_SECONDS)
            except queue.Empty:
                stop.check()
                continue
            if error is not None:
                raise error
            left -= 1
            yield item, value
