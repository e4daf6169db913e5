"""Identities by content: canonical JSON and sha256 digests.

Two things with the same identity are the same thing; nothing here depends on a path, a clock or a machine.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

_BLOCK = 1 << 20
_VALUES = 1 << 14


def canonical_json(value: Any) -> str:
    """`value` as JSON with sorted keys and no white space: equal values give equal text.

    Raises:
        ValueError: a float that is not finite (write undefined as null with a reason beside it).
        TypeError: something that JSON cannot hold.
    """
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def content_key(value: Any) -> str:
    """sha256 (64 hex digits) of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def sha256_file(path: Path) -> str:
    """sha256 of a file's bytes, read in blocks."""
    with path.open("rb", buffering=0) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_array(array: np.ndarray) -> str:
    """sha256 over dtype, shape and little-endian bytes of an array; a memmap is read in blocks."""
    little = array.dtype.newbyteorder("<")
    digest = hashlib.sha256(f"{little.str}{array.shape}".encode())
    if array.ndim == 0:
        digest.update(np.asarray(array, dtype=little).tobytes())
        return digest.hexdigest()
    row_bytes = max(1, array.dtype.itemsize * math.prod(array.shape[1:]))
    step = max(1, (8 * _BLOCK) // row_bytes)
    for start in range(0, len(array), step):
        digest.update(np.ascontiguousarray(array[start : start + step], dtype=little).tobytes())
    return digest.hexdigest()


def sha256_npy(path: Path) -> str:
    """`sha256_array` of a .npy file's array, read in blocks: unlike a memmap, none of it stays in memory."""
    with path.open("rb") as stream:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran_order, dtype = read_header(stream)
        if fortran_order or dtype.hasobject or dtype.newbyteorder("<") != dtype:
            raise ValueError(f"{path} is not a plain little-endian array in C order")
        digest = hashlib.sha256(f"{dtype.newbyteorder('<').str}{shape}".encode())
        block = memoryview(bytearray(_BLOCK))  # one for all: memory that is new has to be mapped each time
        while count := stream.readinto(block):
            digest.update(block[:count])
    return digest.hexdigest()


def content_key_of_items(items: Iterable[Any]) -> str:
    """`content_key` of the list of the items, which need never be held together."""
    digest = hashlib.sha256(b"[")
    left = iter(items)
    between = ""
    while part := list(islice(left, _VALUES)):
        digest.update((between + canonical_json(part)[1:-1]).encode())
        between = ","
    digest.update(b"]")
    return digest.hexdigest()


def sha256_columns(columns: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> str:
    """sha256 of a table given as column name -> plain values (a list or a polars Series), or one such pair after the
    other, in column order.

    Numbers that are not finite count as null, so that a table means the same whichever of the two a library stored.
    """
    digest = hashlib.sha256()
    for name, values in columns.items() if isinstance(columns, Mapping) else columns:
        digest.update(f"[{json.dumps(name)},[".encode())
        for start in range(0, len(values), _VALUES):
            part = values[start : start + _VALUES]
            part = part if isinstance(part, list) else part.to_list()
            if float in set(map(type, part)):
                part = [None if isinstance(v, float) and not math.isfinite(v) else v for v in part]
            text = json.dumps(part, separators=(",", ":"), allow_nan=False)
            digest.update(("," if start else "").encode() + text[1:-1].encode())
        digest.update(b"]]\n")
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value
