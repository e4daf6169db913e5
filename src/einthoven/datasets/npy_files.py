"""Reading .npy files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from einthoven.foundation.errors import DataError

from .array_checks import check_numeric
from .file_checks import check_file, place_of, reason_of

_NPY = b"\x93NUMPY"


def read_npy(file: Path, *, where: str = "") -> np.ndarray:
    """The array of a .npy file, memory-mapped and read-only.

    Raises:
        DataError: no .npy file, one cut short, or one of Python objects, which could run code and is never loaded.
    """
    head = check_file(file, where=where)
    place = place_of(file, where)
    if not head.startswith(_NPY):
        raise DataError(f"{place} is no .npy file: it does not start as one. Write it with numpy.save.")
    try:
        with np.errstate(over="ignore"):  # of sizes, which are compared below
            array = np.load(file, mmap_mode="r", allow_pickle=False)
    # Its header is a Python literal, which fails in as many ways as Python's parser has.
    except Exception as error:
        raise DataError(
            f"{place} cannot be read as a .npy file of numbers: {reason_of(error)} Write it again."
        ) from None
    check_numeric(array.dtype, place)
    # Numpy compares with the size of the file too, but in a number that overflows.
    if math.prod(array.shape) * array.dtype.itemsize > file.stat().st_size:
        raise DataError(f"{place} says it has shape {array.shape}, more than its file has room for. Write it again.")
    return array
