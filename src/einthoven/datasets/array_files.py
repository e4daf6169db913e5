"""Reading signals from array files: .npy, .mat of every version, HDF5.

One row of a large array costs one row of memory. What is returned is what is stored: unit, order of leads and axes are
for the caller to know.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from einthoven.foundation.errors import DataError, unknown_name

if TYPE_CHECKING:
    import h5py

_LFS = b"version https://git-lfs.github.com/spec/"
_HDF5 = b"\x89HDF\r\n\x1a\n"
_NPY = b"\x93NUMPY"


def check_file(file: Path, *, where: str = "") -> None:
    """Refuse a file that does not exist, is empty, or is a git-lfs pointer instead of the file itself.

    Args:
        where: what the file is of, for messages.

    Raises:
        DataError: with what to do.
    """
    of = f" of {where}" if where else ""
    if not file.is_file():
        raise DataError(f"{file}{of} does not exist.")
    head = _head(file)
    if not head:
        raise DataError(f"{file}{of} is empty. Download or export it again.")
    if head.startswith(_LFS):
        raise DataError(
            f"{file}{of} is a git-lfs pointer (a few lines of text), not the file itself. Run `git lfs pull` in the "
            "folder it was cloned to, or download the file from its source."
        )


def read_npy(file: Path, *, where: str = "") -> np.ndarray:
    """The array of a .npy file, memory-mapped and read-only.

    Raises:
        DataError: no .npy file, one cut short, or one of Python objects, which could run code and is never loaded.
    """
    check_file(file, where=where)
    place = _place(file, where)
    if not _head(file).startswith(_NPY):
        raise DataError(f"{place} is no .npy file: it does not start as one. Write it with numpy.save.")
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{place} cannot be read as a .npy file of numbers: {error} Write it again.") from None
    _check_numeric(array.dtype, place)
    return array


def read_npy_row(file: Path, row: int, *, where: str = "") -> np.ndarray:
    """One row of a .npy file that holds many records, (a, b) of an array (records, a, b); only it is read.

    Raises:
        DataError: as `read_npy`, or there is no such row.
    """
    array = read_npy(file, where=where)
    return np.array(array[_checked_row(row, array.shape, _place(file, where))])


def read_mat(file: Path, key: str | None = None, *, where: str = "") -> np.ndarray:
    """One array of a MATLAB file, in the shape it has in MATLAB, whatever the file's version (4 to 7.3).

    Args:
        key: name of the variable, with "." before the field of a struct ("ECG.data"). None takes the file's only
            variable with more than one number in a 2-D array, and refuses where there are several.

    Raises:
        DataError: no .mat file, no such variable, or one that holds no numbers.
    """
    check_file(file, where=where)
    if _is_hdf5(file):
        return _read_mat_hdf5(file, key, where)
    place = _place(file, where)
    stored = _loadmat(file, [key.split(".")[0]] if key else None, place)
    names = list(stored)
    if key is None:
        key = _only([name for name in names if _is_table(stored[name])], names, place)
    elif not names:
        raise _not_there("variable", key, list(_loadmat(file, None, place)), place)
    array = _field(stored, key, place)
    _check_numeric(array.dtype, place)
    return array


def _loadmat(file: Path, names: list[str] | None, place: str) -> dict[str, Any]:
    import scipy.io

    try:
        stored: dict[str, Any] = scipy.io.loadmat(str(file), variable_names=names, appendmat=False)
    # A broken .mat file fails in as many ways as scipy's reader has steps.
    except Exception as error:
        raise DataError(f"{place} cannot be read as a MATLAB file: {error} Export it again.") from error
    return {name: value for name, value in stored.items() if not name.startswith("__")}


def _not_there(kind: str, name: str, known: list[str] | tuple[str, ...], place: str) -> DataError:
    # A file that lacks an array is bad data, as one cut short is, and is left out like it where that is asked for.
    return DataError(str(unknown_name(kind, name, known, where=place)))


@contextmanager
def open_h5(file: Path, *, where: str = "") -> Iterator[h5py.File]:
    """An HDF5 file, opened for reading; nothing of its arrays is read yet.

    Raises:
        DataError: no HDF5 file, or one that is cut short.
    """
    opened = _opened(file, where)
    try:
        yield opened
    finally:
        opened.close()


def read_h5(file: Path, key: str | None = None, *, row: int | None = None, where: str = "") -> np.ndarray:
    """One array of an HDF5 file, or one row of it.

    Args:
        key: path of the array in the file, "/" between groups. None takes the file's only array of two or more axes,
            and refuses where there are several.
        row: first index of an array (records, a, b); only this row is read. None reads the whole array.

    Raises:
        DataError: no HDF5 file, one cut short, no such array or row, or one that holds no numbers.
    """
    with open_h5(file, where=where) as opened:
        array = _h5_array(opened, key, _place(file, where))
        return _read(array, row, _place(file, where))


class Rows:
    """Many records in one array (records, a, b) of a .npy or HDF5 file, read row by row.

    The file is opened when it is first needed, and stays open.

    Args:
        key: path of the array in an HDF5 file; None as in `read_h5`.
    """

    def __init__(self, file: Path, key: str | None = None, *, where: str = "") -> None:
        self.file = file
        self._key = key
        self._place = _place(file, where)
        self._array: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole array."""
        return tuple(self._opened().shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, row: int) -> np.ndarray:
        return _read(self._opened(), _checked_row(row, self.shape, self._place), self._place)

    def _opened(self) -> Any:
        if self._array is None:
            if _is_hdf5(self.file):
                self._array = _h5_array(_opened(self.file, ""), self._key, self._place)
            else:
                self._array = read_npy(self.file)
            if len(self._array.shape) != 3:
                raise DataError(
                    f"{self._place} has shape {tuple(self._array.shape)}; three axes were expected, the first of "
                    "records."
                )
        return self._array


