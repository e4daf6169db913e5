"""A prepared dataset on disk: signals stored once, tasks and splits as views on them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from pydantic import ValidationError

from einthoven.foundation.errors import DataError, unknown_name
from einthoven.foundation.home import cohorts_folder
from einthoven.foundation.identity import content_key, sha256_columns, sha256_npy

from .manifest import SCHEMA_VERSION, Manifest
from .signal_file import SignalFile

MANIFEST = "manifest.json"
SIGNALS = "signals.npy"
RECORDS = "records.parquet"
SIGNALS_PART = "signals"
IDS_PART = "ids"
RECORDS_PART = "records"


@dataclass(frozen=True)
class Task:
    """A view on a cohort: which records, and their labels.

    Attributes:
        labels: column names of `targets`.
        rows: int64 (n,), rows of the cohort, ascending.
        targets: uint8 (n, labels), 1 where the record has the label.
    """

    name: str
    labels: tuple[str, ...]
    rows: np.ndarray
    targets: np.ndarray


class Cohort:
    """A prepared cohort, opened read-only; build one with `prepare`.

    Example:
        cohort = Cohort.open("phantom-100hz")
        cohort.signals(slice(0, 8)).shape      # (8, 12, 1000)
    """

    def __init__(self, path: Path) -> None:
        file = path / MANIFEST
        if not file.is_file():
            raise DataError(f"{path} holds no prepared cohort: it has no {MANIFEST}. {_known_cohorts()}")
        self.path = path
        self.manifest = _read_manifest(file)
        varying = self.manifest.samples is None
        self._file = SignalFile(
            path / SIGNALS,
            records=self.manifest.records,
            leads=len(self.manifest.leads),
            samples=self.manifest.samples,
            lengths=self.records["samples"].to_numpy() if varying else None,
        )

    @classmethod
    def open(cls, cohort: str | Path) -> Cohort:
        """Open a cohort by its name (under `$EINTHOVEN_HOME/cohorts`) or by its folder.

        Raises:
            UnknownNameError: no cohort of that name has been prepared.
            DataError: the folder is not a whole cohort.
        """
        if isinstance(cohort, Path) or "/" in cohort:
            return cls(Path(cohort))
        path = cohorts_folder() / cohort
        if not (path / MANIFEST).is_file():
            error = unknown_name("cohort", cohort, prepared_cohorts(), where=str(cohorts_folder()))
            error.add_note("Prepare one with `einthoven datasets prepare`.")
            raise error
        return cls(path)

    @property
    def name(self) -> str:
        """The name it was prepared under."""
        return self.manifest.name

    @property
    def fingerprint(self) -> str:
        """Identity of its whole content (64 hex digits)."""
        return self.manifest.fingerprint

    @property
    def signals_fingerprint(self) -> str:
        """Identity of the signals as `signals` gives them, whatever is said about them elsewhere in the cohort."""
        manifest = self.manifest
        identity: dict[str, object] = {
            "rate": manifest.rate,
            "leads": manifest.leads,
            "gain": manifest.gain,
            "signals": manifest.digests[SIGNALS_PART],
        }
        if manifest.samples is None:
            # The file holds one value after the other; where a record ends is said elsewhere.
            identity["lengths"] = self.lengths.tolist()
        return content_key(identity)

    def columns_fingerprint(self, columns: Iterable[str]) -> str:
        """Identity of some columns of `records`; a column that does not exist counts as absent, not as an error."""
        present = self.records.select([name for name in columns if name in self.records.columns])
        return sha256_columns(present.to_dict().items())

    @property
    def leads(self) -> tuple[str, ...]:
        """Standard lead names, in signal order."""
        return self.manifest.leads

    @property
    def rate(self) -> float:
        """Sampling rate, Hz."""
        return self.manifest.rate

    def __len__(self) -> int:
        return self.manifest.records

    @cached_property
    def records(self) -> pl.DataFrame:
        """One row a record in signal order: record_id, patient_id, age (years), sex ("F"/"M"), and more."""
        return self._table(RECORDS)

    @cached_property
    def record_ids(self) -> np.ndarray:
        """Record ids (str) in signal order."""
        return self.records["record_id"].to_numpy()

    @cached_property
    def patient_ids(self) -> np.ndarray:
        """Patient ids (str) in signal order."""
        return self.records["patient_id"].to_numpy()

    @property
    def samples(self) -> int | None:
        """Samples per lead of every record; None where records differ in length."""
        return self.manifest.samples

    @property
    def lengths(self) -> np.ndarray:
        """Samples per lead of each record, int64 (records,)."""
        return self._file.lengths

    def signals(self, rows: slice | np.ndarray) -> np.ndarray:
        """The signals of some records, float32 mV (records, leads, samples); only they are read.

        Raises:
            DataError: they differ in length; take them one by one with `signal`.
        """
        stored = self._file.read(rows)
        if len({signal.shape for signal in stored}) > 1:
            lengths = sorted({signal.shape[1] for signal in stored})
            raise DataError(
                f"These {len(stored)} records of cohort {self.name} have {lengths[0]} to {lengths[-1]} samples, so "
                "they are no array. Take them one by one with `signal(row)`."
            )
        if not stored:
            return np.zeros((0, len(self.leads), self.manifest.samples or 0), dtype=np.float32)
        return np.stack(stored).astype(np.float32) / np.float32(self.manifest.gain)

    def signal(self, row: int) -> np.ndarray:
        """The signal of one record, float32 mV (leads, samples)."""
        return self.signals(np.array([row]))[0]

    def task(self, name: str) -> Task:
        """One task of the cohort.

        Raises:
            UnknownNameError: it has no such task.
        """
        if name not in self.manifest.tasks:
            raise unknown_name("task", name, self.manifest.tasks, where=f"cohort {self.name}")
        table = self._table(f"labels/{name}.parquet")
        labels = self.manifest.tasks[name].labels
        return Task(
            name=name,
            labels=labels,
            rows=self._rows_of(table["record_id"]),
            targets=table.select(labels).to_numpy().astype(np.uint8).reshape(len(table), len(labels)),
        )

    def split(self, rule: str | None = None) -> np.ndarray:
        """The split of each record, str (records,): "train", "val", "test", or "" where the rule names none.

        Args:
            rule: a split rule of the cohort; None is its default rule.
        """
        rule = rule or self.manifest.split_rules[0]
        if rule not in self.manifest.split_rules:
            raise unknown_name("split rule", rule, self.manifest.split_rules, where=f"cohort {self.name}")
        table = self._table(f"splits/{rule}.parquet")
        split = np.full(len(self), "", dtype="U5")
        split[self._rows_of(table["record_id"])] = table["split"].to_numpy()
        return split

    def concepts(self, table: str) -> pl.DataFrame:
        """A concept table: record_id and one float column a concept; null or NaN where undefined."""
        if table not in self.manifest.concept_tables:
            raise unknown_name("concept table", table, self.manifest.concept_tables, where=f"cohort {self.name}")
        return self._table(f"concepts/{table}.parquet")

    @cached_property
    def excluded(self) -> pl.DataFrame:
        """Records of the metadata that are not in the cohort: record_id, patient_id, reason, detail."""
        return self._table("excluded.parquet")

    def verify(self, parts: Iterable[str] | None = None) -> None:
        """Compute digests again from the files.

        Args:
            parts: names of parts, as in the manifest's `digests`; None is all of them and the fingerprint.

        Raises:
            DataError: a part differs from what the manifest says; the message names it.
        """
        stated = self.manifest.digests
        looked_at = set(stated) if parts is None else set(parts)
        if self.samples is None and SIGNALS_PART in looked_at:
            looked_at.add(RECORDS_PART)  # it says where each record ends
        wrong = [part for part in stated if part in looked_at and _found_digest(self.path, part) != stated[part]]
        whole = parts is not None or (
            set(stated) == set(parts_of(self.manifest)) and fingerprint_of(stated, self.manifest) == self.fingerprint
        )
        if wrong or not whole:
            raise DataError(
                f"Cohort {self.name} ({self.path}) is not what its manifest says: {', '.join(wrong) or 'manifest'} "
                "changed since it was prepared. Prepare it again with --replace."
            )

    def _table(self, file: str) -> pl.DataFrame:
        try:
            # A folder may have "[" or "*" in its name.
            return pl.read_parquet(self.path / file, glob=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(f"{self.path / file} cannot be read ({error}). Prepare the cohort again.") from error

    def _rows_of(self, record_ids: pl.Series) -> np.ndarray:
        return np.array([self._row_of[record_id] for record_id in record_ids], dtype=np.int64)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {record_id: row for row, record_id in enumerate(self.record_ids)}


def prepared_cohorts() -> list[str]:
    """Names of the cohorts under `$EINTHOVEN_HOME/cohorts`, sorted."""
    folder = cohorts_folder()
    return sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}") if not path.parent.name.startswith("."))


def labels_part(task: str) -> str:
    """Name of the part that holds a task's labels."""
    return f"labels/{task}"


