"""Lists of sums and archives: what they may name, and what becomes of what they hold."""

from __future__ import annotations

import io
import shutil
import tarfile
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from einthoven.datasets.downloading.archives import check_unpacked, unpack
from einthoven.datasets.downloading.download import download
from einthoven.datasets.downloading.names import checked_path
from einthoven.datasets.downloading.release import Release
from einthoven.datasets.downloading.sums import parse_sums, read_sums
from einthoven.datasets.downloading.verifying import verify
from einthoven.foundation.errors import DataError

from .conftest import QUICK

A, B = "a" * 64, "b" * 64


def test_every_usual_form_of_a_list_is_read(tmp_path: Path) -> None:
    text = f"{A} one.dat\r\n\r\n{B}  two words.dat\n{A.upper()} *three.dat\n{B}\t./four/x.dat\n{A}  SUMS.txt"
    (tmp_path / "SUMS.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_sums(tmp_path / "SUMS.txt") == {"one.dat": A, "two words.dat": B, "three.dat": A, "four/x.dat": B}
    assert parse_sums([f"{A} x", f"{A} x"], where="list") == {"x": A}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([f"{A} x", f"{B} x"], "line 2: x was named before with another sha256"),
        ([f"{A[:63]} x"], "line 1: 'sha256  path' was expected"),
        ([f"{A}x"], "was expected"),
        ([f"{A} "], "was expected"),
        ([f"\\{A}  x\\ny"], "was expected"),
        ([f"{'g' * 64} x"], "was expected"),
    ],
)
def test_a_line_that_is_none_is_refused(lines, words) -> None:
    with pytest.raises(DataError, match=words):
        parse_sums(lines, where="list")


ESCAPES = [
    "../x",
    "a/../../x",
    "/x",
    "C:x",
    "C:/x",
    "a\\..\\x",
    "\\\\host\\x",
    "a//x",
    "a/./x",
    "a\x00b",
    "a\nb",
    "",
    "a/",
]


@pytest.mark.parametrize("name", ESCAPES)
def test_a_name_that_escapes_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="is refused"):
        checked_path(name, where="list")


@given(st.text(st.sampled_from("./\\:aC\0"), max_size=8))
def test_a_name_that_is_taken_stays_below(name: str) -> None:
    try:
        path = checked_path(name, where="list")
    except DataError:
        return
    top = Path("/somewhere/below")
    assert top in (top / path).resolve().parents


