"""What finished cells say, typed and versioned. Undefined numbers are null with a reason beside them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from einthoven.datasets.manifest import CohortSummary
from einthoven.encoders.card import Pretraining

_Strict = ConfigDict(frozen=True, extra="forbid")
Metric = Literal["auroc", "average_precision"]
METRICS: tuple[Metric, ...] = ("auroc", "average_precision")


class CohortResult(BaseModel):
    """Kind `cohort`: what the study was run on, and one record to look at (arrays `example.npz`) if it may be shown."""

    model_config = _Strict

    schema_version: Literal[2] = 2
    cohort: CohortSummary
    split_rule: str
    records_by_split: dict[str, int]
    patients_by_split: dict[str, int]
    example_record: str | None
    example_note: str


class EmbeddingResult(BaseModel):
    """Kind `embedding`: the stored embeddings of one encoder.

    Version 2 did not record which weights they are of.
    """

    model_config = _Strict

    schema_version: Literal[2, 3] = 3
    encoder: str
    encoder_fingerprint: str
    preprocessing: str
    embedding_key: str
    sha256: str
    records: int
    dimension: int
    title: str
    summary: str
    floor: bool
    pretraining: Pretraining
    pretraining_note: str
    weights: str = "not recorded"
    licence: str


class ProbedLabel(BaseModel):
    """One label of a probe cell."""

    model_config = _Strict

    label: str
    reason: str | None
    scale: bool | None
    C: float | None
    class_weight: str | None
    validation_loss: float | None
    at_grid_edge: bool
    unconverged_settings: int
    train_positives: int
    val_positives: int
    test_positives: int


class ProbeResult(BaseModel):
    """Kind `probe`: one encoder on one task; logits are in `predictions.parquet`, weights in `probe.npz`."""

    model_config = _Strict

    schema_version: Literal[1] = 1
    encoder: str
    task: str
    labels: tuple[ProbedLabel, ...]
    train_records: int
    val_records: int
    test_records: int


class Estimate(BaseModel):
    """A number with its interval; null where undefined, with the reason."""

    model_config = _Strict

    point: float | None
    low: float | None
    high: float | None
    draws: int
    undefined_draws: int
    reason: str | None


class Difference(BaseModel):
    """a minus b over the same draws."""

    model_config = _Strict

    a: str
    b: str
    estimate: Estimate
    p: float | None


class LabelScores(BaseModel):
    """One label: support on test and every encoder's estimates, in the order of `ComparisonResult.encoders`."""

    model_config = _Strict

    label: str
    positives: int
    negatives: int
    judged: bool
    reason: str | None
    auroc: tuple[Estimate, ...]
    average_precision: tuple[Estimate, ...]
    best: dict[Metric, str | None]
    against_best: dict[Metric, tuple[Difference, ...]]


class MacroScores(BaseModel):
    """Means over the judged labels, with their number."""

    model_config = _Strict

    labels: tuple[str, ...]
    of: int
    auroc: tuple[Estimate, ...]
    average_precision: tuple[Estimate, ...]
    differences: dict[Metric, tuple[Difference, ...]]


class ComparisonResult(BaseModel):
    """Kind `comparison`: every encoder on one task, with paired intervals; the draws are in `draws.npz`."""

    model_config = _Strict

    schema_version: Literal[1] = 1
    task: str
    encoders: tuple[str, ...]
    records: int
    units: int
    unit: str
    draws: int
    confidence: float
    minimum_positives: int
    macro: MacroScores
    labels: tuple[LabelScores, ...]
