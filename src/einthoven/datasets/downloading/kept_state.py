"""What a download keeps beside its files: what was asked for, and which files were found right.

A file counts as it was found while its size, its number and both of its times are the same, as git takes it, so that
continuing a large download does not read everything again. `verify` believes none of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from einthoven.foundation.errors import DataError
from einthoven.foundation.publishing import read_json, write_json

from .names import checked_path
from .reading import Stamp, stamp_of
from .release import Release

FOLDER = ".einthoven-download"
_SELECTION = "selection.json"
_FOUND = "found"
_UNPACKED = "unpacked.json"


class Found:
    """Which files had which sha256; appended to as they are found, so that a kill loses one line at most.

    `add` is called by one thread only.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / FOLDER / _FOUND
        self._lines: dict[str, tuple[str, str]] = {}
        text = ""
        with suppress(OSError):  # then all is read again
            text = self._file.read_text(encoding="utf-8", errors="replace")
        for line in text.split("\n"):
            sha256, _, rest = line.partition(" ")
            stamp, _, path = rest.partition(" ")
            if path:
                self._lines[path] = (sha256, stamp)

    def has(self, path: str, sha256: str) -> bool:
        """Whether a file was found to have a sha256, and was not touched since."""
        known = self._lines.get(path)
        return known is not None and known[0] == sha256 and known[1] == _stamp(self._folder / path)

    def add(self, path: str, sha256: str, stamp: Stamp) -> None:
        """A file had a sha256 while it had a stamp: not the one it has now, which may be that of a later change."""
        self._keep(path, sha256, str(stamp))

    def forget(self, path: str) -> None:
        """A file is not what it was found to be, though nothing else tells: a disk may lose bits, unasked."""
        if path in self._lines:
            self._keep(path, "-", "-")

    def _keep(self, path: str, sha256: str, stamp: str) -> None:
        self._lines[path] = (sha256, stamp)
        # What is lost here is read again; a disk that is full is noticed where it matters.
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8", newline="\n") as stream:
                # The line break comes first: a line that was cut short by a kill must not swallow the next.
                stream.write(f"\n{sha256} {stamp} {path}")


class Unpacked:
    """Which files came out of which archives, with their stamps when they were right."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / FOLDER / _UNPACKED
        self._known: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            value = read_json(self._file)
            self._known = value if isinstance(value, dict) else {}

    def has(self, archive: str, sha256: str, into: str) -> bool:
        """Whether all that an archive with a sha256 holds was found right in a folder, and was not touched since."""
        known = self._known.get(archive)
        if not isinstance(known, dict) or (known.get("sha256"), known.get("into")) != (sha256, into):
            return False
        files = known.get("files")
        return isinstance(files, dict) and all(_stamp(self._folder / into / path) == files[path] for path in files)

    def add(self, archive: str, sha256: str, into: str, stamps: Mapping[str, Stamp]) -> None:
        """All that an archive holds is right."""
        files = {path: str(stamp) for path, stamp in stamps.items()}
        self._known[archive] = {"sha256": sha256, "into": into, "files": files}
        self._write()

    def forget(self, archive: str) -> None:
        """What an archive holds is compared again by the next download."""
        if self._known.pop(archive, None) is not None:
            self._write()

    def _write(self) -> None:
        with suppress(OSError):
            write_json(self._file, self._known)


def _stamp(file: Path) -> str:
    try:
        return str(stamp_of(file.stat()))
    except (OSError, ValueError):
        return ""


def keep_selection(folder: Path, release: Release, only: Sequence[str]) -> None:
    """Remember what was asked for, so that `verify` misses nothing else; what was asked for before still counts."""
    before = _read(folder)
    if before is not None:
        only = [] if not before["only"] or not only else sorted({*before["only"], *only})
    value = {
        "sums": release.sums,
        "include": list(release.include),
        "always": list(release.always),
        "only": list(only),
        "unpack": [list(pair) for pair in release.unpack],
        "url": release.urls[0],
    }
    write_json(folder / FOLDER / _SELECTION, value)


def kept_selection(folder: Path) -> tuple[Release, tuple[str, ...]] | None:
    """The release, and the part of it, that a folder was last downloaded as; None if it was not downloaded by this."""
    value = _read(folder)
    if value is None:
        return None
    try:
        release = Release(
            urls=(value["url"],),
            sums=checked_path(value["sums"], where="it"),
            include=tuple(value["include"]),
            always=tuple(value["always"]),
            unpack=tuple(
                (checked_path(archive, where="it"), checked_path(into, where="it")) for archive, into in value["unpack"]
            ),
        )
    except (ValueError, TypeError, AttributeError):  # edited, or of a later version
        raise _damaged(folder) from None
    return release, tuple(value["only"])


def _damaged(folder: Path) -> DataError:
    return DataError(f"{folder / FOLDER / _SELECTION} is damaged. Remove it; the next download writes it anew.")


def _read(folder: Path) -> dict[str, Any] | None:
    file = folder / FOLDER / _SELECTION
    if not os.path.lexists(file):
        return None
    try:
        value = read_json(file)
    except (ValueError, OSError):
        value = None
    keys = {"sums", "include", "always", "only", "unpack", "url"}
    if not isinstance(value, dict) or not keys <= value.keys():
        raise _damaged(folder)
    for key in ("include", "always", "only"):
        if not isinstance(value[key], list) or not all(isinstance(pattern, str) for pattern in value[key]):
            raise _damaged(folder)
    return value
