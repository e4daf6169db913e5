"""What a prepared cohort says about itself (`manifest.json`)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1


class TaskCoverage(BaseModel):
    """How much of a task's data the source metadata promise, and how much is in the cohort.

    All mappings are split -> count, for the cohort's default split rule; `positives` are split -> label -> count.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    labels: tuple[str, ...]
    records_promised: dict[str, int]
    records_present: dict[str, int]
    positives_promised: dict[str, dict[str, int]]
    positives_present: dict[str, dict[str, int]]


class Excluded(BaseModel):
    """Why records of the metadata are not in the cohort: reason -> how many, and the first ids of each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    counts: dict[str, int]
    first: dict[str, tuple[str, ...]]


class Manifest(BaseModel):
    """Everything needed to know what a cohort is without reading its signals.

    Attributes:
        request: what it was prepared from: dataset, rate, options, digests of the metadata files and of the list of
            signal files. Preparing again with the same request does nothing.
        fingerprint: identity of its content: signals, tables, gains. Part of every cell computed from it.
        gain: int16 units per mV.
        digests: sha256 of each part the fingerprint is made of.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = SCHEMA_VERSION
    name: str
    dataset: str
    dataset_version: str
    title: str
    licence: str
    citation: str
    rate: float
    leads: tuple[str, ...]
    samples: int
    gain: float
    records: int
    patients: int
    promised_records: int
    excluded: Excluded
    tasks: dict[str, TaskCoverage]
    split_rules: tuple[str, ...]
    concept_tables: tuple[str, ...]
    rules: dict[str, str]
    notes: tuple[str, ...]
    flagged: dict[str, int]
    request: dict[str, Any]
    digests: dict[str, str]
    fingerprint: str
    created: str
    einthoven: str
