"""AUROC and average precision in bootstrap draws that are made, counted and dropped a few at a time.

Two protocols. "paired" draws patients (or records), the same ones for every encoder and label. "paper" is that of
Berger and others, Evaluation of ECG Representations Must Be Fixed (ICML 2026), as its code has it: for each label its
positives and its negatives are drawn separately, each record by itself and labels independently of each other; the same
ones for every encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_predictions

from .bootstrap import BootstrapDraws, bootstrap_discrimination
from .resampling import count_chunks
from .stratified import stratified_counts
from .threads import for_each

Protocol = Literal["paired", "paper"]

# Counts of one chunk of draws stay below this; the kernel counts 256 draws side by side.
_CHUNK_BYTES = 32 * 2**20
_SIDE_BY_SIDE = 256


def resample_discrimination(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    units: Sequence[str] | Sequence[int] | np.ndarray | None = None,
    draws: int = 1000,
    seed: int,
    protocol: Protocol = "paired",
    threads: int | None = None,
) -> BootstrapDraws:
    """Both metrics in every draw, without ever holding all draws of all records.

    Beside the result, memory is about 64 MiB a thread up to 65,000 records, and 1 kB a record and thread beyond,
    whatever the number of draws.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (encoders, records, labels) finite numbers.
        units: (records,) patient ids (the default of a study), or record ids; for protocol "paired" only.
        draws: how many.
        seed: of the draws. The first k draws are the same however many are asked for.
        protocol: "paired" or "paper".
        threads: how many kernels run at once; None is one for each core the process may use. The result does not
            depend on it.

    Returns:
        Both metrics, each float64 (draws, encoders, labels); NaN in a draw without a positive (and AUROC without a
        negative): such draws are kept, and intervals count them. With "paper" there is none where a label has both.

    Raises:
        UsageError: shapes that do not fit, an unknown protocol, "paired" without units, "paper" with units.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a record without a unit.

    Example:
        >>> target, scores = [[0], [1], [1]], [[[0.1], [0.1], [0.9]]]
        >>> resample_discrimination(target, scores, draws=4, seed=3, protocol="paper").auroc[:, 0, 0].tolist()
        [0.75, 0.75, 1.0, 0.5]
    """
    if protocol not in get_args(Protocol):
        raise UsageError(f"protocol: expected one of {', '.join(get_args(Protocol))}, found {protocol!r}.")
    if (units is None) != (protocol == "paper"):
        raise UsageError(
            "units: protocol 'paired' draws units and needs one for each record (patient ids); protocol 'paper' draws "
            f"the records of each label and takes none. Found protocol {protocol!r} and "
            f"{'no units' if units is None else f'{len(units)} units'}."
        )
    if draws < 1:
        raise UsageError(f"draws: expected at least 1, found {draws}.")
    present, values = check_predictions(target, scores)
    shape = (draws, values.shape[0], present.shape[1])
    area, precision = np.full(shape, np.nan), np.full(shape, np.nan)
    chunk = draws_at_a_time(len(present))

    def fill(counts: Iterator[np.ndarray], labels: slice, threads: int | None) -> None:
        low = 0
        for some in counts:
            found = bootstrap_discrimination(present[:, labels], values[:, :, labels], counts=some, threads=threads)
            area[low : low + len(some), :, labels] = found.auroc
            precision[low : low + len(some), :, labels] = found.average_precision
            low += len(some)

    if units is not None:
        if len(units) != len(present):
            raise UsageError(f"units: expected one for each of {len(present)} records, found {len(units)}.")
        fill(count_chunks(units, draws=draws, seed=seed, chunk=chunk), slice(None), threads)
    else:

        def fill_label(label: int) -> None:
            counts = stratified_counts(present[:, label], draws=draws, seed=seed, label=label, chunk=chunk)
            fill(counts, slice(label, label + 1), 1)

        for_each(fill_label, range(present.shape[1]), threads=threads)
    return BootstrapDraws(auroc=area, average_precision=precision)


def draws_at_a_time(records: int) -> int:
    """How many draws of so many records make a chunk; whole blocks of the kernel.

    Example:
        >>> draws_at_a_time(2158), draws_at_a_time(10**6)
        (7680, 256)
    """
    blocks = _CHUNK_BYTES // (2 * max(1, records) * _SIDE_BY_SIDE)
    return _SIDE_BY_SIDE * max(1, blocks)
