"""What a prepared cohort says about itself (`manifest.json`)."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from .dataset import Access, Family

SCHEMA_VERSION: Final = 2


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


class CohortSummary(BaseModel):
    """What a reader must know of a cohort to judge numbers made from it; nothing here depends on when and where it was
    prepared, or on what it was called.

    Attributes:
        access: of the dataset's card; what may be shown outside follows from it.
        samples: per lead; None where records differ in length.
        gain: int16 units per mV.
        promised_records: as many as the source's metadata name.
        rules: name -> version of every rule that decided something.
        flagged: quality flag -> records that have it.
        fingerprint: identity of the whole content: signals, tables, gain.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: str
    dataset_version: str
    title: str
    licence: str
    citation: str
    access: Access
    rate: float
    leads: tuple[str, ...]
    samples: int | None
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
    fingerprint: str

    @property
    def may_be_shown(self) -> bool:
        """Whether single records and their ids may stand in a report that is passed on."""
        return self.access in ("open", "synthetic")


class Manifest(CohortSummary):
    """Everything needed to know what a cohort is without reading its signals.

    Attributes:
        families: task -> what kind of question it asks; empty for a cohort that was prepared before this was kept.
        split_summaries: split rule -> one line about it; empty as `families`.
        request: what it was prepared from: dataset, rate, options, digests of the metadata files and of the list of
            signal files. Preparing again with the same request does nothing.
        digests: sha256 of each part the fingerprint is made of.
    """

    schema_version: Literal[2] = SCHEMA_VERSION
    name: str
    families: dict[str, Family] = {}
    split_summaries: dict[str, str] = {}
    request: dict[str, Any]
    digests: dict[str, str]
    created: str
    einthoven: str

    def summary(self) -> CohortSummary:
        """The part that belongs in results."""
        return CohortSummary(**{field: getattr(self, field) for field in CohortSummary.model_fields})
