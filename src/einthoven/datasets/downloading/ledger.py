"""What a download keeps beside its files: what was asked for, and which files were found right.

A file counts as it was found while its size and both of its times are the same, as git takes it, so that continuing a
large download does not read everything again. `verify` believes none of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from einthoven.foundation.errors import DataError
from einthoven.foundation.publishing import read_json, write_json

from .release import Release

FOLDER = ".einthoven-download"
_SELECTION = "selection.json"
_FOUND = "found"


class Found:
    """Which files had which sha256; appended to as they are found, so that a kill loses one line at most.

    `add` is called by one thread only.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / FOLDER / _FOUND
        self._lines: dict[str, tuple[str, str]] = {}
        if self._file.is_file():
            for line in self._file.read_text(encoding="utf-8", errors="replace").split("\n"):
                sha256, _, rest = line.partition(" ")
                stamp, _, path = rest.partition(" ")
                if path:
                    self._lines[path] = (sha256, stamp)

    def has(self, path: str, sha256: str) -> bool:
        """Whether a file was found to have a sha256, and was not touched since."""
        return self._lines.get(path) == (sha256, _stamp(self._folder / path))

    def add(self, path: str, sha256: str) -> None:
        """A file has a sha256."""
        self._lines[path] = (sha256, _stamp(self._folder / path))
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8", newline="\n") as stream:
            # The line break comes first: a line that was cut short by a kill must not swallow the next.
            stream.write(f"\n{sha256} {self._lines[path][1]} {path}")


def _stamp(file: Path) -> str:
    try:
        status = file.stat()
    except OSError:
        return ""
    return f"{status.st_size}.{status.st_mtime_ns}.{status.st_ctime_ns}"


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
    release = Release(
        urls=(value["url"],),
        sums=value["sums"],
        include=tuple(value["include"]),
        always=tuple(value["always"]),
        unpack=tuple((archive, into) for archive, into in value["unpack"]),
    )
    return release, tuple(value["only"])


def _read(folder: Path) -> dict[str, Any] | None:
    file = folder / FOLDER / _SELECTION
    if not os.path.lexists(file):
        return None
    try:
        value = read_json(file)
    except ValueError:
        value = None
    keys = {"sums", "include", "always", "only", "unpack", "url"}
    if not isinstance(value, dict) or not keys <= value.keys():
        raise DataError(f"{file} is damaged. Remove it; the next download writes it anew.")
    return value
