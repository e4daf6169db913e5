"""Rules that put records into train, val and test: seeded, the same on every machine, patients kept together."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from einthoven.foundation.errors import UsageError
from einthoven.foundation.seeds import seed_for

from .dataset import SPLITS, TaskTable


def hash_split(
    patient_ids: Mapping[str, str], *, salt: str, train: float, val: float, digits: int = 8
) -> dict[str, str]:
    """A patient's split from a hash of its id alone, so that it depends on no other patient and on no order.

    The share is the number of the first hexadecimal digits of sha256("<salt>:<patient id>") over the largest such
    number; below `train` it is train, below `train + val` val, else test.

    Args:
        patient_ids: record id -> patient id, as text: another spelling of a number is another patient.
        salt: name of the rule.

    Source: the rule of ECG-InterpBench (`build_manifest.py`), which has 70/15/15 and 8 digits.
    """
    largest = 16**digits - 1
    split_of: dict[str, str] = {}
    for patient in set(patient_ids.values()):
        share = int(hashlib.sha256(f"{salt}:{patient}".encode()).hexdigest()[:digits], 16) / largest
        split_of[patient] = "train" if share < train else "val" if share < train + val else "test"
    return {record: split_of[patient] for record, patient in patient_ids.items()}


def stratified_random(table: TaskTable, *, seed: int, train: float = 0.7, val: float = 0.1) -> dict[str, str]:
    """A random split of a task's records in which every label is in every split if it has records enough.

    Labels from the rarest on are given one positive record in train, val and test, in this order, where a split has
    none yet; the other records are shuffled into the places that are left. Sizes are rounded down, and what is over
    goes to the largest fractions. Record by record: for datasets whose patients are not known.

    Args:
        table: the order of its records and labels counts.
        seed: of numpy's default generator.

    Source: ecg-fix (Berger et al. 2026), `add_stratified_random_split`, its version of 2026, seed 42.
    """
    records = list(table.positives)
    if not records:
        return {}
    targets = np.array([[label in table.positives[record] for label in table.labels] for record in records], dtype=bool)
    rng = np.random.default_rng(seed)
    left = _sizes(len(records), (train, val, 1 - train - val))
    assigned = np.full(len(records), -1)
    for label in np.argsort(targets.sum(axis=0)):
        for part in range(len(SPLITS)):
            if left[part] and not targets[assigned == part, label].any():
                free = np.flatnonzero(targets[:, label] & (assigned == -1))
                if len(free):
                    assigned[rng.choice(free)] = part
                    left[part] -= 1
    rest = np.flatnonzero(assigned == -1)
    rng.shuffle(rest)
    places = np.repeat(np.arange(len(SPLITS)), left)
    rng.shuffle(places)
    assigned[rest] = places
    return {record: SPLITS[part] for record, part in zip(records, assigned, strict=True)}


def drawn_among(here: int, whole: int, *, rule: str) -> tuple[str, ...]:
    """What must be noted of a rule that draws from all records together, where not all are here."""
    if here >= whole:
        return ()
    return (
        f"Split rule {rule} draws from all records together. Of {here} of {whole} records it makes another split than "
        "of all of them.",
    )


def _sizes(total: int, fractions: Sequence[float]) -> list[int]:
    exact = [total * fraction for fraction in fractions]
    sizes = [int(value) for value in exact]
    largest = sorted(range(len(sizes)), key=lambda part: exact[part] - sizes[part], reverse=True)
    for part in largest[: total - sum(sizes)]:
        sizes[part] += 1
    return sizes


def grouped_folds(patient_ids: Mapping[str, str], *, folds: int, seed: int = 0) -> list[dict[str, str]]:
    """K splits in which every patient is once in test, once in val, and otherwise in train: for small cohorts.

    Patients are shuffled and dealt to folds so that the folds hold about as many records each; fold i is test, the next
    one val.

    Args:
        patient_ids: record id -> patient id.
        folds: at least 3, and not more than there are patients.

    Raises:
        UsageError: a number of folds that cannot be.
    """
    of_patients = patient_folds(Counter(patient_ids.values()), folds=folds, seed=seed)
    return [{record: fold[patient] for record, patient in patient_ids.items()} for fold in of_patients]


def patient_folds(counts: Mapping[str, int], *, folds: int, seed: int = 0) -> list[dict[str, str]]:
    """The splits of `grouped_folds` by patient: patient id -> split, for each fold.

    Args:
        counts: patient id -> number of records.

    Raises:
        UsageError: a number of folds that cannot be.
    """
    if not 3 <= folds <= len(counts):
        raise UsageError(f"folds: expected 3 to {len(counts)} (the number of patients), found {folds}.")
    patients = sorted(counts)
    np.random.default_rng(seed_for("folds", seed)).shuffle(patients)
    sizes = [0] * folds
    fold_of: dict[str, int] = {}
    for patient in sorted(patients, key=lambda name: -counts[name]):
        smallest = sizes.index(min(sizes))
        fold_of[patient] = smallest
        sizes[smallest] += counts[patient]

    def part(fold: int, test: int) -> str:
        return "test" if fold == test else "val" if fold == (test + 1) % folds else "train"

    return [{patient: part(fold, test) for patient, fold in fold_of.items()} for test in range(folds)]
