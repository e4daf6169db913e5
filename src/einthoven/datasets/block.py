"""Records that are taken in together, their signals in one array that is used again for the next ones.

Memory that is new to a process has to be mapped page by page, which takes longer than decoding a short record into it.
So a signal is copied here as soon as it is decoded, and what its reader allocated is free for the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import overload

import numpy as np

from .dataset import Record

# A recording of hours among short ones must not have room made for many of its like; 128 MB.
_MOST_VALUES = 32_000_000


class Block(Sequence[Record]):
    """Some records in order.

    Args:
        count: of records there is room for; more have arrays of their own.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._room: np.ndarray | None = None
        self._records: list[Record] = []
        self._in_room: list[bool] = []

    def add(self, record: Record) -> None:
        """Take a record; its signal is copied, to the others if it is of the first one's shape, else by itself.

        So a reader may use its own array again, whatever the shapes are.
        """
        signal, place = record.signal, len(self._records)
        if self._room is None and signal.ndim == 2 and self._count * signal.size <= _MOST_VALUES:
            self._room = np.empty((self._count, *signal.shape), dtype=np.float32)
        fits = (
            self._room is not None
            and place < self._count
            and signal.shape == self._room.shape[1:]
            and signal.dtype == np.float32
        )
        if fits and self._room is not None:
            self._room[place] = signal
            signal = self._room[place]
        else:
            signal = signal.copy()
        self._records.append(replace(record, signal=signal))
        self._in_room.append(fits)

    def together(self, rows: Sequence[int]) -> np.ndarray:
        """Signals of some records of one shape, (rows, leads, samples); no copy where they lie side by side."""
        if self._room is not None and all(self._in_room[row] for row in rows):
            side_by_side = len(rows) == rows[-1] - rows[0] + 1
            return self._room[rows[0] : rows[-1] + 1] if side_by_side else self._room[list(rows)]
        return np.stack([self._records[row].signal for row in rows])

    def clear(self) -> None:
        """Make room; signals that were handed out are overwritten from now on."""
        if 2 * sum(self._in_room) < len(self._records):
            self._room = None  # the first was unlike the others, and the next ones may be like these
        self._records.clear()
        self._in_room.clear()

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> list[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        return self._records[index]

    def __len__(self) -> int:
        return len(self._records)
