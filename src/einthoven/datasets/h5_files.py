"""Reading HDF5 files: arrays that lie in the file itself, whole or by the row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from einthoven.foundation.errors import DataError, EinthovenError

from .array_checks import ALWAYS, MOST_PACKED, check_numeric, checked_row, not_there, only_candidate
from .file_checks import check_file, place_of, reason_of, unreadable

if TYPE_CHECKING:
    import h5py

_HDF5 = b"\x89HDF\r\n\x1a\n"
_MATLABS_TEXT = 512  # bytes before the HDF5 mark, written by MATLAB 7.3
_MOST_LINKS = 32


def is_hdf5(file: Path) -> bool:
    """Whether a file begins as HDF5 does."""
    if not file.is_file():
        return False
    try:
        with file.open("rb") as stream:
            head = stream.read(_MATLABS_TEXT + len(_HDF5))
    except OSError as error:
        raise unreadable(str(file), error) from None
    return head.startswith(_HDF5) or head[_MATLABS_TEXT:] == _HDF5


@contextmanager
def open_h5(file: Path, *, where: str = "") -> Iterator[h5py.File]:
    """An HDF5 file, opened for reading; nothing of its arrays is read yet.

    Raises:
        DataError: no HDF5 file, or one that is cut short.
    """
    opened = open_file(file, where)
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
    place = place_of(file, where)
    with open_h5(file, where=where) as opened, h5_errors(place, key):
        return read_array(h5_array(opened, key, place), row, place)


def h5_column(file: Path, key: str, *, where: str = "") -> list[str]:
    """A one-dimensional array of an HDF5 file as texts, such as the record ids that stand beside the signals.

    Raises:
        DataError: no such array, or one of another shape.
    """
    place = place_of(file, where)
    with open_h5(file, where=where) as opened, h5_errors(place, key):
        array = h5_array(opened, key, place)
        _check_room(array, array.shape, place)
        if len(array.shape) != 1 and not (len(array.shape) == 2 and array.shape[1] == 1):
            raise DataError(f"{key} of {place} has shape {array.shape}; one value a record was expected.")
        values = np.asarray(array[()]).ravel().tolist()
    return [value.decode("utf-8", "replace") if isinstance(value, bytes) else _number_text(value) for value in values]


def _number_text(value: object) -> str:
    # An id that is kept as a float is the whole number that a table has.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def open_file(file: Path, where: str) -> h5py.File:
    """As `open_h5`, for who closes it."""
    import h5py

    check_file(file, where=where)
    if not is_hdf5(file):
        raise DataError(f"{place_of(file, where)} is no HDF5 file: it does not start as one.")
    try:
        return h5py.File(file, "r")
    # Broken HDF5 fails in as many ways as its library has layers.
    except Exception as error:
        raise DataError(
            f"{place_of(file, where)} cannot be opened as HDF5: {reason_of(error)} Download it again."
        ) from error


@contextmanager
def h5_errors(place: str, key: str | None) -> Iterator[None]:
    """Broken HDF5 fails in as many ways as its library has layers: all of them are bad data."""
    try:
        yield
    except EinthovenError:
        raise
    except Exception as error:
        what = f"Array {key} of {place}" if key else place
        raise DataError(f"{what} cannot be read: {reason_of(error)} It may be cut short; download it again.") from error


def h5_array(opened: h5py.File, key: str | None, place: str) -> Any:
    """The array of a key, which lies in this file and nowhere else."""
    import h5py

    found = None if key is None else _h5_node(opened, key, place)
    if not isinstance(found, h5py.Dataset):
        names: list[str] = []
        opened.visititems(lambda name, node: names.append(str(name)) if isinstance(node, h5py.Dataset) else None)
        if key is not None:
            raise not_there("array", key, names[:100], place)
        tables = [name for name in names if len(opened[name].shape or ()) >= 2]  # type: ignore[union-attr]  # all are arrays
        found = opened[only_candidate(tables, names or links_in(opened), place)]
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


def links_in(opened: h5py.File) -> list[str]:
    """Links to elsewhere, for a file without arrays."""
    import h5py

    names: list[str] = []
    opened.visititems_links(
        lambda name, link: None if isinstance(link, h5py.HardLink) else names.append(f"a link, {name}")
    )
    return names


def read_array(array: Any, row: int | None, place: str) -> np.ndarray:
    """An array, or one row of it, that is no larger than its file can hold."""
    check_numeric(array.dtype, place)
    if row is None:
        _check_room(array, array.shape, place)
        return np.asarray(array[()])
    _check_room(array, array.shape[1:], place)
    return np.array(array[checked_row(row, array.shape, place)])


def _check_room(array: Any, shape: tuple[int, ...], place: str) -> None:
    """Refuse what says it is far larger than its file, before memory is taken for it."""
    size = math.prod(shape) * array.dtype.itemsize
    if isinstance(array, np.ndarray) or size <= ALWAYS:
        return
    there = array.file.id.get_filesize()
    if size > MOST_PACKED * there:
        raise DataError(
            f"{array.name} of {place} says it has shape {tuple(array.shape)}, {size} bytes to read at once, in a file "
            f"of {there}; at most {MOST_PACKED} times the file was expected. Write it again, or download it again."
        )
