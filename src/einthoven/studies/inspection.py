"""What can be asked of a study's folder without running anything: how far it is, and whether it is still sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from einthoven.datasets.cohort import Cohort
from einthoven.embeddings.store import is_stored, open_embeddings
from einthoven.foundation.errors import DataError, EinthovenError, UnknownNameError

from .cells import Cell
from .ledger import Ledger, State
from .plan import Plan
from .results import CohortResult, EmbeddingResult
from .running import read_plan


@dataclass(frozen=True)
class CellStatus:
    """One planned cell; `message` says why it failed."""

    cell: Cell
    state: State
    message: str = ""


@dataclass(frozen=True)
class StudyStatus:
    """How far a study is.

    Attributes:
        digest: of the ledger over the finished cells; equal if and only if all their content is equal.
    """

    plan: Plan
    cells: tuple[CellStatus, ...]
    digest: str

    @property
    def finished(self) -> int:
        """How many cells are finished."""
        return sum(status.state == "finished" for status in self.cells)


def study_status(folder: Path) -> StudyStatus:
    """How far the study in a folder is.

    Raises:
        DataError: the folder holds no study.
    """
    plan = read_plan(folder)
    ledger = Ledger(folder)
    failures = ledger.failures()

    def status(cell: Cell) -> CellStatus:
        if ledger.has(cell.key):
            return CellStatus(cell, "finished")
        if cell.key in failures:
            return CellStatus(cell, "failed", str(failures[cell.key]["message"]))
        return CellStatus(cell, "not run")

    return StudyStatus(plan=plan, cells=tuple(map(status, plan.cells)), digest=ledger.digest(plan.keys))


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: `problem` is empty if it is as it was stored.

    Attributes:
        of: "cell", "cohort" or "embeddings".
        absent: it is not on this machine, so nothing can be said of it; finished cells do not need it any more.
    """

    of: Literal["cell", "cohort", "embeddings"]
    what: str
    problem: str = ""
    absent: bool = False


def verify_study(folder: Path) -> Iterator[Check]:
    """Check every finished cell of a study, and the cohort and embeddings its cells were computed from, if they are
    here; each is reported as soon as it has been read.

    Raises:
        DataError: the folder holds no study.
    """
    plan = read_plan(folder)
    ledger = Ledger(folder)
    for cell in plan.cells:
        if not ledger.has(cell.key):
            continue
        problem = _problem(lambda cell=cell: _check_cell(cell, ledger))
        yield Check("cell", cell.title, problem)
        if not problem and cell.kind == "cohort":
            yield _check_cohort(cell, ledger.result(cell.key, CohortResult))
        elif not problem and cell.kind == "embedding":
            yield _check_embeddings(cell, ledger.result(cell.key, EmbeddingResult))


def _check_cell(cell: Cell, ledger: Ledger) -> None:
    ledger.verify(cell.key)
    for need, digest in ledger.provenance(cell.key)["needs"].items():
        try:
            same = not ledger.has(need) or ledger.digest([need]) == digest
        except DataError:
            continue  # the needed cell is damaged, which is said of it
        if not same:
            raise EinthovenError(
                f"It was computed from another content of cell {need[:12]} than is there now. Delete the folder "
                f"{ledger.path(cell.key)} and run the study again."
            )


def _check_cohort(cell: Cell, result: CohortResult) -> Check:
    place = cell.places["cohort"]
    if "/" in place and not Path(place).exists():
        return Check("cohort", place, absent=True)
    try:
        cohort = Cohort.open(place)
    except UnknownNameError:
        return Check("cohort", place, absent=True)
    except EinthovenError as error:
        return Check("cohort", place, str(error))
    if cohort.fingerprint != result.cohort.fingerprint:
        return Check(
            "cohort", place, "it was prepared again since, with other content; the study is of the earlier one"
        )
    return Check("cohort", place, _problem(cohort.verify))


def _check_embeddings(cell: Cell, result: EmbeddingResult) -> Check:
    if not is_stored(result.embedding_key):
        return Check("embeddings", result.encoder, absent=True)

    def check() -> None:
        stored = open_embeddings(result.embedding_key, verify=True)
        if stored.sha256 != result.sha256:
            raise EinthovenError(
                f"sha256 {stored.sha256[:12]} is stored, {result.sha256[:12]} was recorded: they were computed again "
                "by other software"
            )

    return Check("embeddings", result.encoder, _problem(check))


def _problem(check: Callable[[], None]) -> str:
    try:
        check()
    except EinthovenError as error:
        return str(error)
    return ""
