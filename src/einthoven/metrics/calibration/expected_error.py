"""How far claimed probabilities are from what came true: expected and maximum calibration error in equal-width bins.

Both are defined for any stream of at least one record, also for a label without positives (or negatives) and for a
class that no record has: there the share that came true is 0 (or 1) in every bin. Only without a record are they NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .arguments import record_weights
from .reliability import bin_sums
from .streams import CalibrationStreams


def expected_calibration_error(
    streams: CalibrationStreams, *, bins: int = 15, counts: ArrayLike | None = None
) -> np.ndarray:
    """ECE: the mean over records of |mean confidence - share that came true| of their bin.

    Naeini et al. (AAAI 2015); Guo et al. (ICML 2017), eq. 3. Bins are closed at the left (see `reliability_bins`).
    What it measures depends on the streams: see `positive_class_streams` and `top_label_streams`.

    Args:
        streams: what is held against what.
        bins: how many bins of equal width.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        float64 (streams,), in [0, 1]; NaN without a record.

    Raises:
        UsageError: fewer than one bin, counts that do not fit.
        DataError: a negative count.

    Example:
        >>> from einthoven.metrics.calibration.streams import positive_class_streams
        >>> expected_calibration_error(positive_class_streams([0, 1, 1, 1], [0.25, 0.25, 0.75, 1.0])).tolist()
        [0.1875]
    """
    sums = bin_sums(streams, bins=bins, counts=counts)
    with np.errstate(invalid="ignore"):
        return np.abs(sums.confidence - sums.came_true).sum(axis=1) / sums.count.sum(axis=1)


def maximum_calibration_error(
    streams: CalibrationStreams, *, bins: int = 15, counts: ArrayLike | None = None
) -> np.ndarray:
    """MCE: the largest |mean confidence - share that came true| of a bin that holds a record.

    Guo et al. (ICML 2017), eq. 5. A bin of one record weighs as much as a full one, so it says little of sparse bins.

    Args:
        streams: what is held against what.
        bins: how many bins of equal width.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Returns:
        float64 (streams,), in [0, 1]; NaN without a record.

    Raises:
        UsageError: fewer than one bin, counts that do not fit.
        DataError: a negative count.

    Example:
        >>> from einthoven.metrics.calibration.streams import positive_class_streams
        >>> maximum_calibration_error(positive_class_streams([0, 1, 1, 1], [0.25, 0.25, 0.75, 1.0])).tolist()
        [0.25]
    """
    sums = bin_sums(streams, bins=bins, counts=counts)
    gaps = np.full(sums.count.shape, -np.inf)
    np.divide(np.abs(sums.confidence - sums.came_true), sums.count, out=gaps, where=sums.count > 0)
    largest = gaps.max(axis=1)
    return np.where(np.isneginf(largest), np.nan, largest)


def undefined_reason(streams: CalibrationStreams, counts: ArrayLike | None = None) -> str | None:
    """Why calibration errors and Brier scores have no value here, or None where they have one.

    Args:
        streams: what is held against what.
        counts: (records,) integers, how often each record is in a resample; None is once each.

    Raises:
        UsageError: counts that do not fit.
        DataError: a negative count.

    Example:
        >>> from einthoven.metrics.calibration.streams import positive_class_streams
        >>> undefined_reason(positive_class_streams([1, 0], [0.5, 0.5]), counts=[0, 0])
        'no test record'
    """
    return None if record_weights(counts, records=streams.records).any() else "no test record"
