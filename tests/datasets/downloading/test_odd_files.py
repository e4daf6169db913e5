"""What lies in a folder, and what lists and archives name: nothing of the user is lost, nothing wrong is kept."""

from __future__ import annotations

import io
import os
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from einthoven.datasets.downloading import verifying
from einthoven.datasets.downloading.archives import unpack
from einthoven.datasets.downloading.download import download
from einthoven.datasets.downloading.names import printable
from einthoven.datasets.downloading.part import part_of, parts_folder
from einthoven.datasets.downloading.reading import OddFileError, read
from einthoven.datasets.downloading.release import Release
from einthoven.datasets.downloading.result import Download
from einthoven.datasets.downloading.stopping import Stop, Stopped
from einthoven.datasets.downloading.sums import parse_sums
from einthoven.datasets.downloading.verifying import verify
from einthoven.foundation.errors import DataError

from .conftest import QUICK

FILES = {"a.dat": b"right", "b.dat": b"good"}
A, B = "a" * 64, "b" * 64


def fetch(server, folder: Path, **options) -> Download:
    return download(options.pop("release", Release(urls=(server.url,))), folder, patience=QUICK, **options)


def test_a_file_that_changes_after_it_was_read_is_not_remembered_as_right(serve, tmp_path, monkeypatch) -> None:
    server = serve(FILES)
    for path, body in FILES.items():
        (tmp_path / path).write_bytes(body)
    before = verifying.read

    def read_then_change(file: Path, check):
        found = before(file, check)
        if file.name == "a.dat":
            file.write_bytes(b"WRONG")
        return found

    monkeypatch.setattr(verifying, "read", read_then_change)
    assert fetch(server, tmp_path).kept == 2
    monkeypatch.setattr(verifying, "read", before)
    again = fetch(server, tmp_path)
    assert (again.set_aside, again.fetched) == (("a.dat",), ("a.dat",))
    # One that was fetched, too.
    (tmp_path / "a.dat").write_bytes(b"wrong")
    assert fetch(server, tmp_path).set_aside == ("a.dat",)


def test_a_file_that_changes_while_it_is_read_is_a_failure(tmp_path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"x")
    with pytest.raises(OddFileError, match="was changed while it was read"):
        read(file, lambda: file.write_bytes(b"yy") and None)
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        read(file, stop.check)


def test_what_lies_there_and_is_no_file_is_a_failure_of_its_own(serve, tmp_path) -> None:
    names = ("pipe", "loop", "folder", "n" * 300, "fine")
    server = serve(dict.fromkeys(names, b"x"))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    started = time.monotonic()
    done = fetch(server, tmp_path)
    assert done.fetched == ("fine",)
    assert set(done.failures) == set(names) - {"fine"}
    assert "a named pipe lies there; a file was expected" in done.failures["pipe"]
    assert "a folder lies there" in done.failures["folder"]
    assert "symbolic links" in done.failures["loop"]
    assert "longer than this disk allows" in done.failures["n" * 300]
    found = verify(tmp_path)
    assert (found.ok, found.missing, set(found.failures)) == (False, (), set(names) - {"fine"})
    assert time.monotonic() - started < 3


def test_what_may_not_be_read_or_written_is_a_failure_of_its_own(serve, tmp_path, monkeypatch) -> None:
    """Permissions do not hold for root, so the system is made to refuse."""
    server = serve({"a.dat": b"x", "closed/b.dat": b"y", "c.dat": b"z"})
    (tmp_path / "a.dat").write_bytes(b"x")
    real_open, real_replace = os.open, Path.replace

    def refusing_open(path, *arguments, **named):
        if str(path).endswith("a.dat"):
            raise PermissionError(13, "Permission denied", str(path))
        return real_open(path, *arguments, **named)

    def refusing_replace(self, target):
        if Path(target).name == "b.dat":
            raise PermissionError(13, "Permission denied", str(target))
        return real_replace(self, target)

    monkeypatch.setattr(os, "open", refusing_open)
    monkeypatch.setattr(Path, "replace", refusing_replace)
    done = fetch(server, tmp_path)
    assert (set(done.failures), done.fetched) == ({"a.dat", "closed/b.dat"}, ("c.dat",))
    assert all("Permission denied" in why for why in done.failures.values())


