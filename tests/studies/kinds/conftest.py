"""A study that has been run once, cell by cell, to be read and to be broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from einthoven.studies.cells import Cell
from einthoven.studies.ledger import Ledger
from einthoven.studies.plan import Plan, plan_representations
from einthoven.studies.work import run_cell


class Ran:
    """A plan, and a ledger its cells go to."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self.ledger = Ledger(folder)

    def run(self, *kinds: str) -> Ran:
        """Run the cells of these kinds (all, if none is named), in order; each must succeed."""
        for cell in self.plan.cells:
            if not kinds or cell.kind in kinds:
                outcome = run_cell(cell, self.ledger.folder)
                assert outcome.message is None, outcome.message
        return self

    def cell(self, kind: str, title: str = "") -> Cell:
        """The first cell of a kind whose title contains something."""
        return next(cell for cell in self.plan.of_kind(kind) if title in cell.title)

    def message(self, cell: Cell) -> str:
        """What is said when a cell fails, which it must."""
        message = run_cell(cell, self.ledger.folder).message
        assert message is not None
        assert not self.ledger.has(cell.key)
        return message


@pytest.fixture
def plan_of() -> Callable[..., Plan]:
    """The plan of a specification."""
    return plan_representations


@pytest.fixture
def ran(spec, tmp_path) -> Ran:
    """The small study, planned; nothing has run yet."""
    return Ran(plan_representations(spec), tmp_path / "run")


@pytest.fixture
def another(spec, tmp_path) -> Callable[..., Ran]:
    """The small study with some keys of its specification changed, in a folder of its own."""
    made: list[Ran] = []

    def make(**changes: object) -> Ran:
        changed = type(spec).model_validate({**spec.model_dump(mode="json"), **changes})
        made.append(Ran(plan_representations(changed), tmp_path / f"run{len(made)}"))
        return made[-1]

    return make
