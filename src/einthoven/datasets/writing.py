"""Writing a cohort's files: signals as they are read, then tables, then the manifest."""

from __future__ import annotations

import tempfile
import traceback
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
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

from .block import Block
from .cohort import MANIFEST, RECORDS, SIGNALS, digests_of, fingerprint_of
from .columns import label_columns, record_table, split_column
from .concepts import ConceptColumns, concept_columns
from .coverage import task_coverage
from .dataset import Record, Scan, SourceRecord
from .file_content import lending
from .intake import FLAGS, Intake, Taken, take_in
from .manifest import Excluded, Manifest
from .signal_file import SignalWriter
from .source import Source
from .source_files import Digests, SourceFiles, SourceList

BadRecords = Literal["refuse", "exclude"]
Progress = Callable[[int, int], None]
_LARGEST_BLOCK = 64
_VALUES_A_BLOCK = 4_000_000
_UNKNOWN_SAMPLES = 20_000
_READING_THREADS = 8
_BLOCKS_AHEAD = 3
_ROWS_A_PART = 8192


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
    sources = SourceList()
    with _reading_pool() as pool, SignalWriter(work / SIGNALS, intake) as signals:
        files = SourceFiles(source, pool)
        sources.note(files.digests(tuple(scan.source_files)))
        for done, (index, outcome, digests) in enumerate(_taken(source, intake, files)):
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
                sources.note(digests)
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
    _write(left_out, work / "excluded.parquet")
    _write(sources.table(), work / "sources.parquet")
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


@contextmanager
def _reading_pool() -> Iterator[ThreadPoolExecutor]:
    """Threads that read ahead; what they have not begun is given up when the work ends early."""
    pool = ThreadPoolExecutor(_READING_THREADS)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _taken(source: Source, intake: Intake, files: SourceFiles) -> Iterator[_Outcome]:
    """Every present record in order: its position, what is stored of it or why it is not, and its files.

    Blocks go through steps that overlap: files are read ahead where that takes long, records are decoded, and what
    was decoded is taken in by a thread of its own, which is arithmetic on large arrays and so leaves Python to the
    decoding.
    """
    size = _block_size(intake)
    free: list[Block] = []
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
                taking.append(_decode(source, intake, *fetching.popleft(), files, pool, _empty(free, size)))
            if len(taking) > 1:
                yield from _done(taking.popleft(), free)
        while fetching:
            taking.append(_decode(source, intake, *fetching.popleft(), files, pool, _empty(free, size)))
            yield from _done(taking.popleft(), free)
        while taking:
            yield from _done(taking.popleft(), free)


def _empty(free: list[Block], size: int) -> Block:
    return free.pop() if free else Block(size)


def _done(taking: _TakingIn, free: list[Block]) -> list[_Outcome]:
    outcomes = taking.outcomes()
    taking.block.clear()
    free.append(taking.block)
    return outcomes


_Outcome = tuple[int, Taken | DataError, Digests]


@dataclass(frozen=True)
class _TakingIn:
    """A block of records that was decoded and is being taken in.

    Attributes:
        files: position -> the files of each of its records.
        bad: those that could not be decoded.
        read: positions of the others, in the order of `taken`.
        block: their records.
    """

    files: dict[int, Digests]
    bad: dict[int, DataError]
    read: list[int]
    block: Block
    taken: Future[list[Taken | DataError]]

    def outcomes(self) -> list[_Outcome]:
        found = {**self.bad, **dict(zip(self.read, self.taken.result(), strict=True))}
        return [(row, found[row], files) for row, files in self.files.items()]


