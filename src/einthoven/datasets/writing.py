"""Writing a cohort's files: signals as they are read, then tables, then the manifest."""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError
from einthoven.foundation.publishing import write_json
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.version import VERSION

from .cohort import MANIFEST, RECORDS, SIGNALS, digests_of, fingerprint_of
from .columns import label_columns, record_table, split_column
from .coverage import task_coverage
from .dataset import Record, Scan, SourceRecord
from .file_content import digested, lending
from .intake import FLAGS, Intake, Taken, take_in
from .manifest import Excluded, Manifest
from .signal_file import SignalWriter
from .source import Source

BadRecords = Literal["refuse", "exclude"]
Progress = Callable[[int, int], None]
_LARGEST_BLOCK = 64
_VALUES_A_BLOCK = 4_000_000
_UNKNOWN_SAMPLES = 20_000
_READING_THREADS = 8
_BLOCKS_AHEAD = 3
_TIMED = 64
_SLOW_SECONDS = 1e-3
_ROWS_A_TABLE = 8192


def write_cohort(
    work: Path,
    source: Source,
    *,
    name: str,
    request: dict[str, Any],
    bad_records: BadRecords = "refuse",
    progress: Progress | None = None,
) -> None:
    """Write all files of a cohort into an empty folder, record by record.

    Args:
        work: an empty folder; publishing it is the caller's business.
        request: what the cohort was made from, for its manifest.
        bad_records: "refuse" stops at the first record that cannot be used; "exclude" notes it and goes on.
        progress: called with (records done, records in all).

    Raises:
        DataError: a bad record that is refused (noted with dataset and record), or no good record at all.
    """
    scan, present = source.scan, source.present
    intake = Intake(rate=scan.rate, samples=scan.samples, leads=scan.leads or STANDARD_LEADS, gain=scan.gain)
    excluded = _Excluded(source)
    kept = array("q")
    lengths = array("q")
    flags: dict[str, list[str]] = {flag: [] for flag in FLAGS}
    with ThreadPoolExecutor(_READING_THREADS) as pool, SignalWriter(work / SIGNALS, intake) as signals:
        files = _SourceFiles(source, pool)
        for done, (index, outcome) in enumerate(_taken(source, intake, files)):
            if progress:
                progress(done + 1, len(present))
            if isinstance(outcome, DataError):
                outcome.add_note(f"dataset {source.dataset.name}, record {scan.records[index].record_id}")
                if bad_records == "refuse":
                    outcome.add_note("Mend the record, or leave it and its like out with --bad-records exclude.")
                    raise outcome
                excluded.bad[index] = str(outcome)
            else:
                signals.append(outcome.signal)
                kept.append(index)
                lengths.append(outcome.signal.shape[1])
                for flag, found in flags.items():
                    found.append(outcome.flags[flag])
    if not kept:
        index, why = next(iter(excluded.bad.items()))
        raise DataError(
            f"Every one of the {len(present)} records of {source.dataset.name} was bad; first: record "
            f"{scan.records[index].record_id}: {why}"
        )
    rows = np.array(kept)
    stored = pl.DataFrame({"samples": np.array(lengths), **flags}, schema_overrides=dict.fromkeys(FLAGS, pl.String))
    left_out = excluded.table()
    _write_tables(work, scan, rows, stored)
    left_out.write_parquet(work / "excluded.parquet")
    files.table().write_parquet(work / "sources.parquet")
    manifest = _manifest(source, rows, stored, left_out, name, request)
    found_digests = digests_of(work, manifest)
    manifest = manifest.model_copy(
        update={"digests": found_digests, "fingerprint": fingerprint_of(found_digests, manifest)},
    )
    write_json(work / MANIFEST, manifest.model_dump(mode="json"))


