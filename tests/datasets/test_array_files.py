"""Array files, whole and broken."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from einthoven.datasets.array_files import Rows, h5_column, read_h5, read_mat, read_npy
from einthoven.datasets.mat5_elements import check_mat5
from einthoven.foundation.errors import DataError

ARRAY = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)


def write_h5(file: Path, **arrays: np.ndarray) -> Path:
    with h5py.File(file, "w") as opened:
        for name, array in arrays.items():
            opened[name] = array
    return file


def write_mat73(file: Path) -> Path:
    """The layout of MATLAB 7.3: 512 bytes of text, then HDF5 with reversed axes and structs as groups."""
    with h5py.File(file, "w", userblock_size=512) as opened:
        opened["ECG/data"] = ARRAY[0].T
        opened["#refs#/a"] = np.eye(2)
    with file.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(512))
    return file


def test_one_row_of_a_npy_is_mapped_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ARRAY)
    assert isinstance(read_npy(tmp_path / "a.npy"), np.memmap)
    assert np.array_equal(Rows(tmp_path / "a.npy")[1], ARRAY[1])
    with pytest.raises(DataError, match="has 2 rows, 0 to 1; row 2 was asked for"):
        Rows(tmp_path / "a.npy")[2]


@pytest.mark.parametrize("version", ["4", "5"])
def test_mat_files_of_old_versions(version: str, tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "a.mat", {"val": ARRAY[0]}, format=version)
    assert np.array_equal(read_mat(tmp_path / "a.mat"), ARRAY[0])
    assert np.array_equal(read_mat(tmp_path / "a.mat", "val"), ARRAY[0])
    with pytest.raises(DataError, match=r"Unknown variable 'vol'.*Did you mean 'val'"):
        read_mat(tmp_path / "a.mat", "vol")


def test_fields_of_structs(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "a.mat", {"ECG": {"data": ARRAY[0], "lead": {"names": 3.0}}})
    assert np.array_equal(read_mat(tmp_path / "a.mat", "ECG.data"), ARRAY[0])
    assert read_mat(tmp_path / "a.mat", "ECG.lead.names").item() == 3
    with pytest.raises(DataError, match="real numbers were expected"):
        read_mat(tmp_path / "a.mat", "ECG.lead")
    with pytest.raises(DataError, match="0 arrays that could be the signal"):
        read_mat(tmp_path / "a.mat")


def test_a_mat_file_of_version_73_has_its_shape_in_matlab(tmp_path: Path) -> None:
    file = write_mat73(tmp_path / "a.mat")
    assert np.array_equal(read_mat(file, "ECG.data"), ARRAY[0])


def test_two_candidates_are_refused(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "a.mat", {"a": ARRAY[0], "b": ARRAY[1]})
    with pytest.raises(DataError, match=r"2 arrays that could be the signal \(a, b\)"):
        read_mat(tmp_path / "a.mat")
    with pytest.raises(DataError, match=r"2 arrays that could be the signal"):
        read_h5(write_h5(tmp_path / "a.h5", a=ARRAY, b=ARRAY))


def test_rows_of_both_kinds(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ARRAY)
    file = write_h5(tmp_path / "a.h5", tracings=ARRAY, exam_id=np.array([7, 9]))
    for rows in (Rows(tmp_path / "a.npy"), Rows(file, "tracings"), Rows(file)):
        assert (len(rows), rows.shape) == (2, (2, 3, 4))
        assert np.array_equal(rows[1], ARRAY[1])
        with pytest.raises(DataError, match="row -1 was asked for"):
            rows[-1]
    assert np.array_equal(read_h5(file, "tracings", row=0), ARRAY[0])
    with pytest.raises(DataError, match="three axes were expected"):
        len(Rows(file, "exam_id"))


@pytest.mark.parametrize("ids", [[7, 9], [7.0, 9.0], [b"7", b"9"]])
def test_ids_beside_the_signals_are_text(ids: list[object], tmp_path: Path) -> None:
    file = write_h5(tmp_path / "a.h5", exam_id=np.array(ids))
    assert h5_column(file, "exam_id") == ["7", "9"]
    with pytest.raises(DataError, match="Did you mean 'exam_id'"):
        h5_column(file, "exam_ids")


@pytest.mark.parametrize("suffix", ["npy", "mat", "h5"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git-lfs pointer"),
        (b"something else altogether, but long enough to be anything at all" * 20, "cannot be read|no .* file"),
        (None, "does not exist"),
    ],
)
def test_files_that_are_none(suffix: str, content: bytes | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / f"a.{suffix}"
    if content is not None:
        file.write_bytes(content)
    read = {"npy": read_npy, "mat": read_mat, "h5": read_h5}[suffix]
    with pytest.raises(DataError, match=words):
        read(file, where="record 7")


@pytest.mark.parametrize("suffix", ["npy", "mat", "h5"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_files_cut_short(suffix: str, share: float, tmp_path: Path) -> None:
    file = tmp_path / f"a.{suffix}"
    array = np.random.default_rng(0).normal(size=(12, 500))
    if suffix == "npy":
        np.save(file, array)
    elif suffix == "mat":
        scipy.io.savemat(file, {"val": array})
    else:
        write_h5(file, val=array)
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    read = {"npy": read_npy, "mat": read_mat, "h5": read_h5}[suffix]
    with pytest.raises(DataError):
        read(file)


def h5_elsewhere(folder: Path, kind: str) -> Path:
    """A file whose array "ECG/data" is, or pretends to be, somewhere else."""
    other = write_h5(folder / "other.h5", data=ARRAY)
    file = folder / "a.h5"
    with h5py.File(file, "w") as opened:
        group = opened.create_group("ECG")
        if kind == "external link":
            group["data"] = h5py.ExternalLink(str(other), "data")
        elif kind == "soft link to an external link":
            opened["there"] = h5py.ExternalLink(str(other), "/")
            group["data"] = h5py.SoftLink("/there/data")
        elif kind == "external storage":
            (folder / "raw").write_bytes(ARRAY.tobytes())
            group.create_dataset("data", ARRAY.shape, ARRAY.dtype, external=[(str(folder / "raw"), 0, ARRAY.nbytes)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout(ARRAY.shape, ARRAY.dtype)
            layout[:] = h5py.VirtualSource(other, "data", ARRAY.shape)
            group.create_virtual_dataset("data", layout)
        elif kind == "loop":
            group["data"] = h5py.SoftLink("data")
        elif kind == "nowhere":
            group["data"] = h5py.SoftLink("/none")
        elif kind == "without shape":
            group["data"] = h5py.Empty("f4")
        elif kind == "larger than all disks":
            group.create_dataset("data", (2, 2**40, 60), "f4", chunks=(1, 1024, 1))
        else:
            group.create_dataset("data", data=np.array(["a"], dtype=h5py.string_dtype()))
    return file


ELSEWHERE = {
    "external link": "ECG/data of .* is a link to another file .*other.h5.* Copy",
    "soft link to an external link": "ECG/data of .* is a link to another file",
    "external storage": "ECG/data of .* has its numbers in another file",
    "virtual": "ECG/data of .* is put together from other arrays",
    "loop": "is a link that leads to itself",
    "nowhere": "Unknown array",
    "without shape": "ECG/data of .* is empty",
    "larger than all disks": r"ECG/data of .* says it has shape \(2, 1099511627776, 60\)",
    "text": "real numbers were expected",
}


@pytest.mark.parametrize("kind", ELSEWHERE)
@pytest.mark.parametrize("reading", ["all", "row", "rows", "mat", "only"])
def test_hdf5_arrays_that_are_not_in_their_file(kind: str, reading: str, tmp_path: Path) -> None:
    file = h5_elsewhere(tmp_path, kind)
    with pytest.raises(DataError) as caught:
        if reading == "all":
            read_h5(file, "ECG/data")
        elif reading == "row":
            read_h5(file, "/ECG/data", row=0)
        elif reading == "rows":
            Rows(file, "ECG/data")[0]
        elif reading == "mat":
            read_mat(file, "ECG.data")
        else:
            read_h5(file)
    if reading == "only" and kind in ("external link", "soft link to an external link", "loop", "nowhere"):
        assert caught.match("0 arrays that could be the signal .*a link, ECG/data")
    elif reading == "only" and kind in ("without shape", "text"):
        assert caught.match("0 arrays that could be the signal")
    elif not (reading == "rows" and kind == "text"):
        assert caught.match(ELSEWHERE[kind])


def test_links_within_a_file_are_followed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        opened["deep/est/data"] = ARRAY
        opened["deep/near"] = h5py.SoftLink("est")
        opened["far"] = h5py.SoftLink("/deep/near/data")
        opened["hard"] = opened["deep"]
    for key in ("far", "deep/near/data", "/deep//est/./data", "hard/near/data"):
        assert np.array_equal(read_h5(tmp_path / "a.h5", key), ARRAY)
    with pytest.raises(DataError, match="Unknown array 'far/data'"):
        read_h5(tmp_path / "a.h5", "far/data")


def test_an_array_of_zeros_may_be_packed_well(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        opened.create_dataset("data", (3, 2**20, 12), "f4", chunks=(1, 2**16, 12), compression="gzip")
    assert not read_h5(tmp_path / "a.h5", "data", row=2).any()


@given(at=st.integers(0, 4000), value=st.integers(0, 255))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_hdf5_with_a_wrong_byte_is_read_or_refused(at: int, value: int, tmp_path: Path) -> None:
    content = bytearray(write_h5(tmp_path / "a.h5", data=ARRAY).read_bytes())
    content[at % len(content)] = value
    (tmp_path / "b.h5").write_bytes(content)
    for key in ("data", None):
        try:
            read_h5(tmp_path / "b.h5", key)
        except DataError:
            continue


def npy(header: str, version: bytes = b"\x01\x00") -> bytes:
    text = header.ljust(117).encode("latin-1") + b"\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + bytes(96)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 12), }}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 40 + ",), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000, 12), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 12), }",
        "{'descr': [], 'fortran_order': False, 'shape': (2, 12), }",
        "{'descr': [('a',)], 'fortran_order': False, 'shape': (2, 12), }",
        "{'descr': ('<f4', ((((1,),),),)), 'fortran_order': False, 'shape': (2, 12), }",
        "{'descr': 7, 'fortran_order': False, 'shape': (2, 12), }",
        "{'descr': '<f4', 'fortran_order': 3, 'shape': None, }",
        "{[]: 1}",
        "(" * 110,
        "\0",
        "'''",
        "\\",
    ],
)
def test_npy_headers_of_anything(header: str, tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(npy(header))
    with pytest.raises(DataError, match=r"a\.npy of record 7 "):
        read_npy(tmp_path / "a.npy", where="record 7")


def test_npy_versions_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 12), }"))
    assert read_npy(tmp_path / "a.npy").shape == (2, 12)
    (tmp_path / "a.npy").write_bytes(npy("{}", b"\x09\x09"))
    with pytest.raises(DataError, match="cannot be read"):
        read_npy(tmp_path / "a.npy")


@pytest.mark.parametrize("number", [0x70000000, 0xE0000048, 0x00FFFFFF])
def test_mat_elements_that_reach_too_far_never_come_to_scipy(number: int, tmp_path: Path) -> None:
    """They ended the process; each word of the file in turn is set to a large number."""
    cells = np.empty((1, 2), dtype=object)
    cells[:] = [[np.eye(2), np.array([1, 2])]]
    scipy.io.savemat(tmp_path / "a.mat", {"s": {"x": ARRAY[0], "y": {"z": "text"}}, "c": cells, "v": ARRAY[0]})
    content = (tmp_path / "a.mat").read_bytes()
    assert np.array_equal(read_mat(tmp_path / "a.mat", "s.x"), ARRAY[0])
    refused = 0
    for at in range(128, len(content) - 3, 4):
        (tmp_path / "b.mat").write_bytes(content[:at] + number.to_bytes(4, "little") + content[at + 4 :])
        try:
            read_mat(tmp_path / "b.mat", "s.x")
        except DataError:
            refused += 1
    assert refused > 20


def packed(*elements: bytes) -> bytes:
    """A MATLAB 5 file of these elements, each packed by itself."""
    streams = [zlib.compress(element) for element in elements]
    head = b"MATLAB 5.0".ljust(124) + b"\x00\x01IM"
    return head + b"".join(struct.pack("<II", 15, len(stream)) + stream for stream in streams)


def plain_elements(folder: Path) -> list[bytes]:
    scipy.io.savemat(folder / "a.mat", {"s": {"x": ARRAY[0], "y": {"z": "text"}}, "v": ARRAY[0]})
    content = (folder / "a.mat").read_bytes()
    elements, at = [], 128
    while at < len(content):
        size = 8 + struct.unpack_from("<I", content, at + 4)[0]
        elements.append(content[at : at + size])
        at += size
    return elements


@pytest.mark.parametrize("number", [0x70000000, 0xE0000048, 0x00FFFFFF])
def test_packed_mat_elements_that_reach_too_far_never_come_to_scipy(number: int, tmp_path: Path, monkeypatch) -> None:
    """As above, within what is packed; scipy is only let near files in which everything fits."""
    whole, other = plain_elements(tmp_path)
    (tmp_path / "b.mat").write_bytes(packed(whole, other))
    assert np.array_equal(read_mat(tmp_path / "b.mat", "s.x"), ARRAY[0])
    plain = set()
    for at in range(8, len(whole) - 3, 4):
        broken = whole[:at] + number.to_bytes(4, "little") + whole[at + 4 :]
        for name, content in (("plain", (tmp_path / "a.mat").read_bytes()[:128] + broken), ("packed", packed(broken))):
            (tmp_path / "b.mat").write_bytes(content)
            try:
                check_mat5(tmp_path / "b.mat", "it")
            except DataError:
                plain.add((at, name))
    assert len(plain) > 20
    assert {at for at, name in plain if name == "plain"} == {at for at, name in plain if name == "packed"}


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ("complex", "has 4 elements and needs 5"),
        ("one cell more", "has 5 elements and needs 6"),
        ("-1 cells", "has 5 elements and needs"),
        ("no numbers", "has 3 elements and needs 4"),
    ],
)
def test_a_matrix_with_fewer_elements_than_it_says_never_comes_to_scipy(
    change: str, cause: str, is_packed: bool, tmp_path: Path
) -> None:
    """scipy would read the imaginary parts, or the cell, from behind the matrix, and end the process."""
    cells = np.empty((1, 2), dtype=object)
    cells[:] = [[np.eye(2), np.array([1, 2])]]
    scipy.io.savemat(tmp_path / "a.mat", {"v": cells if "cell" in change else ARRAY[0]})
    content = bytearray((tmp_path / "a.mat").read_bytes())
    if change == "complex":
        content[128 + 17] |= 0x08
    elif change == "no numbers":
        content = content[: 128 + 48]  # flags, dimensions, name
        content[132:136] = struct.pack("<I", 40)
    else:
        content[128 + 36 : 128 + 40] = struct.pack("<i", 3 if change == "one cell more" else -1)
    (tmp_path / "b.mat").write_bytes(packed(bytes(content[128:])) if is_packed else content)
    with pytest.raises(DataError, match=f"cannot be read as a MATLAB file: its matrix at byte .* {cause}"):
        read_mat(tmp_path / "b.mat", "v")


@pytest.mark.parametrize("damage", ["a bit", "cut", "no stream", "says more", "says less", "twice packed", "a bomb"])
def test_packed_mat_elements_that_do_not_unpack_are_refused(damage: str, tmp_path: Path) -> None:
    whole, other = plain_elements(tmp_path)
    content = bytearray(packed(whole, other))
    size = len(whole) - 8
    if damage == "a bit":
        content[-2] ^= 1  # of the last checksum
    elif damage == "cut":
        content = content[:-3]
    elif damage == "no stream":
        content[136:140] = b"none"
    elif damage == "twice packed":
        content = packed(packed(whole)[128:], other)
    elif damage == "a bomb":
        content = packed(struct.pack("<II", 1, 2**31) + bytes(2**16))
    else:
        said = size + 800 if damage == "says more" else size - 16
        content = packed(whole[:4] + struct.pack("<I", said) + whole[8:], other)
    (tmp_path / "b.mat").write_bytes(content)
    with pytest.raises(
        DataError, match=r"b\.mat cannot be read as a MATLAB file: its element at byte .* Export it again"
    ):
        read_mat(tmp_path / "b.mat", "v")


def test_mat_files_that_scipy_reads_are_let_through(tmp_path: Path) -> None:
    folder = Path(scipy.io.matlab.__file__).parent / "tests" / "data"
    files = sorted(folder.glob("test*_[5678]*.mat"))
    if not files:
        pytest.skip("scipy was installed without its tests")
    for file in files:
        if "7.4" in file.name and "hdf5" in file.name:
            continue
        with pytest.raises(DataError) as caught:
            read_mat(file, "there is none")
        assert "cannot be read as a MATLAB file: its" not in str(caught.value)


@pytest.mark.realdata
def test_cpsc2018_as_it_was_released(real_data: Path) -> None:
    assert read_mat(real_data / "cpsc2018_native" / "A1980.mat", "ECG.data").shape[0] == 12
