"""The bytes of small source files: read once, and then what was digested is what is decoded.

Preparing reads files ahead in threads, takes their digests, and lends the bytes to whatever decodes them; a reader that
asks here for a file gets them. Elsewhere, and for files too large to hold, a file is simply read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def lending(content: dict[str, bytes]) -> Iterator[None]:
    """Within it `read_content` gives these bytes, by path, and reads nothing."""
    token = _LENT.set(content)
    try:
        yield
    finally:
        _LENT.reset(token)


def digested(file: Path) -> tuple[int, str, bytes | None]:
    """Size and sha256 of a file, and its bytes if they are few enough to be held."""
    name = str(file)
    size = file.stat().st_size
    if size <= LARGEST_HELD:
        content = read_whole(name)
        return len(content), hashlib.sha256(content).hexdigest(), content
    with file.open("rb", buffering=0) as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return stream.tell(), digest.hexdigest(), None


def read_whole(name: str) -> bytes:
    """All bytes of a file, by as few calls of the system as can be: records are many and small."""
    descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        size = os.fstat(descriptor).st_size
        content = os.read(descriptor, size + 1)
        if len(content) == size:
            return content
        parts = [content]  # a file that grows, or a system that gives less than was asked for
        while part := os.read(descriptor, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
