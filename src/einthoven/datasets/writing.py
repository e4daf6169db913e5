"""Writing a cohort's files: signals as they are read, then tables, then the manifest."""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError
from einthoven.foundation.identity import sha256_file
from einthoven.foundation.publishing import write_json
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.version import VERSION

from .cohort import MANIFEST, RECORDS, SIGNALS, digests_of, fingerprint_of
from .coverage import task_coverage
from .dataset import Record, Scan, SourceRecord
from .intake import Intake, Taken, take_in
from .manifest import Excluded, Manifest
from .signal_file import SignalWriter
from .source import Source

BadRecords = Literal["refuse", "exclude"]
Progress = Callable[[int, int], None]
_LARGEST_BLOCK = 64
_VALUES_A_BLOCK = 4_000_000
_UNKNOWN_SAMPLES = 20_000
_FETCHING_THREADS = 8
_BLOCKS_AHEAD = 3


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
    excluded = [
        _excluded(scan.records[i], "missing file", source.first_missing(scan.records[i])) for i in source.missing
    ]
    excluded += [_excluded(scan.records[i], scan.records[i].left_out, "") for i in source.left_out]
    kept: list[int] = []
    rows: list[dict[str, Any]] = []
    sources: dict[str, dict[str, Any]] = {}  # by file: records cut from one recording share theirs
    with SignalWriter(work / SIGNALS, intake) as signals:
        for done, (index, outcome, files) in enumerate(_taken(source, intake)):
            record = scan.records[index]
            if progress:
                progress(done + 1, len(present))
            if isinstance(outcome, DataError):
                outcome.add_note(f"dataset {source.dataset.name}, record {record.record_id}")
                if bad_records == "refuse":
                    outcome.add_note("Mend the record, or leave it and its like out with --bad-records exclude.")
                    raise outcome
                excluded.append(_excluded(record, "bad record", str(outcome)))
            else:
                signals.append(outcome.signal)
                kept.append(index)
                rows.append({"samples": outcome.signal.shape[1], **outcome.flags})
                sources |= {row["file"]: row for row in files}
    if not kept:
        first = next(row for row in excluded if row["reason"] == "bad record")
        raise DataError(
            f"Every one of the {len(present)} records of {source.dataset.name} was bad; first: record "
            f"{first['record_id']}: {first['detail']}"
        )
    _write_tables(work, scan, kept, rows, excluded)
    _write_sources(work, source, list(sources.values()))
    manifest = _manifest(source, kept, rows, excluded, name, request)
    digests = digests_of(work, manifest)
    manifest = manifest.model_copy(
        update={"digests": digests, "fingerprint": fingerprint_of(digests, manifest)},
    )
    write_json(work / MANIFEST, manifest.model_dump(mode="json"))


_Files = list[dict[str, Any]]


def _taken(source: Source, intake: Intake) -> Iterator[tuple[int, Taken | DataError, _Files]]:
    """Every present record in order: its position, what is stored of it or why it is not, and its files' digests.

    One block is held at a time. The files of the next ones are fetched by threads meanwhile, which hides the latency of
    a slow disk or network; decoding and checking would only wait for each other in threads.
    """
    size = _block_size(intake)
    blocks = [source.present[start : start + size] for start in range(0, len(source.present), size)]
    with ThreadPoolExecutor(_FETCHING_THREADS) as pool:
        fetching: deque[list[Future[None]]] = deque()
        for position, block in enumerate(blocks):
            for later in blocks[position + len(fetching) : position + _BLOCKS_AHEAD]:
                fetching.append([pool.submit(_fetch, source, index) for index in later])
            for future in fetching.popleft():
                future.result()
            yield from _block(source, intake, block)


