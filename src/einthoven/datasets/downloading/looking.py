"""What lies in the folder of a download already: right, missing, corrupt, or no file at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .job import Job
from .kept_state import Found
from .one_name import taken_for_one
from .part import parts_folder
from .reading import OddFileError, Reading, in_words
from .setting_aside import set_aside
from .verifying import compare


@dataclass
class Look:
    """What was found.

    Attributes:
        missing: what must be fetched.
        corrupt: which of it was there with other bytes, and was set aside.
        failures: what lies there and is in the way -> why.
    """

    missing: list[str] = field(default_factory=list)
    corrupt: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


def look(
    job: Job,
    wanted: Mapping[str, str],
    listed: Mapping[str, str],
    found: Found,
    checking: Callable[[int, int], None],
) -> Look:
    """Read what is there of `wanted`, but for what `found` knows; what is corrupt is set aside under another name.

    Args:
        listed: all that the release has; no file is set aside under a name of these.
        checking: called with (files looked at, files in all).
    """
    seen = Look()
    for path, earlier in taken_for_one(parts_folder(job.folder), [job.release.sums, *wanted]).items():
        if path in wanted:
            seen.failures[path] = (
                f"this disk takes it for {earlier}, which is another file of the release. Take a disk that tells upper "
                "from lower case, or one of the two with --only."
            )
    there = [path for path in wanted if path not in seen.failures]
    unknown = [path for path in there if not found.has(path, wanted[path])]
    done = len(wanted) - len(unknown)
    missing = set()
    for path, read in compare(job.folder, unknown, job.stop):
        done += 1
        if isinstance(read, Reading) and read.sha256 == wanted[path]:
            found.add(path, read.sha256, read.stamp)
        elif isinstance(read, OddFileError):
            seen.failures[path] = str(read)
        elif read is None or _put_aside(job, path, listed, seen):
            missing.add(path)
        checking(done, len(wanted))
    seen.missing = [path for path in wanted if path in missing]
    return seen


def _put_aside(job: Job, path: str, listed: Mapping[str, str], seen: Look) -> bool:
    """Whether the name is free now."""
    try:
        aside = set_aside(job.folder, path, listed)
    except OSError as error:
        seen.failures[path] = f"it has another sha256 than the listed one, and cannot be moved: {in_words(error)}"
        return False
    if aside is not None:
        seen.corrupt.append(path)
        job.say(f"warning: {path} has another sha256 than the listed one; kept as {aside}, fetched again")
    return True