def h5_column(file: Path, key: str, *, where: str = "") -> list[str]:
    """A one-dimensional array of an HDF5 file as texts, such as the record ids that stand beside the signals.

    Raises:
        DataError: no such array, or one of another shape.
    """
    with open_h5(file, where=where) as opened:
        place = _place(file, where)
        array = _h5_array(opened, key, place)
        if len(array.shape) != 1 and not (len(array.shape) == 2 and array.shape[1] == 1):
            raise DataError(f"{key} of {place} has shape {array.shape}; one value a record was expected.")
        values = np.asarray(array[()]).ravel().tolist()
    return [value.decode("utf-8", "replace") if isinstance(value, bytes) else _number_text(value) for value in values]


def _number_text(value: object) -> str:
    # An id that is kept as a float is the whole number that a table has.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _opened(file: Path, where: str) -> h5py.File:
    import h5py

    check_file(file, where=where)
    if not _is_hdf5(file):
        raise DataError(f"{_place(file, where)} is no HDF5 file: it does not start as one.")
    try:
        return h5py.File(file, "r")
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(f"{_place(file, where)} cannot be opened as HDF5: {error} Download it again.") from error


def _h5_array(opened: h5py.File, key: str | None, place: str) -> Any:
    import h5py

    if key is not None and isinstance(found := opened.get(key), h5py.Dataset):
        return found
    names: list[str] = []
    opened.visititems(lambda name, node: names.append(name) if isinstance(node, h5py.Dataset) else None)
    if key is not None:
        raise _not_there("array", key, names[:100], place)
    tables = [name for name in names if len(opened[name].shape) >= 2]  # type: ignore[union-attr]  # all are arrays
    return opened[_only(tables, names, place)]


def _read(array: Any, row: int | None, place: str) -> np.ndarray:
    _check_numeric(array.dtype, place)
    try:
        if row is None:
            return np.asarray(array[()])
        return np.array(array[_checked_row(row, array.shape, place)])
    except (OSError, RuntimeError) as error:
        raise DataError(f"{place} cannot be read: {error} It may be cut short; download it again.") from error


def _read_mat_hdf5(file: Path, key: str | None, where: str) -> np.ndarray:
    """MATLAB 7.3 is HDF5 with the axes reversed, and structs as groups."""
    with open_h5(file, where=where) as opened:
        place = _place(file, where)
        if key is None:
            # "#refs#" and "#subsystem#" are MATLAB's own.
            names = [str(name) for name in opened if not str(name).startswith("#")]
            tables = [name for name in names if len(getattr(opened[name], "shape", ())) >= 2]
            key = _only(tables, names, place)
        array = _read(_h5_array(opened, key.replace(".", "/"), place), None, place)
    return array.T


def _field(stored: dict[str, Any], key: str, place: str) -> np.ndarray:
    name, *fields = key.split(".")
    value = np.asarray(stored[name])
    for depth, field in enumerate(fields, 1):
        known = value.dtype.names or ()
        if field not in known:
            raise _not_there("field", field, known, f"{'.'.join(key.split('.')[:depth])} of {place}")
        if value.size != 1:
            raise DataError(f"{key} of {place} is in a struct array of {value.size}; one struct was expected.")
        value = np.asarray(value.ravel()[0][field])
    return value


def _is_table(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.ndim >= 2 and value.size > 1


def _only(candidates: list[str], names: list[str], place: str) -> str:
    if len(candidates) == 1:
        return candidates[0]
    raise DataError(
        f"{place} has {len(candidates)} arrays that could be the signal ({', '.join(names[:20]) or 'it has none'}). "
        "Name the one to take with `key`."
    )


def _checked_row(row: int, shape: tuple[int, ...], place: str) -> int:
    if not 0 <= row < shape[0]:
        raise DataError(f"{place} has {shape[0]} rows, 0 to {shape[0] - 1}; row {row} was asked for.")
    return row


def _check_numeric(dtype: Any, place: str) -> None:
    if np.dtype(dtype).kind not in "iuf":
        raise DataError(f"{place} holds {dtype}; real numbers were expected. Name another array with `key`.")


def _is_hdf5(file: Path) -> bool:
    if not file.is_file():
        return False
    # MATLAB 7.3 writes a text of 512 bytes before the HDF5 mark.
    with file.open("rb") as stream:
        head = stream.read(520)
    return head.startswith(_HDF5) or head[512:] == _HDF5


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(len(_LFS))


def _place(file: Path, where: str) -> str:
    return f"{file} of {where}" if where else str(file)
