"""Running one cell in whatever process it has been given to."""

from __future__ import annotations

import importlib
import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from einthoven.foundation.errors import EinthovenError

from .cells import Cell
from .kinds.output import Context
from .ledger import Ledger
from .provenance import environment, threads

KINDS = ("cohort", "comparison", "embedding", "probe")


@dataclass(frozen=True)
class Outcome:
    """How running a cell ended: `message` is None if it is finished."""

    key: str
    seconds: float
    message: str | None = None


def run_cell(cell: Cell, folder: Path, *, progress: Callable[[int, int], None] | None = None) -> Outcome:
    """Compute a cell and publish it, or note why it failed. Does nothing if it is finished already.

    A failure is never stored as a result. Any exception is a failure of this cell alone: the study goes on with the
    cells that do not need it, and says at its end what failed.
    """
    ledger = Ledger(folder)
    if ledger.has(cell.key):
        return Outcome(cell.key, 0.0)
    started, clock = datetime.now(UTC), time.perf_counter()
    if cell.kind not in KINDS:
        raise EinthovenError(f"Cell {cell.title!r} is of kind {cell.kind!r}; known kinds: {', '.join(KINDS)}.")
    kind = importlib.import_module(f"einthoven.studies.kinds.{cell.kind}")
    try:
        output = kind.run(cell, Context(ledger=ledger, progress=progress))
        seconds = time.perf_counter() - clock
        provenance = {
            **environment(),
            "threads": threads(),
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(seconds, 3),
            "needs": list(cell.needs),
            **output.notes,
        }
        ledger.publish(cell, output.result, provenance, arrays=output.arrays, tables=output.tables)
    except Exception as error:  # the boundary of a cell: whatever broke is recorded whole and reported
        logging.getLogger(__name__).debug("cell %s failed", cell.key, exc_info=True)
        message = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])
        ledger.record_failure(cell, message, traceback.format_exc())
        return Outcome(cell.key, time.perf_counter() - clock, message)
    return Outcome(cell.key, seconds)
