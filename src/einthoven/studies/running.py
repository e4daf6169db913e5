"""Running a planned study: what is finished is kept, what is ready runs, what fails is said."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml

from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.identity import content_key
from einthoven.foundation.publishing import exclusive, read_json, write_json, write_text
from einthoven.version import VERSION

from .cells import Cell
from .executors.executor import Executor, WorkerLost
from .heartbeat import clear_heartbeats, read_heartbeat
from .ledger import Ledger
from .plan import Plan
from .schedule import Schedule
from .spec import parse_spec
from .work import Outcome, failed

PLAN = "plan.json"
STUDY = "study.yaml"
_PLAN_SCHEMA = 1
# How long to wait for a cell to end before telling how far the running ones are.
_LOOK_SECONDS = 2.0


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

    def working(self, cells: Sequence[tuple[Cell, tuple[int, int]]]) -> None:
        """Nothing has ended for a while; how far the running cells are (done, total), as far as they say."""
        ...

    def finished(self, cell: Cell, outcome: Outcome) -> None:
        """A cell has ended, well or not."""
        ...


def run_plan(
    plan: Plan, folder: Path, executor: Executor, *, listener: Listener | None = None, replace: bool = False
) -> Summary:
    """Bring a study's folder to the state its plan describes.

    Args:
        folder: of the study; created, or continued if a run was stopped there.
        replace: take the folder of another study. Its finished cells stay, but plan and report are then of this one.

    Raises:
        UsageError: the folder is another study's: cells that are finished there are not part of this plan; or a cell
            needs one that is neither in the plan nor finished.
        BusyError: another process is running a study in the folder.
    """
    ledger = Ledger(folder)
    with exclusive(folder / "run", doing="running a study in", what=folder):
        ledger.clear_unfinished()
        clear_heartbeats(folder)
        waiting = [cell for cell in plan.cells if not ledger.has(cell.key)]
        schedule = Schedule(waiting, is_finished=ledger.has)
        if not replace:
            _refuse_another_study(plan, folder, ledger)
        write_plan(plan, folder)
        summary = Summary(folder=folder, reused=len(plan.cells) - len(waiting))
        if listener:
            listener.started(len(plan.cells), summary.reused)
        _Run(schedule, ledger, executor, summary, listener).to_the_end()
    return summary


def _refuse_another_study(plan: Plan, folder: Path, ledger: Ledger) -> None:
    """A study may grow where it lies; one that leaves finished cells behind would take another's place."""
    if not (folder / PLAN).is_file():
        return
    try:
        before = [Cell.from_json(cell) for cell in read_json(folder / PLAN)["cells"]]
    except (OSError, ValueError, KeyError, TypeError):
        return  # a plan that cannot be read is not worth keeping
    planned = set(plan.keys)
    left = [cell.title for cell in before if cell.key not in planned and ledger.has(cell.key)]
    if left:
        raise UsageError(
            f"{folder} holds another study: {len(left)} of its finished cells are not part of this one (first: "
            f"{left[0]!r}), so its plan and report would be replaced. Name another folder with --out, or take this one "
            "with --replace; finished cells stay in it either way."
        )


