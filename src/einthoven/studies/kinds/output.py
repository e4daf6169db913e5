"""What running a cell gives, and what it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from pydantic import BaseModel

from einthoven.foundation.errors import DataError
from einthoven.studies.cells import Cell
from einthoven.studies.ledger import Ledger


@dataclass(frozen=True)
class Context:
    """Where a cell finds what other cells have made, and whom it tells how far it is."""

    ledger: Ledger
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True)
class Output:
    """A cell's result with its arrays and tables; `notes` go into the provenance, not the result."""

    result: BaseModel
    arrays: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)


def open_cohort(cell: Cell):
    """The cohort of a cell, refused if it is no longer the one the plan was made for.

    Raises:
        DataError: its fingerprint has changed since.
    """
    from pathlib import Path

    from einthoven.datasets.cohort import Cohort

    cohort = Cohort.open(Path(cell.places["cohort"]))
    if cohort.fingerprint != cell.inputs["cohort"]:
        raise DataError(
            f"Cohort {cohort.name} was prepared again after this study was planned: fingerprint "
            f"{cell.inputs['cohort'][:12]} was planned for, {cohort.fingerprint[:12]} is there. Plan and run again."
        )
    return cohort
