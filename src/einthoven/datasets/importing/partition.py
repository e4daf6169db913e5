"""Split rules of a mapping: by a hash of the patient, by folds of patients, or as a column says."""

from __future__ import annotations

from collections.abc import Mapping

from einthoven.datasets.splitting import grouped_folds, hash_split

from .mapping import ColumnSplit, FoldSplit, HashSplit, ImportPlan, rule_names
from .table import Table

_PARTS = {"train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


def split_rules(plan: ImportPlan) -> dict[str, str]:
    """Rule name -> one line about it; folds are a rule each."""
    about: dict[str, str] = {}
    for name, split in plan.splits.items():
        if isinstance(split, HashSplit):
            test = 100 * (1 - split.train - split.val)
            about[name] = f"{100 * split.train:g} / {100 * split.val:g} / {test:.4g} by a hash of the patient id"
        elif isinstance(split, ColumnSplit):
            about[name] = f"column {split.column} of the table"
        else:
            for fold, rule in enumerate(rule_names(name, split), 1):
                about[rule] = f"patients of fold {fold} of {split.folds} are test, of the next one val"
    return about


def splits(plan: ImportPlan, table: Table, patient_of: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Rule name -> record id -> split.

    Args:
        patient_of: record id -> patient id, in the order of the table's rows.

    Raises:
        DataError: cells of a column that are no split.
        UsageError: more folds than patients.
    """
    found: dict[str, dict[str, str]] = {}
    for name, split in plan.splits.items():
        if isinstance(split, HashSplit):
            found[name] = hash_split(patient_of, salt=split.salt, train=split.train, val=split.val)
        elif isinstance(split, FoldSplit):
            folds = grouped_folds(patient_of, folds=split.folds, seed=split.seed)
            found |= dict(zip(rule_names(name, split), folds, strict=True))
        else:
            cells = table.coded(split.column, split.codes or _PARTS, fold=True)
            found[name] = {record: part for record, part in zip(patient_of, cells, strict=True) if part is not None}
    return found
