"""Today's list of a release: from the first of its servers that has one that can be read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from einthoven.foundation.errors import DataError, UsageError

from .by_hand import by_hand
from .credentials import masked, shown
from .disk_space import NoRoomError, check_room
from .job import Job
from .kept_state import FOLDER
from .part import part_of
from .reading import OddFileError, in_words
from .release import matches
from .stopping import answers
from .sums import LARGEST_LIST, read_sums
from .transfer import Fetched, NotHadError, ends_a_line, fetch


def todays_list(job: Job) -> tuple[dict[str, str], list[str]]:
    """Path -> sha256 as the servers have it now, and notes; it then lies in the folder, in place of an older one.

    Raises:
        DataError: no server has a list that can be read; an older one in the folder stays then.
    """
    name = job.release.sums
    kept, fresh = job.folder / name, job.folder / FOLDER / name
    if kept.is_dir():
        raise DataError(f"{kept} is a folder; the list of files has to lie there. Move it away.")
    reasons, barred = [], False
    # In a server's turn, not all at once: what is no list must not keep a mirror from being asked.
    for url in job.urls(name):
        try:
            # In a thread: a name server that is silent cannot be interrupted.
            [(_, got)] = answers(lambda asked: _ask(job, asked, fresh), [url], 1, job.stop)
            if isinstance(got, Exception):
                raise got
            listed = read_sums(fresh, where=shown(url))
        except NotHadError as error:
            reasons.append(str(error))
            barred = barred or error.network
        except DataError as error:
            reasons.append(str(error).rstrip("."))
            fresh.unlink(missing_ok=True)
        except (NoRoomError, OddFileError) as error:
            reasons.append(str(error))
            break
        except OSError as error:
            reasons.append(f"{error.filename or fresh} cannot be written: {in_words(error)}")
            break
        else:
            notes = [] if got.stated else [f"{name} came without a stated length: {_UNSTATED}"]
            if not ends_a_line(fresh):
                notes.append(f"{name} does not end with a line break: it may be cut short")
            notes += _what_is_gone(kept, listed)
            fresh.replace(kept)
            return listed, notes
    hint = f" {by_hand(job.folder, name, job.release.urls)}" if barred else ""
    raise DataError(
        f"The list of files {name} could not be downloaded: {masked('; '.join(reasons))}. Without it nothing can be "
        f"checked.{hint}"
    )


_UNSTATED = "nothing but its last line break tells it is whole"


def _ask(job: Job, url: str, to: Path) -> Fetched | Exception:
    """The list of one server, or why it was not had: to raise it here would stop all that follows."""
    try:
        return fetch(
            job.web,
            [url],
            to,
            sha256=None,
            part=part_of(job.folder, job.release.sums),
            room=lambda size: check_room(job.folder, size),
            largest=LARGEST_LIST,
        )
    except (NotHadError, NoRoomError, OddFileError, OSError) as error:
        return error


def _what_is_gone(kept: Path, listed: Mapping[str, str]) -> list[str]:
    """A note if an older list in the folder has files that today's has not."""
    if not kept.is_file():
        return []
    try:
        gone = sorted(read_sums(kept).keys() - listed.keys())
    except DataError:
        return []  # a damaged old list says nothing
    if not gone:
        return []
    return [f"{len(gone):,} files of the list that lay here are not in today's; first: {', '.join(gone[:3])}"]


def check_selection(job: Job, listed: Mapping[str, str]) -> dict[str, str]:
    """Failures for what the release promises and its list lacks.

    Raises:
        UsageError: a pattern of the user's fits nothing.
    """
    for pattern in job.only:
        if not any(job.release.wants(path) and matches(path, (pattern,)) for path in listed):
            some = ", ".join(list(dict.fromkeys(path.partition("/")[0] for path in listed))[:10])
            raise UsageError(f"No listed file fits {pattern!r}. The release has: {some}.")
    return dict.fromkeys(job.release.lacks(listed), f"{job.release.sums} names no such file")
