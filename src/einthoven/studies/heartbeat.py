"""How far a cell is, told through a small file, so that it can be seen from any process and any machine."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from types import TracebackType

_FOLDER = "progress"
_EVERY_SECONDS = 1.0


class Heartbeat:
    """Called with (done, total) by a cell that is being computed; writes at most once a second.

    What it writes is for the eye: losing it costs nothing, and an error in writing it stops nothing.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._file = folder / _FOLDER / key
        self._last = time.monotonic()

    def __enter__(self) -> Heartbeat:
        return self

    def __call__(self, done: int, total: int) -> None:
        """Tell how far it is: so many of so many."""
        now = time.monotonic()
        if now - self._last < _EVERY_SECONDS:
            return
        self._last = now
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(f"{done} {total}\n", encoding="ascii")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)


def read_heartbeat(folder: Path, key: str) -> tuple[int, int] | None:
    """(done, total) of a cell that is being computed; None if nothing is known."""
    try:
        done, total = (folder / _FOLDER / key).read_text(encoding="ascii").split()
        return int(done), int(total)
    except (OSError, ValueError):
        return None


def clear_heartbeats(folder: Path) -> None:
    """Remove what killed processes left behind."""
    for file in (folder / _FOLDER).glob("*"):
        with contextlib.suppress(OSError):
            file.unlink()
