"""Leaks: patients in two splits, and one recording under two ids or in two datasets.

A recording is recognised by its course over time, whatever its sampling rate, gain, lead names, lead order and usual
filters: the root mean square over its leads between 2 and 20 Hz, at 50 Hz, standardised. Pairs that are alike in it are
then compared lead by lead, with QRS complexes cut off at twice the lead's median deviation: those of different people
with the same rate can fall together, what is between them does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from einthoven.foundation.errors import UsageError
from einthoven.signals.filtering import bandpass, needed_samples
from einthoven.signals.resampling import resample

from .cohort import Cohort

_RATE = 100.0
_SECONDS = 10.0
_POINTS = int(_RATE * _SECONDS / 2)
_BAND = {"low": 2.0, "high": 20.0, "order": 2}
_CUT = 2.0
# Of the courses: a first look that lets no copy escape. The hardest copies at hand are PTB-XL's 100 Hz files, which
# were not made with a good filter: they have 0.878 and more with their own 500 Hz files (168 records). Copies that
# were filtered (0.5-40 Hz, 0.67-25 Hz, above 1 Hz) have 0.998 and more.
_ALIKE = 0.83
# Of the leads: the median over leads of the best absolute correlation with any lead of the other. The same 168 pairs
# have 0.955 and more. Of pairs of different records, the largest has 0.843 among 1,987 of PTB-XL, and 0.939 among
# 20,000 phantoms, whose beats are more alike than those of people.
_SAME = 0.945
_BLOCK = 2048


@dataclass(frozen=True)
class Recording:
    """Where a recording stands: cohort, row, ids, and its split by the cohort's default rule."""

    cohort: str
    row: int
    record_id: str
    patient_id: str
    split: str


@dataclass(frozen=True)
class Duplicate:
    """Two records that hold the same recording.

    Attributes:
        correlation: median over leads of the best absolute correlation with a lead of the other.
    """

    first: Recording
    second: Recording
    correlation: float

    @property
    def crosses_splits(self) -> bool:
        """Whether the two are in different splits, each by its cohort's default rule, so that the test score of what is
        trained on the one and tested on the other is flattered.
        """
        return "" not in (self.first.split, self.second.split) and self.first.split != self.second.split


@dataclass(frozen=True)
class PatientLeak:
    """A patient with records in more than one split of a rule."""

    cohort: str
    rule: str
    patient_id: str
    splits: tuple[str, ...]


