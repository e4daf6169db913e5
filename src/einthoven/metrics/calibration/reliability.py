"""Reliability bins: what was claimed and what came true, in bins of equal width.

Bin k of M is [k/M, (k+1)/M), and the last one holds 1 too; edges are the float64 numbers nearest to k/M. Guo et al.
(ICML 2017) close bins at the right instead: a score exactly on an edge then falls into the bin below, and no other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .arguments import check_bins, record_weights
from .streams import CalibrationStreams, StreamKind
from .ties import by_distinct_confidence


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """The table behind a reliability diagram.

    Attributes:
        kind: of the streams: "positive_class" or "top_label".
        low: float64 (bins,), lower edges, each within its bin.
        high: float64 (bins,), upper edges, each outside its bin but for the last.
        count: int64 (streams, bins), records.
        mean_confidence: float64 (streams, bins); NaN in an empty bin.
        share: float64 (streams, bins), the share that came true: of positives, or of right answers; NaN in an empty
            bin.
    """

    kind: StreamKind
    low: np.ndarray
    high: np.ndarray
    count: np.ndarray
    mean_confidence: np.ndarray
    share: np.ndarray


@dataclass(frozen=True, eq=False)
class BinSums:
    """What calibration errors are made of, before any division.

    Attributes:
        count: int64 (streams, bins), records.
        confidence: float64 (streams, bins), their confidences summed.
        came_true: int64 (streams, bins), how many came true.
    """

    count: np.ndarray
    confidence: np.ndarray
    came_true: np.ndarray


def reliability_bins(
    streams: CalibrationStreams, *, bins: int = 15, counts: ArrayLike | None = None
) -> ReliabilityBins:
    """Count, mean confidence and share that came true, stream by stream and bin by bin.

    Args:
        streams: what is held against what.
        bins: how many bins of equal width.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Raises:
        UsageError: fewer than one bin, counts that do not fit.
        DataError: a negative count.

    Example:
        >>> from einthoven.metrics.calibration.streams import positive_class_streams
        >>> table = reliability_bins(positive_class_streams([0, 1, 1], [0.25, 0.5, 1.0]), bins=2)
        >>> table.count.tolist(), table.mean_confidence.tolist(), table.share.tolist()
        ([[1, 2]], [[0.25, 0.75]], [[0.0, 1.0]])
    """
    sums = bin_sums(streams, bins=bins, counts=counts)
    edges = bin_edges(bins)
    with np.errstate(invalid="ignore"):
        mean_confidence, share = sums.confidence / sums.count, sums.came_true / sums.count
    return ReliabilityBins(
        kind=streams.kind,
        low=edges[:-1],
        high=edges[1:],
        count=sums.count,
        mean_confidence=mean_confidence,
        share=share,
    )


def bin_sums(streams: CalibrationStreams, *, bins: int, counts: ArrayLike | None = None) -> BinSums:
    """The sums of every bin; neither the row order nor counts in place of repeated rows change a bit of them.

    Args:
        streams: what is held against what.
        bins: how many bins of equal width.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Raises:
        UsageError: fewer than one bin, counts that do not fit.
        DataError: a negative count.
    """
    edges = bin_edges(bins)
    weights = record_weights(counts, records=streams.records)
    shape = (streams.streams, len(edges) - 1)
    count, came_true = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    confidence = np.zeros(shape, dtype=np.float64)
    for stream in range(streams.streams):
        distinct = by_distinct_confidence(streams.outcome[:, stream], streams.confidence[:, stream], weights)
        places = bin_of(distinct.confidence, edges)
        np.add.at(count[stream], places, distinct.count)
        np.add.at(came_true[stream], places, distinct.came_true)
        np.add.at(confidence[stream], places, distinct.count * distinct.confidence)
    return BinSums(count=count, confidence=confidence, came_true=came_true)


def bin_edges(bins: int) -> np.ndarray:
    """float64 (bins + 1,), the numbers nearest to k / bins; a running sum of 1 / bins or linspace would miss some.

    Raises:
        UsageError: fewer than one bin.

    Example:
        >>> bin_edges(4).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    chosen = check_bins(bins)
    return np.arange(chosen + 1) / chosen


def bin_of(confidence: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each confidence: the last one whose lower edge is not above it.

    Args:
        confidence: float64 of any shape, in [0, 1].
        edges: float64 (bins + 1,), rising from 0 to 1.

    Returns:
        int64 of the shape of `confidence`, from 0 to bins - 1.

    Example:
        >>> bin_of(np.array([0.0, 0.25, 0.5, 1.0]), bin_edges(2)).tolist()
        [0, 0, 1, 1]
    """
    return np.minimum(np.searchsorted(edges, confidence, side="right") - 1, len(edges) - 2)
