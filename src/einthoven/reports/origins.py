"""Where the numbers come from: software, commits, times, keys; and whether all cells agree on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from .formatting import DASH, duration, plural
from .reading import StudyReading

_HARMLESS = ("threads", "cpu_count", "platform")
_FIELDS = ("einthoven", "commit", "python", "platform", "machine", "cpu_count")


@dataclass(frozen=True)
class Origin:
    """One fact about how cells were made; with more than one value the cells differ."""

    name: str
    values: tuple[str, ...]
    decides: bool = False
    """Whether another value may give other numbers: versions, but not how many cores there were."""

    @property
    def differs(self) -> bool:
        """Whether some cells were made with another value than others."""
        return len(self.values) > 1


@dataclass(frozen=True)
class KindTime:
    """How many cells of a kind are finished, and how long they took together."""

    kind: str
    finished: int
    planned: int
    time: str


def origins(study: StudyReading) -> list[Origin]:
    """Software and machine of all finished cells, value by value; where they differ, with the number of cells."""
    records = [reading.provenance for reading in study.in_state("finished")]
    facts: dict[str, Counter[str]] = {}
    for record in records:
        named: dict[str, Any] = {name: record.get(name) for name in _FIELDS}
        named |= dict(sorted(record.get("packages", {}).items()))
        threads = record.get("threads", {})
        named["threads"] = ", ".join(f"{pool} {number}" for pool, number in sorted(threads.items())) or None
        for name, value in named.items():
            facts.setdefault(name, Counter())[DASH if value is None else str(value)] += 1
    found = []
    for name, counted in facts.items():
        if len(counted) == 1:
            values = tuple(counted)
        else:
            values = tuple(f"{value} ({plural(number, 'cell')})" for value, number in sorted(counted.items()))
        found.append(Origin(name, values, decides=name not in _HARMLESS))
    return found


def kind_times(study: StudyReading) -> tuple[list[KindTime], str]:
    """Time of the finished cells by kind, and in all. Cells may have run side by side: it is work, not waiting."""
    kinds = list(dict.fromkeys(reading.cell.kind for reading in study.cells))
    rows, total = [], 0.0
    for kind in kinds:
        planned = [reading for reading in study.cells if reading.cell.kind == kind]
        finished = [reading for reading in planned if reading.state == "finished"]
        # What was found in a store took no time here; what it took when it was made is what a reader asks for.
        seconds = sum(float(r.provenance.get("embedding_seconds", r.provenance.get("seconds", 0.0))) for r in finished)
        total += seconds
        found = sum(bool(reading.provenance.get("from_store")) for reading in finished)
        note = f", {plural(found, 'cell')} of it in an earlier study" if found else ""
        rows.append(KindTime(kind, len(finished), len(planned), duration(seconds) + note))
    return rows, duration(total)


def last_finished(study: StudyReading) -> str:
    """When the cell that was started last was started (ISO 8601, UTC); empty if none is finished."""
    return max((str(reading.provenance.get("started", "")) for reading in study.in_state("finished")), default="")
