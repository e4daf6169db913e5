"""What came of a file so far: where it lies until it is whole, and which version of the file it is of."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from .credentials import shown
from .kept_state import FOLDER
from .reading import refuse_odd
from .web import Answer

Told = Callable[[int], None]


def parts_folder(folder: Path) -> Path:
    """Where the parts of the files of a download lie."""
    return folder / FOLDER / "parts"


def part_of(folder: Path, path: str) -> Path:
    """Where a file of a download lies until it is whole and checked; its own name may be too long for more."""
    return parts_folder(folder) / f"{hashlib.sha256(path.encode()).hexdigest()[:32]}.part"


class Part:
    """What came of a file so far, and which version of it that is."""

    def __init__(self, file: Path, told: Told) -> None:
        self.file = file
        self._validator = file.with_suffix(".part-of")
        self._told = told
        self._counted = 0

    def size(self) -> int:
        """Its bytes; what is no regular file is removed."""
        try:
            status = self.file.lstat()
        except FileNotFoundError:
            return 0
        if stat.S_ISREG(status.st_mode):
            return status.st_size
        shutil.rmtree(self.file) if stat.S_ISDIR(status.st_mode) else self.file.unlink()
        return 0

    def open(self) -> BinaryIO:
        """To append to; a link is not followed."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        for more in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
            flags |= getattr(os, more, 0)
        # Unbuffered, so that a killed process leaves every byte that came.
        stream = os.fdopen(os.open(self.file, flags, 0o666), "ab", buffering=0)
        try:
            refuse_odd(os.fstat(stream.fileno()))
        except BaseException:
            stream.close()
            raise
        return stream  # pyright: ignore[reportReturnType]  # a raw file writes whole blocks of a disk's file

    def came(self, size: int) -> None:
        """So many bytes were appended."""
        self._counted += size
        self._told(size)

    def throw_away(self) -> None:
        """Remove it."""
        self.size()
        self.file.unlink(missing_ok=True)
        self._validator.unlink(missing_ok=True)
        # What an earlier call left was never counted.
        self._told(-self._counted)
        self._counted = 0

    def published(self) -> None:
        """It has the file's name now."""
        self._validator.unlink(missing_ok=True)

    def remember(self, url: str, answer: Answer) -> None:
        """Keep what identifies this version of the file at this server, so that no other version is appended to it."""
        tag = answer.headers.get("ETag", "")
        validator = tag if tag.startswith('"') else answer.headers.get("Last-Modified", "")
        if validator.isascii() and validator.isprintable() and validator:
            self._validator.unlink(missing_ok=True)
            self._validator.write_text(f"{shown(url)}\n{validator}\n", encoding="utf-8")

    def validator(self, url: str) -> str | None:
        """What identifies its version at a server."""
        with suppress(OSError, UnicodeDecodeError, ValueError):
            at, validator = self._validator.read_text(encoding="utf-8").splitlines()
            return validator if at == shown(url) else None
        return None
