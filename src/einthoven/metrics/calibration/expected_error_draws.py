"""The expected calibration error of every bootstrap draw.

A draw changes how often a record counts, not its bin: each stream is sorted once, and the draws are then counted side
by side, confidence by confidence.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from einthoven.metrics.arguments import check_counts
from einthoven.metrics.ties import tie_groups

from .reliability import bin_edges, bin_of
from .streams import CalibrationStreams

# Draws counted side by side: wide enough for vector instructions, and the counters of a block stay in the L1 cache.
_BLOCK = 256


def expected_calibration_error_draws(streams: CalibrationStreams, *, counts: ArrayLike, bins: int = 15) -> np.ndarray:
    """ECE of every stream in every draw; draw b equals `expected_calibration_error` with counts[b].

    Memory beyond the result is that of a block of draws, however many there are.

    Args:
        streams: what is held against what.
        counts: (draws, records) integers, as `draw_counts` gives them.
        bins: how many bins of equal width.

    Returns:
        float64 (draws, streams); NaN in a draw that holds no record.

    Raises:
        UsageError: fewer than one bin, counts that do not fit.
        DataError: a negative count.

    Example:
        >>> from einthoven.metrics.calibration.streams import positive_class_streams
        >>> streams = positive_class_streams([0, 1], [0.25, 0.75])
        >>> expected_calibration_error_draws(streams, counts=[[1, 1], [2, 0], [0, 0]]).ravel().tolist()
        [0.25, 0.25, nan]
    """
    table = check_counts(counts, records=streams.records, dimensions=2)
    edges = bin_edges(bins)
    draws = len(table)
    errors = np.full((draws, streams.streams), np.nan)
    if streams.records == 0:
        return errors
    ranked = [_rank(streams, column, edges) for column in range(streams.streams)]
    for low in range(0, draws, _BLOCK):
        # No draw holds more than 2^31 - 1 records (check_counts), so 32 bits hold every count and sum of counts.
        block = np.ascontiguousarray(table[low : low + _BLOCK].T, dtype=np.int32)
        for column, stream in enumerate(ranked):
            errors[low : low + _BLOCK, column] = _errors(*stream, block)
    return errors


def _rank(
    streams: CalibrationStreams, column: int, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows by rising confidence, where runs begin and the last one ends, bin and confidence of runs, ranked outcome."""
    confidence, outcome = streams.confidence[:, column], streams.outcome[:, column]
    # tie_groups ranks from the highest; 1 - confidence could merge two, a changed sign cannot.
    order, starts = tie_groups(-confidence)
    values = np.ascontiguousarray(confidence[order][starts])
    return order, np.append(starts, len(order)), bin_of(values, edges), values, np.ascontiguousarray(outcome[order])


# Compiled in each process (about a second) and not cached on disk: a cache would be written beside the package.
@njit(nogil=True)
def _errors(
    order: np.ndarray,
    starts: np.ndarray,
    places: np.ndarray,
    confidence: np.ndarray,
    outcome: np.ndarray,
    counts: np.ndarray,
) -> np.ndarray:
    """float64 (draws,) of one stream.

    `order`: rows by rising confidence; `starts`: where runs of equal confidence begin, and the end; `places` and
    `confidence`: bin and value of each run; `outcome`: in that order; `counts`: int32 (records, draws).
    """
    draws = counts.shape[1]
    held, came_true = np.zeros(draws, np.int32), np.zeros(draws, np.int32)
    records, bin_true = np.zeros(draws, np.int32), np.zeros(draws, np.int32)
    bin_confidence, error = np.zeros(draws), np.zeros(draws)
    runs = len(confidence)
    for run in range(runs):
        held[:] = 0
        came_true[:] = 0
        for position in range(starts[run], starts[run + 1]):
            row = counts[order[position]]
            for draw in range(draws):
                held[draw] += row[draw]
            if outcome[position] == 1:
                for draw in range(draws):
                    came_true[draw] += row[draw]
        value = confidence[run]
        for draw in range(draws):
            records[draw] += held[draw]
            bin_true[draw] += came_true[draw]
            bin_confidence[draw] += held[draw] * value
        if run + 1 == runs or places[run + 1] != places[run]:
            for draw in range(draws):
                error[draw] += abs(bin_confidence[draw] - bin_true[draw])
                bin_confidence[draw] = 0.0
                bin_true[draw] = 0
    for draw in range(draws):
        error[draw] = error[draw] / records[draw] if records[draw] > 0 else np.nan
    return error
