"""Adaptive calibration error: bins of equal mass in place of equal width."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .arguments import check_bins, record_weights
from .streams import CalibrationStreams
from .ties import DistinctConfidences, by_distinct_confidence


def adaptive_calibration_error(
    streams: CalibrationStreams, *, bins: int = 15, counts: ArrayLike | None = None
) -> np.ndarray:
    """Adaptive ECE: the mean over records of |mean confidence - share that came true| of their bin of equal mass.

    Nguyen and O'Connor (EMNLP 2015). Records are ranked by confidence and cut into `bins` parts whose sizes differ by
    one at most, the larger ones first. Where a cut goes through records of equal confidence, each of these counts as
    their mean outcome, so that no row order changes the value; without ties it is the plain definition. It is not the
    *average* calibration error (the unweighted mean over bins), which some call ACE.

    With fewer records than bins the rest of the bins is empty. It is defined for any stream of at least one record.

    Args:
        streams: what is held against what.
        bins: how many bins of equal mass.
        counts: (records,) integers, how often each record is in a resample; None is once each. The bins are those of
            the resample.

    Returns:
        float64 (streams,), in [0, 1]; NaN without a record.

    Raises:
        UsageError: fewer than one bin, counts that do not fit.
        DataError: a negative count.

    Example:
        >>> from einthoven.metrics.calibration.streams import positive_class_streams
        >>> streams = positive_class_streams([0, 1, 0, 1], [0.25, 0.5, 0.5, 0.75])
        >>> adaptive_calibration_error(streams, bins=2).tolist()
        [0.125]
    """
    chosen = check_bins(bins)
    weights = record_weights(counts, records=streams.records)
    return np.array(
        [
            _error(by_distinct_confidence(streams.outcome[:, column], streams.confidence[:, column], weights), chosen)
            for column in range(streams.streams)
        ],
        dtype=np.float64,
    )


def _error(distinct: DistinctConfidences, bins: int) -> float:
    total = int(distinct.count.sum())
    if total == 0:
        return math.nan
    group_ends = np.cumsum(distinct.count)
    bin_ends = _bin_ends(total, bins)
    # Between two neighbouring ends, of groups or of bins, records are of one confidence and in one bin.
    ends = np.union1d(group_ends, bin_ends)
    ends = ends[ends > 0]
    sizes = np.diff(ends, prepend=0)
    group = np.searchsorted(group_ends, ends, side="left")
    place = np.searchsorted(bin_ends, ends, side="left")
    confidence = np.bincount(place, weights=sizes * distinct.confidence[group], minlength=bins)
    came_true = np.bincount(place, weights=sizes * distinct.came_true[group] / distinct.count[group], minlength=bins)
    return float(np.abs(confidence - came_true).sum() / total)


def _bin_ends(total: int, bins: int) -> np.ndarray:
    """How many records the first k bins hold, k from 1: as `numpy.array_split` cuts."""
    size, larger = divmod(total, bins)
    places = np.arange(1, bins + 1, dtype=np.int64)
    return places * size + np.minimum(places, larger)