def zip_of(file: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, body in members.items():
            opened.writestr(name, body)
    return file


def tar_of(file: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(file, "w:gz") as opened:
        for info, body in members:
            info.size = len(body)
            opened.addfile(info, io.BytesIO(body))
    return file


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_archives_are_unpacked_whole_and_a_folder_of_the_same_name_is_not_doubled(tmp_path: Path) -> None:
    plain = zip_of(tmp_path / "a.zip", {"x.dat": b"1", "deep/y.dat": b"22"})
    doubled = zip_of(tmp_path / "b.zip", {"b/": b"", "b/x.dat": b"1", "b/deep/y.dat": b"22"})
    tar = tar_of(tmp_path / "c.tar.gz", (tarfile.TarInfo("c/x.dat"), b"1"), (tarfile.TarInfo("c/deep/y.dat"), b"22"))
    for archive, into in ((plain, "a"), (doubled, "b"), (tar, "c")):
        assert sorted(unpack(archive, tmp_path / into)) == ["deep/y.dat", "x.dat"]
        assert (tmp_path / into / "x.dat").read_bytes() == b"1"
        assert (tmp_path / into / "deep" / "y.dat").read_bytes() == b"22"
        assert check_unpacked(archive, tmp_path / into)[:2] == ([], [])
        (tmp_path / into / "x.dat").write_bytes(b"3")
        (tmp_path / into / "deep" / "y.dat").unlink()
        assert check_unpacked(archive, tmp_path / into)[:2] == (["deep/y.dat"], ["x.dat"])


@pytest.mark.parametrize("name", [name for name in ESCAPES if name not in ("", "a/", "a\x00b")])
def test_a_member_that_escapes_is_refused_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    into = tmp_path / "in" / "target"
    into.mkdir(parents=True)
    (into / "old").write_text("stays")
    for archive in (
        zip_of(tmp_path / "a.zip", {"fine": b"1", name: b"2"}),
        tar_of(tmp_path / "a.tar", (tarfile.TarInfo("fine"), b"1"), (tarfile.TarInfo(name), b"2")),
    ):
        with pytest.raises(DataError, match="is refused"):
            unpack(archive, into)
        assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["a.tar", "a.zip", "old"] or (
            archive.suffix == ".zip"
        )
        assert [path.name for path in into.parent.iterdir()] == ["target"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    archive = tar_of(tmp_path / "a.tar", (link("x", "../../etc/passwd", kind), b""))
    with pytest.raises(DataError, match="a link or a device"):
        unpack(archive, tmp_path / "to")
    info = zipfile.ZipInfo("x")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as opened:
        opened.writestr(info, "../../etc/passwd")
    with pytest.raises(DataError, match="a link or a device"):
        unpack(tmp_path / "a.zip", tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_bombs_wrong_sums_doubles_and_no_room_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = bytes(range(256)) * 40
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("x.dat", body)
    raw = bytearray(archive.read_bytes())
    raw[raw.index(body) + 7] ^= 1
    (tmp_path / "crc.zip").write_bytes(raw)
    (tmp_path / "cut.zip").write_bytes(archive.read_bytes()[:-30])
    (tmp_path / "text.zip").write_text("<html>")
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as opened:
        opened.writestr("x.dat", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            opened.writestr("x.dat", "2")
    zip_of(tmp_path / "empty.zip", {})
    small = bytearray(archive.read_bytes())
    # The size that the directory declares, made smaller: what comes beyond it must not be written.
    at = small.rindex(len(body).to_bytes(4, "little"))
    small[at : at + 4] = (100).to_bytes(4, "little")
    (tmp_path / "liar.zip").write_bytes(small)
    wide = bytearray(zip_of(tmp_path / "wide.zip", {"x.dat": bytes(100)}).read_bytes())
    at = wide.rindex((100).to_bytes(4, "little"))
    wide[at : at + 4] = (10**9).to_bytes(4, "little")
    (tmp_path / "wide.zip").write_bytes(wide)
    for name, words in {
        "crc.zip": "CRC",
        "cut.zip": "cannot be unpacked",
        "text.zip": "cannot be unpacked",
        "twice.zip": "twice",
        "empty.zip": "holds no file",
        "liar.zip": "cannot be unpacked|larger than",
        "wide.zip": "at most 2000 to 1",
    }.items():
        with pytest.raises(DataError, match=words):
            unpack(tmp_path / name, tmp_path / "to")
        assert not (tmp_path / "to").exists(), name
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, 64 << 20))
    with pytest.raises(DataError, match="unpacks to 10,240 bytes; 0 are free"):
        unpack(archive, tmp_path / "to")


def test_an_archive_of_a_release_is_unpacked_once_and_verified(serve, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    archive = zip_of(tmp_path / "made" / "training.zip", {"training/1.dat": b"one", "training/2.dat": b"two"})
    server = serve({"training.zip": archive.read_bytes(), "labels.csv": b"1,N\n"})
    release = Release(urls=(server.url,), unpack=(("training.zip", "training"),))
    said: list[str] = []
    assert download(release, tmp_path / "to", patience=QUICK, say=said.append).ok
    assert (tmp_path / "to/training/1.dat").read_bytes() == b"one"
    assert verify(tmp_path / "to").ok
    assert verify(tmp_path / "to").extra == ()
    said.clear()
    assert download(release, tmp_path / "to", patience=QUICK, say=said.append).ok
    assert not any("unpacking" in line for line in said)
    (tmp_path / "to/training/1.dat").write_bytes(b"xxx")
    (tmp_path / "to/training/2.dat").unlink()
    found = verify(tmp_path / "to")
    assert (found.missing, found.corrupt) == (("training/2.dat",), ("training/1.dat",))
    assert download(release, tmp_path / "to", patience=QUICK).ok
    assert verify(tmp_path / "to").ok
