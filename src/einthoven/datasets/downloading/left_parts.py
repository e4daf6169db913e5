"""Parts that earlier calls left: gone on with if they are of use, thrown away if they are in the way."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .disk_space import FULL, free, in_bytes
from .one_name import TRIAL
from .part import part_of, parts_folder


def make_room(folder: Path) -> list[str]:
    """If parts fill the disk of a download, throw the largest away: not even its list would fit. Returns notes."""
    parts, notes = parts_folder(folder), []
    while free(folder) < FULL and parts.is_dir():
        sizes = {part: part.lstat().st_size for part in parts.iterdir()}
        largest = max(sizes, key=lambda part: sizes[part], default=None)
        if largest is None or not sizes[largest]:
            break
        shutil.rmtree(largest) if largest.is_dir() and not largest.is_symlink() else largest.unlink()
        notes.append(f"a part of {in_bytes(sizes[largest])} was thrown away: the disk was full")
    return notes


def throw_away_unlisted(folder: Path, listed: Iterable[str]) -> None:
    """Remove parts of files that are not in the list any more, and what a killed call left of archives and trials."""
    there = list(parts_folder(folder).iterdir())
    if there:
        known = {part_of(folder, path).stem for path in listed}
        for part in there:
            if part.is_dir() and not part.is_symlink():
                if part.name.startswith(TRIAL):
                    shutil.rmtree(part)
            elif part.stem not in known:
                part.unlink()


def sizes_of_parts(folder: Path, paths: Sequence[str]) -> dict[str, int]:
    """Path -> bytes that came of it before, for those of which some did."""
    return {path: part.lstat().st_size for path in paths if (part := part_of(folder, path)).is_file()}


def throw_away_too_large(folder: Path, sizes: dict[str, int], told: Mapping[str, int]) -> None:
    """Remove parts, from the disk and `sizes`, with more bytes than their file: a server sent them for another thing.

    A told length of 0 is that of servers that do not know; a part is worth more than it.
    """
    for path in [path for path, size in sizes.items() if size > (told.get(path) or size)]:
        part_of(folder, path).unlink()
        del sizes[path]