def split_part(rule: str) -> str:
    """Name of the part that holds a split rule's splits."""
    return f"splits/{rule}"


def parts_of(manifest: Manifest) -> list[str]:
    """Names of all parts of a cohort that its fingerprint is made of."""
    return [
        SIGNALS_PART,
        IDS_PART,
        RECORDS_PART,
        "excluded",
        *(labels_part(task) for task in sorted(manifest.tasks)),
        *(split_part(rule) for rule in sorted(manifest.split_rules)),
        *(f"concepts/{table}" for table in sorted(manifest.concept_tables)),
    ]


def digests_of(path: Path, manifest: Manifest) -> dict[str, str]:
    """sha256 of each part of a cohort folder."""
    return {part: _found_digest(path, part) for part in parts_of(manifest)}


def _found_digest(path: Path, part: str) -> str:
    """Of values, not file bytes: another parquet writer must give the same digest."""
    try:
        if part == SIGNALS_PART:
            return sha256_npy(path / SIGNALS)
        file = path / (RECORDS if part == IDS_PART else f"{part}.parquet")
        there = pl.scan_parquet(file, glob=False).collect_schema().names()
        names = ["record_id", "patient_id"] if part == IDS_PART else there
        # `detail` is for people: it holds messages of other libraries, in their words.
        wanted = [name for name in names if not (part == "excluded" and name == "detail")]
        return sha256_columns((name, pl.read_parquet(file, columns=[name], glob=False)[name]) for name in wanted)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        return f"cannot be read: {error}"


def fingerprint_of(digests: Mapping[str, str], manifest: Manifest) -> str:
    """The fingerprint of a cohort from the digests of its parts."""
    return content_key(
        {
            "schema": manifest.schema_version,
            "dataset": manifest.dataset,
            "rate": manifest.rate,
            "leads": manifest.leads,
            "gain": manifest.gain,
            "parts": dict(digests),
        }
    )


def _read_manifest(file: Path) -> Manifest:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        schema = values["schema_version"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file} is damaged ({error}). Prepare the cohort again with --replace.") from None
    if schema != SCHEMA_VERSION:
        raise DataError(
            f"{file} has schema {schema}; this version reads {SCHEMA_VERSION}. Prepare the cohort again with --replace."
        )
    try:
        return Manifest.model_validate(values)
    except ValidationError as error:
        raise DataError(f"{file} is damaged: {error}. Prepare the cohort again with --replace.") from None


def _known_cohorts() -> str:
    names = prepared_cohorts()
    return f"Prepared cohorts: {', '.join(names)}." if names else "No cohort has been prepared yet."
