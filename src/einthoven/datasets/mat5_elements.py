"""The elements of a MATLAB 5 file, checked before scipy reads them: its reader would end the process over some.

An element has a tag of its type and its size. A matrix is made of elements (flags, dimensions, name, numbers or further
matrices); a packed element is a zlib stream of one element.

Source: MathWorks, MAT-File Format, level 5.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from einthoven.foundation.errors import DataError

from .array_checks import ALWAYS, MOST_PACKED

_HEADER = 128
_TAG = 8
_TYPES = frozenset([*range(1, 8), 9, *range(12, 19)])
_MATRIX, _PACKED = 14, 15
_DEEPEST = 100
# Classes of matrices, by which it is known how many elements one has, and which of them are matrices again.
_CELLS, _STRUCT, _OBJECT, _TEXT, _SPARSE, _NUMBERS, _FUNCTION, _OPAQUE = 1, 2, 3, 4, 5, range(6, 16), 16, 17
_MOST_AXES = 32  # of an array of numpy 1
_COMPLEX = 0x0800  # among the flags; one element more, of imaginary parts


class _Content(NamedTuple):
    """What lies in an element: its type, the byte it begins at, and how many bytes it has."""

    kind: int
    at: int
    size: int


def check_mat5(file: Path, place: str) -> None:
    """Refuse a MATLAB 5 file of which an element reaches beyond what it lies in, or is packed and does not unpack.

    Files of other versions are let through.

    Args:
        place: of the file, for messages.

    Raises:
        DataError: with the byte at which the first such element begins.
    """
    with file.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as content:
        head = content[:_HEADER]
        if len(head) < _HEADER or 0 in head[:4] or head[126:128] not in (b"IM", b"MI"):
            return  # MATLAB 4, or nothing that scipy reads
        _check_elements(content, _HEADER, "<" if head[126:128] == b"IM" else ">", place)


def _check_elements(content: mmap | bytes, first: int, order: str, place: str, within: str = "") -> None:
    """Check all elements from `first` on, and those in them.

    Args:
        within: for messages, where an unpacked element lies packed; only those of the file itself may be packed.
    """
    waiting = [(first, len(content), 0)]  # from, to, and how deep: what is still to be walked through
    while waiting:
        start, end, depth = waiting.pop()
        first_byte = start
        seen: list[_Content] = []  # of the matrix: its flags, its dimensions, ...
        while end - start >= _TAG:
            kind, size = struct.unpack_from(f"{order}II", content, start)
            at = start + _TAG
            small = kind >> 16
            if small:  # up to four bytes, within the tag
                kind, size, at = kind & 0xFFFF, small, start + 4
            here = f"element at byte {start}{within}"
            if kind not in _TYPES or size > (4 if small else end - at) or depth > _DEEPEST:
                raise _broken(place, f"its {here}, of type {kind} and {size} bytes, does not fit into what it lies in")
            if kind == _PACKED:
                if depth or within:
                    raise _broken(place, f"its {here} is packed within another")
                unpacked = _unpacked(content[at : at + size], order, here, place)
                _check_elements(unpacked, 0, order, place, within=f" of what is packed at byte {start}")
            if kind == _MATRIX and size:
                waiting.append((at, at + size, depth + 1))
            seen.append(_Content(kind, at, size))
            start = at + (4 if small else size if kind == _PACKED else size + -size % 8)
        if depth:
            _check_matrix(content, seen, order, place, f"matrix at byte {first_byte}{within}")


def _unpacked(packed: bytes, order: str, here: str, place: str) -> bytes:
    """The one element in a zlib stream, with its tag; scipy reads from the stream before its checksum is known."""
    stream = zlib.decompressobj()
    try:
        tag = stream.decompress(packed, _TAG)
        size = struct.unpack(f"{order}II", tag)[1] if len(tag) == _TAG else 0
        if size > max(ALWAYS, MOST_PACKED * len(packed)):
            raise _broken(place, f"its {here} says it unpacks from {len(packed)} to {size} bytes")
        # A little more than that: it may be padded, and the end of the stream is to be reached.
        content = tag + stream.decompress(stream.unconsumed_tail, size + _TAG)
    except zlib.error as error:
        raise _broken(place, f"its {here} does not unpack ({error})") from None
    if len(tag) < _TAG or not stream.eof or not size <= len(content) - _TAG < size + _TAG:
        raise _broken(place, f"its {here} does not unpack to the {size} bytes that it says it has")
    return content


def _check_matrix(content: mmap | bytes, seen: Sequence[_Content], order: str, place: str, here: str) -> None:
    """Refuse a matrix whose elements are fewer than its first ones say, or of another kind: scipy believes those.

    Args:
        seen: its elements.
    """
    if len(seen) < 3 or seen[0].size < 4:
        raise _broken(place, f"its {here} has {len(seen)} elements and needs 3")
    flags = struct.unpack_from(f"{order}I", content, seen[0].at)[0]
    kind = flags & 0xFF
    count = 1
    if kind != _OPAQUE:  # which has no dimensions
        axes = seen[1].size // 4
        if seen[1].size % 4 or not 2 <= axes <= _MOST_AXES:
            raise _broken(place, f"its {here} has {seen[1].size} bytes of dimensions, not 4 each of two or more")
        count = math.prod(struct.unpack_from(f"{order}{axes}i", content, seen[1].at))
    if kind in (_CELLS, _STRUCT, _OBJECT) and count < 0:
        raise _broken(place, f"its {here} has {len(seen)} elements and needs fewer than none")
    plain, matrices = _elements_of(content, seen, order, kind, flags, count)
    if len(seen) < (needed := plain + matrices):
        raise _broken(place, f"its {here} has {len(seen)} elements and needs {needed}")
    for index, element in enumerate(seen[:needed]):
        if (element.kind == _MATRIX) != (index >= plain):
            wanted = "a matrix" if index >= plain else "none"
            raise _broken(place, f"element {index + 1} of its {here}, of class {kind}, should be {wanted}")


def _elements_of(
    content: mmap | bytes, seen: Sequence[_Content], order: str, kind: int, flags: int, count: int
) -> tuple[int, int]:
    """How many elements a matrix has that are none themselves, and then how many that are.

    Args:
        kind: its class.
        count: product of its dimensions.
    """
    if kind == _CELLS:
        return 3, count
    if kind in (_STRUCT, _OBJECT):
        named = 3 if kind == _STRUCT else 4  # an object has the name of its class before
        if len(seen) < named + 2 or seen[named].size < 4:
            return max(named + 2, len(seen) + 1), 0
        longest = struct.unpack_from(f"{order}i", content, seen[named].at)[0]
        return named + 2, count * (seen[named + 1].size // longest if longest > 0 else 0)
    if kind in (_FUNCTION, _OPAQUE):
        return (3 if kind == _FUNCTION else 4), 1
    plain = 4 if kind in (_TEXT, *_NUMBERS) else 6 if kind == _SPARSE else 3
    return plain + (1 if kind in (_SPARSE, *_NUMBERS) and flags & _COMPLEX else 0), 0


def _broken(place: str, why: str) -> DataError:
    return DataError(f"{place} cannot be read as a MATLAB file: {why}. Export it again.")
