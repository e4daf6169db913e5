"""The elements of a MATLAB 5 file, checked before scipy reads them: its reader would end the process over some.

An element has a tag of its type and its size. A matrix is made of elements (flags, dimensions, name, numbers or further
matrices); a packed element is a zlib stream of one element.

Source: MathWorks, MAT-File Format, level 5.
"""

from __future__ import annotations

import math
import struct
import zlib
from mmap import ACCESS_READ, mmap
from pathlib import Path

from einthoven.foundation.errors import DataError

from .array_checks import ALWAYS, MOST_PACKED

_HEADER = 128
_TAG = 8
_TYPES = frozenset([*range(1, 8), 9, *range(12, 19)])
_MATRIX, _PACKED = 14, 15
_DEEPEST = 100
# Classes of matrices, by which it is known how many elements one has.
_CELLS, _STRUCT, _TEXT, _SPARSE, _NUMBERS = 1, 2, 4, 5, range(6, 16)
_COMPLEX = 0x0800  # among the flags; one element more, of imaginary parts


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
        seen: list[tuple[int, int]] = []  # where the contents of the matrix lie: its flags, its dimensions, ...
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
            seen.append((at, size))
            start = at + (4 if small else size if kind == _PACKED else size + -size % 8)
        if depth and len(seen) < (needed := _elements_of_matrix(content, seen, order)):
            raise _broken(place, f"its matrix at byte {first_byte}{within} has {len(seen)} elements and needs {needed}")


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


def _elements_of_matrix(content: mmap | bytes, seen: list[tuple[int, int]], order: str) -> int:
    """How many elements a matrix must have by what its first ones say: its flags, its dimensions, its name, ...

    Args:
        seen: where the content of each that it has lies, and bytes of it.
    """
    if len(seen) < 3 or seen[0][1] < 4:
        return 3
    flags = struct.unpack_from(f"{order}I", content, seen[0][0])[0]
    kind = flags & 0xFF
    at, size = seen[1]
    count = math.prod(struct.unpack_from(f"{order}{size // 4}i", content, at))
    if kind in (_CELLS, _STRUCT) and count < 0:
        return len(content)  # more than there can be
    if kind == _CELLS:
        return 3 + count
    if kind == _STRUCT:
        if len(seen) < 5 or seen[3][1] < 4:
            return max(5, len(seen) + 1)
        longest = struct.unpack_from(f"{order}i", content, seen[3][0])[0]
        return 5 + count * (seen[4][1] // longest if longest > 0 else 0)
    plain = 4 if kind in (_TEXT, *_NUMBERS) else 6 if kind == _SPARSE else 0
    return plain + 1 if plain and kind != _TEXT and flags & _COMPLEX else plain


def _broken(place: str, why: str) -> DataError:
    return DataError(f"{place} cannot be read as a MATLAB file: {why}. Export it again.")
