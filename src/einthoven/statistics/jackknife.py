"""AUROC and average precision with one patient left out, for every patient, encoder and label.

Nothing is recomputed patient by patient: each (encoder, label) is sorted once. For AUROC, what a patient takes away is
the sum of its records' placements (DeLong, DeLong and Clarke-Pearson, Biometrics 1988, equation 5, in integers); for
average precision, the cumulative counts below a left-out record fall by a small integer, and there is one running sum
for each such integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_predictions
from einthoven.metrics.ties import tie_groups

from .threads import for_each
from .units import number_units


@dataclass(frozen=True, eq=False)
class JackknifeValues:
    """The metrics without each unit, units numbered by first appearance.

    Attributes:
        auroc: float64 (units, encoders, labels); NaN where the other units have one class only.
        average_precision: float64 (units, encoders, labels); NaN where the other units have no positive.
    """

    auroc: np.ndarray
    average_precision: np.ndarray


def jackknife_discrimination(
    target: ArrayLike,
    scores: ArrayLike,
    *,
    units: Sequence[str] | Sequence[int] | np.ndarray,
    threads: int | None = None,
) -> JackknifeValues:
    """AUROC and average precision on all records but those of one unit, for each unit.

    A macro average or a difference left-one-out is the macro average or difference of these values. Time grows with
    records times the most records of a unit; memory with units x encoders x labels.

    Args:
        target: (records, labels) of 0 and 1.
        scores: (encoders, records, labels) finite numbers.
        units: (records,) patient ids, or record ids; strings or integers.
        threads: how many (encoder, label) pairs are computed at once; None is one for each core the process may use.
            The result does not depend on it.

    Returns:
        Both metrics, each float64 (units, encoders, labels).

    Raises:
        UsageError: shapes that do not fit, fewer than one thread.
        DataError: a target that is neither 0 nor 1, a score that is not finite, a record without a unit, or fewer than
            two units.

    Example:
        >>> left_out = jackknife_discrimination([[0], [1], [0]], [[[0.1], [0.3], [0.4]]], units=["a", "b", "c"])
        >>> left_out.auroc[:, 0, 0].tolist(), left_out.average_precision[:, 0, 0].tolist()
        ([0.0, nan, 1.0], [0.5, nan, 1.0])
    """
    present, values = check_predictions(target, scores)
    unit_of_record, unit_count = number_units(units)
    if len(unit_of_record) != len(present):
        raise UsageError(f"units: expected one for each of {len(present)} records, found {len(unit_of_record)}.")

    encoders, labels = values.shape[0], present.shape[1]
    shape = (encoders, labels, unit_count)
    area, precision = np.full(shape, np.nan), np.full(shape, np.nan)

    def leave_out(pair: tuple[int, int]) -> None:
        encoder, label = pair
        order, starts = tie_groups(values[encoder, :, label])
        bounds = np.append(starts, len(order))
        positive, unit = present[order, label], unit_of_record[order]
        _leave_out_area(bounds, positive, unit, area[pair])
        by_unit = np.argsort(unit, kind="stable")
        _leave_out_precision(bounds, positive, unit, by_unit, precision[pair])

    for_each(leave_out, np.ndindex(encoders, labels), threads=threads)
    return JackknifeValues(auroc=np.moveaxis(area, 2, 0), average_precision=np.moveaxis(precision, 2, 0))


@njit(nogil=True)
def _leave_out_area(bounds: np.ndarray, positive: np.ndarray, unit: np.ndarray, area: np.ndarray) -> None:
    """Fill `area` (units,); `bounds`: where runs of equal scores begin, and the end; the rest in order of score."""
    units = len(area)
    unit_positives = np.zeros(units, np.int64)
    unit_negatives = np.zeros(units, np.int64)
    all_positives = np.int64(0)
    for position in range(len(positive)):
        if positive[position] == 1:
            unit_positives[unit[position]] += 1
            all_positives += 1
        else:
            unit_negatives[unit[position]] += 1
    all_negatives = len(positive) - all_positives

    # Twice the pairs in wrong order: of everyone, and those that go with each unit.
    wrong = np.int64(0)
    wrong_of_unit = np.zeros(units, np.int64)
    above = np.zeros(units, np.int64)
    tied = np.zeros(units, np.int64)
    positives_above, negatives_above = np.int64(0), np.int64(0)
    for run in range(len(bounds) - 1):
        first, last = bounds[run], bounds[run + 1]
        run_positives = np.int64(0)
        for position in range(first, last):
            if positive[position] == 1:
                run_positives += 1
            else:
                tied[unit[position]] += 1
        run_negatives = (last - first) - run_positives
        positives_below = all_positives - positives_above - run_positives
        for position in range(first, last):
            here = unit[position]
            if positive[position] == 1:
                out_of_order = 2 * negatives_above + run_negatives
                wrong += out_of_order
                # Pairs within the unit are seen from both their records, and leave once.
                wrong_of_unit[here] += out_of_order - (2 * above[here] + tied[here])
            else:
                wrong_of_unit[here] += 2 * positives_below + run_positives
        for position in range(first, last):
            if positive[position] == 0:
                above[unit[position]] += 1
                tied[unit[position]] = 0
        positives_above += run_positives
        negatives_above += run_negatives
    for here in range(units):
        twice_pairs = 2 * (all_positives - unit_positives[here]) * (all_negatives - unit_negatives[here])
        if twice_pairs > 0:
            area[here] = (twice_pairs - (wrong - wrong_of_unit[here])) / twice_pairs


@njit(nogil=True)
def _leave_out_precision(
    bounds: np.ndarray, positive: np.ndarray, unit: np.ndarray, by_unit: np.ndarray, precision: np.ndarray
) -> None:
    """Fill `precision` (units,); `by_unit`: positions in order of score, those of one unit together.

    With f positives and t records of the unit at or above run r, the run's term is p_r (F_r - f) / (T_r - t), where F
    and T count positives and records down to r. Between two records of the unit f and t stay, so that a stretch of
    runs is a difference of two running sums for its t.
    """
    records, runs, units = len(positive), len(bounds) - 1, len(precision)
    # Only runs with a positive have a term: `term` numbers them, and says how many lie above each run.
    term_above = np.zeros(runs + 1, np.int64)
    gained = np.empty(runs, np.float64)
    found = np.empty(runs, np.float64)
    down_to = np.empty(runs, np.int64)
    run_of = np.empty(records, np.int64)
    terms, all_positives = np.int64(0), np.int64(0)
    for run in range(runs):
        run_positives = np.int64(0)
        for position in range(bounds[run], bounds[run + 1]):
            run_positives += positive[position]
            run_of[position] = run
        all_positives += run_positives
        if run_positives > 0:
            gained[terms], found[terms], down_to[terms] = run_positives, all_positives, bounds[run + 1]
            terms += 1
        term_above[run + 1] = terms

    # A stretch for each run that holds records of a unit, and one above all of them.
    most = records + units
    stretch_unit = np.empty(most, np.int64)
    stretch_from = np.empty(most, np.int64)
    stretch_to = np.empty(most, np.int64)
    stretch_found = np.empty(most, np.float64)
    stretch_taken = np.empty(most, np.int64)
    sums = np.zeros(units, np.float64)
    unit_positives = np.zeros(units, np.int64)
    stretches, largest = np.int64(0), np.int64(0)
    place = 0
    for here in range(units):
        f, t, begin = np.int64(0), np.int64(0), np.int64(0)
        while place < records and unit[by_unit[place]] == here:
            run = run_of[by_unit[place]]
            stretch_unit[stretches], stretch_from[stretches], stretch_to[stretches] = here, begin, term_above[run]
            stretch_found[stretches], stretch_taken[stretches] = f, t
            stretches += 1
            own = np.int64(0)
            while place < records and unit[by_unit[place]] == here and run_of[by_unit[place]] == run:
                own += positive[by_unit[place]]
                t += 1
                place += 1
            f += own
            begin = term_above[run]
            if own > 0 and down_to[begin] > t:
                sums[here] -= own * ((found[begin] - f) / (down_to[begin] - t))
        stretch_unit[stretches], stretch_from[stretches], stretch_to[stretches] = here, begin, terms
        stretch_found[stretches], stretch_taken[stretches] = f, t
        stretches += 1
        unit_positives[here] = f
        largest = max(largest, t)

    first_of = np.zeros(largest + 2, np.int64)
    for stretch in range(stretches):
        first_of[stretch_taken[stretch] + 1] += 1
    for t in range(largest + 1):
        first_of[t + 1] += first_of[t]
    by_taken = np.empty(stretches, np.int64)
    filled = first_of[:-1].copy()
    for stretch in range(stretches):
        by_taken[filled[stretch_taken[stretch]]] = stretch
        filled[stretch_taken[stretch]] += 1

    with_found = np.zeros(terms + 1, np.float64)
    without = np.zeros(terms + 1, np.float64)
    for t in range(largest + 1):
        if first_of[t] == first_of[t + 1]:
            continue
        for term in range(terms):
            # With t records or fewer down to here, all are the unit's own and nothing is left to be found.
            share = gained[term] / (down_to[term] - t) if down_to[term] > t else 0.0
            with_found[term + 1] = with_found[term] + share * found[term]
            without[term + 1] = without[term] + share
        for index in range(first_of[t], first_of[t + 1]):
            stretch = by_taken[index]
            low, high = stretch_from[stretch], stretch_to[stretch]
            sums[stretch_unit[stretch]] += (with_found[high] - with_found[low]) - stretch_found[stretch] * (
                without[high] - without[low]
            )
    for here in range(units):
        left = all_positives - unit_positives[here]
        if left > 0:
            precision[here] = sums[here] / left
