"""Downloading a release to a folder: what is missing or corrupt is fetched, and what could not be had is named."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.publishing import exclusive

from .by_hand import by_hand
from .bytes_to_come import bytes_to_come
from .credentials import Credentials, credentials_for, how_to_log_in
from .fetching import fetch_all
from .job import Job
from .kept_state import FOLDER, Found, keep_selection
from .left_parts import make_room, throw_away_unlisted
from .listing import check_selection, todays_list
from .looking import look
from .reading import in_words
from .release import Release
from .result import Download
from .stopping import Stop
from .tally import Tally
from .unpacking import unpack_all
from .web import Patience, Web

if TYPE_CHECKING:
    from einthoven.datasets.dataset import Dataset

# One server's connections; more would be refused, or rude.
WORKERS = 8
_MOST_WORKERS = 32
_Told = TypeVar("_Told", bound=Callable[..., None])


def download(
    what: Dataset | Release,
    folder: Path | str,
    *,
    only: Sequence[str] = (),
    mirrors: Sequence[str] = (),
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
        mirrors: URLs of folders that hold the same files and their list of sums; they are asked before the release's
            own, and are sent no password.
        workers: files that are fetched at the same time.
        progress: called four times a second and at the end.
        checking: called with (files looked at, files in all) while what is there is checked.
        say: called with lines on what is going to happen.

    Returns:
        what came of it; look at `ok`, since a file that no server gives is reported there and is no error.

    Raises:
        UsageError: the dataset cannot be downloaded, a login is needed, a mirror is no URL of a folder, or a pattern
            fits no file.
        DataError: the list of sums cannot be had or is damaged, or the disk is too small.
        BusyError: another process is downloading to this folder.
    """
    release = what if isinstance(what, Release) else _release_of(what)
    folder = Path(folder).expanduser().resolve()
    if not 1 <= workers <= _MOST_WORKERS:
        raise UsageError(f"{workers} workers were asked for; 1 to {_MOST_WORKERS} was expected.")
    credentials = _login(release, mirrored=bool(mirrors))
    release = release.mirrored(mirrors)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; a folder to download to was expected.")
    stop = Stop()
    try:
        with exclusive(folder / FOLDER / "files", doing="downloading to", what=folder):
            try:
                web = Web(patience or Patience(), credentials, stop)
                job = Job(release, folder, tuple(only), workers, web, stop, _passing_on(say))
                found = _run(job, progress=_passing_on(progress), checking=_passing_on(checking))
            finally:
                # Before the folder is free for another process: nothing is published after this.
                stop.set()
    except _TheirsError as error:
        raise error.cause from None
    except OSError as error:
        raise DataError(
            f"{error.filename or folder} cannot be written: {in_words(error)}. A folder that may be written, on a disk "
            "with room, was expected. Make room, or name another with --to."
        ) from error
    notes = (*found.notes, credentials.note) if credentials and credentials.note else found.notes
    return replace(found, notes=notes)


def _run(job: Job, *, progress: Callable[[Tally], None], checking: Callable[[int, int], None]) -> Download:
    """Everything that `download` does under its lock, from the list of sums to the last archive."""
    notes = make_room(job.folder)
    listed, more = todays_list(job)
    wanted = {path: sha256 for path, sha256 in listed.items() if job.wants(path)}
    failures = check_selection(job, listed)
    throw_away_unlisted(job.folder, listed)
    keep_selection(job.folder, job.release, job.only)
    found = Found(job.folder)
    seen = look(job, wanted, listed, found, checking)
    failures |= seen.failures
    kept = len(wanted) - len(seen.missing) - sum(path in failures for path in wanted)
    left_aside = len(listed) - len(wanted)
    aside = f", {left_aside:,} more of the release are left aside" if left_aside else ""
    job.say(f"{len(wanted):,} files, {kept:,} of them here already{aside}")
    all_bytes = bytes_to_come(job, seen.missing)
    started = time.monotonic()
    came = fetch_all(job, {path: wanted[path] for path in seen.missing}, found, all_bytes, progress)
    failures |= came.failures
    failures |= unpack_all(job, wanted, listed, failures)
    hint = [by_hand(job.folder, job.release.sums, job.release.urls)] if came.barred else []
    return Download(
        folder=job.folder,
        files=len(wanted),
        kept=kept,
        fetched=tuple(came.fetched),
        size=came.size,
        seconds=time.monotonic() - started,
        set_aside=tuple(seen.corrupt),
        failures=failures,
        left_aside=left_aside,
        notes=(*notes, *more, *hint),
    )


def _release_of(dataset: Dataset) -> Release:
    if dataset.release is None:
        card = dataset.card
        if not card.needs_source:
            raise UsageError(f"{card.name} is made, not read: there is nothing to download.")
        raise UsageError(f"{card.name}: {dataset.how_to_get}")
    return dataset.release


def _login(release: Release, *, mirrored: bool) -> Credentials | None:
    if not release.login:
        return None
    credentials = credentials_for(release.urls[0])
    if credentials is None and not mirrored:
        raise UsageError(
            f"{release.urls[0]} gives its files only to those who have signed its agreement and log in: "
            f"{how_to_log_in(release.urls[0])}."
        )
    return credentials


class _TheirsError(Exception):
    """A caller's function failed, such as at a pipe that nobody reads any more: no fault of the folder's."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _passing_on(told: _Told) -> _Told:
    def tell(*arguments: object) -> None:
        try:
            told(*arguments)
        except OSError as error:
            raise _TheirsError(error) from error

    return tell  # pyright: ignore[reportReturnType]  # it takes what `told` takes
