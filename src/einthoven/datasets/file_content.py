"""The bytes of small source files: read once, and then what was digested is what is decoded.

Preparing reads files ahead in threads, takes their digests, and lends the bytes to whatever decodes them; a reader that
asks here for a file gets them. Elsewhere, and for files too large to hold, a file is simply read.
"""

from __future__ import annotations

import hashlib
import os
from contextvars import ContextVar
from pathlib import Path

LARGEST_HELD = 1 << 22

_LENT: ContextVar[dict[str, bytes] | None] = ContextVar("lent", default=None)


def read_content(file: Path) -> bytes:
    """All bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    lent = _LENT.get()
    name = str(file)
    if lent is not None and (content := lent.get(name)) is not None:
        return content
    return read_whole(name)


class lending:  # noqa: N801 - as contextlib's own
    """Within it `read_content` gives these bytes, by path, and reads nothing."""

    def __init__(self, content: dict[str, bytes]) -> None:
        self._content = content

    def __enter__(self) -> None:
        self._token = _LENT.set(self._content)

    def __exit__(self, *_: object) -> None:
        _LENT.reset(self._token)


def digested(name: str) -> tuple[int, str, bytes | None]:
    """Size and sha256 of a file, and its bytes if they are few enough to be held.

    Raises:
        OSError: it cannot be read.
    """
    with _opened(name) as descriptor:
        size = os.fstat(descriptor).st_size
        if size <= LARGEST_HELD:
            content = _rest(descriptor, size)
            return len(content), hashlib.sha256(content).hexdigest(), content
        with os.fdopen(descriptor, "rb", buffering=0, closefd=False) as stream:
            digest = hashlib.file_digest(stream, "sha256")
            return stream.tell(), digest.hexdigest(), None


def read_whole(name: str) -> bytes:
    """All bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    with _opened(name) as descriptor:
        return _rest(descriptor, os.fstat(descriptor).st_size)


class _opened:  # noqa: N801 - used as a function; a generator would take longer than opening a file does
    """A file by the system's own calls, as few as can be: records are many and small."""

    def __init__(self, name: str) -> None:
        self._descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0))

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _rest(descriptor: int, size: int) -> bytes:
    content = os.read(descriptor, size + 1)
    if len(content) == size:
        return content
    parts = [content]  # a file that grows, or a system that gives less than was asked for
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)
