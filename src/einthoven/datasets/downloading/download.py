"""Downloading a release to a folder: what is missing or corrupt is fetched, and what could not be had is named."""

from __future__ import annotations

import errno
import queue
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.publishing import exclusive

from .archives import check_unpacked, unpack
from .credentials import Credentials, credentials_for, how_to_log_in, masked
from .disk_space import Need, NoRoomError, check_room, free, in_bytes, need
from .kept_state import FOLDER, Found, Unpacked, keep_selection
from .reading import OddFileError, Reading, in_words
from .release import Release, matches
from .setting_aside import set_aside
from .stopping import TELL_SECONDS, Stop, answers, in_threads
from .sums import LARGEST_LIST, read_sums
from .transfer import Fetched, NotHadError, fetch, part_of, parts_folder
from .verifying import compare, refuse_listed
from .web import Patience, Web

if TYPE_CHECKING:
    from einthoven.datasets.dataset import Dataset

# One server's connections; more would be refused, or rude.
WORKERS = 8
_MOST_WORKERS = 32
# So many files in a row that no server gave, though another time it may: the network is gone.
_GIVE_UP = 32
# With less room than this no file is tried any more.
_FULL = 1 << 20
# A part that is smaller is not asked for its size before it is gone on with.
_LARGE_PART = 1 << 20


@dataclass(frozen=True)
class Tally:
    """How far a download is.

    Attributes:
        files: done, of `all_files`.
        size: bytes that came, of `all_bytes`, which is None where unknown.
        seconds: since the first file was begun.
    """

    files: int
    all_files: int
    size: int
    all_bytes: int | None
    seconds: float

    @property
    def rate(self) -> float:
        """Bytes a second, from the beginning."""
        return self.size / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to the end; by bytes if all are known, else by files; None if nothing can be told yet."""
        if self.files >= self.all_files:
            return 0.0
        if self.all_bytes and self.size > 0:
            return max(0.0, self.all_bytes - self.size) / self.rate
        return self.seconds / self.files * (self.all_files - self.files) if self.files else None


@dataclass(frozen=True)
class Download:
    """What a download came to; paths relative to its folder.

    Attributes:
        files: how many were asked for.
        kept: how many were there and right.
        fetched: what was downloaded.
        size: bytes that came.
        set_aside: what was there with another sha256; it now lies beside, with ".corrupt" at the end of its name,
            or ".corrupt-2" and so on.
        failures: what could not be had -> why.
        left_aside: how many the list names and nobody asked for.
        notes: what else one should know.
    """

    folder: Path
    files: int
    kept: int
    fetched: tuple[str, ...]
    size: int
    seconds: float
    set_aside: tuple[str, ...]
    failures: Mapping[str, str]
    left_aside: int
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every file that was asked for is there with its listed sha256."""
        return not self.failures


def download(
    what: Dataset | Release,
    folder: Path | str,
    *,
    only: Sequence[str] = (),
    workers: int = WORKERS,
    progress: Callable[[Tally], None] = lambda tally: None,
    checking: Callable[[int, int], None] = lambda done, total: None,
    say: Callable[[str], None] = lambda text: None,
    patience: Patience | None = None,
) -> Download:
    """Bring a folder to what a release lists: files that are missing or corrupt are fetched, the others kept.

    A file has its name only once its sha256 is the listed one. An interrupt or a kill leaves parts that the next call
    goes on with.

    Args:
        only: patterns of paths to take, such as "records100/*"; all if there is none. Files the release always needs
            are taken too.
        workers: files that are fetched at the same time.
        progress: called four times a second and at the end.
        checking: called with (files looked at, files in all) while what is there is checked.
        say: called with lines on what is going to happen.

    Returns:
        what came of it; look at `ok`, since a file that no server gives is reported there and is no error.

    Raises:
        UsageError: the dataset cannot be downloaded, a login is needed, or a pattern fits no file.
        DataError: the list of sums cannot be had or is damaged, or the disk is too small.
        BusyError: another process is downloading to this folder.
    """
    release = what if isinstance(what, Release) else _release_of(what)
    folder = Path(folder).expanduser().resolve()
    if not 1 <= workers <= _MOST_WORKERS:
        raise UsageError(f"{workers} workers were asked for; 1 to {_MOST_WORKERS} was expected.")
    credentials = _login(release)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; a folder to download to was expected.")
    stop = Stop()
    try:
        with exclusive(folder / FOLDER / "files", doing="downloading to", what=folder):
            try:
                work = _Work(release, folder, tuple(only), Web(patience or Patience(), credentials, stop), stop)
                found = work.run(workers, progress=progress, checking=checking, say=say)
            finally:
                # Before the folder is free for another process: nothing is published after this.
                stop.set()
    except OSError as error:
        raise DataError(
            f"{folder} cannot be written: {in_words(error)}. A folder that may be written, on a disk with room, was "
            "expected. Make room, or name another with --to."
        ) from error
    notes = (*found.notes, credentials.note) if credentials and credentials.note else found.notes
    return replace(found, notes=notes)


