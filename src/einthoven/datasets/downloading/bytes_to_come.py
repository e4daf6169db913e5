"""How many bytes are still to come, asked of the servers before the first of them is fetched."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from einthoven.foundation.errors import DataError

from .disk_space import free, in_bytes
from .job import Job
from .left_parts import sizes_of_parts, throw_away_too_large
from .stopping import Stopped, answers
from .web import Web

# Files of one kind are of one size, nearly: this many of each are asked for.
_ASKED = 16
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


@dataclass(frozen=True)
class Need:
    """What is still to come.

    Attributes:
        size: bytes; None if no server told.
        asked: how many files' sizes were told.
        files: how many files there are.
        told: path -> bytes, where a server told.
    """

    size: int | None
    asked: int
    files: int
    told: Mapping[str, int] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Whether every file's size was told."""
        return self.size is not None and self.asked == self.files

    def __str__(self) -> str:
        if self.size is None:
            return "an unknown number of bytes (the servers do not tell)"
        if self.exact:
            return in_bytes(self.size)
        return f"about {in_bytes(self.size)} (from the sizes of {self.asked:,} of them)"


def need(
    web: Web,
    paths: Sequence[str],
    urls_of: Callable[[str], Sequence[str]],
    *,
    workers: int,
    surely: Collection[str] = (),
) -> Need:
    """Ask how large files are: all of those that are few of their kind and those of `surely`, a sample of the others.

    A kind is a suffix in one folder of the top level. A file whose size is not told counts as the mean of its kind.
    """
    if not paths:
        return Need(0, 0, 0)
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in paths:
        top, _, _ = path.rpartition("/")
        kinds[top.partition("/")[0], os.path.splitext(path)[1]].append(path)  # noqa: PTH122  # no path of this system
    asked: dict[str, tuple[str, str]] = {}
    for kind, members in kinds.items():
        step = max(1.0, len(members) / _ASKED)
        chosen = [members[int(index * step)] for index in range(min(len(members), _ASKED))]
        asked |= dict.fromkeys([*chosen, *(path for path in members if path in surely)], kind)

    # Servers that do not tell in time are asked no more: it is the files that matter.
    until = time.monotonic() + web.patience.grace

    def ask(path: str) -> int | None:
        return _size_of(web, urls_of(path), until)

    told = {path: size for path, size in answers(ask, list(asked), workers, web.stop) if size is not None}
    sizes: dict[tuple[str, str], list[int]] = defaultdict(list)
    for path, size in told.items():
        sizes[asked[path]].append(size)
    if not sizes:
        return Need(None, 0, len(paths))
    over_all = [size for found in sizes.values() for size in found]
    total = 0.0
    for kind, members in kinds.items():
        found = sizes[kind] or over_all
        total += sum(found) / len(found) * len(members)
    return Need(round(total), len(over_all), len(paths), told)


def _size_of(web: Web, urls: Sequence[str], until: float) -> int | None:
    for url in urls:
        if time.monotonic() > until:
            break
        try:
            with web.ask(url, method="HEAD") as answer:
                length = answer.length()
                # Some tell the length of what they pack, which is not that of the file.
                if length is not None and not answer.packing():
                    return length
        except Stopped:
            raise
        except Exception:  # noqa: S112  # whether it can be had is found out, and reported, when it is downloaded
            continue
    return None