def _block_size(intake: Intake) -> int:
    """Records a block: enough to share the cost of each step, few enough not to fill the memory."""
    samples = intake.samples or _UNKNOWN_SAMPLES
    return max(1, min(_LARGEST_BLOCK, _VALUES_A_BLOCK // (samples * len(intake.leads))))


def _decode(
    source: Source,
    intake: Intake,
    block: np.ndarray,
    records: Sequence[SourceRecord],
    files: SourceFiles,
    pool: ThreadPoolExecutor,
    into: Block,
) -> _TakingIn:
    digests: dict[int, Digests] = {}
    bad: dict[int, DataError] = {}
    read: list[int] = []
    for index, record in zip(block.tolist(), records, strict=True):
        digests[index] = {}
        try:
            decoded, digests[index] = _read(source, record, files)
            into.add(decoded)
        except DataError as error:
            bad[index] = error
        except MemoryError:
            raise  # is of the machine: the record may be sound, and must not be left out for it
        except Exception as error:  # a reader is anybody's code; whatever it does, its record must be named
            bad[index] = unreadable(error)
        else:
            read.append(index)
    return _TakingIn(digests, bad, read, into, pool.submit(take_in, into, intake))


def _read(source: Source, record: SourceRecord, files: SourceFiles) -> tuple[Record, Digests]:
    """A record, and the digests of the files it was decoded from."""
    failed: OSError | None = None
    found: Digests = {}
    try:
        found = files.digests(record.files)
    except OSError as error:
        failed = error  # the reader may have better words for it
    with lending(files.lent(found)):
        decoded = source.scan.read(record)
    if failed is not None:
        raise failed
    return decoded, {file: digest._replace(content=None) for file, digest in found.items()}


def unreadable(error: Exception) -> DataError:
    """What is wrong with a record whose reading ended in an error that no reader foresaw."""
    if isinstance(error, OSError):
        return DataError(
            f"{error.filename or 'A file'} cannot be read ({error.strerror or error}). Does it exist, may it be read, "
            "and does its disk or network work?"
        )
    frame = traceback.extract_tb(error.__traceback__)[-1]
    told = DataError(
        f"Reading it ended with {type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno}). "
        "The file is damaged in a way its reader does not know, or the reader has a fault."
    )
    told.__cause__ = error
    return told


def _write_tables(work: Path, scan: Scan, kept: np.ndarray, stored: pl.DataFrame) -> None:
    records = record_table(scan)
    ids = records.record_id
    whole = len(kept) == len(records)  # then a copy would only take memory
    parts = [records.frame.select("record_id", "patient_id"), records.metadata]
    parts = parts if whole else [part[kept] for part in parts]
    _write(pl.concat([*parts, stored], how="horizontal"), work / RECORDS)
    for folder in ("labels", "splits", "concepts"):
        (work / folder).mkdir()
    is_kept = np.zeros(len(records), dtype=bool)
    is_kept[kept] = True
    for task, table in scan.tasks.items():
        columns = label_columns(table)
        there = is_kept[columns.rows]
        targets = columns.targets[there]
        labels = {label: targets[:, column] for column, label in enumerate(columns.labels)}
        _write(pl.DataFrame({"record_id": ids[columns.rows[there]], **labels}), work / "labels" / f"{task}.parquet")
    for rule, split in scan.splits.items():
        names = split_column(split).names()[kept]
        named = names != ""
        columns = {"record_id": ids[kept[named]], "split": names[named]}
        _write(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), work / "splits" / f"{rule}.parquet")
    for table, concepts in scan.concepts.items():
        _write_concepts(work / "concepts" / f"{table}.parquet", ids, concept_columns(concepts), is_kept)


def _write(table: pl.DataFrame, file: Path) -> None:
    # What a writer holds grows with its row groups.
    table.write_parquet(file, row_group_size=_ROWS_A_PART)


def _write_concepts(file: Path, ids: pl.Series, concepts: ConceptColumns, kept: np.ndarray) -> None:
    """Write a table of measurements part by part: it may be wide, and is not held whole."""
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        parts = []
        for start in range(0, len(ids), _ROWS_A_PART):
            stop = min(start + _ROWS_A_PART, len(ids))
            values = concepts.between(start, stop)
            part = pl.DataFrame({"record_id": ids[start:stop], **values}).filter(pl.Series(kept[start:stop]))
            parts.append(Path(folder) / f"{start}.parquet")
            part.write_parquet(parts[-1])
        pl.scan_parquet(parts, glob=False).sink_parquet(file, row_group_size=_ROWS_A_PART)


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
        split_summaries={rule: card.split_rules[rule] for rule in scan.splits if rule in card.split_rules},
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
        promised_records=len(scan.records) + source.absent,
        excluded=Excluded(
            counts=dict(counts.iter_rows()) | ({"not in the folder": source.absent} if source.absent else {}),
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
