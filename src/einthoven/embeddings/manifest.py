"""What stored embeddings say about themselves (`manifest.json`)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1


class EmbeddingsManifest(BaseModel):
    """Everything needed to know what stored embeddings are without reading them.

    Attributes:
        key: identity of encoder, preprocessing and cohort together; the folder's name.
        preprocessing: its `identity()`.
        records: rows of the array, in the cohort's signal order.
        sha256: of the array (dtype, shape and values).
        non_finite: numbers of the array that are not finite; always 0, since such embeddings are refused.
        created: when, UTC, ISO 8601.
        einthoven: version that wrote it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = SCHEMA_VERSION
    key: str
    encoder: str
    parameters: dict[str, Any]
    encoder_fingerprint: str
    preprocessing_name: str
    preprocessing: dict[str, Any]
    cohort: str
    cohort_fingerprint: str
    records: int
    dimension: int
    sha256: str
    non_finite: int = 0
    created: str
    einthoven: str
