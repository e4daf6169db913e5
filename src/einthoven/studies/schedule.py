"""Which cell may run next: what is ready, what waits, what can no longer run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from einthoven.foundation.errors import UsageError

from .cells import Cell


class Schedule:
    """The cells of a run that are not finished; each becomes ready when all it needs has finished.

    Every cell and every need is looked at once, so the work is linear in their number.

    Args:
        cells: what is to run.
        is_finished: whether a key outside `cells` is finished already.

    Raises:
        UsageError: a cell needs one that is neither among `cells` nor finished, or cells need each other in a circle.
    """

    def __init__(self, cells: Sequence[Cell], *, is_finished: Callable[[str], bool]) -> None:
        self._cells = {cell.key: cell for cell in cells}
        self._unmet: dict[str, set[str]] = {}
        self._dependents: dict[str, list[str]] = {}
        for key, cell in self._cells.items():
            self._unmet[key] = {need for need in cell.needs if need in self._cells}
            absent = [need for need in cell.needs if need not in self._cells and not is_finished(need)]
            if absent:
                raise UsageError(
                    f"The cell {cell.title!r} needs {absent[0][:12]}, which is neither planned nor finished. "
                    "A plan must hold every cell that its cells need."
                )
            for need in self._unmet[key]:
                self._dependents.setdefault(need, []).append(key)
        self._ready = deque(key for key, needs in self._unmet.items() if not needs)
        self._refuse_circles()

    def next_ready(self) -> Cell | None:
        """The next cell that may run now, in the order of the plan; None if there is none. Each is given once."""
        return self._cells[self._ready.popleft()] if self._ready else None

    def finished(self, cell: Cell) -> None:
        """A cell has finished; those that waited for it alone become ready."""
        for dependent in self._dependents.get(cell.key, []):
            needs = self._unmet.get(dependent)
            if needs is not None:
                needs.discard(cell.key)
                if not needs:
                    self._ready.append(dependent)

    def failed(self, cell: Cell) -> list[Cell]:
        """A cell has failed; gives the cells that can no longer run because of it, which were not given before."""
        blocked: list[Cell] = []
        front = deque([cell.key])
        while front:
            for dependent in self._dependents.get(front.popleft(), []):
                if self._unmet.pop(dependent, None) is not None:
                    blocked.append(self._cells[dependent])
                    front.append(dependent)
        return blocked

    def _refuse_circles(self) -> None:
        reached, front = set(self._ready), deque(self._ready)
        left = {key: len(needs) for key, needs in self._unmet.items()}
        while front:
            for dependent in self._dependents.get(front.popleft(), []):
                left[dependent] -= 1
                if not left[dependent]:
                    reached.add(dependent)
                    front.append(dependent)
        circle = [cell.title for key, cell in self._cells.items() if key not in reached]
        if circle:
            raise UsageError(f"These cells wait for each other, so none can run: {', '.join(circle[:10])}.")
