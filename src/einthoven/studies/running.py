"""Running a planned study: what is finished is kept, what is ready runs, what fails is said."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import yaml

from einthoven.foundation.errors import DataError
from einthoven.foundation.publishing import exclusive, read_json, write_json, write_text

from .cells import Cell
from .ledger import Ledger
from .plan import Plan
from .spec import parse_spec
from .work import Outcome

PLAN = "plan.json"
STUDY = "study.yaml"


class Executor(Protocol):
    """Whatever can run cells: this machine's processes, a cluster."""

    def submit(self, cell: Cell, folder: Path) -> Future[Outcome]:
        """Start a cell; the future raises BrokenProcessPool if its worker died."""
        ...

    def restart(self) -> None:
        """Make the executor usable again after a worker died."""
        ...


@dataclass
class Summary:
    """How a run ended.

    Attributes:
        reused: cells that were finished before.
        done: cells finished now.
        failed: title -> message.
        blocked: title -> title of the failed cell it needed.
    """

    folder: Path
    reused: int = 0
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every planned cell is finished."""
        return not self.failed and not self.blocked


class Listener(Protocol):
    """Told what happens while a study runs."""

    def started(self, cells: int, reused: int) -> None:
        """The run begins; `reused` of the planned cells are finished already."""
        ...

    def finished(self, cell: Cell, outcome: Outcome) -> None:
        """A cell has ended, well or not."""
        ...


def run_plan(plan: Plan, folder: Path, executor: Executor, *, listener: Listener | None = None) -> Summary:
    """Bring a study's folder to the state its plan describes.

    Args:
        folder: of the study; created, or continued if a run was stopped there.

    Raises:
        BusyError: another process is running a study in the folder.
    """
    ledger = Ledger(folder)
    with exclusive(folder / "run", doing="running a study in", what=folder):
        ledger.clear_unfinished()
        write_plan(plan, folder)
        waiting = {cell.key: cell for cell in plan.cells if not ledger.has(cell.key)}
        summary = Summary(folder=folder, reused=len(plan.cells) - len(waiting))
        if listener:
            listener.started(len(plan.cells), summary.reused)
        _run(waiting, ledger, executor, summary, listener.finished if listener else _ignore)
    return summary


def _ignore(cell: Cell, outcome: Outcome) -> None:
    return None


def _run(
    waiting: dict[str, Cell],
    ledger: Ledger,
    executor: Executor,
    summary: Summary,
    tell: Callable[[Cell, Outcome], None],
) -> None:
    running: dict[Future[Outcome], Cell] = {}
    broke: dict[str, str] = {}  # key of a failed or blocked cell -> title of the cell that failed
    suspects: list[Cell] = []  # cells that were running when a worker died; tried again one at a time

    def end(cell: Cell, outcome: Outcome) -> None:
        if outcome.message is None:
            summary.done += 1
        else:
            summary.failed[cell.title] = outcome.message
            broke[cell.key] = cell.title
        tell(cell, outcome)

    while waiting or running or suspects:
        for key, cell in list(waiting.items()):
            culprit = next((broke[need] for need in cell.needs if need in broke), None)
            if culprit is not None:
                summary.blocked[cell.title] = culprit
                broke[key] = culprit
                del waiting[key]
            elif not suspects and all(ledger.has(need) for need in cell.needs):
                running[executor.submit(cell, ledger.folder)] = cell
                del waiting[key]
        if not running:
            if suspects:
                _try_alone(suspects.pop(0), ledger, executor, end)
            continue
        finished, _ = wait(list(running), return_when=FIRST_COMPLETED)
        for future in finished:
            cell = running.pop(future)
            try:
                end(cell, future.result())
            except BrokenProcessPool:
                suspects.append(cell)
        if suspects and not running:
            executor.restart()


def _try_alone(cell: Cell, ledger: Ledger, executor: Executor, end: Callable[[Cell, Outcome], None]) -> None:
    """Run a cell by itself after a worker died, so that the cell that kills workers is known from the others."""
    try:
        outcome = executor.submit(cell, ledger.folder).result()
    except BrokenProcessPool:
        executor.restart()
        message = (
            "The process that ran this cell was killed, twice. The usual cause is memory: run with fewer --workers, "
            "or on a larger machine."
        )
        ledger.record_failure(cell, message, message)
        outcome = Outcome(cell.key, 0.0, message)
    end(cell, outcome)


def write_plan(plan: Plan, folder: Path) -> None:
    """Declare what the study consists of, before it runs: `study.yaml` and `plan.json`."""
    write_text(folder / STUDY, yaml.safe_dump(plan.spec.model_dump(mode="json"), sort_keys=False, allow_unicode=True))
    write_json(folder / PLAN, {"schema_version": 1, "cells": [cell.to_json() for cell in plan.cells]})


def read_plan(folder: Path) -> Plan:
    """The plan a study's folder was last run with.

    Raises:
        DataError: the folder holds no study.
    """
    if not (folder / PLAN).is_file() or not (folder / STUDY).is_file():
        raise DataError(f"{folder} holds no study: it has no {PLAN}. Name the folder that `einthoven run` wrote.")
    spec = parse_spec(yaml.safe_load((folder / STUDY).read_text(encoding="utf-8")), where=str(folder / STUDY))
    return Plan(spec=spec, cells=tuple(Cell.from_json(cell) for cell in read_json(folder / PLAN)["cells"]))
