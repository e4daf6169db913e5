"""Preparing a cohort: one pass over the source, constant memory, published whole or not at all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Literal

import numpy as np
import polars as pl

from einthoven.foundation.errors import DataError, UsageError, unknown_name
from einthoven.foundation.home import cohorts_folder
from einthoven.foundation.identity import content_key, sha256_file
from einthoven.foundation.publishing import exclusive, publish_folder, write_json
from einthoven.signals.leads import STANDARD_LEADS, arrange_leads
from einthoven.signals.quality import quality_flags
from einthoven.signals.units import check_plausible_millivolts
from einthoven.version import VERSION

from .cohort import MANIFEST, RECORDS, SIGNALS, Cohort, check_patients, digests_of, fingerprint_of
from .dataset import SPLITS, Dataset, Record, Scan, SourceRecord
from .manifest import Excluded, Manifest, TaskCoverage
from .registry import DATASETS

BadRecords = Literal["refuse", "exclude"]
Progress = Callable[[int, int], None]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def prepare(
    dataset: str,
    source: Path | str | None = None,
    *,
    rate: float | None = None,
    name: str | None = None,
    options: Mapping[str, int] | None = None,
    allow_missing: bool = False,
    bad_records: BadRecords = "refuse",
    replace: bool = False,
    progress: Progress | None = None,
) -> Cohort:
    """Read a dataset once and store it as a cohort under `$EINTHOVEN_HOME/cohorts`.

    Args:
        dataset: a registered dataset.
        source: the folder its files lie in; None for one that is made, not read.
        rate: sampling rate of the files to take, Hz; None is the dataset's first.
        name: of the cohort; default `<dataset>-<rate>hz`.
        options: of the dataset's scan, such as the phantom's `records` and `seed`.
        allow_missing: go on without the records whose files do not exist; they are counted in the manifest and in
            every report.
        bad_records: what to do with a record that is corrupt, not finite or in the wrong unit: "refuse" stops at the
            first; "exclude" leaves it out, with its reason in `excluded.parquet`.
        replace: put the new cohort in the place of one with the same name and another content.
        progress: called with (records done, records in all).

    Returns:
        the cohort. If one of this name was made from the same request it is returned as it is.

    Raises:
        DataError: files are missing, records are bad, ids occur twice, or a patient is in two splits.
        UsageError: an unknown dataset or option, or a cohort of this name with another content.
        BusyError: another process is preparing the same cohort.
    """
    entry = DATASETS.get(dataset)
    rate = float(rate if rate is not None else entry.card.rates[0])
    options = _checked_options(entry, options or {})
    folder = Path(source).expanduser().resolve() if source is not None else None
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--source {folder} is not a folder.")
    name = name or f"{dataset}-{rate:g}hz"
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be a cohort's name: letters, digits, '.', '_' and '-' only, 100 at most.")

    scan = entry.scan(folder, rate, options)
    where = f"dataset {dataset}"
    _check_ids(scan, where)
    for rule, split in scan.splits.items():
        check_patients({r.record_id: r.patient_id for r in scan.records}, dict(split), rule=rule, where=where)
    present, missing = _present(scan, folder)
    if missing and not allow_missing:
        raise DataError(_missing_message(scan, missing, folder))
    if not present:
        raise DataError(f"None of the {len(scan.records)} records of {where} has its files under {folder}.")

    request = _request(entry, scan, present, folder, rate, options, allow_missing, bad_records)
    final = cohorts_folder() / name
    with exclusive(final, doing="preparing"):
        if (final / MANIFEST).is_file():
            existing = Cohort(final)
            if existing.manifest.request == request:
                return existing
            if not replace:
                raise UsageError(
                    f"A cohort named {name} exists ({final}) and was prepared from something else: "
                    f"{_difference(existing.manifest.request, request)}. Give this one another name with --name, "
                    "or replace the old one with --replace."
                )
        with publish_folder(final, replace=replace) as work:
            _write(work, entry, scan, present, missing, folder, name, request, bad_records, progress)
        return Cohort(final)


def _checked_options(entry: Dataset, options: Mapping[str, int]) -> dict[str, int]:
    for option in options:
        if option not in entry.options:
            raise unknown_name("option", option, entry.options, where=f"dataset {entry.name}")
    return {**entry.options, **options}


def _check_ids(scan: Scan, where: str) -> None:
    repeated = [record_id for record_id, count in Counter(r.record_id for r in scan.records).items() if count > 1]
    if repeated:
        raise DataError(
            f"{len(repeated)} record id(s) of {where} occur more than once, so labels and signals cannot be matched. "
            f"First: {', '.join(repeated[:10])}. Remove the repeated rows from the metadata."
        )


def _present(scan: Scan, folder: Path | None) -> tuple[list[int], list[int]]:
    present: list[int] = []
    missing: list[int] = []
    for index, record in enumerate(scan.records):
        for file in record.files:
            # By name only: a link inside the source folder is its owner's business.
            if PurePath(file).is_absolute() or ".." in PurePath(file).parts:
                raise DataError(f"Record {record.record_id} names the file {file!r}, which is outside {folder}.")
        whole = folder is None or all((folder / file).is_file() for file in record.files)
        (present if whole else missing).append(index)
    return present, missing


def _missing_message(scan: Scan, missing: list[int], folder: Path | None) -> str:
    first = [_first_missing(scan.records[index], folder) for index in missing[:10]]
    return (
        f"{len(missing)} of {len(scan.records)} records have no signal file under {folder}. First {len(first)}: "
        f"{', '.join(first)}. Download them, or prepare the rest with --allow-missing (the manifest and every report "
        "will then say what is missing)."
    )


def _request(entry, scan, present, folder, rate, options, allow_missing, bad_records) -> dict:
    sizes = [
        [file, (folder / file).stat().st_size] for index in present for file in scan.records[index].files if folder
    ]
    return {
        "dataset": entry.name,
        "version": entry.card.version,
        "rate": rate,
        "options": dict(options),
        "allow_missing": allow_missing,
        "bad_records": bad_records,
        "rules": dict(scan.rules),
        "metadata": {file: sha256_file(folder / file) for file in scan.source_files} if folder else {},
        "files": content_key(sizes),
        "records": len(present),
    }


def _difference(old: Mapping, new: Mapping) -> str:
    keys = [key for key in new if old.get(key) != new[key]]
    return ", ".join(f"{key} ({old.get(key)!r} then, {new[key]!r} now)" for key in keys) or "another schema"


def _write(work, entry, scan, present, missing, folder, name, request, bad_records, progress) -> None:
    leads = STANDARD_LEADS
    excluded = [_excluded(scan.records[i], "missing file", _first_missing(scan.records[i], folder)) for i in missing]
    kept: list[int] = []
    flags: list[dict] = []
    with (work / SIGNALS).open("wb") as stream:
        _write_header(stream, (len(present), len(leads), scan.samples))
        for done, index in enumerate(present):
            record = scan.records[index]
            try:
                stored, flag = _stored(scan.read(record), scan, leads)
            except DataError as error:
                error.add_note(f"dataset {entry.name}, record {record.record_id}")
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
        raise DataError(f"Every one of the {len(present)} records of {entry.name} was bad; first: {excluded[-1]}.")
    _write_tables(work, scan, kept, flags, excluded)
    _write_sources(work, scan, kept, folder)
    manifest = _manifest(entry, scan, kept, flags, excluded, name, request, leads)
    digests = digests_of(work, manifest)
    manifest = manifest.model_copy(
        update={"digests": digests, "fingerprint": fingerprint_of(digests, manifest)},
    )
    write_json(work / MANIFEST, manifest.model_dump(mode="json"))


def _write_header(stream, shape: tuple[int, ...]) -> None:
    # numpy pads the header for a growing first axis, so it can be written again once the number of records is known.
    np.lib.format.write_array_header_1_0(
        stream, {"descr": np.lib.format.dtype_to_descr(np.dtype("<i2")), "fortran_order": False, "shape": shape}
    )


def _stored(record: Record, scan: Scan, leads: tuple[str, ...]) -> tuple[np.ndarray, dict]:
    if record.rate != scan.rate:
        raise DataError(f"Sampled at {record.rate:g} Hz; {scan.rate:g} Hz was expected.")
    if record.signal.shape[-1] != scan.samples:
        raise DataError(f"{record.signal.shape[-1]} samples per lead; {scan.samples} were expected.")
    bad = ~np.isfinite(record.signal)
    if bad.any():
        shown = [f"{lead} ({count})" for lead, count in zip(record.leads, bad.sum(axis=1), strict=True) if count]
        raise DataError(
            f"{int(bad.sum())} samples are not finite (NaN or the format's mark for an invalid sample), "
            f"in lead {', '.join(shown)}. Einthoven does not invent samples."
        )
    signal = arrange_leads(record.signal, record.leads, target=leads)
    check_plausible_millivolts(signal)
    scaled = np.rint(signal.astype(np.float64) * scan.gain)
    if np.abs(scaled).max() > np.iinfo(np.int16).max:
        lead, sample = np.unravel_index(np.abs(scaled).argmax(), scaled.shape)
        raise DataError(
            f"Lead {leads[lead]} reaches {signal[lead, sample]:.1f} mV at sample {sample}, beyond the "
            f"{np.iinfo(np.int16).max / scan.gain:.1f} mV that int16 holds at {scan.gain:g} units per mV."
        )
    found = quality_flags(signal[None], scan.rate)
    flag = {
        "flat_leads": " ".join(lead for lead, hit in zip(leads, found.flat[0], strict=True) if hit),
        "clipped_leads": " ".join(lead for lead, hit in zip(leads, found.clipped[0], strict=True) if hit),
    }
    return scaled.astype("<i2"), flag


def _excluded(record: SourceRecord, reason: str, detail: str) -> dict[str, str]:
    return {"record_id": record.record_id, "patient_id": record.patient_id, "reason": reason, "detail": detail}


def _first_missing(record: SourceRecord, folder: Path | None) -> str:
    return next((file for file in record.files if folder and not (folder / file).is_file()), "")


def _write_tables(work: Path, scan: Scan, kept: list[int], flags: list[dict], excluded: list[dict]) -> None:
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


def _write_sources(work: Path, scan: Scan, kept: list[int], folder: Path | None) -> None:
    files = [*scan.source_files, *(file for index in kept for file in scan.records[index].files)] if folder else []
    rows = [
        {"file": file, "bytes": (folder / file).stat().st_size, "sha256": sha256_file(folder / file)}  # type: ignore[operator]  # files is empty without a folder
        for file in files
    ]
    pl.DataFrame(rows, schema={"file": pl.String, "bytes": pl.Int64, "sha256": pl.String}).write_parquet(
        work / "sources.parquet"
    )


def _manifest(entry, scan, kept, flags, excluded, name, request, leads) -> Manifest:
    counts = Counter(row["reason"] for row in excluded)
    card = entry.card
    kept_ids = {scan.records[index].record_id for index in kept}
    return Manifest(
        name=name,
        dataset=card.name,
        dataset_version=card.version,
        title=card.title,
        licence=card.licence,
        citation=card.citation,
        rate=scan.rate,
        leads=leads,
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
        tasks={task: coverage(scan, task, kept_ids) for task in scan.tasks},
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


def coverage(scan: Scan, task: str, kept_ids: set[str]) -> TaskCoverage:
    """Records and positives of a task for each split: what the metadata promise, and what `kept_ids` leave."""
    table = scan.tasks[task]
    split = scan.splits[next(iter(scan.splits))]

    def count(ids: list[str]) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
        records = Counter(split.get(i, "") for i in ids)
        positives = Counter((split.get(i, ""), label) for i in ids for label in table.positives[i])
        return (
            {s: records[s] for s in SPLITS},
            {s: {label: positives[s, label] for label in table.labels} for s in SPLITS},
        )

    promised = count(list(table.positives))
    present = count([i for i in table.positives if i in kept_ids])
    return TaskCoverage(
        labels=table.labels,
        records_promised=promised[0],
        records_present=present[0],
        positives_promised=promised[1],
        positives_present=present[1],
    )
