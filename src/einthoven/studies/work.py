"""Running one cell in whatever process it has been given to."""

from __future__ import annotations

import contextlib
import logging
import time
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from einthoven.foundation.errors import DataError

from .cells import Cell
from .heartbeat import Heartbeat
from .kind import KINDS, Context, Kind
from .ledger import Ledger
from .provenance import environment, threads


@dataclass(frozen=True)
class Outcome:
    """How running a cell ended: `message` is None if it is finished."""

    key: str
    seconds: float
    message: str | None = None


def run_cell(cell: Cell, folder: Path) -> Outcome:
    """Compute a cell and publish it, or note why it failed. Does nothing if it is finished already.

    A failure is never stored as a result. Any exception is a failure of this cell alone: the study goes on with the
    cells that do not need it, and says at its end what failed.
    """
    ledger = Ledger(folder)
    if ledger.has(cell.key):
        return Outcome(cell.key, 0.0)
    started, clock = datetime.now(UTC), time.perf_counter()
    try:
        kind = _kind_of(cell)
        with Heartbeat(folder, cell.key) as progress:
            output = kind.run(cell, Context(ledger=ledger, progress=progress))
        seconds = time.perf_counter() - clock
        provenance = {
            **environment(),
            "threads": threads(),
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(seconds, 3),
            "needs": {need: ledger.digest([need]) for need in cell.needs},
            **output.notes,
        }
        ledger.publish(cell, output.result, provenance, arrays=output.arrays, tables=output.tables)
    except Exception as error:  # the boundary of a cell: whatever broke is recorded whole and reported
        logging.getLogger(__name__).debug("cell %s failed", cell.key, exc_info=True)
        return failed(ledger, cell, error, seconds=time.perf_counter() - clock)
    return Outcome(cell.key, seconds)


def _kind_of(cell: Cell) -> Kind:
    kind = KINDS.get(cell.kind, where=f"cell {cell.title!r}")
    if kind.version != cell.version:
        raise DataError(
            f"The cell was planned with version {cell.version} of kind {kind.name}; this is version {kind.version}. "
            "Run the study again, so that it is planned anew."
        )
    return kind


def failed(ledger: Ledger, cell: Cell, error: Exception, *, seconds: float = 0.0) -> Outcome:
    """Note that a cell failed, and say so."""
    message = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])
    detail = "".join(traceback.format_exception(error))
    # On a full disk the note cannot be kept; the outcome still tells whoever started the run.
    with contextlib.suppress(OSError):
        ledger.record_failure(cell, message, detail)
    return Outcome(cell.key, seconds, message)
