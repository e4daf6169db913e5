"""The file of a cohort's signals: one .npy array, written record by record, read a few records at a time.

Records of one length are an array (records, leads, samples). Records of different lengths lie one behind the other in
an array of one axis; where each begins follows from the lengths.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np

from einthoven.foundation.errors import DataError

from .intake import Intake

DTYPE = np.dtype("<i2")
# Records are small, and each call of the system has to wait for Python again when it ends.
_BUFFER = 1 << 20


class SignalWriter:
    """Writes int16 (leads, samples) records; the file is whole once the block has ended.

    Args:
        intake: leads and samples of every record.
    """

    def __init__(self, file: Path, intake: Intake) -> None:
        self._intake = intake
        self._stream = file.open("wb", buffering=_BUFFER)
        self._records = 0
        self._values = 0
        self._write_header()

    def append(self, signal: np.ndarray) -> None:
        """Write the next record."""
        self._stream.write(np.ascontiguousarray(signal, dtype=DTYPE).data)
        self._records += 1
        self._values += signal.size

    def __enter__(self) -> SignalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stream:
            if error is None:
                self._stream.seek(0)
                self._write_header()

    def _write_header(self) -> None:
        # numpy pads the header for a growing first axis, so it can be written again once the number is known.
        leads, samples = len(self._intake.leads), self._intake.samples
        shape = (self._values,) if samples is None else (self._records, leads, samples)
        description = np.lib.format.dtype_to_descr(DTYPE)
        header = {"descr": description, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._stream, header)


class SignalFile:
    """The signals of a cohort, opened read-only; only what is asked for is read.

    Args:
        lengths: samples per lead of each record where they differ, int (records,); None where they are all `samples`.

    Raises:
        DataError: the file is not what the cohort's manifest says.
    """

    def __init__(
        self, file: Path, *, records: int, leads: int, samples: int | None, lengths: np.ndarray | None
    ) -> None:
        self._file = file
        self._leads = leads
        self._lengths = np.full(records, samples or 0) if lengths is None else np.asarray(lengths, dtype=np.int64)
        self._starts = np.concatenate(([0], np.cumsum(self._lengths * leads)))
        shape = (int(self._starts[-1]),) if samples is None else (records, leads, samples)
        try:
            array = np.load(file, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise DataError(f"{file} cannot be opened ({error}). Prepare the cohort again.") from error
        if array.shape != shape or array.dtype != DTYPE:
            raise DataError(
                f"{file} is {array.dtype} {array.shape}; its manifest says int16 {shape}. "
                "The folder was changed after it was prepared; prepare it again."
            )
        self._offset = array.offset

    @property
    def lengths(self) -> np.ndarray:
        """Samples per lead of each record, int64 (records,)."""
        return self._lengths

    def read(self, rows: slice | np.ndarray) -> list[np.ndarray]:
        """int16 (leads, samples) of some records.

        Read, not mapped: pages of a map stay in memory, and a pass over the cohort would end holding all of it.
        """
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self._lengths))
            if step == 1:
                return self._between(start, max(start, stop))
            rows = np.arange(start, stop, step)
        wanted = np.asarray(rows)
        if wanted.dtype == bool:
            wanted = np.flatnonzero(wanted)
        wanted = np.where(wanted < 0, wanted + len(self._lengths), wanted)
        return [self._between(int(row), int(row) + 1)[0] for row in wanted]

    def _between(self, start: int, stop: int) -> list[np.ndarray]:
        first, last = int(self._starts[start]), int(self._starts[stop])
        offset = self._offset + first * DTYPE.itemsize
        flat = np.fromfile(self._file, dtype=DTYPE, count=last - first, offset=offset)
        cuts = self._starts[start : stop + 1] - first
        return [
            flat[cuts[i] : cuts[i + 1]].reshape(self._leads, int(self._lengths[start + i])) for i in range(stop - start)
        ]
