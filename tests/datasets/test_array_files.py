"""Array files, whole and broken."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io

from einthoven.datasets.array_files import Rows, h5_column, read_h5, read_mat, read_npy, read_npy_row
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
    assert np.array_equal(read_npy_row(tmp_path / "a.npy", 1), ARRAY[1])
    with pytest.raises(DataError, match="has 2 rows, 0 to 1; row 2 was asked for"):
        read_npy_row(tmp_path / "a.npy", 2)


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


@pytest.mark.realdata
def test_cpsc2018_as_it_was_released(real_data: Path) -> None:
    assert read_mat(real_data / "cpsc2018_native" / "A1980.mat", "ECG.data").shape[0] == 12
