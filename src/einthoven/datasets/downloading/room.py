"""Whether what is still to come fits on the disk, found out before the first byte of it is fetched."""

from __future__ import annotations

from collections.abc import Sequence

from einthoven.foundation.errors import DataError

from .disk_space import free, in_bytes, need
from .job import Job
from .leftovers import sizes_of_parts, throw_away_too_large

# A part that is smaller is not asked for its size before it is gone on with.
_LARGE_PART = 1 << 20


def bytes_to_come(job: Job, missing: Sequence[str]) -> int | None:
    """Bytes that are still to come; None if no server tells.

    Raises:
        DataError: they do not fit.
    """
    if not missing:
        return 0
    sizes = sizes_of_parts(job.folder, missing)
    large = {path for path, size in sizes.items() if size >= _LARGE_PART}
    found = need(job.web, missing, job.urls, workers=job.workers, surely=large)
    throw_away_too_large(job.folder, sizes, found.told)
    # What came of a file before need not come again.
    parts = sum(sizes.values())
    there = free(job.folder)
    job.say(f"to fetch: {len(missing):,} files, {found}; free on the disk: {in_bytes(there)}")
    if found.size is None:
        return None
    if found.size - parts > there:
        raise DataError(
            f"The disk of {job.folder} is too small: {found} are to be fetched and {in_bytes(there)} are free. "
            "Make room, name another folder with --to, or take a part with --only."
        )
    return max(0, found.size - parts)
