"""Embedding a cohort once, and opening what was stored."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from einthoven.encoders.card import SignalPreparation, UnusedSignal
from einthoven.encoders.contract import Encoder, MetadataEncoder
from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.home import embeddings_folder
from einthoven.foundation.identity import content_key, sha256_array, sha256_npy
from einthoven.foundation.publishing import exclusive, publish_folder, write_json
from einthoven.signals.preprocessing import ALGORITHMS
from einthoven.version import VERSION

from .manifest import SCHEMA_VERSION, EmbeddingsManifest
from .partial import ARRAY, PartialArray
from .writing import Progress, row_embedder, write_embeddings

if TYPE_CHECKING:
    from einthoven.datasets.cohort import Cohort

PROTOCOL_VERSION = 2
MANIFEST = "manifest.json"
# Another process that embeds the same thing is worth waiting for; its lock is gone as soon as it dies.
_WAIT_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class StoredEmbeddings:
    """The embeddings of a whole cohort, opened read-only.

    Attributes:
        path: their folder.
    """

    path: Path
    manifest: EmbeddingsManifest

    @property
    def key(self) -> str:
        """Identity of encoder, preprocessing and input together."""
        return self.manifest.key

    @property
    def sha256(self) -> str:
        """Digest of the array, as written in the manifest."""
        return self.manifest.sha256

    @cached_property
    def array(self) -> np.ndarray:
        """float32 (records, dimension) in the cohort's signal order; a read-only memory map."""
        return _open_array(self.path / ARRAY, self.manifest)

    def verify(self) -> None:
        """Compute the digest of the array again.

        Raises:
            DataError: the array is not what was stored.
        """
        found = sha256_array(self.array)
        if found != self.sha256:
            raise DataError(
                f"{self.path / ARRAY} has sha256 {found[:16]}...; its manifest says {self.sha256[:16]}.... "
                f"It changed after it was written. {_remedy(self.path)}"
            )


def embedding_key(
    encoder: Encoder | MetadataEncoder, cohort: Cohort, preprocessing: SignalPreparation | UnusedSignal
) -> str:
    """Identity of one encoder's embeddings of one cohort under one preprocessing (64 hex digits).

    Of the cohort only what the encoder reads counts, its signals or some columns of its records, so a cohort that was
    prepared again with another task or split rule keeps its embeddings.
    """
    return content_key(
        {
            "protocol_version": PROTOCOL_VERSION,
            "encoder": encoder.fingerprint(),
            "preprocessing": preprocessing.identity(),
            "signal_algorithms": ALGORITHMS,
            "input": input_fingerprint(encoder, cohort),
        }
    )


def embed_cohort(
    encoder: Encoder | MetadataEncoder,
    cohort: Cohort,
    preprocessing: SignalPreparation | UnusedSignal,
    *,
    batch_size: int = 32,
    made_by: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    rebuild: bool = False,
) -> StoredEmbeddings:
    """Embed every record of a cohort, or open what an earlier call stored.

    Memory does not grow with the cohort: one batch is held at a time. The folder appears whole or not at all; a pass
    that was stopped goes on where it was; a second process that asks for the same waits and then opens it.

    Args:
        preprocessing: one that fits the encoder; see its card.
        batch_size: records at a time; it changes speed, and may change the last bits of what a network computes.
        made_by: software and machine, kept in the manifest.
        progress: told `(done, total)` records after each batch.
        rebuild: compute again and replace what is stored.

    Raises:
        UsageError: the preprocessing does not fit the encoder.
        SignalError: a record cannot be prepared or embedded; a note names the cohort and the record.
        DataError: an embedding is not finite, or what is stored is damaged.

    Example:
        stored = embed_cohort(encoder, cohort, encoder.card.preprocessing())
        stored.array.shape      # (1987, 512)
    """
    if batch_size < 1:
        raise UsageError(f"batch_size must be at least 1; found {batch_size}.")
    if len(cohort) == 0:
        raise DataError(f"Cohort {cohort.name} has no records to embed. Prepare it again.")
    embed = row_embedder(encoder, cohort, preprocessing)
    key = embedding_key(encoder, cohort, preprocessing)
    folder = embeddings_folder() / key
    if folder.exists() and not rebuild:
        return open_embeddings(key)
    with exclusive(folder, wait_seconds=_WAIT_SECONDS, doing="computing the embeddings of"):
        if folder.exists() and not rebuild:
            return open_embeddings(key)
        partial = PartialArray(
            embeddings_folder() / f".partial-{key}",
            records=len(cohort),
            dimension=encoder.dimension,
            batch_size=batch_size,
        )
        started = time.perf_counter()
        with partial:
            write_embeddings(
                partial, embed, cohort, encoder=encoder.card.name, batch_size=batch_size, progress=progress
            )
        seconds = time.perf_counter() - started
        # The digest is taken, and the manifest written, before the array leaves its place: if that fails, the pass is
        # still there to go on from.
        digest = sha256_npy(partial.path)
        with publish_folder(folder, replace=rebuild) as work:
            manifest = EmbeddingsManifest(
                key=key,
                encoder=encoder.card.name,
                parameters=encoder.parameters,
                encoder_fingerprint=encoder.fingerprint(),
                preprocessing_name=preprocessing.name,
                preprocessing=preprocessing.identity(),
                cohort=cohort.name,
                input_fingerprint=input_fingerprint(encoder, cohort),
                records=len(cohort),
                dimension=encoder.dimension,
                batch_size=batch_size,
                made_by=dict(made_by or {}),
                seconds=round(seconds, 3),
                sha256=digest,
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                einthoven=VERSION,
            )
            write_json(work / MANIFEST, manifest.model_dump(mode="json"))
            partial.path.replace(work / ARRAY)
        partial.discard()
    return open_embeddings(key)


