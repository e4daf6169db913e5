"""Reading files to tell whether they are right: regular ones only, and a file that is changed meanwhile is noticed."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_BLOCK = 1 << 20
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


class OddFileError(Exception):
    """What lies under a name is no file that can be read; the text says what it is and what to do."""


class Stamp(NamedTuple):
    """What changes when a file is changed, as git takes it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    def __str__(self) -> str:
        return ".".join(map(str, self))

    def has_the_bytes_of(self, other: Stamp) -> bool:
        """Whether it is that of the same file with the same bytes; a new name for it changes its ctime only."""
        return self._replace(ctime_ns=0) == other._replace(ctime_ns=0)


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp of what `stat` told."""
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


class Reading(NamedTuple):
    """A sha256, and the stamp that the file had before and after it was read."""

    sha256: str
    stamp: Stamp


def read(file: Path, check: Callable[[], None] = lambda: None) -> Reading | None:
    """Read a file; None if there is none.

    Args:
        check: called between blocks; what it raises ends the reading.

    Raises:
        OddFileError: it is no regular file, cannot be read, or is changed while it is read.
    """
    try:
        refuse_odd(os.stat(file))  # noqa: PTH116  # a pipe is not even opened
        # Whatever takes its place meanwhile must not make us wait for a writer.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(file, flags), "rb", buffering=0) as stream:
            status = os.fstat(stream.fileno())
            refuse_odd(status)
            digest = hashlib.sha256()
            while block := stream.read(_BLOCK):
                check()
                digest.update(block)
            after = stamp_of(os.fstat(stream.fileno()))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OddFileError(f"it cannot be read: {in_words(error)}. A readable file was expected.") from None
    if after != stamp_of(status):
        raise OddFileError("it was changed while it was read. Let nothing write to it, then run this again.")
    return Reading(digest.hexdigest(), after)


def refuse_odd(status: os.stat_result) -> None:
    """Raises OddFileError for all but regular files."""
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise OddFileError(f"{kind} lies there; a file was expected. Move it away.")


def in_words(error: OSError) -> str:
    """The system's words for an error, without the path, which the reader knows."""
    if error.errno == errno.ENAMETOOLONG:
        return "its name is longer than this disk allows"
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return "a file lies where its folder has to be; move that file away"
    if error.errno == errno.EXDEV:
        return "its folder is on another disk than the folder of the download"
    return error.strerror or type(error).__name__
