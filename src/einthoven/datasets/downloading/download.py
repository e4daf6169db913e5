"""Downloading a release to a folder: what is missing or corrupt is fetched, and what could not be had is named."""

from __future__ import annotations

import errno
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.publishing import exclusive

from .archives import is_unpacked, unpack
from .credentials import Credentials, credentials_for, how_to_log_in, masked
from .ledger import FOLDER, Found, keep_selection
from .release import Release, matches
from .room import NoRoomError, check_room, free, in_bytes, need
from .sums import read_sums
from .transfer import NotHadError, fetch, part_of
from .verifying import compare
from .web import Patience, Stopped, Web

if TYPE_CHECKING:
    from einthoven.datasets.dataset import Dataset

# One server's connections; more would be refused, or rude.
WORKERS = 8
_MOST_WORKERS = 32
# So many files in a row that no server gave, though another time it may: the network is gone.
_GIVE_UP = 32
_TELL_SECONDS = 0.25
# A network read cannot be interrupted; whoever presses Ctrl-C is not made to wait for its end.
_JOIN_SECONDS = 2.0
_CORRUPT = ".corrupt"


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
        set_aside: what was there with another sha256; it now lies beside, with ".corrupt" at the end of its name.
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
    with exclusive(folder / FOLDER / "files", doing="downloading to", what=folder):
        stop = threading.Event()
        work = _Work(release, folder, tuple(only), Web(patience or Patience(), credentials, stop), stop)
        try:
            return work.run(workers, progress=progress, checking=checking, say=say)
        finally:
            stop.set()


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

    def __init__(self, release: Release, folder: Path, only: tuple[str, ...], web: Web, stop: threading.Event) -> None:
        self._release, self._folder, self._only, self._web, self._stop = release, folder, only, web, stop
        self._found = Found(folder)
        self._lock = threading.Lock()
        self._size = 0

    def run(
        self,
        workers: int,
        *,
        progress: Callable[[Tally], None],
        checking: Callable[[int, int], None],
        say: Callable[[str], None],
    ) -> Download:
        """Everything that `download` does under its lock."""
        listed, notes = self._listed()
        wanted = {path: sha256 for path, sha256 in listed.items() if self._release.wants(path, self._only)}
        failures = self._check_selection(listed)
        keep_selection(self._folder, self._release, self._only)
        missing, corrupt = self._look(wanted, checking)
        left_aside = len(listed) - len(wanted)
        aside = f", {left_aside:,} more of the release are left aside" if left_aside else ""
        say(f"{len(wanted):,} files, {len(wanted) - len(missing):,} of them here already{aside}")
        for path in corrupt:
            say(f"warning: {path} has another sha256 than the listed one; kept as {path}{_CORRUPT}, fetched again")
        all_bytes = self._check_room(missing, workers, say)
        started = time.monotonic()
        fetched = self._fetch_all({path: wanted[path] for path in missing}, workers, all_bytes, progress, failures)
        failures.update(self._unpack(wanted, failures, fetched, say))
        return Download(
            folder=self._folder,
            files=len(wanted),
            kept=len(wanted) - len(missing),
            fetched=tuple(fetched),
            size=self._size,
            seconds=time.monotonic() - started,
            set_aside=tuple(corrupt),
            failures=failures,
            left_aside=left_aside,
            notes=notes,
        )

    def _urls(self, path: str) -> list[str]:
        return [url + quote(path) for url in self._release.urls]

    def _listed(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """The list as the server has it now; an old one in the folder gives way to it only if it is a list."""
        name = self._release.sums
        kept, fresh = self._folder / name, self._folder / FOLDER / name
        try:
            fetch(self._web, self._urls(name), fresh, sha256=None)
        except NotHadError as error:
            raise DataError(
                f"The list of files {name} could not be downloaded: {error}. Without it nothing can be checked."
            ) from None
        try:
            listed = read_sums(fresh, where=f"{name} of {self._release.urls[0]}")
        except DataError:
            fresh.unlink()
            raise
        notes: tuple[str, ...] = ()
        if kept.is_file():
            try:
                gone = sorted(read_sums(kept).keys() - listed.keys())
            except DataError:
                gone = []  # a damaged old list says nothing
            if gone:
                notes = (
                    f"{len(gone):,} files of the list that lay here are not in today's; first: {', '.join(gone[:3])}",
                )
        fresh.replace(kept)
        return listed, notes

    def _check_selection(self, listed: Mapping[str, str]) -> dict[str, str]:
        """Failures for what the release promises and its list lacks; refuses a user's pattern that fits nothing."""
        for pattern in self._only:
            if not any(self._release.wants(path) and matches(path, (pattern,)) for path in listed):
                some = ", ".join(list(dict.fromkeys(path.partition("/")[0] for path in listed))[:10])
                raise UsageError(f"No listed file fits {pattern!r}. The release has: {some}.")
        promised = (*self._release.include, *self._release.always, *(archive for archive, _ in self._release.unpack))
        reason = f"{self._release.sums} names no such file"
        return {pattern: reason for pattern in promised if not any(matches(path, (pattern,)) for path in listed)}

    def _look(self, wanted: Mapping[str, str], checking: Callable[[int, int], None]) -> tuple[list[str], list[str]]:
        """What must be fetched, and which of it was there with other bytes, which are set aside."""
        unknown = {path: sha256 for path, sha256 in wanted.items() if not self._found.has(path, sha256)}
        missing, corrupt = [], []
        done = len(wanted) - len(unknown)
        for path, state in compare(self._folder, unknown):
            done += 1
            if state:
                self._found.add(path, unknown[path])
            else:
                missing.append(path)
                if state is not None:
                    file = self._folder / path
                    file.replace(file.with_name(file.name + _CORRUPT))
                    corrupt.append(path)
            checking(done, len(wanted))
        return missing, corrupt

    def _check_room(self, missing: Sequence[str], workers: int, say: Callable[[str], None]) -> int | None:
        """Bytes to come, if they are known; refuses if they do not fit."""
        if not missing:
            return 0
        found = need(self._web, missing, self._urls, workers=workers)
        # What came of a file before need not come again.
        parts = sum(part.stat().st_size for path in missing if (part := part_of(self._folder / path)).is_file())
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

        with self._threads(sums, workers) as results:
            while done < len(sums) and not ended:
                try:
                    path, error = results.get(timeout=_TELL_SECONDS)
                except queue.Empty:
                    tell()
                    continue
                done += 1
                if error is None:
                    self._found.add(path, sums[path])
                    fetched.append(path)
                    in_a_row = 0
                else:
                    failures[path] = masked(str(error) or type(error).__name__)
                    in_a_row = in_a_row + 1 if isinstance(error, NotHadError) and error.passing else 0
                if isinstance(error, NoRoomError) or getattr(error, "errno", None) == errno.ENOSPC:
                    ended = "the disk is full"
                elif in_a_row >= _GIVE_UP:
                    ended = f"{in_a_row} files in a row could not be had"
                if time.monotonic() - last > _TELL_SECONDS:
                    last = time.monotonic()
                    tell()
        # Of those that were under way when it ended, some may be whole.
        while not results.empty():
            path, error = results.get()
            if error is None:
                self._found.add(path, sums[path])
                fetched.append(path)
        for path in sums.keys() - failures.keys() - set(fetched):
            failures[path] = f"not tried: {ended}"
        tell()
        return sorted(fetched)

    @contextmanager
    def _threads(self, sums: Mapping[str, str], workers: int) -> Iterator[queue.SimpleQueue]:
        """Threads that fetch files and put (path, None or error) into the queue; they stop when the block ends."""
        waiting: queue.SimpleQueue = queue.SimpleQueue()
        results: queue.SimpleQueue = queue.SimpleQueue()
        for path in sums:
            waiting.put(path)

        def work() -> None:
            while not self._stop.is_set():
                try:
                    path = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    self._fetch(path, sums[path])
                except Stopped:
                    return
                except Exception as error:  # whatever it is, it is reported with the file's name
                    results.put((path, error))
                else:
                    results.put((path, None))

        # Daemons: one that waits for a silent server must not keep the process from ending.
        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(workers, len(sums)))]
        for thread in threads:
            thread.start()
        try:
            yield results
        finally:
            self._stop.set()
            limit = time.monotonic() + _JOIN_SECONDS
            for thread in threads:
                thread.join(max(0.0, limit - time.monotonic()))

    def _fetch(self, path: str, sha256: str) -> None:
        fetch(
            self._web,
            self._urls(path),
            self._folder / path,
            sha256=sha256,
            room=lambda size: check_room(self._folder, size),
            told=self._count,
        )

    def _count(self, size: int) -> None:
        with self._lock:
            self._size += size

    def _unpack(
        self, wanted: Mapping[str, str], failures: Mapping[str, str], fetched: Sequence[str], say: Callable[[str], None]
    ) -> dict[str, str]:
        failed: dict[str, str] = {}
        for archive, into in self._release.unpack:
            if archive not in wanted or archive in failures:
                continue
            file, folder = self._folder / archive, self._folder / into
            try:
                if archive not in fetched and folder.is_dir() and is_unpacked(file, folder):
                    continue
                say(f"unpacking {archive}")
                unpack(file, folder)
            except (DataError, OSError) as error:
                failed[archive] = f"it is here, but was not unpacked: {error}"
        return failed
