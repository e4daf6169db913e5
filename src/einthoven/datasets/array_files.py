"""Signals in array files: .npy, .mat of every version, HDF5; each format has a module of its own.

One row of a large array costs one row of memory. What is returned is what is stored: unit, order of leads and axes are
for the caller to know.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from einthoven.foundation.errors import DataError

from .array_checks import checked_row
from .file_checks import check_file, place_of
from .h5_files import h5_array, h5_column, h5_errors, is_hdf5, open_file, open_h5, read_array, read_h5
from .mat_files import read_mat
from .npy_files import read_npy

__all__ = ["Rows", "check_file", "h5_column", "open_h5", "read_h5", "read_mat", "read_npy"]


class Rows:
    """Many records in one array (records, a, b) of a .npy or HDF5 file, read row by row.

    The file is opened when it is first needed, and stays open.

    Args:
        key: path of the array in an HDF5 file; None as in `read_h5`.
    """

    def __init__(self, file: Path, key: str | None = None, *, where: str = "") -> None:
        self.file = file
        self._key = key
        self._place = place_of(file, where)
        self._array: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole array."""
        return tuple(self._opened().shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, row: int) -> np.ndarray:
        with h5_errors(self._place, self._key):
            return read_array(self._opened(), checked_row(row, self.shape, self._place), self._place)

    def _opened(self) -> Any:
        if self._array is None:
            if is_hdf5(self.file):
                with h5_errors(self._place, self._key):
                    self._array = h5_array(open_file(self.file, ""), self._key, self._place)
            else:
                self._array = read_npy(self.file)
            if len(self._array.shape) != 3:
                raise DataError(
                    f"{self._place} has shape {tuple(self._array.shape)}; three axes were expected, the first of "
                    "records."
                )
        return self._array
