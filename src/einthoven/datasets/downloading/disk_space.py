"""Whether the disk of a download has room for what comes."""

from __future__ import annotations

import shutil
from pathlib import Path

# Never filled to the last byte: other programs, and our own lists, need some.
_KEPT_FREE = 64 << 20
# With less room than this no file is tried any more.
FULL = 1 << 20


class NoRoomError(Exception):
    """The disk cannot take what is still to come."""


def free(folder: Path) -> int:
    """Bytes that may be written to the disk of a folder, which need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return max(0, shutil.disk_usage(folder).free - _KEPT_FREE)


def check_room(folder: Path, size: int) -> None:
    """Raises NoRoomError if so many bytes do not fit."""
    there = free(folder)
    if size > there:
        raise NoRoomError(f"{in_bytes(size)} are still to come and {in_bytes(there)} are free on the disk of {folder}")


def in_bytes(size: float) -> str:
    """A number of bytes for people, in powers of 1000."""
    for unit in ("bytes", "kB", "MB"):
        if abs(size) < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.2f} GB"