def _release_of(dataset: Dataset) -> Release:
    if dataset.release is None:
        card = dataset.card
        if not card.needs_source:
            raise UsageError(f"{card.name} is made, not read: there is nothing to download.")
        how = f"{card.how} " if card.how else ""
        place = f"See {card.url} and name the folder with --source when you prepare it." if card.url else ""
        raise UsageError(f"{card.name} cannot be downloaded from here. {how}{place}".rstrip())
    return dataset.release


def _login(release: Release) -> Credentials | None:
    if not release.login:
        return None
    credentials = credentials_for(release.urls[0])
    if credentials is None:
        raise UsageError(
            f"{release.urls[0]} gives its files only to those who have signed its agreement and log in: "
            f"{how_to_log_in(release.urls[0])}."
        )
    return credentials


class _Work:
    """One download, from the list of sums to the last file."""

    def __init__(self, release: Release, folder: Path, only: tuple[str, ...], web: Web, stop: Stop) -> None:
        self._release, self._folder, self._only, self._web, self._stop = release, folder, only, web, stop
        self._found = Found(folder)
        self._lock = threading.Lock()
        self._size = 0
        self._notes: list[str] = []

    def run(
        self,
        workers: int,
        *,
        progress: Callable[[Tally], None],
        checking: Callable[[int, int], None],
        say: Callable[[str], None],
    ) -> Download:
        """Everything that `download` does under its lock."""
        self._make_room()
        listed = self._listed()
        wanted = {path: sha256 for path, sha256 in listed.items() if self._release.wants(path, self._only)}
        failures = self._check_selection(listed)
        self._throw_away_what_nobody_lists(listed)
        keep_selection(self._folder, self._release, self._only)
        missing, corrupt = self._look(wanted, listed, checking, say, failures)
        kept = len(wanted) - len(missing) - sum(path in failures for path in wanted)
        left_aside = len(listed) - len(wanted)
        aside = f", {left_aside:,} more of the release are left aside" if left_aside else ""
        say(f"{len(wanted):,} files, {kept:,} of them here already{aside}")
        all_bytes = self._check_room(missing, workers, say)
        started = time.monotonic()
        fetched = self._fetch_all({path: wanted[path] for path in missing}, workers, all_bytes, progress, failures)
        failures.update(self._unpack(wanted, listed, failures, say))
        return Download(
            folder=self._folder,
            files=len(wanted),
            kept=kept,
            fetched=tuple(fetched),
            size=max(0, self._size),
            seconds=time.monotonic() - started,
            set_aside=tuple(corrupt),
            failures=failures,
            left_aside=left_aside,
            notes=tuple(self._notes),
        )

    def _urls(self, path: str) -> list[str]:
        return [url + quote(path) for url in self._release.urls]

    def _make_room(self) -> None:
        """If parts of an earlier call fill the disk, the largest are thrown away: not even the list would fit."""
        parts = parts_folder(self._folder)
        while free(self._folder) < _FULL and parts.is_dir():
            sizes = {part: part.lstat().st_size for part in parts.iterdir()}
            largest = max(sizes, key=lambda part: sizes[part], default=None)
            if largest is None or not sizes[largest]:
                break
            shutil.rmtree(largest) if largest.is_dir() and not largest.is_symlink() else largest.unlink()
            self._notes.append(f"a part of {in_bytes(sizes[largest])} was thrown away: the disk was full")

    def _listed(self) -> dict[str, str]:
        """The list as the server has it now; an old one in the folder gives way to it only if it is a list."""
        name = self._release.sums
        kept, fresh = self._folder / name, self._folder / FOLDER / name

        def ask(name: str) -> Fetched:
            return fetch(
                self._web,
                self._urls(name),
                fresh,
                sha256=None,
                part=part_of(self._folder, name),
                room=lambda size: check_room(self._folder, size),
                largest=LARGEST_LIST,
            )

        try:
            # In a thread: a name server that is silent cannot be interrupted.
            [(_, got)] = answers(ask, [name], 1, self._stop)
        except (NotHadError, NoRoomError, OddFileError, OSError) as error:
            raise DataError(
                f"The list of files {name} could not be downloaded: {masked(str(error))}. "
                "Without it nothing can be checked."
            ) from None
        try:
            listed = read_sums(fresh, where=f"{name} of {self._release.urls[0]}")
        except DataError:
            fresh.unlink()
            raise
        if not got.stated:
            self._notes.append(
                f"{name} came without a stated length: nothing but its last line break tells it is whole"
            )
        if kept.is_file():
            try:
                gone = sorted(read_sums(kept).keys() - listed.keys())
            except DataError:
                gone = []  # a damaged old list says nothing
            if gone:
                self._notes.append(
                    f"{len(gone):,} files of the list that lay here are not in today's; first: {', '.join(gone[:3])}"
                )
        fresh.replace(kept)
        return listed

    def _throw_away_what_nobody_lists(self, listed: Mapping[str, str]) -> None:
        """Parts of files that are not in the list any more, and what a killed call left of an archive."""
        parts = parts_folder(self._folder)
        if any(parts.iterdir()):
            known = {part_of(self._folder, path).stem for path in listed}
            for part in parts.iterdir():
                if part.stem not in known and not part.is_dir():
                    part.unlink()

    def _check_selection(self, listed: Mapping[str, str]) -> dict[str, str]:
        """Failures for what the release promises and its list lacks; refuses a user's pattern that fits nothing."""
        for pattern in self._only:
            if not any(self._release.wants(path) and matches(path, (pattern,)) for path in listed):
                some = ", ".join(list(dict.fromkeys(path.partition("/")[0] for path in listed))[:10])
                raise UsageError(f"No listed file fits {pattern!r}. The release has: {some}.")
        return dict.fromkeys(self._release.lacks(listed), f"{self._release.sums} names no such file")

    def _look(
        self,
        wanted: Mapping[str, str],
        listed: Mapping[str, str],
        checking: Callable[[int, int], None],
        say: Callable[[str], None],
        failures: dict[str, str],
    ) -> tuple[list[str], list[str]]:
        """What must be fetched, and which of it was there with other bytes, which are set aside.

        What lies there and is no file that can be read is added to `failures`.
        """
        unknown = [path for path, sha256 in wanted.items() if not self._found.has(path, sha256)]
        missing, corrupt = set(), []
        done = len(wanted) - len(unknown)
        for path, look in compare(self._folder, unknown, self._stop):
            done += 1
            if isinstance(look, Reading) and look.sha256 == wanted[path]:
                self._found.add(path, look.sha256, look.stamp)
            elif isinstance(look, OddFileError):
                failures[path] = str(look)
            else:
                try:
                    aside = set_aside(self._folder, path, listed) if look is not None else None
                except OSError as error:
                    failures[path] = (
                        f"it has another sha256 than the listed one, and cannot be moved: {in_words(error)}"
                    )
                    continue
                finally:
                    checking(done, len(wanted))
                missing.add(path)
                if aside is not None:
                    corrupt.append(path)
                    say(f"warning: {path} has another sha256 than the listed one; kept as {aside}, fetched again")
                continue
            checking(done, len(wanted))
        return [path for path in wanted if path in missing], corrupt

    def _check_room(self, missing: Sequence[str], workers: int, say: Callable[[str], None]) -> int | None:
        """Bytes to come, if they are known; refuses if they do not fit."""
        if not missing:
            return 0
        sizes = {path: part.lstat().st_size for path in missing if (part := part_of(self._folder, path)).is_file()}
        large = {path for path, size in sizes.items() if size >= _LARGE_PART}
        found = need(self._web, missing, self._urls, workers=workers, surely=large)
        self._throw_away_what_is_too_large(sizes, found)
        # What came of a file before need not come again.
        parts = sum(sizes.values())
        there = free(self._folder)
        say(f"to fetch: {len(missing):,} files, {found}; free on the disk: {in_bytes(there)}")
        if found.size is None:
            return None
        if found.size - parts > there:
            raise DataError(
                f"The disk of {self._folder} is too small: {found} are to be fetched and {in_bytes(there)} are free. "
                "Make room, name another folder with --to, or take a part with --only."
            )
        return max(0, found.size - parts)

    def _throw_away_what_is_too_large(self, sizes: dict[str, int], found: Need) -> None:
        """Parts with more bytes than their file has hold what a server sent for another thing."""
        for path in [path for path, size in sizes.items() if size > found.told.get(path, size)]:
            part_of(self._folder, path).unlink()
            del sizes[path]

    def _fetch_all(
        self,
        sums: Mapping[str, str],
        workers: int,
        all_bytes: int | None,
        progress: Callable[[Tally], None],
        failures: dict[str, str],
    ) -> list[str]:
        """Fetch files in parallel; those that failed are added to `failures`."""
        fetched: list[str] = []
        started = time.monotonic()
        done = in_a_row = 0
        ended = ""
        last = 0.0

        def tell() -> None:
            progress(Tally(done, len(sums), max(0, self._size), all_bytes, time.monotonic() - started))

        def take(path: str, got: Fetched) -> None:
            self._found.add(path, sums[path], got.stamp)
            fetched.append(path)

        with in_threads(lambda path: self._fetch(path, sums[path]), list(sums), workers, self._stop) as results:
            while done < len(sums) and not ended:
                try:
                    path, got, error = results.get(timeout=TELL_SECONDS)
                except queue.Empty:
                    self._stop.check()
                    tell()
                    continue
                done += 1
                if error is None:
                    take(path, got)
                    in_a_row = 0
                else:
                    failures[path] = _reason(error)
                    in_a_row = in_a_row + 1 if isinstance(error, NotHadError) and error.passing else 0
                full = isinstance(error, NoRoomError) and free(self._folder) < _FULL
                if full or getattr(error, "errno", None) == errno.ENOSPC:
                    ended = "the disk is full"
                elif in_a_row >= _GIVE_UP:
                    ended = f"{in_a_row} files in a row could not be had"
                if time.monotonic() - last > TELL_SECONDS:
                    last = time.monotonic()
                    tell()
            self._stop.set()
        # Of those that were under way when it ended, some may be whole.
        while not results.empty():
            path, got, error = results.get()
            if error is None:
                take(path, got)
        for path in sums.keys() - failures.keys() - set(fetched):
            failures[path] = f"not tried: {ended}"
        tell()
        return sorted(fetched)

    def _fetch(self, path: str, sha256: str) -> Fetched:
        return fetch(
            self._web,
            self._urls(path),
            self._folder / path,
            sha256=sha256,
            part=part_of(self._folder, path),
            room=lambda size: check_room(self._folder, size),
            told=self._count,
        )

    def _count(self, size: int) -> None:
        with self._lock:
            self._size += size

    def _unpack(
        self,
        wanted: Mapping[str, str],
        listed: Mapping[str, str],
        failures: Mapping[str, str],
        say: Callable[[str], None],
    ) -> dict[str, str]:
        failed: dict[str, str] = {}
        known = Unpacked(self._folder)
        for archive, into in self._release.unpack:
            if archive not in wanted or archive in failures:
                continue
            sha256 = wanted[archive]
            file, folder = self._folder / archive, self._folder / into
            try:
                refuse_listed(archive, into, listed)
                if known.has(archive, sha256, into):
                    continue
                if folder.is_dir() and not folder.is_symlink():
                    say(f"comparing {into} with {archive}")
                    absent, changed, stamps = check_unpacked(file, folder)
                    for path in changed:
                        say(f"warning: {into}/{path} is not as {archive} has it; set aside, unpacked again")
                    if not absent and not changed:
                        known.add(archive, sha256, into, stamps)
                        continue
                say(f"unpacking {archive}")
                stamps = unpack(file, folder, work=parts_folder(self._folder))
                known.add(archive, sha256, into, stamps)
            except (DataError, OSError) as error:
                failed[archive] = f"it is here, but was not unpacked: {error}"
        return failed


def _reason(error: Exception) -> str:
    if isinstance(error, NotHadError | NoRoomError | OddFileError):
        return masked(str(error))
    if isinstance(error, OSError):
        return f"{in_words(error)} ({type(error).__name__})"
    # Foreseen by nobody; the others go on.
    return masked(f"{type(error).__name__}: {error}")
