"""The archives of a release, unpacked beside it once they are right."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from einthoven.foundation.errors import DataError

from .archives import check_unpacked, unpack
from .job import Job
from .kept_state import Unpacked
from .part import parts_folder
from .verifying import refuse_listed


def unpack_all(
    job: Job, wanted: Mapping[str, str], listed: Mapping[str, str], failures: Collection[str]
) -> dict[str, str]:
    """Unpack what the release wants unpacked; returns archive -> why it was not.

    Args:
        wanted: path -> sha256 of what was asked for; other archives are left alone.
        failures: paths that could not be had.
    """
    failed: dict[str, str] = {}
    known = Unpacked(job.folder)
    for archive, into in job.release.unpack:
        if archive not in wanted or archive in failures:
            continue
        try:
            _unpack(job, archive, wanted[archive], into, listed, known)
        except (DataError, OSError) as error:
            failed[archive] = f"it is here, but was not unpacked: {error}"
    return failed


def _unpack(job: Job, archive: str, sha256: str, into: str, listed: Mapping[str, str], known: Unpacked) -> None:
    file, folder = job.folder / archive, job.folder / into
    refuse_listed(archive, into, listed)
    if known.has(archive, sha256, into):
        return
    if folder.is_dir() and not folder.is_symlink():
        job.say(f"comparing {into} with {archive}")
        absent, changed, stamps = check_unpacked(file, folder)
        for path in changed:
            job.say(f"warning: {into}/{path} is not as {archive} has it; set aside, unpacked again")
        if not absent and not changed:
            known.add(archive, sha256, into, stamps)
            return
    job.say(f"unpacking {archive}")
    stamps = unpack(file, folder, work=parts_folder(job.folder))
    known.add(archive, sha256, into, stamps)
