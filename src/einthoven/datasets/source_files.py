"""Source files while a cohort is made of them: read, digested, and lent to the reader that decodes them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import polars as pl

from einthoven.foundation.errors import DataError

from .file_content import digested
from .source import Source

_SCHEMA = {"file": pl.String, "bytes": pl.Int64, "sha256": pl.String}
_ROWS_A_TABLE = 8192


class Digest(NamedTuple):
    """What is known of a file that was read, and its bytes if they are few enough to be held."""

    size: int
    sha256: str
    content: bytes | None


Digests = Mapping[str, Digest]


class SourceFiles:
    """Source files by the files of a record, each read ahead where that is worth it.

    Where a file takes long, as on a slow disk or a network, threads read ahead. Where it does not, they would cost more
    than they hide, since each of their calls of the system has to wait for Python twice. Large files, which hold many
    records, are digested once.

    Args:
        pool: for reading ahead.
        slow_seconds: files of a record that take longer than this, on the mean over the last `timed`, are read ahead.
    """

    def __init__(
        self, source: Source, pool: ThreadPoolExecutor, *, slow_seconds: float = 1e-3, timed: int = 64
    ) -> None:
        self._source = source
        self._pool = pool
        self._slow_seconds = slow_seconds
        self._ahead: dict[tuple[str, ...], Future[Digests]] = {}
        self._seconds: deque[float] = deque(maxlen=timed)
        self._last: tuple[tuple[str, ...], Digests] = ((), {})
        self._large: dict[str, Digest] = {}

    def fetch(self, files: tuple[str, ...]) -> None:
        """Begin to read files if that is worth it, and go on without waiting."""
        seconds = list(self._seconds)
        slow = len(seconds) == self._seconds.maxlen and sum(seconds) > len(seconds) * self._slow_seconds
        if slow and files != self._last[0] and files not in self._ahead:
            self._ahead[files] = self._pool.submit(self._read, files)

    def digests(self, files: tuple[str, ...]) -> Digests:
        """Digests and bytes of the files of a record; waits for them.

        Raises:
            OSError: one cannot be read.
        """
        if files != self._last[0]:
            future = self._ahead.pop(files, None)
            self._last = (files, future.result() if future is not None else self._read(files))
        return self._last[1]

    def lent(self, digests: Digests) -> dict[str, bytes]:
        """Path -> bytes of those files that are held."""
        held = {file: digest.content for file, digest in digests.items()}
        return {self._source.place(file): content for file, content in held.items() if content is not None}

    def _read(self, files: tuple[str, ...]) -> Digests:
        started = time.perf_counter()
        found = {file: self._large.get(file) or Digest(*digested(self._source.place(file))) for file in files}
        self._large.update((file, digest) for file, digest in found.items() if digest.content is None)
        self._seconds.append(time.perf_counter() - started)
        return found


class SourceList:
    """Which files a cohort was made of, for `sources.parquet`; takes some tens of bytes a file."""

    def __init__(self) -> None:
        self._noted: tuple[str, ...] = ()
        self._rows: list[tuple[str, int, str]] = []
        self._tables: list[pl.DataFrame] = []

    def note(self, digests: Digests) -> None:
        """Take down the files of a record that is kept."""
        if tuple(digests) != self._noted:  # windows of one recording share theirs
            self._rows += [(file, digest.size, digest.sha256) for file, digest in digests.items()]
            self._noted = tuple(digests)
        if len(self._rows) >= _ROWS_A_TABLE:
            self._pack()

    def table(self) -> pl.DataFrame:
        """file, bytes and sha256 of every file, as they were first noted.

        Raises:
            DataError: a file was changed while the cohort was made.
        """
        self._pack()
        found = pl.concat(self._tables).unique(maintain_order=True)
        changed = found.filter(pl.col("file").is_duplicated())["file"]
        if len(changed):
            raise DataError(
                f"{changed[0]} was changed while the cohort was made of it. Prepare it again when nothing writes to it."
            )
        return found

    def _pack(self) -> None:
        self._tables.append(pl.DataFrame(self._rows, schema=_SCHEMA, orient="row"))
        self._rows = []