def test_the_longest_names_are_fetched_and_set_aside(serve, tmp_path) -> None:
    name = "n" * 255
    server = serve({name: b"x"})
    assert fetch(server, tmp_path).ok
    (tmp_path / name).write_bytes(b"other")
    assert fetch(server, tmp_path).set_aside == (name,)
    assert (tmp_path / f"{'n' * 240}.corrupt").read_bytes() == b"other"


def test_setting_aside_overwrites_nothing_and_takes_no_listed_name(serve, tmp_path) -> None:
    server = serve({"x": b"right", "x.corrupt": b"listed"})
    said: list[str] = []
    for edit in (b"right", b"first", b"second"):
        assert fetch(server, tmp_path, say=said.append).ok
        (tmp_path / "x").write_bytes(edit)
    assert fetch(server, tmp_path, say=said.append).ok
    kept = [(tmp_path / name).read_bytes() for name in ("x", "x.corrupt", "x.corrupt-2", "x.corrupt-3")]
    assert kept == [b"right", b"listed", b"first", b"second"]
    assert any("kept as x.corrupt-3" in line for line in said)


def test_a_part_that_is_a_link_is_not_followed(serve, tmp_path) -> None:
    server = serve({"a.dat": b"1" * 100, "b.dat": b"2"})
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    parts_folder(tmp_path / "to").mkdir(parents=True)
    part_of(tmp_path / "to", "a.dat").symlink_to(victim)
    part_of(tmp_path / "to", "b.dat").mkdir()
    assert fetch(server, tmp_path / "to").ok
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "to" / "a.dat").is_symlink()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([f"{A} x", f"{B} x/y"], "line 2: x/y is refused: x is a file"),
        ([f"{A} x/y/z", f"{B} x"], "line 2: x is refused: it is a folder"),
        ([f"{A} list/x"], "line 1: list/x is refused: list is a file"),
        ([f"{A} y", f"{A} .einthoven-download/found"], "line 2: .* keep files of their own there"),
        ([f"{A} .Einthoven-Download"], "line 1: .* keep files of their own there"),
    ],
)
def test_a_list_whose_names_get_in_each_others_way_is_refused(lines, words) -> None:
    with pytest.raises(DataError, match=words):
        parse_sums(lines, where="list", name="list")


def test_names_that_look_like_parts_are_names(serve, tmp_path) -> None:
    server = serve({"x": b"1" * 100, ".x.part": b"2" * 50, ".x.part-of": b"3", "sub/.einthoven-download/y": b"4"})
    assert fetch(server, tmp_path).ok
    found = verify(tmp_path)
    assert (found.ok, found.files, found.extra) == (True, 4, ())


def test_verify_checks_what_the_release_promises(serve, tmp_path) -> None:
    server = serve(FILES)
    release = Release(urls=(server.url,), include=("*.dat", "zz/*"), unpack=(("z.zip", "z"),))
    assert set(fetch(server, tmp_path, release=release).failures) == {"zz/*", "z.zip"}
    found = verify(tmp_path)
    assert (found.ok, set(found.failures)) == (False, {"zz/*", "z.zip"})


@pytest.mark.parametrize("text", ['{"sums": 5}', "[]", "nonsense", '{"include": 3, "sums": "x"}'])
def test_a_selection_that_is_damaged_is_said(serve, tmp_path, text) -> None:
    server = serve(FILES)
    assert fetch(server, tmp_path).ok
    file = tmp_path / ".einthoven-download" / "selection.json"
    file.write_text(text)
    with pytest.raises(DataError, match="is damaged"):
        verify(tmp_path)
    file.unlink()
    assert fetch(server, tmp_path).ok


