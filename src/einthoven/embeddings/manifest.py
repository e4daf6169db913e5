"""What stored embeddings say about themselves (`manifest.json`)."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION: Final = 2


class EmbeddingsManifest(BaseModel):
    """Everything needed to know what stored embeddings are without reading them.

    Attributes:
        key: identity of encoder, preprocessing and input together; the folder's name.
        preprocessing: its `identity()`.
        records: rows of the array, in the cohort's signal order.
        input_fingerprint: of what the encoder read: the cohort's signals, or columns of its records.
        cohort: the name of a cohort that had this input when it was embedded.
        batch_size: records at a time.
        made_by: software, machine and threads, as the caller gave them; the last bits of a network's output may depend
            on them, and the key does not.
        seconds: what the pass took, or the last part of it if it was stopped.
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
    input_fingerprint: str
    records: int
    dimension: int
    batch_size: int
    made_by: dict[str, Any]
    seconds: float
    sha256: str
    non_finite: int = 0
    created: str
    einthoven: str
