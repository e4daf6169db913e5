"""Listed names that a disk takes for one: the file of the second would overwrite that of the first."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

# How the names of folders for trials begin.
TRIAL = "names-"


def alike(paths: Iterable[str]) -> list[list[str]]:
    """Groups of paths that differ only in upper and lower case, or in how Unicode writes the same letters."""
    first: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for path in paths:
        # Most are ASCII, and there may be millions.
        key = path.lower() if path.isascii() else _folded(path)
        earlier = first.setdefault(key, path)
        if earlier is not path:
            groups.setdefault(key, [earlier]).append(path)
    return list(groups.values())


def taken_for_one(work: Path, paths: Iterable[str]) -> dict[str, str]:
    """Path -> the earlier path that the disk takes for the same; tried out on empty files.

    Args:
        work: a folder on that disk, for the trial.
    """
    found: dict[str, str] = {}
    for group in alike(paths):
        with TemporaryDirectory(dir=work, prefix=TRIAL) as trial:
            for path in group:
                file = Path(trial) / path
                for earlier in group[: group.index(path)]:
                    if _same(file, Path(trial) / earlier):
                        found[path] = earlier
                        break
                else:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.touch()
    return found


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _same(file: Path, other: Path) -> bool:
    return file.exists() and other.exists() and os.path.samefile(file, other)  # noqa: PTH121  # each exists
