"""Two views of each record, batch by batch, without holding a cohort in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from einthoven.embeddings.ahead import made_ahead
from einthoven.encoders.card import SignalPreparation

if TYPE_CHECKING:
    from einthoven.datasets.cohort import Cohort


def view_batches(
    cohort: Cohort, preparation: SignalPreparation, rows: np.ndarray, *, batch: int, skip: int = 0
) -> Iterator[Tensor]:
    """The views of records in a given order; a thread prepares the next batch while one is trained on.

    Records that are left over at the end and make less than half a batch are left out: the loss of a small batch is
    lower, whatever the network, and would be another measure.

    Args:
        preparation: gives (views, leads, samples) of each record.
        rows: of the cohort, int (records,).
        batch: records at a time.
        skip: batches that are not wanted any more.

    Returns:
        tensors float32 (records, views, leads, samples).
    """
    order = batches_of(len(rows), batch)[skip:]
    for _, prepared in made_ahead(_prepared(cohort, preparation, rows), order):
        yield torch.from_numpy(prepared())


def batches_of(records: int, batch: int) -> list[slice]:
    """Which places of an order make each batch; see `view_batches`."""
    slices = [slice(start, min(start + batch, records)) for start in range(0, records, batch)]
    if len(slices) > 1 and records - slices[-1].start < batch / 2:
        slices.pop()
    return slices


def guessing(records: int, batch: int) -> float:
    """Loss of a network that knows nothing, over the batches of an order: the mean over records of ln(batch)."""
    sizes = [part.stop - part.start for part in batches_of(records, batch)]
    return sum(size * math.log(size) for size in sizes) / sum(sizes)


def _prepared(cohort: Cohort, preparation: SignalPreparation, rows: np.ndarray) -> Callable[[slice], np.ndarray]:
    def prepare(part: slice) -> np.ndarray:
        # Sorted for the disk, and put back: a batch is a set to the reader and an order to the training.
        wanted = rows[part]
        ascending = np.argsort(wanted, kind="stable")
        x = preparation.apply(cohort.signals(wanted[ascending]), cohort.leads, cohort.rate)
        back = np.empty_like(ascending)
        back[ascending] = np.arange(len(ascending))
        return x[back]

    return prepare
