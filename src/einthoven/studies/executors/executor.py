"""What a study asks of whatever runs its cells: processes of this machine, a cluster."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Protocol

from einthoven.foundation.errors import EinthovenError
from einthoven.studies.cells import Cell
from einthoven.studies.work import Outcome


class WorkerLost(EinthovenError):  # noqa: N818  # what happened, not what went wrong in a call
    """The process that was to run a cell ended without an answer; nothing is known of the cell."""


class Executor(Protocol):
    """Whatever can run cells."""

    def submit(self, cell: Cell, folder: Path) -> Future[Outcome]:
        """Start a cell. The future gives its outcome, or raises WorkerLost; this call itself never does."""
        ...

    def restart(self) -> None:
        """Make the executor usable again after a worker was lost."""
        ...