def _block_size(intake: Intake) -> int:
    """Records a block: enough to share the cost of each step, few enough not to fill the memory."""
    samples = intake.samples or _UNKNOWN_SAMPLES
    return max(1, min(_LARGEST_BLOCK, _VALUES_A_BLOCK // (samples * len(intake.leads))))


def _fetch(source: Source, index: int) -> None:
    """Have the system read a record's files, so that they are in its memory when they are decoded."""
    for file in source.scan.records[index].files:
        # What cannot be read is said when it is decoded.
        with contextlib.suppress(OSError), source.path(file).open("rb", buffering=0) as stream:
            while stream.read(1 << 20):
                pass


def _block(source: Source, intake: Intake, block: Sequence[int]) -> list[tuple[int, Taken | DataError, _Files]]:
    outcomes: dict[int, Taken | DataError] = {}
    read: dict[int, Record] = {}
    files: dict[int, _Files] = {}
    for index in block:
        record = source.scan.records[index]
        try:
            read[index] = source.scan.read(record)
            files[index] = [_digest(source, file) for file in record.files]
        except DataError as error:
            outcomes[index] = error
    outcomes.update(zip(read, take_in(list(read.values()), intake), strict=True))
    return [(index, outcomes[index], files.get(index, [])) for index in block]


def _digest(source: Source, file: str) -> dict[str, Any]:
    path = source.path(file)
    return {"file": file, "bytes": path.stat().st_size, "sha256": sha256_file(path)}


def _excluded(record: SourceRecord, reason: str, detail: str) -> dict[str, str]:
    return {"record_id": record.record_id, "patient_id": record.patient_id, "reason": reason, "detail": detail}


def _write_tables(
    work: Path, scan: Scan, kept: list[int], stored: list[dict[str, Any]], excluded: list[dict[str, str]]
) -> None:
    records = [scan.records[index] for index in kept]
    rows = [
        {
            "record_id": r.record_id,
            "patient_id": r.patient_id,
            "age": r.metadata.get("age"),
            "sex": r.metadata.get("sex"),
            **{key: value for key, value in r.metadata.items() if key not in ("age", "sex")},
            **more,
        }
        for r, more in zip(records, stored, strict=True)
    ]
    pl.DataFrame(
        rows,
        schema_overrides={"record_id": pl.String, "patient_id": pl.String, "age": pl.Float64, "sex": pl.String},
        infer_schema_length=None,
    ).write_parquet(work / RECORDS)
    for folder in ("labels", "splits", "concepts"):
        (work / folder).mkdir()
    for task, table in scan.tasks.items():
        ids = [r.record_id for r in records if r.record_id in table.positives]
        columns = {label: [label in table.positives[i] for i in ids] for label in table.labels}
        frame = pl.DataFrame(
            {"record_id": pl.Series(ids, dtype=pl.String)}
            | {label: pl.Series(values, dtype=pl.Boolean).cast(pl.UInt8) for label, values in columns.items()}
        )
        frame.write_parquet(work / "labels" / f"{task}.parquet")
    for rule, split in scan.splits.items():
        ids = [r.record_id for r in records if r.record_id in split]
        pl.DataFrame(
            {"record_id": ids, "split": [split[i] for i in ids]},
            schema={"record_id": pl.String, "split": pl.String},
        ).write_parquet(work / "splits" / f"{rule}.parquet")
    for table, concepts in scan.concepts.items():
        values = {concept: np.asarray(column, dtype=np.float64)[kept] for concept, column in concepts.items()}
        pl.DataFrame({"record_id": [r.record_id for r in records], **values}).write_parquet(
            work / "concepts" / f"{table}.parquet"
        )
    pl.DataFrame(
        excluded, schema={"record_id": pl.String, "patient_id": pl.String, "reason": pl.String, "detail": pl.String}
    ).write_parquet(work / "excluded.parquet")


def _write_sources(work: Path, source: Source, of_records: _Files) -> None:
    rows = [*(_digest(source, file) for file in source.scan.source_files), *of_records]
    pl.DataFrame(rows, schema={"file": pl.String, "bytes": pl.Int64, "sha256": pl.String}).write_parquet(
        work / "sources.parquet"
    )


def _manifest(
    source: Source,
    kept: list[int],
    stored: list[dict[str, Any]],
    excluded: list[dict[str, str]],
    name: str,
    request: dict[str, Any],
) -> Manifest:
    scan, card = source.scan, source.dataset.card
    counts = Counter(row["reason"] for row in excluded)
    kept_ids = {scan.records[index].record_id for index in kept}
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
        patients=len({scan.records[index].patient_id for index in kept}),
        promised_records=len(scan.records),
        excluded=Excluded(
            counts=dict(counts),
            first={
                reason: tuple(row["record_id"] for row in excluded if row["reason"] == reason)[:10] for reason in counts
            },
        ),
        tasks={task: task_coverage(scan, task, kept_ids) for task in scan.tasks},
        split_rules=tuple(scan.splits),
        concept_tables=tuple(scan.concepts),
        rules=dict(scan.rules),
        notes=scan.notes,
        flagged={flag: sum(bool(row[flag]) for row in stored) for flag in ("flat_leads", "clipped_leads")},
        request=request,
        digests={},
        fingerprint="",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        einthoven=VERSION,
    )
