"""Reading a study's folder: which cells are finished, and what they say. Nothing else enters a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from einthoven.studies.cells import Cell
from einthoven.studies.ledger import Ledger, State
from einthoven.studies.results import CohortResult, ComparisonResult, EmbeddingResult, ProbeResult
from einthoven.studies.running import read_plan
from einthoven.studies.spec import EncoderChoice, RepresentationsSpec

from .formatting import without_folders


@dataclass(frozen=True)
class CellReading:
    """One planned cell and what became of it.

    Attributes:
        message: why it failed (without folders of this machine), or which failed cell it waits for; empty if finished
            or merely not run yet.
        provenance: how it came about; empty unless finished.
    """

    cell: Cell
    state: State
    message: str
    provenance: dict[str, Any]

    @property
    def why_missing(self) -> str:
        """Why its result is not there, in one phrase; empty if it is."""
        if self.state == "finished":
            return ""
        detail = f": {self.message}" if self.message else ""
        return f"the cell '{self.cell.title}' {'failed' if self.state == 'failed' else 'has not run'}{detail}"


@dataclass(frozen=True)
class StudyReading:
    """A study's plan and the typed results of its finished cells.

    Attributes:
        example: float32 (leads, samples), mV: the cohort's example record; None where there is none to show.
        embeddings: by encoder id.
        probes: by (task, encoder id).
        comparisons: by task.
        digest: of the ledger, over the finished cells of the plan.
    """

    spec: RepresentationsSpec
    cells: tuple[CellReading, ...]
    cohort: CohortResult | None
    example: np.ndarray | None
    embeddings: dict[str, EmbeddingResult]
    probes: dict[tuple[str, str], ProbeResult]
    comparisons: dict[str, ComparisonResult]
    digest: str

    @property
    def tasks(self) -> tuple[str, ...]:
        """The planned tasks, in order; the planner has filled them in."""
        return self.spec.tasks

    @cached_property
    def encoders(self) -> tuple[str, ...]:
        """Ids of the planned encoders, in order."""
        return tuple(choice.id for choice in self.spec.encoders)

    @cached_property
    def floors(self) -> frozenset[str]:
        """Encoders that are floors: what any trained encoder must beat."""
        return frozenset(name for name, result in self.embeddings.items() if result.floor)

    @cached_property
    def counts(self) -> dict[State, int]:
        """How many cells are in each state."""
        counted = Counter(reading.state for reading in self.cells)
        return {"finished": counted["finished"], "failed": counted["failed"], "not run": counted["not run"]}

    @property
    def complete(self) -> bool:
        """Whether every planned cell is finished."""
        return self.counts["finished"] == len(self.cells)

    def in_state(self, state: State) -> list[CellReading]:
        """The cells in one state, in the order of the plan."""
        return [reading for reading in self.cells if reading.state == state]

    def cell(self, kind: str, *, task: str | None = None, encoder: str | None = None) -> CellReading | None:
        """The planned cell of a kind, for a task and an encoder where the kind has them."""
        for reading in self.cells:
            same_task = task is None or reading.cell.spec.get("task") == task
            if reading.cell.kind == kind and same_task and encoder in (None, self._encoder_of[reading.cell.key]):
                return reading
        return None

    @cached_property
    def _encoder_of(self) -> dict[str, str | None]:
        return _encoders_by_cell(reading.cell for reading in self.cells)

    def why_no_comparison(self, task: str) -> str:
        """Why a task has no scores, in one phrase; empty if it has."""
        if task in self.comparisons:
            return ""
        reading = self.cell("comparison", task=task)
        return reading.why_missing if reading else f"the plan has no comparison of task '{task}'"


def read_study(folder: Path) -> StudyReading:
    """Read a study's folder, finished or not.

    Raises:
        DataError: the folder holds no study, or a finished cell's result is not of the known schema.
    """
    plan = read_plan(folder)
    ledger = Ledger(folder)
    readings = _cell_readings(plan.cells, ledger)
    finished = {reading.cell.key: reading.cell for reading in readings if reading.state == "finished"}
    encoder_of = _encoders_by_cell(plan.cells)
    cohort, example = None, None
    embeddings: dict[str, EmbeddingResult] = {}
    probes: dict[tuple[str, str], ProbeResult] = {}
    comparisons: dict[str, ComparisonResult] = {}
    for key, cell in finished.items():
        if cell.kind == "cohort":
            cohort = ledger.result(key, CohortResult)
            if cohort.example_record is not None:
                example = ledger.arrays(key, "example")["signal"]
        elif cell.kind == "embedding":
            embeddings[encoder_of[key] or ""] = ledger.result(key, EmbeddingResult)
        elif cell.kind == "probe":
            result = ledger.result(key, ProbeResult)
            probes[result.task, encoder_of[key] or ""] = result
        elif cell.kind == "comparison":
            comparison = ledger.result(key, ComparisonResult)
            comparisons[comparison.task] = comparison
    return StudyReading(
        spec=plan.spec,
        cells=readings,
        cohort=cohort,
        example=example,
        embeddings=embeddings,
        probes=probes,
        comparisons=comparisons,
        digest=ledger.digest(plan.keys),
    )


def _cell_readings(cells: tuple[Cell, ...], ledger: Ledger) -> tuple[CellReading, ...]:
    failures = ledger.failures()
    culprit: dict[str, str] = {}  # key of a cell that failed or waits for one -> title of the one that failed
    readings = []
    for cell in cells:  # the plan lists a cell after those it needs
        if ledger.has(cell.key):
            readings.append(CellReading(cell, "finished", "", ledger.provenance(cell.key)))
        elif cell.key in failures:
            culprit[cell.key] = cell.title
            readings.append(CellReading(cell, "failed", without_folders(str(failures[cell.key]["message"])), {}))
        else:
            broken = next((culprit[need] for need in cell.needs if need in culprit), None)
            if broken is not None:
                culprit[cell.key] = broken
            message = f"it needs '{broken}', which failed" if broken is not None else ""
            readings.append(CellReading(cell, "not run", message, {}))
    return tuple(readings)


def _encoders_by_cell(cells: Iterable[Cell]) -> dict[str, str | None]:
    """Cell key -> encoder id, for the cells of one encoder; None for the others."""
    return {
        cell.key: EncoderChoice.model_validate(cell.spec["encoder"]).id if "encoder" in cell.spec else None
        for cell in cells
    }
