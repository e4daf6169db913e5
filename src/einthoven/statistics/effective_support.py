"""How many independent records the records of a label amount to, where patients have several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from einthoven.foundation.errors import UsageError
from einthoven.metrics.arguments import check_targets


@dataclass(frozen=True)
class EffectiveSupport:
    """Test records counted as far as they are independent.

    Attributes:
        positives, negatives: records with and without the label.
        positive_patients: patients with at least one record that has it.
        effective_positives, effective_negatives: as many independent records would say as much.
    """

    positives: int
    negatives: int
    positive_patients: int
    effective_positives: float
    effective_negatives: float


def effective_support(
    target: ArrayLike, patients: Sequence[str] | np.ndarray, *, alike: float = 1.0
) -> EffectiveSupport:
    """How many independent records the positives and negatives of a label amount to.

    Records of one patient repeat each other. With k_i records in patient i and a correlation `alike` between two of
    them, sum(k) records say as much as sum(k) / (1 + (sum(k^2) / sum(k) - 1) alike) independent ones (Kish, Survey
    Sampling, 1965, section 8.2, for clusters of unequal size).

    Args:
        target: (records,) of 0 and 1.
        patients: (records,) ids.
        alike: from 0, records of a patient count in full, to 1, they say nothing new.

    Raises:
        UsageError: shapes that do not fit, or `alike` outside its range.
        DataError: a target that is neither 0 nor 1.

    Example:
        >>> effective_support([1, 1, 0], ["p1", "p1", "p2"]).effective_positives
        1.0
    """
    present = check_targets(target, dimensions=1).astype(bool)
    ids = np.asarray(patients)
    if ids.shape != present.shape:
        raise UsageError(f"patients: expected one for each of {len(present)} records, found shape {ids.shape}.")
    if not 0 <= alike <= 1:
        raise UsageError(f"alike: expected a number from 0 to 1, found {alike!r}.")
    _, number = np.unique(ids, return_inverse=True)
    of_patient = [np.bincount(number[chosen], minlength=1) for chosen in (present, ~present)]
    effective = [_independent(counts, alike) for counts in of_patient]
    return EffectiveSupport(
        positives=int(present.sum()),
        negatives=int((~present).sum()),
        positive_patients=int((of_patient[0] > 0).sum()),
        effective_positives=effective[0],
        effective_negatives=effective[1],
    )


def _independent(counts: np.ndarray, alike: float) -> float:
    total = float(counts.sum())
    if total == 0:
        return 0.0
    # At least the one record that is there, which rounding must not take away.
    return max(1.0, total / (1 + (float((counts.astype(np.float64) ** 2).sum()) / total - 1) * alike))
