"""Reading MATLAB files of every version: 4 to 7 by scipy, 7.3 as the HDF5 that it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from einthoven.foundation.errors import DataError

from .array_checks import check_numeric, not_there, only_candidate
from .file_checks import check_file, place_of, reason_of
from .h5_files import h5_array, h5_errors, is_hdf5, links_in, open_h5, read_array
from .mat5_elements import check_mat5


def read_mat(file: Path, key: str | None = None, *, where: str = "") -> np.ndarray:
    """One array of a MATLAB file, in the shape it has in MATLAB, whatever the file's version (4 to 7.3).

    Args:
        key: name of the variable, with "." before the field of a struct ("ECG.data"). None takes the file's only
            variable with more than one number in a 2-D array, and refuses where there are several.

    Raises:
        DataError: no .mat file, no such variable, or one that holds no numbers.
    """
    check_file(file, where=where)
    if is_hdf5(file):
        return _read_hdf5(file, key, where)
    place = place_of(file, where)
    stored = _loadmat(file, [key.split(".")[0]] if key else None, place)
    names = list(stored)
    if key is None:
        key = only_candidate([name for name in names if _is_table(stored[name])], names, place)
    elif not names:
        raise not_there("variable", key, list(_loadmat(file, None, place)), place)
    array = _field(stored, key, place)
    check_numeric(array.dtype, place)
    return array


def read_struct(file: Path, name: str, fields: Sequence[str], *, where: str = "") -> dict[str, np.ndarray]:
    """The fields of a struct of a MATLAB file (4 to 7), each as an array of whatever it holds, texts among them.

    Raises:
        DataError: no .mat file, or no such variable that is one struct with these fields.
    """
    check_file(file, where=where)
    place = place_of(file, where)
    stored = np.asarray(_loadmat(file, [name], place).get(name))
    if stored.size != 1 or not set(fields) <= set(stored.dtype.names or ()):
        listed = f"{', '.join(fields[:-1])} and {fields[-1]}" if len(fields) > 1 else "".join(fields)
        raise DataError(f"{place} has no struct {name} of {listed}.")
    struct = stored.ravel()[0]
    return {field: np.asarray(struct[field]) for field in fields}


def _loadmat(file: Path, names: list[str] | None, place: str) -> dict[str, Any]:
    import scipy.io

    check_mat5(file, place)
    try:
        stored: dict[str, Any] = scipy.io.loadmat(str(file), variable_names=names, appendmat=False)
    # A broken .mat file fails in as many ways as scipy's reader has steps.
    except Exception as error:
        raise DataError(f"{place} cannot be read as a MATLAB file: {reason_of(error)} Export it again.") from error
    return {name: value for name, value in stored.items() if not name.startswith("__")}


def _field(stored: dict[str, Any], key: str, place: str) -> np.ndarray:
    name, *fields = key.split(".")
    value = np.asarray(stored[name])
    for depth, field in enumerate(fields, 1):
        known = value.dtype.names or ()
        if field not in known:
            raise not_there("field", field, known, f"{'.'.join(key.split('.')[:depth])} of {place}")
        if value.size != 1:
            raise DataError(f"{key} of {place} is in a struct array of {value.size}; one struct was expected.")
        value = np.asarray(value.ravel()[0][field])
    return value


def _is_table(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.ndim >= 2 and value.size > 1


def _read_hdf5(file: Path, key: str | None, where: str) -> np.ndarray:
    """MATLAB 7.3 is HDF5 with the axes reversed, and structs as groups."""
    import h5py

    place = place_of(file, where)
    with open_h5(file, where=where) as opened, h5_errors(place, key):
        if key is None:
            # "#refs#" and "#subsystem#" are MATLAB's own.
            names = [str(name) for name in opened if not str(name).startswith("#")]
            within = [name for name in names if isinstance(opened.get(name, getlink=True), h5py.HardLink)]
            tables = [name for name in within if len(getattr(opened[name], "shape", None) or ()) >= 2]
            key = only_candidate(tables, within or links_in(opened), place)
        array = read_array(h5_array(opened, key.replace(".", "/"), place), None, place)
    return array.T
