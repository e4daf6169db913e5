"""A folder against the list of sums that lies in it: what is missing, what is corrupt, what nobody listed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.identity import sha256_file

from .archives import check_unpacked
from .ledger import FOLDER, kept_selection
from .release import Release
from .sums import read_sums
from .transfer import is_part

_READERS = 4
_AT_ONCE = 512


@dataclass(frozen=True)
class Verification:
    """What was found in a folder; paths relative to it.

    Attributes:
        files: how many were expected.
        missing: expected, and not there.
        corrupt: there, with another sha256 than the listed one, or unlike the archive they come from.
        extra: there, and not listed.
        left_aside: how many are listed and were never asked for.
    """

    folder: Path
    files: int
    missing: tuple[str, ...]
    corrupt: tuple[str, ...]
    extra: tuple[str, ...]
    left_aside: int

    @property
    def ok(self) -> bool:
        """Whether every expected file is there and right; files that nobody listed do no harm."""
        return not self.missing and not self.corrupt


def verify(
    folder: Path, release: Release | None = None, *, progress: Callable[[int, int], None] = lambda done, total: None
) -> Verification:
    """Read every file of a folder and compare its sha256 with the list that lies there; asks no server.

    Args:
        release: what the folder should hold; default what it was downloaded as, else all that the list names.
        progress: called with (files read, files in all).

    Raises:
        UsageError: there is no such folder, or no list in it.
        DataError: the list is damaged.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder. Download it first with `einthoven datasets download`.")
    kept = kept_selection(folder)
    only: tuple[str, ...] = ()
    if kept is not None:
        release, only = (release or kept[0]), kept[1]
    name = release.sums if release else "SHA256SUMS.txt"
    if not (folder / name).is_file():
        raise UsageError(
            f"{folder} holds no {name} to compare its files with. `einthoven datasets download` puts it there."
        )
    listed = read_sums(folder / name)
    wanted = {path: sha for path, sha in listed.items() if release is None or release.wants(path, only)}
    missing, corrupt = [], []
    for number, (path, state) in enumerate(compare(folder, wanted), start=1):
        if state is None:
            missing.append(path)
        elif not state:
            corrupt.append(path)
        progress(number, len(wanted))
    unpacked = [(archive, into) for archive, into in (release.unpack if release else ()) if archive in wanted]
    for archive, into in unpacked:
        if archive in missing or archive in corrupt:
            continue
        absent, changed = check_unpacked(folder / archive, folder / into)
        missing += [f"{into}/{member}" for member in absent]
        corrupt += [f"{into}/{member}" for member in changed]
    known = {*listed, name}
    folders = tuple(f"{into}/" for _, into in unpacked)
    extra = [path for path in files_below(folder) if path not in known and not path.startswith(folders)]
    return Verification(
        folder=folder,
        files=len(wanted),
        missing=tuple(missing),
        corrupt=tuple(corrupt),
        extra=tuple(extra),
        left_aside=len(listed) - len(wanted),
    )


def compare(folder: Path, sums: Mapping[str, str]) -> Iterator[tuple[str, bool | None]]:
    """For each path whether its file has the listed sha256; None where there is no file. In the order of `sums`."""

    def look(path: str) -> bool | None:
        try:
            return sha256_file(folder / path) == sums[path]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except IsADirectoryError:
            raise DataError(f"{folder / path} is a folder; the list has a file of that name. Move it away.") from None

    paths = list(sums)
    with ThreadPoolExecutor(_READERS, thread_name_prefix="hash") as pool:
        # In portions, so that an interrupt waits for no more than one.
        for start in range(0, len(paths), _AT_ONCE):
            portion = paths[start : start + _AT_ONCE]
            yield from zip(portion, pool.map(look, portion), strict=True)


def files_below(folder: Path) -> Iterable[str]:
    """Files below a folder, relative, sorted by folder; without what a download keeps for itself."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != FOLDER)
        for name in sorted(files):
            if not is_part(name):
                yield (Path(parent) / name).relative_to(folder).as_posix()
