"""Placements: where each positive's score is among the negatives, and each negative's among the positives.

The AUROC is the mean of either; its variance is that of the positives' placements and the negatives' placements,
summed by unit of independent evidence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .rounding import ROUNDING


class Placements(NamedTuple):
    """Of encoders, or differences of two encoders.

    Attributes:
        positives: int64 (encoders, positives), twice the negatives below a positive, those tied with it once.
        negatives: int64 (encoders, negatives), twice the positives above a negative, those tied with it once.
    """

    positives: np.ndarray
    negatives: np.ndarray


class Split:
    """The positives and negatives of one label, and the units they belong to.

    Args:
        present: uint8 (records,) of 0 and 1.
        unit_of_record: int64 (records,), from 0; None takes every record as a unit.
    """

    def __init__(self, present: np.ndarray, unit_of_record: np.ndarray | None) -> None:
        self._present = present == 1
        self._clustered = unit_of_record is not None
        units = np.arange(len(present)) if unit_of_record is None else unit_of_record
        self._positive_units, self._negative_units = units[self._present], units[~self._present]
        self._units = int(units.max()) + 1 if len(units) else 0

    @property
    def pairs(self) -> int:
        """How many pairs of a positive and a negative there are."""
        return len(self._positive_units) * len(self._negative_units)

    def placements(self, scores: np.ndarray) -> Placements:
        """Placements of each encoder's scores, (encoders, records), in the time of a sort."""
        positives = np.empty((len(scores), len(self._positive_units)), dtype=np.int64)
        negatives = np.empty((len(scores), len(self._negative_units)), dtype=np.int64)
        for encoder, score in enumerate(scores):
            high, low = score[self._present], score[~self._present]
            positives[encoder] = _twice_below(high, np.sort(low))
            negatives[encoder] = 2 * len(high) - _twice_below(low, np.sort(high))
        return Placements(positives, negatives)

    def means(self, placements: Placements) -> np.ndarray:
        """AUROCs, or differences of them: float64 (encoders,); NaN without both classes."""
        if self.pairs == 0:
            return np.full(len(placements.positives), np.nan)
        return placements.positives.sum(axis=1) / (2 * self.pairs)

    def shortage(self) -> str | None:
        """Why there is no variance, or None."""
        for kind, units in (("positive", self._positive_units), ("negative", self._negative_units)):
            if len(units) < 2:
                plural = "" if len(units) == 1 else "s"
                return f"{len(units)} {kind}{plural} in {len(self._present)} test records; at least 2 needed"
            if self._clustered and len(np.unique(units)) < 2:
                return f"all {len(units)} {kind}s are of one unit; at least 2 units needed"
        return None

    def covariance(self, placements: Placements) -> np.ndarray:
        """Covariance matrix of the means, float64 (encoders, encoders)."""
        matrix = self._combine(placements, "ai,bi->ab")[0]
        np.fill_diagonal(matrix, self.variance(placements))
        return matrix

    def variance(self, placements: Placements) -> np.ndarray:
        """Variances of the means, float64 (encoders,); exactly 0 where no unit is apart from the others."""
        variance, terms = self._combine(placements, "ai,ai->a")
        # So small beside the terms that it is summed from, it is 0 in rational numbers.
        return np.where(variance > ROUNDING * terms, variance, 0.0)

    def _combine(self, placements: Placements, products: str) -> tuple[np.ndarray, np.ndarray]:
        """Obuchowski's estimate, and the sum of its terms without the one between positives and negatives.

        Each sum of squares is corrected for the mean by the number of units that it has; with one record in each unit
        the last term is 0 and the others are DeLong's.
        """
        positives, negatives = len(self._positive_units), len(self._negative_units)
        of_positives = self._apart(placements.positives, self._positive_units) / (2 * positives**2 * negatives)
        of_negatives = self._apart(placements.negatives, self._negative_units) / (2 * negatives**2 * positives)
        # Plain loops and no BLAS: the same bits on any number of threads.
        terms = _corrected(self._positive_units) * np.einsum(products, of_positives, of_positives)
        terms += _corrected(self._negative_units) * np.einsum(products, of_negatives, of_negatives)
        if not self._clustered:
            return terms.copy(), terms
        crossed = np.einsum(products, of_positives, of_negatives) + np.einsum(products, of_negatives, of_positives)
        return terms + self._units / (self._units - 1) * crossed, terms

    def _apart(self, twice: np.ndarray, units: np.ndarray) -> np.ndarray:
        """How far the sum of each unit's placements is from what the mean gives it, times 2 records; exact integers."""
        sums = np.zeros((len(twice), self._units), dtype=np.int64)
        for encoder, row in enumerate(twice):
            np.add.at(sums[encoder], units, row)
        sizes = np.bincount(units, minlength=self._units)
        return len(units) * sums - sizes * twice.sum(axis=1, keepdims=True)


def _twice_below(scores: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    return np.searchsorted(ordered, scores, side="left") + np.searchsorted(ordered, scores, side="right")


def _corrected(units: np.ndarray) -> float:
    count = len(np.unique(units))
    return count / (count - 1)
