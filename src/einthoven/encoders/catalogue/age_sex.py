"""`age-sex`: what a label owes to the patient's age and sex alone, without any ECG."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.contract import MetadataEncoder
from einthoven.encoders.registry import EncoderEntry
from einthoven.foundation.errors import DataError

# Older than any verified person: a larger number is a code (PTB-XL writes 300 for "above 89"), not an age.
_OLDEST = 125.0
_SEXES = ("F", "M")

_CARD = EncoderCard(
    name="age-sex",
    title="Age and sex",
    summary="Age, its square and sex from the metadata: what can be told about a label without looking at the ECG.",
    paper="none (a control)",
    code_licence="Apache-2.0",
    weights_licence="not applicable (nothing is trained)",
    weights="none (fixed features)",
    consumes="metadata",
    dimension=6,
    pretraining=(),
    floor=True,
    features=("age", "age_squared", "male", "male_x_age", "age_missing", "sex_missing"),
)


class AgeSex(MetadataEncoder):
    """Six numbers: age / 100, its square, male, male x age / 100, age missing, sex missing.

    A missing age or sex gives 0 in every number made from it and 1 in its indicator, so that a linear probe can give
    such records an offset of their own.
    """

    columns = ("age", "sex")

    def _embed_metadata(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        years = columns["age"].astype(np.float64)
        wrong = np.isinf(years) | (years < 0) | (years > _OLDEST)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise DataError(
                f"Encoder {self.card.name} expects ages of 0 to {_OLDEST:g} years, or none; {int(wrong.sum())} of "
                f"{len(years)} are outside, first {years[row]:g} at row {row}. Codes must become null in the dataset."
            )
        sexes = columns["sex"]
        known = np.array([sex in _SEXES for sex in sexes], dtype=bool)
        strange = [row for row, sex in enumerate(sexes) if not (known[row] or _is_missing(sex))]
        if strange:
            raise DataError(
                f"Encoder {self.card.name} expects sex 'F' or 'M', or none; found {sexes[strange[0]]!r} at row "
                f"{strange[0]} ({len(strange)} such row(s)). Map the source's codes in the dataset."
            )
        age_missing = np.isnan(years)
        age = np.where(age_missing, 0.0, years) / 100.0
        male = np.array([sex == "M" for sex in sexes], dtype=np.float64)
        return np.stack([age, age**2, male, male * age, age_missing, ~known], axis=1)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def build() -> MetadataEncoder:
    """The encoder; it has no parameters."""
    return AgeSex(_CARD, {})


ENCODER = EncoderEntry(card=_CARD, build=build)
