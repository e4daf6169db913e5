"""Writing a cohort's files: signals as they are read, then tables, then the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError
from einthoven.foundation.identity import sha256_file
from einthoven.foundation.publishing import write_json
from einthoven.signals.leads import STANDARD_LEADS, arrange_leads
from einthoven.signals.limb_law import broken_limb_law
from einthoven.signals.quality import quality_flags
from einthoven.signals.units import check_plausible_millivolts
from einthoven.version import VERSION

from .cohort import MANIFEST, RECORDS, SIGNALS, digests_of, fingerprint_of
from .coverage import task_coverage
from .dataset import Record, Scan, SourceRecord
from .manifest import Excluded, Manifest
from .source import Source

BadRecords = Literal["refuse", "exclude"]
Progress = Callable[[int, int], None]


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
    scan, present, leads = source.scan, source.present, STANDARD_LEADS
    excluded = [
        _excluded(scan.records[i], "missing file", source.first_missing(scan.records[i])) for i in source.missing
    ]
    kept: list[int] = []
    flags: list[dict[str, str]] = []
    with (work / SIGNALS).open("wb") as stream:
        _write_header(stream, (len(present), len(leads), scan.samples))
        for done, index in enumerate(present):
            record = scan.records[index]
            try:
                stored, flag = _stored(scan.read(record), scan, leads)
            except DataError as error:
                error.add_note(f"dataset {source.dataset.name}, record {record.record_id}")
                if bad_records == "refuse":
                    error.add_note("Mend the record, or leave it and its like out with --bad-records exclude.")
                    raise
                excluded.append(_excluded(record, "bad record", str(error)))
                continue
            finally:
                if progress:
                    progress(done + 1, len(present))
            stream.write(stored.tobytes())
            kept.append(index)
            flags.append(flag)
        stream.seek(0)
        _write_header(stream, (len(kept), len(leads), scan.samples))
    if not kept:
        raise DataError(
            f"Every one of the {len(present)} records of {source.dataset.name} was bad; first: {excluded[-1]}."
        )
    _write_tables(work, scan, kept, flags, excluded)
    _write_sources(work, source, kept)
    manifest = _manifest(source, kept, flags, excluded, name, request)
    digests = digests_of(work, manifest)
    manifest = manifest.model_copy(
        update={"digests": digests, "fingerprint": fingerprint_of(digests, manifest)},
    )
    write_json(work / MANIFEST, manifest.model_dump(mode="json"))


def _write_header(stream: BinaryIO, shape: tuple[int, ...]) -> None:
    # numpy pads the header for a growing first axis, so it can be written again once the number of records is known.
    np.lib.format.write_array_header_1_0(
        stream, {"descr": np.lib.format.dtype_to_descr(np.dtype("<i2")), "fortran_order": False, "shape": shape}
    )


def _stored(record: Record, scan: Scan, leads: tuple[str, ...]) -> tuple[np.ndarray, dict[str, str]]:
    if record.rate != scan.rate:
        raise DataError(f"Sampled at {record.rate:g} Hz; {scan.rate:g} Hz was expected.")
    if record.signal.ndim != 2 or record.signal.shape[0] != len(record.leads):
        raise DataError(
            f"The signal has shape {record.signal.shape}; (leads, samples) of {len(record.leads)} leads "
            "was expected. Is it transposed?"
        )
    if record.signal.shape[1] != scan.samples:
        raise DataError(f"{record.signal.shape[1]} samples per lead; {scan.samples} were expected.")
    bad = ~np.isfinite(record.signal)
    if bad.any():
        shown = [f"{lead} ({count})" for lead, count in zip(record.leads, bad.sum(axis=1), strict=True) if count]
        raise DataError(
            f"{int(bad.sum())} samples are not finite (NaN or the format's mark for an invalid sample), "
            f"in lead {', '.join(shown)}. Einthoven does not invent samples."
        )
    signal = arrange_leads(record.signal, record.leads, target=leads)
    check_plausible_millivolts(signal)
    wrong = broken_limb_law(record.signal, record.leads)
    if wrong:
        raise DataError(wrong)
    scaled = np.rint(signal.astype(np.float64) * scan.gain)
    if np.abs(scaled).max() > np.iinfo(np.int16).max:
        lead, sample = np.unravel_index(np.abs(scaled).argmax(), scaled.shape)
        raise DataError(
            f"Lead {leads[lead]} reaches {signal[lead, sample]:.1f} mV at sample {sample}, beyond the "
            f"{np.iinfo(np.int16).max / scan.gain:.1f} mV that int16 holds at {scan.gain:g} units per mV."
        )
    found = quality_flags(signal[None], scan.rate)
    if found.flat[0].all():
        raise DataError("No lead moves: every one keeps one value for half of the record or longer. This is no ECG.")
    flag = {
        "flat_leads": " ".join(lead for lead, hit in zip(leads, found.flat[0], strict=True) if hit),
        "clipped_leads": " ".join(lead for lead, hit in zip(leads, found.clipped[0], strict=True) if hit),
    }
    return scaled.astype("<i2"), flag


def _excluded(record: SourceRecord, reason: str, detail: str) -> dict[str, str]:
    return {"record_id": record.record_id, "patient_id": record.patient_id, "reason": reason, "detail": detail}


def _write_tables(
    work: Path, scan: Scan, kept: list[int], flags: list[dict[str, str]], excluded: list[dict[str, str]]
) -> None:
    records = [scan.records[index] for index in kept]
    rows = [
        {
            "record_id": r.record_id,
            "patient_id": r.patient_id,
            "age": r.metadata.get("age"),
            "sex": r.metadata.get("sex"),
            **{key: value for key, value in r.metadata.items() if key not in ("age", "sex")},
            **flag,
        }
        for r, flag in zip(records, flags, strict=True)
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


def _write_sources(work: Path, source: Source, kept: list[int]) -> None:
    files = [*source.scan.source_files, *(file for index in kept for file in source.scan.records[index].files)]
    rows = [
        {"file": file, "bytes": source.path(file).stat().st_size, "sha256": sha256_file(source.path(file))}
        for file in files
    ]
    pl.DataFrame(rows, schema={"file": pl.String, "bytes": pl.Int64, "sha256": pl.String}).write_parquet(
        work / "sources.parquet"
    )


def _manifest(
    source: Source,
    kept: list[int],
    flags: list[dict[str, str]],
    excluded: list[dict[str, str]],
    name: str,
    request: dict[str, Any],
) -> Manifest:
    scan, card = source.scan, source.dataset.card
    counts = Counter(row["reason"] for row in excluded)
    kept_ids = {scan.records[index].record_id for index in kept}
    return Manifest(
        name=name,
        dataset=card.name,
        dataset_version=card.version,
        title=card.title,
        licence=card.licence,
        citation=card.citation,
        access=card.access,
        rate=scan.rate,
        leads=STANDARD_LEADS,
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
        flagged={flag: sum(bool(row[flag]) for row in flags) for flag in ("flat_leads", "clipped_leads")},
        request=request,
        digests={},
        fingerprint="",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        einthoven=VERSION,
    )
