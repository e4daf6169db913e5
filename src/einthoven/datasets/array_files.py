"""Reading signals from array files: .npy, .mat of every version, HDF5.

One row of a large array costs one row of memory. What is returned is what is stored: unit, order of leads and axes are
for the caller to know.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from einthoven.foundation.errors import DataError, EinthovenError, unknown_name

if TYPE_CHECKING:
    import h5py

_LFS = b"version https://git-lfs.github.com/spec/"
_HDF5 = b"\x89HDF\r\n\x1a\n"
_NPY = b"\x93NUMPY"
# What an array may say it takes: no signal is packed 64 times smaller than it is, and a GiB can always be tried.
_MOST_PACKED = 64
_ALWAYS = 2**30
# MATLAB 5: types of elements, and the classes of matrices that hold other matrices.
_MOST_LINKS = 32
_MAT_TYPES = frozenset([*range(1, 8), 9, *range(12, 19)])
_MAT_MATRIX, _MAT_PACKED = 14, 15
_MAT_HOLDERS = (1, 2)  # cell arrays and structs
_MAT_TAG = 8
_MAT_DEEPEST = 100


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
        with np.errstate(over="ignore"):  # of sizes, which are compared below
            array = np.load(file, mmap_mode="r", allow_pickle=False)
    # Its header is a Python literal, which fails in as many ways as Python's parser has.
    except Exception as error:
        raise DataError(f"{place} cannot be read as a .npy file of numbers: {_why(error)} Write it again.") from None
    _check_numeric(array.dtype, place)
    # Numpy compares with the size of the file too, but in a number that overflows.
    if math.prod(array.shape) * array.dtype.itemsize > file.stat().st_size:
        raise DataError(f"{place} says it has shape {array.shape}, more than its file has room for. Write it again.")
    return array


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

    _check_mat5(file, place)
    try:
        stored: dict[str, Any] = scipy.io.loadmat(str(file), variable_names=names, appendmat=False)
    # A broken .mat file fails in as many ways as scipy's reader has steps.
    except Exception as error:
        raise DataError(f"{place} cannot be read as a MATLAB file: {_why(error)} Export it again.") from error
    return {name: value for name, value in stored.items() if not name.startswith("__")}


def _check_mat5(file: Path, place: str) -> None:
    """Refuse elements of a MATLAB 5 file that reach beyond what they lie in: scipy's reader would end the process.

    Packed elements have a checksum of their own.
    """
    with file.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as content:
        _walk_mat5(content, place)


def _walk_mat5(content: mmap, place: str) -> None:
    head = content[:128]
    if len(head) < 128 or 0 in head[:4] or head[126:128] not in (b"IM", b"MI"):
        return  # MATLAB 4, or nothing that scipy reads
    order = "<" if head[126:128] == b"IM" else ">"
    within = [(128, len(content), 0)]  # from, to, and how deep: what is still to be walked through
    while within:
        start, end, depth = within.pop()
        seen: list[tuple[int, int]] = []  # where the contents of the matrix lie: its flags, its dimensions, ...
        while end - start >= _MAT_TAG:
            kind, size = struct.unpack_from(f"{order}II", content, start)
            at = start + _MAT_TAG
            small = kind >> 16
            if small:  # up to four bytes, within the tag
                kind, size, at = kind & 0xFFFF, small, start + 4
            if kind not in _MAT_TYPES or size > (4 if small else end - at) or depth > _MAT_DEEPEST:
                raise DataError(
                    f"{place} cannot be read as a MATLAB file: its element at byte {start}, of type {kind} and {size} "
                    "bytes, does not fit into what it lies in. Export it again."
                )
            if kind == _MAT_MATRIX and size:
                within.append((at, at + size, depth + 1))
            seen.append((at, size))
            start = at + (4 if small else size if kind == _MAT_PACKED else size + -size % 8)
            if depth and len(seen) == len(("flags", "dimensions")):
                _check_mat_cells(content, seen, order, place)


def _check_mat_cells(content: mmap, seen: list[tuple[int, int]], order: str, place: str) -> None:
    (flags, length), (dimensions, size) = seen
    if length < 4 or struct.unpack_from(f"{order}I", content, flags)[0] & 0xFF not in _MAT_HOLDERS:
        return
    count = math.prod(struct.unpack_from(f"{order}{size // 4}i", content, dimensions))
    if not 0 <= count <= len(content):
        raise DataError(
            f"{place} cannot be read as a MATLAB file: it says it has {count} cells or structs in {len(content)} "
            "bytes. Export it again."
        )


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
    place = _place(file, where)
    with open_h5(file, where=where) as opened, _h5_errors(place, key):
        return _read(_h5_array(opened, key, place), row, place)


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
        with _h5_errors(self._place, self._key):
            return _read(self._opened(), _checked_row(row, self.shape, self._place), self._place)

    def _opened(self) -> Any:
        if self._array is None:
            if _is_hdf5(self.file):
                with _h5_errors(self._place, self._key):
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
    place = _place(file, where)
    with open_h5(file, where=where) as opened, _h5_errors(place, key):
        array = _h5_array(opened, key, place)
        _check_room(array, array.shape, place)
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
    # Broken HDF5 fails in as many ways as its library has layers.
    except Exception as error:
        raise DataError(f"{_place(file, where)} cannot be opened as HDF5: {_why(error)} Download it again.") from error


@contextmanager
def _h5_errors(place: str, key: str | None) -> Iterator[None]:
    """Broken HDF5 fails in as many ways as its library has layers: all of them are bad data."""
    try:
        yield
    except EinthovenError:
        raise
    except Exception as error:
        what = f"Array {key} of {place}" if key else place
        raise DataError(f"{what} cannot be read: {_why(error)} It may be cut short; download it again.") from error


def _h5_array(opened: h5py.File, key: str | None, place: str) -> Any:
    """The array of a key, which lies in this file and nowhere else."""
    import h5py

    found = None if key is None else _h5_node(opened, key, place)
    if not isinstance(found, h5py.Dataset):
        names: list[str] = []
        opened.visititems(lambda name, node: names.append(str(name)) if isinstance(node, h5py.Dataset) else None)
        if key is not None:
            raise _not_there("array", key, names[:100], place)
        tables = [name for name in names if len(opened[name].shape or ()) >= 2]  # type: ignore[union-attr]  # all are arrays
        found = opened[_only(tables, names or _links(opened), place)]
    assert isinstance(found, h5py.Dataset)  # noqa: S101 - for the type checker
    if found.shape is None:
        raise DataError(f"{found.name} of {place} is empty: it has no shape. Name another array with `key`.")
    if found.is_virtual or found.external:
        kind = "is put together from other arrays" if found.is_virtual else "has its numbers in another file"
        raise DataError(f"{found.name} of {place} {kind}; numbers in the file itself were expected. Write it whole.")
    return found


def _h5_node(opened: h5py.File, key: str, place: str) -> Any:
    """What a path leads to by links within the file; None if there is nothing."""
    import h5py

    parts = key.split("/")[::-1]
    node: Any = opened
    followed = 0
    while parts:
        part = parts.pop()
        if part in ("", "."):
            continue
        link = node.get(part, getlink=True) if isinstance(node, h5py.Group) and part in node.keys() else None  # noqa: SIM118 - `in node` opens what a link leads to
        if link is None:
            return None
        if isinstance(link, h5py.ExternalLink):
            raise DataError(
                f"{key} of {place} is a link to another file ({link.filename}); numbers in the file itself were "
                "expected. Copy them into it."
            )
        if isinstance(link, h5py.SoftLink):
            followed += 1
            if followed > _MOST_LINKS:
                raise DataError(f"{key} of {place} is a link that leads to itself.")
            parts += link.path.split("/")[::-1]
            node = opened if link.path.startswith("/") else node
            continue
        node = node[part]
    return node


def _links(opened: h5py.File) -> list[str]:
    """Links to elsewhere, for a file without arrays."""
    import h5py

    names: list[str] = []
    opened.visititems_links(
        lambda name, link: None if isinstance(link, h5py.HardLink) else names.append(f"a link, {name}")
    )
    return names


def _read(array: Any, row: int | None, place: str) -> np.ndarray:
    _check_numeric(array.dtype, place)
    if row is None:
        _check_room(array, array.shape, place)
        return np.asarray(array[()])
    _check_room(array, array.shape[1:], place)
    return np.array(array[_checked_row(row, array.shape, place)])


def _check_room(array: Any, shape: tuple[int, ...], place: str) -> None:
    """Refuse what says it is far larger than its file, before memory is taken for it."""
    size = math.prod(shape) * array.dtype.itemsize
    if isinstance(array, np.ndarray) or size <= _ALWAYS:
        return
    there = array.file.id.get_filesize()
    if size > _MOST_PACKED * there:
        raise DataError(
            f"{array.name} of {place} says it has shape {tuple(array.shape)}, {size} bytes to read at once, in a file "
            f"of {there}; at most {_MOST_PACKED} times the file was expected. Write it again, or download it again."
        )


def _read_mat_hdf5(file: Path, key: str | None, where: str) -> np.ndarray:
    """MATLAB 7.3 is HDF5 with the axes reversed, and structs as groups."""
    import h5py

    place = _place(file, where)
    with open_h5(file, where=where) as opened, _h5_errors(place, key):
        if key is None:
            # "#refs#" and "#subsystem#" are MATLAB's own.
            names = [str(name) for name in opened if not str(name).startswith("#")]
            within = [name for name in names if isinstance(opened.get(name, getlink=True), h5py.HardLink)]
            tables = [name for name in within if len(getattr(opened[name], "shape", None) or ()) >= 2]
            key = _only(tables, within or _links(opened), place)
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


def _why(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text if text.endswith((".", "!")) else f"{text}."


def _place(file: Path, where: str) -> str:
    return f"{file} of {where}" if where else str(file)