class _Run:
    """One run: cells go to the executor as their needs are met, and outcomes come back."""

    def __init__(
        self, schedule: Schedule, ledger: Ledger, executor: Executor, summary: Summary, listener: Listener | None
    ) -> None:
        self._schedule = schedule
        self._ledger = ledger
        self._executor = executor
        self._summary = summary
        self._listener = listener
        self._running: dict[Future[Outcome], Cell] = {}
        # Cells that were running when a worker was lost: tried again one at a time, so that the one that is at fault
        # is known from the others.
        self._suspects: list[Cell] = []
        self._worker_lost = False

    def to_the_end(self) -> None:
        while True:
            while not self._suspects and (cell := self._schedule.next_ready()) is not None:
                self._running[self._executor.submit(cell, self._ledger.folder)] = cell
            if self._running:
                self._collect()
            elif self._suspects:
                self._try_alone(self._suspects.pop(0))
            else:
                return
            if self._worker_lost and not self._running:
                self._executor.restart()
                self._worker_lost = False

    def _collect(self) -> None:
        finished, _ = wait(list(self._running), timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
        if not finished:
            self._tell_progress()
        for future in finished:
            cell = self._running.pop(future)
            try:
                outcome = future.result()
            except WorkerLost:
                self._suspects.append(cell)
                self._worker_lost = True
                continue
            except Exception as error:  # a cell that could not be sent, or an answer that could not be read
                outcome = failed(self._ledger, cell, error)
            # Not within the `try`: what goes wrong in telling it is no fault of the cell.
            self._end(cell, outcome)

    def _try_alone(self, cell: Cell) -> None:
        try:
            outcome = self._executor.submit(cell, self._ledger.folder).result()
        except Exception as error:  # as in `_collect`; a worker that is lost now was lost by this cell
            outcome = failed(self._ledger, cell, error)
            self._worker_lost = isinstance(error, WorkerLost)
        self._end(cell, outcome)

    def _end(self, cell: Cell, outcome: Outcome) -> None:
        if outcome.message is None:
            self._summary.done += 1
            self._schedule.finished(cell)
        else:
            self._summary.failed[cell.title] = outcome.message
            for blocked in self._schedule.failed(cell):
                self._summary.blocked[blocked.title] = cell.title
        if self._listener:
            self._listener.finished(cell, outcome)

    def _tell_progress(self) -> None:
        if self._listener:
            known = [(cell, read_heartbeat(self._ledger.folder, cell.key)) for cell in self._running.values()]
            self._listener.working([(cell, done) for cell, done in known if done is not None])


def write_plan(plan: Plan, folder: Path) -> None:
    """Declare what the study consists of, before it runs: `study.yaml` and `plan.json`."""
    study = yaml.safe_dump(plan.spec.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    cells = [cell.to_json() for cell in plan.cells]
    write_text(folder / STUDY, study)
    write_json(
        folder / PLAN,
        {
            "schema_version": _PLAN_SCHEMA,
            "einthoven": VERSION,
            "digest": _plan_digest(study, cells),
            "cells": cells,
        },
    )


def _plan_digest(study: str, cells: list[dict[str, Any]]) -> str:
    """Over the study and its cells, so that neither can be edited without it being seen."""
    return content_key({"study": study, "cells": [cell["key"] for cell in cells]})


def read_plan(folder: Path) -> Plan:
    """The plan a study's folder was last run with.

    Raises:
        DataError: the folder holds no study, or one that another version of Einthoven has written and this one cannot
            read.
    """
    if not (folder / PLAN).is_file() or not (folder / STUDY).is_file():
        raise DataError(f"{folder} holds no study: it has no {PLAN}. Name the folder that `einthoven run` wrote.")
    try:
        stored = read_json(folder / PLAN)
        schema, writer = stored["schema_version"], stored.get("einthoven", "of an unknown version")
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(f"{folder / PLAN} is damaged ({error}). Run the study again: finished cells stay.") from None
    if schema != _PLAN_SCHEMA:
        raise _of_another_version(folder, writer, f"its plan has schema {schema}; {_PLAN_SCHEMA} was expected.")
    try:
        study = (folder / STUDY).read_text(encoding="utf-8")
        spec = parse_spec(yaml.safe_load(study), where=str(folder / STUDY))
        cells = tuple(Cell.from_json(cell) for cell in stored["cells"])
        digest = _plan_digest(study, stored["cells"])
    except (UsageError, yaml.YAMLError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise _of_another_version(folder, writer, str(error)) from None
    if digest != stored.get("digest") or [cell.key for cell in cells] != [cell["key"] for cell in stored["cells"]]:
        raise DataError(
            f"{folder / PLAN} or {STUDY} beside it was edited after the study was run. Give changes to `einthoven run` "
            "(--set, or a study file of your own); running the study again restores both, and finished cells stay."
        )
    return Plan(spec=spec, cells=cells)


def _of_another_version(folder: Path, writer: str, why: str) -> DataError:
    return DataError(
        f"The study in {folder} was written by Einthoven {writer} and cannot be read by {VERSION}: {why} "
        "Read it with that version, or run the study again: cells that still mean the same are kept."
    )