def course(signals: np.ndarray, rate: float) -> np.ndarray:
    """What a recording is recognised by, the same for every rate, gain, lead order and lead naming.

    Args:
        signals: (records, leads, samples), mV; of records longer than 10 s the middle counts.
        rate: Hz.

    Returns:
        float32 (records, 500), each row with mean 0 and length 1; zeros for a record that does not vary. Shorter
        records are filled with zeros behind.
    """
    x = np.asarray(signals, dtype=np.float32)
    wanted = round(_SECONDS * rate)
    if x.shape[-1] > wanted:
        start = (x.shape[-1] - wanted) // 2
        x = x[..., start : start + wanted]
    x = _band(resample(x, rate, _RATE))
    size = np.sqrt(np.mean(np.square(x), axis=1))
    size = size[:, : size.shape[1] // 2 * 2].reshape(len(size), -1, 2).mean(axis=2)[:, :_POINTS]
    size = size - size.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(size, axis=1, keepdims=True)
    found = np.zeros((len(size), _POINTS), dtype=np.float32)
    found[:, : size.shape[1]] = np.divide(size, norm, out=np.zeros_like(size), where=norm > 0)
    return found


def alike_pairs(courses: np.ndarray, *, at_least: float = _ALIKE) -> Iterator[tuple[int, int]]:
    """Pairs of rows whose courses correlate, first row before second; blocks of the whole matrix at a time."""
    for start in range(0, len(courses), _BLOCK):
        block = courses[start : start + _BLOCK]
        for other in range(start, len(courses), _BLOCK):
            close = block @ courses[other : other + _BLOCK].T >= at_least
            for i, j in np.argwhere(close):
                if start + i < other + j:
                    yield int(start + i), int(other + j)


def lead_correlation(one: np.ndarray, one_rate: float, two: np.ndarray, two_rate: float) -> float:
    """How far two records are the same recording, lead by lead, whatever the leads are called.

    Args:
        one, two: (leads, samples), mV.

    Returns:
        the median over the leads of the record with fewer of the best absolute correlation with a lead of the other;
        leads that do not vary are left out.
    """
    a, b = _standardised(one, one_rate), _standardised(two, two_rate)
    length = min(a.shape[1], b.shape[1])
    if len(a) > len(b):
        a, b = b, a
    if not len(a) or not length:
        return 0.0
    return float(np.median(np.abs(a[:, :length] @ b[:, :length].T).max(axis=1)))


def _standardised(signal: np.ndarray, rate: float) -> np.ndarray:
    wanted = round(_SECONDS * rate)
    start = max(0, (signal.shape[-1] - wanted) // 2)
    x = _band(resample(np.asarray(signal[..., start : start + wanted], dtype=np.float32)[None], rate, _RATE)[0])
    deviation = np.median(np.abs(x), axis=1, keepdims=True)
    x = np.clip(x, -_CUT * deviation, _CUT * deviation)
    x = x - x.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(x, axis=1)
    return x[norm > 0] / norm[norm > 0, None]


def _band(signal: np.ndarray) -> np.ndarray:
    """The band that is compared; of a signal too short for the filter, what differs from its mean."""
    if signal.shape[-1] < needed_samples(_RATE, **_BAND):
        return signal - signal.mean(axis=-1, keepdims=True)
    return bandpass(signal, _RATE, **_BAND)


def find_duplicates(cohorts: Sequence[Cohort], *, at_least: float = _SAME) -> list[Duplicate]:
    """All pairs of records, within and across cohorts, that hold the same recording.

    Memory is 2 kB a record. Copies that were cut out at another time are not found, nor single leads of a record.

    Raises:
        UsageError: the same cohort twice.
    """
    if len({cohort.path for cohort in cohorts}) != len(cohorts):
        raise UsageError(f"A cohort is named twice: {', '.join(cohort.name for cohort in cohorts)}.")
    places = [(cohort, row) for cohort in cohorts for row in range(len(cohort))]
    courses = np.concatenate([_courses_of(cohort) for cohort in cohorts])
    splits = {cohort.name: cohort.split() for cohort in cohorts}
    found = []
    for i, j in alike_pairs(courses):
        (one, row), (two, other) = places[i], places[j]
        correlation = lead_correlation(one.signal(row), one.rate, two.signal(other), two.rate)
        if correlation >= at_least:
            found.append(Duplicate(_recording(one, row, splits), _recording(two, other, splits), round(correlation, 4)))
    return found


def find_patient_leaks(cohort: Cohort) -> list[PatientLeak]:
    """Patients of a cohort with records in more than one split, for every rule."""
    leaks = []
    for rule in cohort.manifest.split_rules:
        seen: dict[str, set[str]] = {}
        for patient, split in zip(cohort.patient_ids, cohort.split(rule), strict=True):
            if split:
                seen.setdefault(str(patient), set()).add(str(split))
        leaks += [
            PatientLeak(cohort.name, rule, patient, tuple(sorted(splits)))
            for patient, splits in seen.items()
            if len(splits) > 1
        ]
    return leaks


def _courses_of(cohort: Cohort) -> np.ndarray:
    if cohort.samples is None:
        return np.concatenate([course(cohort.signal(row)[None], cohort.rate) for row in range(len(cohort))])
    return np.concatenate(
        [course(cohort.signals(slice(start, start + 64)), cohort.rate) for start in range(0, len(cohort), 64)]
    )


def _recording(cohort: Cohort, row: int, splits: dict[str, np.ndarray]) -> Recording:
    return Recording(
        cohort=cohort.name,
        row=row,
        record_id=str(cohort.record_ids[row]),
        patient_id=str(cohort.patient_ids[row]),
        split=str(splits[cohort.name][row]),
    )
