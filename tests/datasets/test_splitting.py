"""Split rules: by hand, against their description, and what must hold of any."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einthoven.datasets.dataset import SPLITS, TaskTable
from einthoven.datasets.splitting import grouped_folds, hash_split, stratified_random
from einthoven.foundation.errors import UsageError


def test_a_hash_split_is_its_formula() -> None:
    patients = {f"r{i}": f"{i // 2}.0" for i in range(400)}
    split = hash_split(patients, salt="salt", train=0.7, val=0.1)
    for record, patient in patients.items():
        share = int(hashlib.sha256(f"salt:{patient}".encode()).hexdigest()[:8], 16) / 0xFFFFFFFF
        assert split[record] == ("train" if share < 0.7 else "val" if share < 0.8 else "test")
    assert hash_split({"r9": "4.0"}, salt="salt", train=0.7, val=0.1)["r9"] == split["r8"]
    assert hash_split(patients, salt="other", train=0.7, val=0.1) != split


def table(targets: np.ndarray) -> TaskTable:
    labels = tuple(f"L{i}" for i in range(targets.shape[1]))
    return TaskTable(
        labels, {f"r{i}": frozenset(np.array(labels)[row.astype(bool)].tolist()) for i, row in enumerate(targets)}
    )


def as_described(targets: np.ndarray, seed: int) -> list[str]:
    """The published procedure, step by step and slowly; for sizes at which no split is ever full."""
    rng = np.random.default_rng(seed)
    n = len(targets)
    sizes = [int(n * f) for f in (0.7, 0.1, 1 - 0.7 - 0.1)]
    fractions = [n * f - s for f, s in zip((0.7, 0.1, 1 - 0.7 - 0.1), sizes, strict=True)]
    for part in np.argsort(fractions)[::-1][: n - sum(sizes)]:
        sizes[part] += 1
    split = [""] * n
    for label in np.argsort(targets.sum(axis=0)):
        for name in SPLITS:
            if not any(split[i] == name and targets[i, label] for i in range(n)):
                free = [i for i in range(n) if targets[i, label] and not split[i]]
                if free:
                    split[rng.choice(free)] = name
    rest = np.array([i for i in range(n) if not split[i]])
    rng.shuffle(rest)
    slots = np.array([name for name, size in zip(SPLITS, sizes, strict=True) for _ in range(size - split.count(name))])
    rng.shuffle(slots)
    for i, name in zip(rest, slots, strict=True):
        split[i] = str(name)
    return split


@pytest.mark.parametrize("seed", [0, 42, 7])
def test_the_stratified_split_is_as_it_is_described(seed: int) -> None:
    targets = np.random.default_rng(seed + 1).random((700, 9)) < np.linspace(0.006, 0.5, 9)
    split = stratified_random(table(targets), seed=seed)
    assert list(split.values()) == as_described(targets, seed)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 120), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_a_stratified_split_has_its_sizes_and_covers_what_can_be_covered(n: int, labels: int, seed: int) -> None:
    targets = np.random.default_rng(seed).random((n, labels)) < 0.3
    split = stratified_random(table(targets), seed=seed)
    counted = Counter(split.values())
    assert list(split) == [f"r{i}" for i in range(n)]
    for name, fraction in zip(SPLITS, (0.7, 0.1, 0.2), strict=True):
        assert abs(counted[name] - fraction * n) < 1
    if n >= 100:
        of = np.array(list(split.values()))
        assert all(targets[of == name, label].any() for label in range(labels) for name in SPLITS)


def test_an_empty_task_has_an_empty_split() -> None:
    assert stratified_random(TaskTable(("A",), {}), seed=0) == {}


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 30), st.integers(3, 8), st.integers(0, 1000))
def test_folds_test_every_patient_once_and_keep_patients_whole(patients: int, folds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = {f"r{i}": f"p{i if i < patients else rng.integers(patients)}" for i in range(patients * 3)}
    if folds > patients:
        with pytest.raises(UsageError, match="expected 3 to"):
            grouped_folds(ids, folds=folds, seed=seed)
        return
    found = grouped_folds(ids, folds=folds, seed=seed)
    assert found == grouped_folds(ids, folds=folds, seed=seed)
    tested = Counter(record for split in found for record, name in split.items() if name == "test")
    assert set(tested) == set(ids)
    assert set(tested.values()) == {1}
    for split in found:
        assert set(split.values()) == set(SPLITS)
        by_patient: dict[str, set[str]] = {}
        for record, name in split.items():
            by_patient.setdefault(ids[record], set()).add(name)
        assert all(len(names) == 1 for names in by_patient.values())
