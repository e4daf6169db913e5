"""Tables of measurements as columns: held, or computed for the records that are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np

from einthoven.foundation.errors import DataError

_PART = 4096
# Parts are kept up to this many bytes, so that reading a table concept by concept does not compute it as often.
_KEPT_BYTES = 1 << 26


class ConceptColumns(Mapping[str, np.ndarray]):
    """A table of measurements: concept -> float64 (records,); NaN where undefined.

    Wide tables need not be held: `values` may compute the rows that are asked for.

    Args:
        names: of the concepts, in column order.
        records: how many the scan has.
        values: (start, stop) -> concept -> values of the records from start to before stop; the same for the same rows.

    Raises:
        DataError: a name stands there twice.
    """

    def __init__(
        self,
        names: Sequence[str],
        records: int,
        values: Callable[[int, int], Mapping[str, Sequence[float] | np.ndarray]],
    ) -> None:
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise DataError(f"Concepts are named more than once: {', '.join(twice)}. Name each once in `scan`.")
        self.names = tuple(names)
        self.records = records
        self._values = values
        self._kept: dict[int, dict[str, np.ndarray]] = {}
        self._kept_bytes = 0

    @classmethod
    def of(cls, table: Mapping[str, Sequence[float] | np.ndarray], records: int) -> ConceptColumns:
        """The columns of a table that is given as a dictionary."""
        if isinstance(table, cls):
            return table
        held = {name: np.asarray(values, dtype=np.float64) for name, values in table.items()}
        return cls(
            tuple(held), records, lambda start, stop: {name: column[start:stop] for name, column in held.items()}
        )

    def between(self, start: int, stop: int) -> dict[str, np.ndarray]:
        """All concepts of the records from start to before stop.

        Raises:
            DataError: what the scan gives has other names or another length.
        """
        given = self._values(start, stop)
        lengths = {name: len(values) for name, values in given.items()}
        if lengths != dict.fromkeys(self.names, stop - start):
            raise DataError(
                f"Concepts of records {start} to {stop} were expected as {stop - start} values each of "
                f"{', '.join(self.names)}; found {lengths}. Correct them in `scan`."
            )
        return {name: np.asarray(given[name], dtype=np.float64) for name in self.names}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.names:
            raise KeyError(name)
        parts = [self._part(start)[name] for start in range(0, self.records, _PART)]
        return np.concatenate([np.empty(0), *parts])

    def _part(self, start: int) -> dict[str, np.ndarray]:
        """All concepts of the records from `start` on, as many as a part has."""
        if start in self._kept:
            return self._kept[start]
        part = self.between(start, min(start + _PART, self.records))
        size = sum(column.nbytes for column in part.values())
        if self._kept_bytes + size <= _KEPT_BYTES:
            self._kept[start] = part
            self._kept_bytes += size
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def concept_columns(table: Mapping[str, Sequence[float] | np.ndarray]) -> ConceptColumns:
    """The columns of a concept table of a columnar scan."""
    return cast("ConceptColumns", table)
