"""The embedding pass: batch by batch from a cohort into a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from einthoven.encoders.card import SignalPreparation, UnusedSignal
from einthoven.encoders.contract import Encoder, MetadataEncoder
from einthoven.foundation.errors import DataError, UsageError

from .ahead import made_ahead
from .partial import PartialArray

if TYPE_CHECKING:
    from einthoven.datasets.cohort import Cohort

Progress = Callable[[int, int], None]
# What preprocessing, numpy and torch raise on purpose about the values they were given; a note then names the record.
_ABOUT_DATA = (ValueError, ArithmeticError, LookupError, RuntimeError, TypeError)
_SHOWN = 5


@dataclass(frozen=True)
class RowEmbedder:
    """How some rows of a cohort become embeddings, in two steps, so that the first can go ahead of the second.

    Attributes:
        prepare: from rows to what the encoder takes.
        embed: from that to float32 (rows, dimension).
    """

    prepare: Callable[[slice], Any]
    embed: Callable[[Any], np.ndarray]

    def __call__(self, rows: slice) -> np.ndarray:
        """The embeddings of some rows, float32 (rows, dimension)."""
        return self.embed(self.prepare(rows))


def row_embedder(
    encoder: Encoder | MetadataEncoder, cohort: Cohort, preprocessing: SignalPreparation | UnusedSignal
) -> RowEmbedder:
    """How slices of a cohort's rows become embeddings.

    Raises:
        UsageError: the preprocessing does not fit the encoder.
    """
    if isinstance(encoder, Encoder) and not isinstance(preprocessing, UnusedSignal):
        encoder.check_preprocessing(preprocessing)
        return RowEmbedder(lambda rows: _prepared(cohort, rows, preprocessing), encoder.embed)
    if isinstance(encoder, MetadataEncoder) and isinstance(preprocessing, UnusedSignal):
        columns = {name: cohort.records[name].to_numpy() for name in encoder.columns if name in cohort.records.columns}
        return RowEmbedder(
            lambda rows: {name: values[rows] for name, values in columns.items()}, encoder.embed_metadata
        )
    raise UsageError(
        f"Encoder {encoder.card.name} reads {encoder.card.consumes}; {type(preprocessing).__name__} does not belong "
        "to it. Use `encoder.card.preprocessing()`."
    )


def _prepared(cohort: Cohort, rows: slice, preprocessing: SignalPreparation) -> np.ndarray:
    """What the encoder takes of some rows, float32 (rows, leads, samples)."""
    if cohort.samples is not None:
        return preprocessing.apply(cohort.signals(rows), cohort.leads, cohort.rate)
    start, stop, _ = rows.indices(len(cohort))
    alone = [preprocessing.apply(cohort.signal(row)[None], cohort.leads, cohort.rate) for row in range(start, stop)]
    if len({one.shape for one in alone}) > 1:
        raise UsageError(
            f"Records of cohort {cohort.name} differ in length, and preprocessing {preprocessing.name!r} leaves "
            "them so. Take one that says how many seconds the encoder is given."
        )
    return np.concatenate(alone)


def write_embeddings(
    partial: PartialArray,
    embed: RowEmbedder,
    cohort: Cohort,
    *,
    encoder: str,
    batch_size: int,
    progress: Progress | None,
) -> None:
    """Complete an array of embeddings; a thread prepares one batch while another is embedded, and no more are held.

    Args:
        partial: what an earlier pass left, or nothing.
        encoder: its name, for messages.

    Raises:
        SignalError: a record cannot be prepared or embedded; a note names the cohort and the record.
        DataError: an embedding is not finite; the message names the first records.
    """
    total = len(cohort)
    starts = range(partial.rows, total, batch_size)
    slices = [slice(start, min(start + batch_size, total)) for start in starts]
    for rows, prepared in made_ahead(embed.prepare, slices):
        try:
            batch = embed.embed(prepared())
        except _ABOUT_DATA as error:
            error.add_note(f"cohort {cohort.name}, {_culprit(embed, rows, cohort)}, encoder {encoder}")
            raise
        _refuse_non_finite(batch, rows, encoder, cohort)
        partial.append(batch)
        if progress:
            progress(rows.stop, total)


def _culprit(embed: RowEmbedder, rows: slice, cohort: Cohort) -> str:
    """The first record of a failed batch that fails alone, for messages."""
    ids = cohort.records["record_id"]
    for row in range(rows.start, rows.stop):
        try:
            embed(slice(row, row + 1))
        except _ABOUT_DATA:
            return f"record {ids[row]}"
    return f"records {ids[rows.start]} to {ids[rows.stop - 1]} (none fails alone)"


def _refuse_non_finite(batch: np.ndarray, rows: slice, encoder: str, cohort: Cohort) -> None:
    bad = np.flatnonzero(~np.isfinite(batch).all(axis=1)) + rows.start
    if len(bad):
        ids = [str(cohort.records["record_id"][int(row)]) for row in bad[:_SHOWN]]
        raise DataError(
            f"Encoder {encoder} gave embeddings that are not finite for {len(bad)} of the records "
            f"{rows.start} to {rows.stop - 1} of cohort {cohort.name}; first record ids: {', '.join(ids)}. "
            "Nothing was stored. Look at these signals, or at the encoder's preprocessing."
        )