def input_fingerprint(encoder: Encoder | MetadataEncoder, cohort: Cohort) -> str:
    """Identity of what an encoder reads of a cohort (64 hex digits)."""
    if isinstance(encoder, MetadataEncoder):
        return cohort.columns_fingerprint(encoder.columns)
    return cohort.signals_fingerprint


def is_stored(key: str) -> bool:
    """Whether embeddings are stored under a key; whether they are sound is for `open_embeddings` to say."""
    return (embeddings_folder() / key).is_dir()


def open_embeddings(key: str, *, verify: bool = False) -> StoredEmbeddings:
    """Open stored embeddings.

    Shape, dtype and size are checked, which takes no time; the values only with `verify`.

    Args:
        key: as `embedding_key` gives it.
        verify: also compute the digest of the array, which reads it once.

    Raises:
        DataError: nothing is stored under the key, or it is damaged; the message says what to do.
    """
    folder = embeddings_folder() / key
    file = folder / MANIFEST
    if not folder.is_dir():
        raise DataError(f"No embeddings are stored under {folder}. Run the study's embedding cell, or `embed_cohort`.")
    try:
        manifest = EmbeddingsManifest.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{folder} has no {MANIFEST}. {_remedy(folder)}") from None
    except ValidationError as error:
        raise DataError(f"{file} cannot be read: {error.errors()[0]['msg']}. {_remedy(folder)}") from error
    if manifest.schema_version != SCHEMA_VERSION or manifest.key != key:
        raise DataError(
            f"{file} has schema {manifest.schema_version} and key {manifest.key[:16]}; expected schema "
            f"{SCHEMA_VERSION} and key {key[:16]}. {_remedy(folder)}"
        )
    stored = StoredEmbeddings(folder, manifest)
    _ = stored.array
    if verify:
        stored.verify()
    return stored


def _open_array(file: Path, manifest: EmbeddingsManifest) -> np.ndarray:
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{file} is missing. {_remedy(file.parent)}") from None
    except (ValueError, OSError, EOFError) as error:
        raise DataError(
            f"{file} ({file.stat().st_size:,} bytes) cannot be opened, probably cut short: {error}. "
            f"{_remedy(file.parent)}"
        ) from error
    expected = (manifest.records, manifest.dimension)
    if array.shape != expected or array.dtype != np.float32:
        raise DataError(
            f"{file} is {array.dtype} {array.shape}; its manifest says float32 {expected}. {_remedy(file.parent)}"
        )
    whole = array.offset + array.nbytes
    if file.stat().st_size != whole:
        raise DataError(f"{file} has {file.stat().st_size:,} bytes; expected {whole:,}. {_remedy(file.parent)}")
    return array


def _remedy(folder: Path) -> str:
    return f"Delete the folder {folder} (it will be computed again), or call embed_cohort(..., rebuild=True)."
