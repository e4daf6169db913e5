"""Age and sex as cohorts store them, from what releases write."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# Years; older than any verified person. What is above is a code, not an age.
OLDEST = 125.0
# Words for a sex, in lower case -> how it is stored.
SEXES = {"f": "F", "female": "F", "m": "M", "male": "M"}


def age_of(text: object) -> float | None:
    """An age in years; None for what is no number, and for an age that nobody has.

    Example:
        >>> age_of("61"), age_of("n/a"), age_of(300)
        (61.0, None, None)
    """
    try:
        age = float(text)  # type: ignore[arg-type]  # what is no number is an error that is caught
    except (TypeError, ValueError, OverflowError):
        return None
    return age if 0 <= age <= OLDEST else None


def ages_of(numbers: pl.Series) -> pl.Series:
    """As `age_of`, for a column of numbers."""
    return numbers.set(~numbers.is_between(0, OLDEST), None)


def sex_of(text: object) -> str | None:
    """A sex as it is stored, from a word for it; case and outer white space are ignored, and any other word is None.

    Example:
        >>> sex_of(" Female"), sex_of("unknown")
        ('F', None)
    """
    return SEXES.get(str(text).strip().casefold())