def zip_bytes(members: dict[str, bytes]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return body.getvalue()


def test_an_unpacked_folder_is_repaired_and_what_is_the_users_stays(serve, tmp_path) -> None:
    server = serve({"m.zip": zip_bytes({"m/a.dat": b"AAAA", "m/b.dat": b"BB", "m/deep/c.dat": b"C"})})
    release = Release(urls=(server.url,), unpack=(("m.zip", "m"),))
    said: list[str] = []
    assert fetch(server, tmp_path, release=release).ok
    assert fetch(server, tmp_path, release=release, say=said.append).ok
    assert not any("m.zip" in line for line in said)
    times = (tmp_path / "m/a.dat").stat()
    (tmp_path / "m/a.dat").write_bytes(b"XXXX")
    os.utime(tmp_path / "m/a.dat", ns=(times.st_atime_ns, times.st_mtime_ns))
    (tmp_path / "m/deep/c.dat").unlink()
    (tmp_path / "m/notes.txt").write_text("mine")
    found = verify(tmp_path)
    assert (found.missing, found.corrupt, found.extra) == (("m/deep/c.dat",), ("m/a.dat",), ("m/notes.txt",))
    assert fetch(server, tmp_path, release=release, say=said.append).ok
    assert any("m/a.dat is not as m.zip has it" in line for line in said)
    found = verify(tmp_path)
    assert (found.ok, found.extra) == (True, ("m/a.dat.corrupt", "m/notes.txt"))
    assert (tmp_path / "m/a.dat.corrupt").read_bytes() == b"XXXX"
    assert (tmp_path / "m/notes.txt").read_text() == "mine"


def test_a_folder_of_an_archive_that_is_in_use_is_left_alone(serve, tmp_path) -> None:
    body = zip_bytes({"m/a.dat": b"A"})
    release = ("m.zip", "m")
    server = serve({"m.zip": body, "m/listed.txt": b"L"})
    mixed = fetch(server, tmp_path / "mixed", release=Release(urls=(server.url,), unpack=(release,)))
    assert "where the list has m/listed.txt" in mixed.failures["m.zip"]
    assert (tmp_path / "mixed/m/listed.txt").is_file()
    assert "where the list has m/listed.txt" in verify(tmp_path / "mixed").failures["m.zip"]
    server = serve({"m.zip": body})
    for name in ("file", "link"):
        folder = tmp_path / name
        folder.mkdir()
        (tmp_path / "precious").mkdir(exist_ok=True)
        (folder / "m").write_text("mine") if name == "file" else (folder / "m").symlink_to(tmp_path / "precious")
        done = fetch(server, folder, release=Release(urls=(server.url,), unpack=(release,)))
        assert "a file or a link" in done.failures["m.zip"]
        assert not list((tmp_path / "precious").iterdir())
        assert os.path.lexists(folder / "m")


def test_archives_that_break_the_libraries_are_failures_of_their_own(serve, tmp_path) -> None:
    # The name claims to be UTF-8.
    body = zip_bytes({"\u00e9": b"x"}).replace("\u00e9".encode(), b"\xc3\xc3")
    server = serve({"m.zip": body, "a.dat": b"A"})
    done = fetch(server, tmp_path, release=Release(urls=(server.url,), unpack=(("m.zip", "m"),)))
    assert "UnicodeDecodeError" in done.failures["m.zip"]
    assert done.fetched == ("a.dat", "m.zip")
    assert "UnicodeDecodeError" in verify(tmp_path).failures["m.zip"]
    (tmp_path / "both.zip").write_bytes(zip_bytes({"x": b"1", "x/y": b"2"}))
    with pytest.raises(DataError, match="holds x as a file and x/y in it"):
        unpack(tmp_path / "both.zip", tmp_path / "both")
    many = io.BytesIO()
    with tarfile.open(fileobj=many, mode="w:gz") as opened:
        for number in range(3000):
            opened.addfile(tarfile.TarInfo(f"{number}"))
    (tmp_path / "many.tar.gz").write_bytes(many.getvalue())
    with pytest.raises(DataError, match="holds more than 1,"):
        unpack(tmp_path / "many.tar.gz", tmp_path / "many")


def test_texts_are_printable() -> None:
    assert printable("caf\u00e9 1.dat") == "caf\u00e9 1.dat"
    assert printable("a\x1b[31m\n\udcff\u202e") == "a\\x1b[31m\\n\\udcff\\u202e"
