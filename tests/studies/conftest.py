"""A small study on a small cohort."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import pytest

from einthoven.datasets.building import prepare
from einthoven.studies.cells import Cell
from einthoven.studies.spec import RepresentationsSpec, parse_spec
from einthoven.studies.work import Outcome, run_cell


class InlineExecutor:
    """Runs cells in this process, one at a time, and remembers which.

    Args:
        refuse: a part of a title; such cells are not run, and their future raises `by`.
    """

    def __init__(self, *, refuse: str | None = None, by: Exception | None = None) -> None:
        self.ran: list[str] = []
        self.restarts = 0
        self._refuse, self._by = refuse, by

    def submit(self, cell: Cell, folder: Path) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        if self._refuse is not None and self._refuse in cell.title:
            future.set_exception(self._by)
            return future
        self.ran.append(cell.title)
        future.set_result(run_cell(cell, folder))
        return future

    def restart(self) -> None:
        self.restarts += 1


@pytest.fixture
def inline() -> type[InlineExecutor]:
    """The executor that needs no processes; tests make one of it."""
    return InlineExecutor


@pytest.fixture
def spec(ptbxl, home) -> RepresentationsSpec:
    prepare("ptbxl", ptbxl.path)
    values = {
        "name": "small",
        "cohort": "ptbxl-100hz",
        "tasks": ["super", "rhythm"],
        "encoders": ["age-sex", "rr-features"],
        "probe": {"C": [0.1, 1.0]},
        "bootstrap": {"draws": 100},
        "support": {"minimum_positives": 1},
    }
    return parse_spec(values, where="test")