class _Excluded:
    """Why records are not in the cohort; `bad` is filled while they are read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.bad: dict[int, str] = {}

    def table(self) -> pl.DataFrame:
        """record_id, patient_id, reason and detail: what has no file, then what was left out, then what is bad."""
        source, records = self._source, record_table(self._source.scan).frame
        missing = records[source.missing].select("record_id", "patient_id").with_columns(reason=pl.lit("missing file"))
        first = [source.first_missing(source.scan.records[int(index)]) for index in source.missing]
        left_out = records[source.left_out].select("record_id", "patient_id", reason="left_out", detail=pl.lit(""))
        bad = records[np.array(list(self.bad), dtype=np.int64)].select("record_id", "patient_id")
        return pl.concat(
            [
                missing.with_columns(pl.Series("detail", first, dtype=pl.String)),
                left_out,
                bad.with_columns(
                    pl.lit("bad record").alias("reason"), pl.Series("detail", self.bad.values(), dtype=pl.String)
                ),
            ]
        )


_Read = Mapping[str, tuple[int, str, bytes | None]]  # file -> size, sha256, and its bytes if they are held


class _SourceFiles:
    """Source files, each read and digested once, however many records are cut from it; by the files of a record.

    Where a file takes long, as on a slow disk or a network, threads read ahead. Where it does not, they would cost more
    than they hide, since each of their calls of the system has to wait for Python twice.
    """

    def __init__(self, source: Source, pool: ThreadPoolExecutor) -> None:
        self._source = source
        self._pool = pool
        self._ahead: dict[tuple[str, ...], Future[_Read]] = {}
        self._seconds: deque[float] = deque(maxlen=_TIMED)
        self._last: tuple[tuple[str, ...], _Read] = ((), {})
        self._noted: tuple[str, ...] = ()
        self._rows: list[tuple[str, int, str]] = []
        self._tables: list[pl.DataFrame] = []
        self.note(source.scan.source_files)

    def fetch(self, files: tuple[str, ...]) -> None:
        """Begin to read files if that is worth it, and go on without waiting."""
        slow = len(self._seconds) == _TIMED and sum(self._seconds) > _TIMED * _SLOW_SECONDS
        if slow and files != self._last[0] and files not in self._ahead:
            self._ahead[files] = self._pool.submit(self._read, files)

    def content(self, files: tuple[str, ...]) -> dict[str, bytes]:
        """Path -> bytes of those files that are held."""
        try:
            read = self._of(files)
        except OSError:
            return {}  # what cannot be read is said when it is decoded
        return {str(self._source.path(file)): content for file, (_, _, content) in read.items() if content is not None}

    def note(self, files: tuple[str, ...]) -> None:
        """Take down the digests of the files of a record that is kept."""
        if files != self._noted:
            self._rows += [(file, size, sha256) for file, (size, sha256, _) in self._of(files).items()]
            self._noted = files
        if len(self._rows) >= _ROWS_A_TABLE:
            self._pack()

    def table(self) -> pl.DataFrame:
        """file, bytes and sha256 of every file, as they were first read."""
        self._pack()
        return pl.concat(self._tables).unique("file", keep="first", maintain_order=True)

    def _of(self, files: tuple[str, ...]) -> _Read:
        if files != self._last[0]:
            future = self._ahead.pop(files, None)
            self._last = (files, future.result() if future is not None else self._read(files))
        return self._last[1]

    def _read(self, files: tuple[str, ...]) -> _Read:
        started = time.perf_counter()
        found = {file: digested(self._source.path(file)) for file in files}
        self._seconds.append(time.perf_counter() - started)
        return found

    def _pack(self) -> None:
        schema = {"file": pl.String, "bytes": pl.Int64, "sha256": pl.String}
        self._tables.append(pl.DataFrame(self._rows, schema=schema, orient="row"))
        self._rows = []


def _taken(source: Source, intake: Intake, files: _SourceFiles) -> Iterator[tuple[int, Taken | DataError]]:
    """Every present record in order: its position, and what is stored of it or why it is not.

    Blocks go through steps that overlap: files are read ahead where that takes long, records are decoded, and what
    was decoded is taken in by a thread of its own, which is arithmetic on large arrays and so leaves Python to the
    decoding.
    """
    size = _block_size(intake)
    fetching: deque[tuple[np.ndarray, list[SourceRecord]]] = deque()
    taking: deque[_TakingIn] = deque()
    with ThreadPoolExecutor(1) as pool:
        for start in range(0, len(source.present), size):
            block = source.present[start : start + size]
            records = record_table(source.scan).take(block)
            for record in records:
                files.fetch(record.files)
            fetching.append((block, records))
            if len(fetching) > _BLOCKS_AHEAD:
                taking.append(_decode(source, intake, *fetching.popleft(), files, pool))
            if len(taking) > 1:
                yield from taking.popleft().outcomes()
        while fetching:
            taking.append(_decode(source, intake, *fetching.popleft(), files, pool))
            yield from taking.popleft().outcomes()
        while taking:
            yield from taking.popleft().outcomes()


@dataclass(frozen=True)
class _TakingIn:
    """A block of records that was decoded and is being taken in.

    Attributes:
        rows: positions of all its records.
        bad: those that could not be decoded.
        read: positions of the others, in the order of `taken`.
    """

    rows: list[int]
    bad: dict[int, DataError]
    read: list[int]
    taken: Future[list[Taken | DataError]]

    def outcomes(self) -> list[tuple[int, Taken | DataError]]:
        found = {**self.bad, **dict(zip(self.read, self.taken.result(), strict=True))}
        return [(row, found[row]) for row in self.rows]


def _block_size(intake: Intake) -> int:
    """Records a block: enough to share the cost of each step, few enough not to fill the memory."""
    samples = intake.samples or _UNKNOWN_SAMPLES
    return max(1, min(_LARGEST_BLOCK, _VALUES_A_BLOCK // (samples * len(intake.leads))))


def _decode(
    source: Source,
    intake: Intake,
    block: np.ndarray,
    records: Sequence[SourceRecord],
    files: _SourceFiles,
    pool: ThreadPoolExecutor,
) -> _TakingIn:
    bad: dict[int, DataError] = {}
    read: dict[int, Record] = {}
    rows = block.tolist()
    for index, record in zip(rows, records, strict=True):
        try:
            with lending(files.content(record.files)):
                read[index] = source.scan.read(record)
        except DataError as error:
            bad[index] = error
        else:
            files.note(record.files)
    return _TakingIn(rows, bad, list(read), pool.submit(take_in, list(read.values()), intake))


def _write_tables(work: Path, scan: Scan, kept: np.ndarray, stored: pl.DataFrame) -> None:
    records = record_table(scan)
    ids = records.record_id
    pl.concat(
        [records.frame[kept].select("record_id", "patient_id"), records.metadata[kept], stored], how="horizontal"
    ).write_parquet(work / RECORDS)
    for folder in ("labels", "splits", "concepts"):
        (work / folder).mkdir()
    is_kept = np.zeros(len(records), dtype=bool)
    is_kept[kept] = True
    for task, table in scan.tasks.items():
        columns = label_columns(table)
        there = is_kept[columns.rows]
        targets = columns.targets[there]
        labels = {label: targets[:, column] for column, label in enumerate(columns.labels)}
        pl.DataFrame({"record_id": ids[columns.rows[there]], **labels}).write_parquet(
            work / "labels" / f"{task}.parquet"
        )
    for rule, split in scan.splits.items():
        names = split_column(split).names()[kept]
        named = names != ""
        pl.DataFrame(
            {"record_id": ids[kept[named]], "split": names[named]},
            schema={"record_id": pl.String, "split": pl.String},
        ).write_parquet(work / "splits" / f"{rule}.parquet")
    for table, concepts in scan.concepts.items():
        whole = len(kept) == len(records)  # then a copy would only take memory
        values = {name: np.asarray(column) if whole else np.asarray(column)[kept] for name, column in concepts.items()}
        pl.DataFrame({"record_id": ids[kept], **values}).write_parquet(work / "concepts" / f"{table}.parquet")


def _manifest(
    source: Source,
    kept: np.ndarray,
    stored: pl.DataFrame,
    excluded: pl.DataFrame,
    name: str,
    request: dict[str, Any],
) -> Manifest:
    scan, card = source.scan, source.dataset.card
    counts = excluded.group_by("reason", maintain_order=True).len()
    is_kept = np.zeros(len(scan.records), dtype=bool)
    is_kept[kept] = True
    return Manifest(
        name=name,
        families={task: about.family for task, about in card.tasks.items()},
        dataset=card.name,
        dataset_version=card.version,
        title=card.title,
        licence=card.licence,
        citation=card.citation,
        access=card.access,
        rate=scan.rate,
        leads=scan.leads or STANDARD_LEADS,
        samples=scan.samples,
        gain=scan.gain,
        records=len(kept),
        patients=record_table(scan).patient_id[kept].n_unique(),
        promised_records=len(scan.records),
        excluded=Excluded(
            counts=dict(counts.iter_rows()),
            first={
                reason: tuple(excluded.filter(pl.col("reason") == reason)["record_id"].head(10))
                for reason in counts["reason"]
            },
        ),
        tasks={task: task_coverage(scan, task, is_kept) for task in scan.tasks},
        split_rules=tuple(scan.splits),
        concept_tables=tuple(scan.concepts),
        rules=dict(scan.rules),
        notes=scan.notes,
        flagged={flag: int((stored[flag] != "").sum()) for flag in FLAGS},
        request=request,
        digests={},
        fingerprint="",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        einthoven=VERSION,
    )
