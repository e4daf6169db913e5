"""A kind of cell: how it is computed, what it gives, and the version of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from pydantic import BaseModel

from einthoven.foundation.errors import DataError
from einthoven.foundation.registry import Registry

from .cells import Cell
from .ledger import Ledger

if TYPE_CHECKING:
    from einthoven.datasets.cohort import Cohort

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Context:
    """Where a cell finds what other cells have made, and whom it tells how far it is."""

    ledger: Ledger
    progress: Progress | None = None


@dataclass(frozen=True)
class Output:
    """A cell's result with its arrays and tables; `notes` go into the provenance, not the result."""

    result: BaseModel
    arrays: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """What a cell can be; a module of `kinds/` defines one as `KIND`.

    Attributes:
        version: part of every cell's key; raise it when the same specification and inputs give another result than
            before, whether the reason lies in the kind or in what it calls.
        result: type of `Output.result`.
        run: computes a cell. It must depend on nothing but the cell and what the cell names.
    """

    name: str
    version: int
    result: type[BaseModel]
    run: Callable[[Cell, Context], Output]


KINDS: Registry[Kind] = Registry("kind of cell", package="einthoven.studies.kinds", attribute="KIND", expected=Kind)


def open_cohort(cell: Cell, parts: Mapping[str, str]) -> Cohort:
    """The cohort of a cell, refused unless the parts it reads are those the plan was made for, on disk as well.

    Args:
        parts: name of a part -> the digest the cell was planned with.

    Raises:
        DataError: a part has changed since, or its files are damaged.
    """
    from einthoven.datasets.cohort import Cohort

    cohort = Cohort.open(cell.places["cohort"])
    changed = [part for part, digest in parts.items() if cohort.manifest.digests.get(part) != digest]
    if changed:
        raise changed_since(cohort.name, changed)
    cohort.verify(parts)
    return cohort


def changed_since(cohort: str, what: Iterable[str]) -> DataError:
    """The error for a cohort that is no longer the one a study was planned for."""
    return DataError(
        f"Cohort {cohort} was prepared again after this study was planned, and its {', '.join(what)} differ from what "
        "was planned for. Run the study again: it is planned anew, and cells that do not depend on the change are kept."
    )
