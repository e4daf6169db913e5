"""What a test set can show, before anything is run: the smallest difference of AUROC, and how many positives it takes.

These are plans, not results. They rest on assumptions that are arguments here: about where the AUROCs lie, how alike
two encoders err, and how alike the records of one patient are. After a study, its own draws replace all three
(`separability`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtr, ndtri, owens_t

from einthoven.foundation.errors import UsageError

from .rounding import ROUNDING

_MOST_POSITIVES = 1e9
_FINE = 1e-9
# Differences that are tried in turn, from 0 to an AUROC of 1.
_TRIED = 512


@dataclass(frozen=True)
class Assumptions:
    """What a plan rests on.

    Attributes:
        auroc: of the weaker of two encoders.
        correlation: of their two AUROCs over test sets, since both are tested on the same records. Measured on PTB-XL:
            0.99 for two variants of one network, 0.1 to 0.2 for a network and a model of tabular features.
        alpha: two-sided level of the whole family of comparisons.
        power: with which a true difference is to be found.
        comparisons: in the family; the level of each is alpha divided by it (Bonferroni).
    """

    auroc: float = 0.85
    correlation: float = 0.5
    alpha: float = 0.05
    power: float = 0.8
    comparisons: int = 1

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("auroc", self.auroc, 0.5, 1.0),
            ("correlation", self.correlation, -1.0, 1.0),
            ("alpha", self.alpha, 0.0, 1.0),
            ("power", self.power, 0.0, 1.0),
        ):
            if not (low < value < high or (name == "auroc" and value == low)):
                raise UsageError(f"{name}: expected a number between {low:g} and {high:g}, found {value!r}.")
        if self.comparisons < 1:
            raise UsageError(f"comparisons: expected at least 1, found {self.comparisons}.")
        if self.alpha / self.comparisons >= self.power:
            raise UsageError(f"power: expected more than alpha ({self.alpha:g}), found {self.power:g}.")

    @property
    def z(self) -> float:
        """How many standard errors a true difference must have to be found with the given power."""
        return float(ndtri(self.power) - ndtri(self.alpha / self.comparisons / 2))


@dataclass(frozen=True)
class SmallestDifference:
    """The smallest true difference that is found with the assumed power; NaN where there is none, with the reason."""

    difference: float
    reason: str | None


def auroc_variance(auroc: float, positives: float, negatives: float) -> float:
    """Variance of an AUROC over test sets of so many independent records, for normal scores of equal variance.

    [A (1 - A) + (m + n - 2) (Q - A^2)] / (m n) for m positives and n negatives (Hanley and McNeil, Radiology 143, 29,
    1982, equation 1). Q is the chance that two positives both lie above one negative, which is that of one positive
    above two negatives here: for z = probit(A), Q = Phi2(z, z; 1/2) = A - 2 T(z, 1 / sqrt(3)) with Owen's T. The
    closed form usually taken for Q1 and Q2 is that of exponential scores; where positives are rare it gives a standard
    error up to a third too large.

    Raises:
        UsageError: an AUROC outside [0, 1], or no positive or negative.

    Example:
        >>> round(auroc_variance(0.85, 50, 450) ** 0.5, 3)
        0.028
    """
    if not 0 <= auroc <= 1:
        raise UsageError(f"auroc: expected a number from 0 to 1, found {auroc!r}.")
    if positives <= 0 or negatives <= 0:
        raise UsageError(f"Expected positives and negatives, found {positives:g} and {negatives:g}.")
    both = auroc - 2 * float(owens_t(ndtri(auroc), 1 / math.sqrt(3))) if 0 < auroc < 1 else auroc
    terms = auroc * (1 - auroc) + (positives + negatives - 2) * (both - auroc**2)
    return max(terms, 0.0) / (positives * negatives)


def difference_error(difference: float, positives: float, negatives: float, assumed: Assumptions) -> float:
    """Standard error of the difference of two AUROCs on the same records, one at `assumed.auroc`, one that far above.

    Hanley and McNeil, Radiology 148, 839 (1983), equation 2.

    Args:
        difference: how far the other lies above; an AUROC of 1 is the most.
        positives, negatives: independent test records with and without the label.
        assumed: AUROC of the weaker one and correlation.

    Raises:
        UsageError: no positive or negative.

    Example:
        >>> round(difference_error(0.05, 50, 450, Assumptions()), 4)
        0.0257
    """
    low = auroc_variance(assumed.auroc, positives, negatives)
    high = auroc_variance(min(assumed.auroc + difference, 1.0), positives, negatives)
    return math.sqrt(max(low + high - 2 * assumed.correlation * math.sqrt(low * high), 0.0))


def smallest_difference(positives: float, negatives: float, assumed: Assumptions | None = None) -> SmallestDifference:
    """The smallest true difference of AUROC that a test set of so many independent records shows.

    Args:
        positives, negatives: independent test records with and without the label; see `effective_support`.
        assumed: None is the defaults of `Assumptions`.

    Returns:
        the least d with d = z SE(d), where z sums the quantiles of level and power; NaN where no encoder would be told
        from the assumed one, not even a perfect one.

    Example:
        >>> round(smallest_difference(50, 2000).difference, 3)
        0.067
    """
    assumed = assumed or Assumptions()
    if positives < 1 or negatives < 1:
        missing, found = ("positive", positives) if positives < 1 else ("negative", negatives)
        return SmallestDifference(math.nan, f"{'no' if found <= 0 else 'less than one'} {missing} test record")
    most = 1 - assumed.auroc

    def lacking(difference: float) -> float:
        return assumed.z * difference_error(difference, positives, negatives, assumed) - difference

    # In turn, as what is lacking need not fall all the way: the errors of two highly correlated AUROCs cancel while
    # they are near each other, and a perfect one has none to cancel the other's.
    tried = (most * step / _TRIED for step in range(1, _TRIED + 1))
    high = next((difference for difference in tried if lacking(difference) <= 0), None)
    if high is None:
        return SmallestDifference(
            math.nan,
            f"not even an AUROC of 1 could be told from {assumed.auroc:g} with {positives:.3g} positives and "
            f"{negatives:.3g} negatives",
        )
    low = high - most / _TRIED
    while high - low > _FINE:
        middle = (low + high) / 2
        low, high = (middle, high) if lacking(middle) > 0 else (low, middle)
    return SmallestDifference(high, None)


def power_to_show(difference: float, positives: float, negatives: float, assumed: Assumptions | None = None) -> float:
    """The chance that a true difference of AUROC is found, at the assumed level; NaN without positives or negatives.

    Args:
        difference: the true one, above 0.
        positives, negatives: independent test records with and without the label.
        assumed: None is the defaults of `Assumptions`.

    Raises:
        UsageError: a difference that is not above 0 or reaches beyond an AUROC of 1.

    Example:
        >>> round(power_to_show(0.05, 50, 2000), 2)
        0.53
    """
    assumed = assumed or Assumptions()
    check_difference(difference, assumed)
    if positives < 1 or negatives < 1:
        return math.nan
    error = difference_error(difference, positives, negatives, assumed)
    if error == 0:
        return 1.0
    return float(ndtr(difference / error + ndtri(assumed.alpha / assumed.comparisons / 2)))


def check_difference(difference: float, assumed: Assumptions) -> None:
    """Refuse a difference that is not above 0 or reaches beyond an AUROC of 1.

    Raises:
        UsageError: such a difference.
    """
    # 1 - 0.9 is a little less than 0.1.
    if not 0 < difference <= 1 - assumed.auroc + ROUNDING:
        raise UsageError(
            f"difference: expected above 0 and at most {1 - assumed.auroc:g} (1 minus the assumed AUROC of "
            f"{assumed.auroc:g}), found {difference!r}."
        )


def needed_positives(difference: float, *, prevalence: float, assumed: Assumptions | None = None) -> float:
    """How many independent positive test records it takes to show a difference, at a share of positives.

    Returns:
        a whole number as float; infinity if a billion would not do.

    Raises:
        UsageError: a difference that is not above 0 or reaches beyond an AUROC of 1, or no share.

    Example:
        >>> needed_positives(0.02, prevalence=0.05)
        677.0
    """
    assumed = assumed or Assumptions()
    if not 0 < prevalence < 1:
        raise UsageError(f"prevalence: expected a share between 0 and 1, found {prevalence!r}.")
    check_difference(difference, assumed)
    ratio = (1 - prevalence) / prevalence

    def enough(positives: float) -> bool:
        error = difference_error(difference, positives, max(positives * ratio, 1.0), assumed)
        return assumed.z * error <= difference

    low, high = 1.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST_POSITIVES:
            return math.inf
    while high - low > 1:
        middle = math.floor((low + high) / 2)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(low) if enough(low) else float(high)
