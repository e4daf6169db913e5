"""A record as a list of its beats (HeartLang)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from einthoven.foundation.errors import SignalError
from einthoven.signals.normalisation import varies
from einthoven.signals.xqrs import xqrs

from .step import Step


class Beats(Step):
    """One token for each beat of each lead, all beats of the first lead first.

    Beats are those XQRS finds in `lead`. A beat reaches from halfway to the beat before to halfway to the beat after;
    the first and the last beat of a record reach half a segment beyond their QRS complex, as far as there are samples.
    In its segment the QRS complex is in the middle, or later where more than half a segment lies before it; the rest
    is zero, and what does not fit is cut off at the end. A token is a row of [lead id, second id, segment]: leads count
    from 1, seconds from 1 (1 + the whole seconds before the QRS complex). Tokens that are too many are cut off, so that
    the last leads of a fast heart are lost; too few are filled up with rows of zeros. A record in which no beat is
    found is all such rows, and so is one whose `lead` is flat, rounding apart: it is embedded, and nothing says so but
    the zeros.

    Attributes:
        lead: number of the lead the beats are found in, from 0.
        tokens: rows of a record.
        samples: of a segment.
        ids: "given", or "none" for protocols that leave them out: both ids of every row are -1 then, in rows without
            a beat too, so that a network can tell.
    """

    step: Literal["beats"] = "beats"
    lead: int = Field(default=0, ge=0)
    tokens: int = Field(default=256, ge=1)
    samples: int = Field(default=96, ge=2, multiple_of=2)
    ids: Literal["given", "none"] = "given"

    def run(self, x: np.ndarray, rate: float) -> tuple[np.ndarray, float]:
        """(records, leads, samples) to (records, tokens, 2 + samples)."""
        if x.ndim != 3 or x.shape[1] <= self.lead:
            raise SignalError(
                f"Beats are found in lead number {self.lead} of (records, leads, samples), found {x.shape}."
            )
        rows = np.zeros((len(x), self.tokens, 2 + self.samples))
        # A flat lead that was filtered moves by rounding, in which XQRS finds beats.
        alive = varies(x[:, self.lead])[:, 0]
        for record, found, row, moves in zip(x, xqrs(x[:, self.lead], rate), rows, alive, strict=True):
            beats = found if moves else found[:0]
            segments = _segments(record, beats, self.samples).reshape(-1, self.samples)[: self.tokens]
            filled = row[: len(segments)]
            filled[:, 2:] = segments
            filled[:, 0] = np.repeat(np.arange(1, len(record) + 1), len(beats))[: self.tokens]
            filled[:, 1] = np.tile(np.floor(beats / rate) + 1, len(record))[: self.tokens]
        if self.ids == "none":
            rows[..., :2] = -1
        return rows, rate


def _segments(record: np.ndarray, beats: np.ndarray, samples: int) -> np.ndarray:
    """(leads, beats, samples) of one record (leads, n)."""
    half, length = samples // 2, record.shape[-1]
    if len(beats) == 0:
        return np.zeros((len(record), 0, samples))
    halfway = (beats[:-1] + beats[1:]) // 2
    first = np.concatenate([[max(beats[0] - half, 0)], halfway])
    end = np.concatenate([halfway, [min(beats[-1] + half, length)]])
    start = np.minimum(beats - half, first)
    padded = np.pad(record, ((0, 0), (half, samples)))
    around = np.lib.stride_tricks.sliding_window_view(padded, samples, axis=-1)[:, start + half]
    at = start[:, None] + np.arange(samples)
    return np.where((at >= first[:, None]) & (at < end[:, None]), around, 0.0)
