"""Importing a table: what would be made of it, and making it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from einthoven.datasets.building import prepare_dataset
from einthoven.datasets.cohort import Cohort
from einthoven.datasets.coverage import task_coverage
from einthoven.datasets.intake import Intake, take_in
from einthoven.datasets.manifest import TaskCoverage
from einthoven.datasets.registry import DATASETS
from einthoven.datasets.source import open_source
from einthoven.datasets.writing import BadRecords, Progress, unreadable
from einthoven.foundation.errors import DataError, EinthovenError, UsageError
from einthoven.signals.leads import STANDARD_LEADS

from .mapping import ImportPlan
from .scanning import Imported, imported_dataset
from .table import Table, read_table


@dataclass(frozen=True)
class Preview:
    """What an import would make.

    Attributes:
        missing: files that do not exist, the first of each record that lacks one.
        samples: per lead; None where records may differ.
        tasks: task -> records and positives in each split of the default rule.
        left_out: task -> why records are not in it -> how many.
        first: what is wrong with the first record whose files are there; "" if it can be stored.
    """

    dataset: str
    records: int
    patients: int
    missing: tuple[str, ...]
    rate: float
    leads: tuple[str, ...]
    samples: int | None
    split_rules: tuple[str, ...]
    families: Mapping[str, str]
    tasks: Mapping[str, TaskCoverage]
    left_out: Mapping[str, Mapping[str, int]]
    notes: tuple[str, ...]
    first: str


def import_table(
    table: Path,
    signals: Path,
    plan: ImportPlan,
    *,
    outcomes: Path | None = None,
    name: str | None = None,
    allow_missing: bool = False,
    bad_records: BadRecords = "refuse",
    replace: bool = False,
    progress: Progress | None = None,
) -> Cohort:
    """Prepare a cohort from a table and a folder of signals, as `prepare` does from a registered dataset.

    Args:
        table: CSV or parquet, one row an ECG.
        signals: folder below which the signal files lie.
        outcomes: CSV or parquet of measurements, for forecasting tasks with a rule.
        name, allow_missing, bad_records, replace, progress: as for `prepare`.

    Returns:
        the cohort; the one there is, if it was made from the same table, mapping, files and code.

    Raises:
        UsageError, DataError: as `imported_dataset` and `prepare`; nothing has been written then.
    """
    if name is not None and not name.strip():
        raise UsageError("The name of the cohort is empty. Leave it out for the default, or write one.")
    folder, imported, made_from = _read(table, signals, plan, outcomes)
    return prepare_dataset(
        imported.dataset,
        folder,
        rate=imported.rate,
        name=name,
        made_from=made_from,
        allow_missing=allow_missing,
        bad_records=bad_records,
        replace=replace,
        progress=progress,
    )


def preview(table: Path, signals: Path, plan: ImportPlan, *, outcomes: Path | None = None) -> Preview:
    """What `import_table` would make; nothing is written, and of the signals one record is read.

    Raises:
        UsageError, DataError: as `import_table`, but for signal files, whose state is part of the answer.
    """
    folder, imported, _ = _read(table, signals, plan, outcomes)
    source = open_source(imported.dataset, folder, rate=imported.rate, options={})
    scan = source.scan
    kept = np.zeros(len(scan.records), dtype=bool)
    kept[source.present] = True
    leads = scan.leads or STANDARD_LEADS
    first = ""
    if len(source.present):
        try:
            record = scan.read(scan.records[int(source.present[0])])
            intake = Intake(rate=scan.rate, samples=scan.samples, leads=leads, gain=scan.gain)
            outcome = take_in([record], intake)[0]
            first = f"record {record.record_id}: {outcome}" if isinstance(outcome, DataError) else ""
        except MemoryError:
            raise  # is of the machine, not of the record
        except Exception as error:  # of a damaged file a reader may say anything
            told = error if isinstance(error, EinthovenError) else unreadable(error)
            first = "; ".join([str(told), *getattr(told, "__notes__", [])])
    return Preview(
        dataset=plan.name,
        records=len(scan.records),
        patients=len({record.patient_id for record in scan.records}),
        missing=tuple(source.first_missing(scan.records[int(index)]) for index in source.missing),
        rate=scan.rate,
        leads=leads,
        samples=scan.samples,
        split_rules=tuple(scan.splits),
        families={task: about.family for task, about in imported.dataset.card.tasks.items()},
        tasks={task: task_coverage(scan, task, kept) for task in scan.tasks},
        left_out=imported.left_out,
        notes=scan.notes,
        first=first,
    )


def _read(table: Path, signals: Path, plan: ImportPlan, outcomes: Path | None) -> tuple[Path, Imported, dict[str, Any]]:
    """The folder of signals, the dataset, and what decides its content beside the signals."""
    if plan.name in DATASETS.names():
        raise UsageError(f"A registered dataset is called {plan.name!r}. Give yours another name.")
    folder = signals.expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"The folder of signals {folder} does not exist.")
    rows = read_table(table.expanduser(), separator=plan.separator)
    measured = None if outcomes is None else read_table(outcomes.expanduser(), separator=plan.separator)
    imported = imported_dataset(plan, rows, folder, outcomes=measured)
    return folder, imported, _identity(plan, rows, measured)


def _identity(plan: ImportPlan, table: Table, outcomes: Table | None) -> dict[str, Any]:
    return {
        "table": table.sha256,
        "outcomes": None if outcomes is None else outcomes.sha256,
        "mapping": plan.digest(),
    }
