"""A folder against the list of sums that lies in it: what is missing, what is corrupt, what nobody listed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from einthoven.foundation.errors import DataError, UsageError

from .archives import check_unpacked
from .kept_state import FOLDER, Found, Unpacked, kept_selection
from .reading import OddFileError, Reading, read
from .release import Release
from .stopping import Stop, answers
from .sums import read_sums

_READERS = 4


@dataclass(frozen=True)
class Verification:
    """What was found in a folder; paths relative to it.

    Attributes:
        files: how many were expected.
        missing: expected, and not there.
        corrupt: there, with another sha256 than the listed one, or unlike the archive they come from.
        extra: there, and not listed.
        left_aside: how many are listed and were never asked for.
        failures: what could not be checked, or is promised and not listed -> why.
    """

    folder: Path
    files: int
    missing: tuple[str, ...]
    corrupt: tuple[str, ...]
    extra: tuple[str, ...]
    left_aside: int
    failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every expected file is there and right; files that nobody listed do no harm."""
        return not self.missing and not self.corrupt and not self.failures


def verify(
    folder: Path, release: Release | None = None, *, progress: Callable[[int, int], None] = lambda done, total: None
) -> Verification:
    """Read every file of a folder and compare its sha256 with the list that lies there; asks no server.

    It does not matter how the files came there. Nothing is changed but what a download noted on files that it found
    right and that are corrupt now.

    Args:
        release: what the folder should hold; default what it was downloaded as, else all that the list names.
        progress: called with (files read, files in all).

    Raises:
        UsageError: there is no such folder, or no list in it.
        DataError: the list is damaged.
    """
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is not a folder. Download it first with `einthoven datasets download`, or put its files there "
            "by other means, its list of sums among them."
        )
    kept = kept_selection(folder)
    only: tuple[str, ...] = ()
    if kept is not None:
        release, only = (release or kept[0]), kept[1]
    name = release.sums if release else "SHA256SUMS.txt"
    if not (folder / name).is_file():
        where = f": {release.urls[0]}{name}" if release else ""
        raise UsageError(
            f"{folder} holds no {name} to compare its files with. `einthoven datasets download` puts it there; where "
            f"that cannot reach the server, place {name} there by hand. It is published beside the files{where}."
        )
    listed = read_sums(folder / name)
    stop = Stop()
    try:
        return _verified(folder, name, listed, release, only, progress, stop)
    finally:
        # After an interrupt too, nothing is read any more.
        stop.set()


def _verified(
    folder: Path,
    name: str,
    listed: Mapping[str, str],
    release: Release | None,
    only: tuple[str, ...],
    progress: Callable[[int, int], None],
    stop: Stop,
) -> Verification:
    wanted = {path: sha for path, sha in listed.items() if release is None or release.wants(path, only)}
    looks: dict[str, Reading | OddFileError | None] = {}
    for number, (path, look) in enumerate(compare(folder, list(wanted), stop), start=1):
        looks[path] = look
        progress(number, len(wanted))
    failures = dict.fromkeys(release.lacks(listed) if release else (), f"{name} names no such file")
    missing, corrupt = [], []
    for path, sha256 in wanted.items():
        look = looks[path]
        if look is None:
            missing.append(path)
        elif isinstance(look, OddFileError):
            failures[path] = str(look)
        elif look.sha256 != sha256:
            corrupt.append(path)
    known = {*listed, name}
    for archive, into in release.unpack if release else ():
        if archive not in wanted or archive in missing or archive in corrupt or archive in failures:
            continue
        try:
            refuse_listed(archive, into, listed)
            absent, changed, right = check_unpacked(folder / archive, folder / into, stop.check)
        except (DataError, OSError) as error:
            failures[archive] = str(error)
            continue
        missing += [f"{into}/{member}" for member in absent]
        corrupt += [f"{into}/{member}" for member in changed]
        known |= {f"{into}/{member}" for member in (*absent, *changed, *right)}
    _forget(folder, corrupt, release)
    return Verification(
        folder=folder,
        files=len(wanted),
        missing=tuple(missing),
        corrupt=tuple(corrupt),
        extra=tuple(path for path in files_below(folder) if path not in known),
        left_aside=len(listed) - len(wanted),
        failures=failures,
    )


def _forget(folder: Path, corrupt: Sequence[str], release: Release | None) -> None:
    """Let the next download read again what it would take for right by size and times, and so repair it."""
    found, unpacked = Found(folder), Unpacked(folder)
    for path in corrupt:
        found.forget(path)
    for archive, into in release.unpack if release else ():
        if any(path.startswith(f"{into}/") for path in corrupt):
            unpacked.forget(archive)


def refuse_listed(archive: str, into: str, listed: Iterable[str]) -> None:
    """Raises DataError if the list has files in the folder that an archive is unpacked to: whose is what?"""
    for path in listed:
        if path == into or path.startswith(f"{into}/"):
            raise DataError(
                f"{archive} is to be unpacked to {into}, where the list has {path}. A folder of its own was expected."
            )


def compare(folder: Path, paths: Sequence[str], stop: Stop) -> Iterator[tuple[str, Reading | OddFileError | None]]:
    """For each path what was read there, or what lies there that is no file; None if nothing. As they are read."""

    def look(path: str) -> Reading | OddFileError | None:
        try:
            return read(folder / path, stop.check)
        except OddFileError as odd:
            return odd

    return answers(look, paths, _READERS, stop)


def files_below(folder: Path) -> Iterable[str]:
    """Files below a folder, relative, sorted by folder; without what a download keeps for itself."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != FOLDER or Path(parent) != folder)
        for name in sorted(files):
            yield (Path(parent) / name).relative_to(folder).as_posix()
