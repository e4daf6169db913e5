"""MATLAB 5 files that are broken in every way at hand: refused or read, and never the end of the process."""

from __future__ import annotations

import io
import random
import resource
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from einthoven.datasets.mat5_elements import check_mat5
from einthoven.datasets.mat_files import read_mat, read_struct
from einthoven.foundation.errors import DataError

CELLS = np.array([[np.arange(3.0), "ab"]], dtype=object)
VALUES = {
    "x": np.arange(24.0).reshape(2, 12),
    "t": "hello",
    "c": CELLS,
    "ECG": {"data": np.arange(60.0).reshape(12, 5), "sex": "Male", "age": 5.0},
    "z": np.arange(4.0) + 1j,
    "sp": scipy.sparse.csc_matrix(np.eye(4)),
}
LIES = (0, 1, 3, 5, 14, 15, 16, 17, 100_000, 1 << 30, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 16 | 14)
MEMORY = 3 << 30
SECONDS = 5.0


def content_of(values: dict[str, object], *, is_packed: bool) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, values, do_compression=is_packed)
    return stream.getvalue()


def with_number(content: bytearray, rng: random.Random, first: int) -> None:
    at = rng.randrange(first, max(first + 1, len(content) - 4)) // 4 * 4
    content[at : at + 4] = struct.pack("<I", rng.choice(LIES))


def broken(whole: bytes, rng: random.Random) -> bytes:
    """A file cut short, with bits turned, with sizes, types and dimensions that lie, or of another class."""
    content = bytearray(whole)
    kind, size = struct.unpack_from("<II", content, 128)
    way = rng.randrange(5)
    if way == 0:
        return whole[: rng.randrange(len(whole))]
    if way == 1:
        for _ in range(rng.choice((1, 2, 20))):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif way == 2 and kind == 15:  # within what is packed
        element = bytearray(zlib.decompress(content[136 : 136 + size]))
        with_number(element, rng, 0)
        stream = zlib.compress(element)
        return bytes(content[:128]) + struct.pack("<II", 15, len(stream)) + stream
    elif way == 3 and kind != 15:
        content[144] = rng.randrange(20)  # the class of the first matrix
        with_number(content, rng, 152)
    else:
        with_number(content, rng, 128)
    return bytes(content)


def attack(folder: Path, seed: int, count: int) -> None:
    """Read broken files in this process; it must not end, and nothing may take long."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    wholes = [content_of({name: VALUES[name]}, is_packed=packed) for name in VALUES for packed in (False, True)]
    file = folder / "broken.mat"
    refused = 0
    for number in range(count):
        file.write_bytes(broken(rng.choice(wholes), rng))
        started = time.perf_counter()
        for read in (lambda: read_mat(file), lambda: read_struct(file, "ECG", ("data",))):
            try:
                read()
            except DataError:
                refused += 1
        assert time.perf_counter() - started < SECONDS, number
    assert refused > count // 2, refused


def test_broken_files_are_refused_or_read_in_bounded_time_and_memory(tmp_path: Path) -> None:
    # In a process of its own: scipy's reader has ended the process over such files.
    command = [sys.executable, str(Path(__file__)), str(tmp_path), "7", "1200"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    ("value", "at", "number", "cause"),
    [
        (CELLS, 16, 6, "element 4 of its matrix .*, of class 6, should be none"),  # cells that are called numbers
        (CELLS, 16, 4, "element 4 of its matrix .*, of class 4, should be none"),
        (np.eye(2), 16, 1, "has 4 elements and needs 7"),  # numbers that are called cells
        (np.eye(1), 16, 1, "element 4 of its matrix .*, of class 1, should be a matrix"),
        (np.eye(2), 16, 17, "has 4 elements and needs 5"),
        ("hello", 28, 3, "has 3 bytes of dimensions"),
        ("hello", 28, 1, "has 1 bytes of dimensions"),
        (np.eye(2), 28, 4, "has 4 bytes of dimensions"),
    ],
)
def test_a_matrix_that_is_not_of_its_class_never_comes_to_scipy(
    value: object, at: int, number: int, cause: str, is_packed: bool, tmp_path: Path
) -> None:
    """scipy would take the elements for what the class has, and end the process."""
    content = content_of({"v": value}, is_packed=False)
    element = content[128:]
    element = element[:at] + struct.pack("<I", number) + element[at + 4 :]
    if is_packed:
        stream = zlib.compress(element)
        element = struct.pack("<II", 15, len(stream)) + stream
    (tmp_path / "a.mat").write_bytes(content[:128] + element)
    with pytest.raises(DataError, match=cause):
        check_mat5(tmp_path / "a.mat", "it")


@pytest.mark.parametrize("is_packed", [False, True])
def test_sound_files_of_every_class_are_let_through(is_packed: bool, tmp_path: Path) -> None:
    more = {"l": np.array([[True]]), "e": np.zeros((0, 3)), "n": {"n": CELLS}, "none": np.empty((0, 0), dtype=object)}
    (tmp_path / "a.mat").write_bytes(content_of({**VALUES, **more}, is_packed=is_packed))
    check_mat5(tmp_path / "a.mat", "it")
    np.testing.assert_array_equal(read_mat(tmp_path / "a.mat", "ECG.data"), np.arange(60.0).reshape(12, 5))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    attack(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
