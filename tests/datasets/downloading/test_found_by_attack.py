"""What attacks on the download found once: requests in vain, parts thrown away, names that are one, silent rot."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from einthoven.datasets.downloading import one_name, part
from einthoven.datasets.downloading.download import download
from einthoven.datasets.downloading.one_name import alike, taken_for_one
from einthoven.datasets.downloading.part import part_of, parts_folder
from einthoven.datasets.downloading.reading import stamp_of
from einthoven.datasets.downloading.release import Release
from einthoven.datasets.downloading.result import Download
from einthoven.datasets.downloading.tally import Tally
from einthoven.datasets.downloading.verifying import verify
from einthoven.datasets.downloading.web import _retry_after
from einthoven.foundation.errors import DataError

from . import misbehaving_server as bad
from .conftest import QUICK, noise
from .misbehaving_server import Handler, MisbehavingServer
from .test_odd_files import zip_bytes

SUMS = "SHA256SUMS.txt"
FILES = {"a.dat": b"A" * 3000, "b.dat": b"B" * 100}
OK = b"HTTP/1.1 200 OK\r\n"


def fetch(folder: Path, *servers: MisbehavingServer, **options) -> Download:
    release = options.pop("release", None) or Release(urls=tuple(server.url for server in servers))
    return download(release, folder, patience=QUICK, **options)


def packed(request: Handler, body: bytes) -> None:
    """Packed, though plain was asked for."""
    small = gzip.compress(body)
    request.head(200, len(small), {"Content-Encoding": "gzip"})
    request.body(small)


@pytest.mark.parametrize("wrong", [b"", b"<html>log in</html>\n", b"\xff\xfe", b"0123 x\n"])
def test_a_list_that_is_none_does_not_keep_the_mirror_from_being_asked(serve, tmp_path, wrong: bytes) -> None:
    first, mirror = serve(FILES), serve(FILES)
    first.files[SUMS] = wrong
    assert fetch(tmp_path, first, mirror).ok
    assert (tmp_path / SUMS).read_bytes() == mirror.files[SUMS]
    # If none has it, each is named.
    mirror.files[SUMS] = wrong
    with pytest.raises(DataError) as caught:
        fetch(tmp_path, first, mirror)
    assert first.url in str(caught.value)
    assert mirror.url in str(caught.value)


def test_a_list_that_comes_packed_is_none(serve, tmp_path) -> None:
    server = serve(FILES)
    server.will(SUMS, *[packed] * 9)
    with pytest.raises(DataError, match=r"the list came packed by the server .Content-Encoding gzip"):
        fetch(tmp_path, server)


def test_a_server_that_wants_to_be_left_alone_is(serve, tmp_path) -> None:
    files = {f"{n}.dat": bytes([n]) * 10 for n in range(200)}
    server = serve(files)
    for name in files:
        server.will(name, *[bad.status(429, Retry_After="3600")] * 9)
    done = fetch(tmp_path / "a", server, workers=4)
    assert len(done.failures) == 200
    # Those under way when the first was refused, and no more.
    assert sum(len(server.gets(name)) for name in files) <= 4
    assert any("asks to be left alone for 3600 s more, and so was not asked" in why for why in done.failures.values())
    assert any("32 files in a row could not be had" in why for why in done.failures.values())
    # A mirror is asked all the same.
    mirror = serve(files)
    assert fetch(tmp_path / "b", server, mirror, workers=4).ok


def test_wrong_bytes_are_told_by_their_sums_and_how_they_were_packed(serve, tmp_path) -> None:
    server = serve(FILES)
    server.will("a.dat", *[packed] * 9)
    server.will("b.dat", *[bad.flips] * 9)
    done = fetch(tmp_path, server)
    listed, came = (hashlib.sha256(first + b"B" * 99).hexdigest() for first in (b"B", b"C"))
    assert f"100 bytes came whose sha256 is not the listed one ({came} instead of {listed})" in (done.failures["b.dat"])
    assert "packed by the server (Content-Encoding gzip) though it was asked not to" in done.failures["a.dat"]
    server.will("a.dat")
    server.will("b.dat")
    assert fetch(tmp_path, server).ok


@pytest.mark.parametrize("tells", [lambda request, body: request.head(200, 0), packed])
def test_a_part_is_worth_more_than_a_length_of_something_else(serve, tmp_path, tells) -> None:
    body = noise(3 << 20, seed=5)
    server = serve({"x.dat": body})
    parts_folder(tmp_path).mkdir(parents=True)
    part_of(tmp_path, "x.dat").write_bytes(body[: 2 << 20])
    server.http.heads = (lambda request, body: packed(request, b"")) if tells is packed else tells
    done = fetch(tmp_path, server)
    assert (done.ok, done.size) == (True, 1 << 20)


def test_a_length_that_is_stated_twice_is_one_length(serve, tmp_path) -> None:
    server = serve(FILES)
    server.will("a.dat", bad.raw(OK + b"Content-Length: 3000\r\nContent-Length: 3000\r\n\r\n" + FILES["a.dat"]))
    assert fetch(tmp_path / "a", server).ok
    assert len(server.gets("a.dat")) == 1
    two = bad.raw(OK + b"Content-Length: 3000\r\nContent-Length: 3001\r\n\r\n" + FILES["a.dat"])
    server.will("a.dat", *[two] * 9)
    # urllib3 may refuse it before we do.
    assert "a.dat" in fetch(tmp_path / "b", server).failures


def test_what_lies_in_the_way_is_named(serve, tmp_path) -> None:
    server = serve({"x/a.dat": b"1", "y": b"2"})
    (tmp_path / "list" / SUMS).mkdir(parents=True)
    with pytest.raises(DataError, match=r"SHA256SUMS\.txt is a folder; .* Move it away"):
        fetch(tmp_path / "list", server)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / ".einthoven-download").write_text("x")
    with pytest.raises(DataError, match=r"\.einthoven-download cannot be written: a file lies where its folder has"):
        fetch(tmp_path / "own", server)
    (tmp_path / "parent").mkdir()
    (tmp_path / "parent" / "x").write_text("mine")
    done = fetch(tmp_path / "parent", server)
    assert done.fetched == ("y",)
    assert "move that file away" in done.failures["x/a.dat"]
    assert (tmp_path / "parent" / "x").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "not tried: the disk is full"),
        (errno.EDQUOT, "not tried: the disk quota is used up"),
        (errno.EROFS, "not tried: the disk may only be read"),
    ],
)
def test_a_disk_that_takes_no_more_is_not_filled_with_attempts(serve, tmp_path, monkeypatch, number, words) -> None:
    files = {f"{n}.dat": bytes([n]) * 10 for n in range(60)}
    server = serve(files)

    def refusing(self):
        if self.file != part_of(tmp_path, SUMS):
            raise OSError(number, "no more", str(self.file))
        return before(self)

    before = part.Part.open
    monkeypatch.setattr(part.Part, "open", refusing)
    done = fetch(tmp_path, server, workers=2)
    assert sum(words in why for why in done.failures.values()) > 50
    monkeypatch.setattr(part.Part, "open", before)
    assert fetch(tmp_path, server).ok


@pytest.mark.parametrize("which", ["say", "progress", "checking"])
def test_a_pipe_that_nobody_reads_is_no_fault_of_the_folder(serve, tmp_path, which) -> None:
    def broken(*_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        fetch(tmp_path, serve(FILES), **{which: broken})
    assert fetch(tmp_path, serve(FILES)).ok


def rot(folder: Path, path: str) -> None:
    """Other bytes that neither size nor times tell: as if the disk had lost a bit."""
    file = folder / path
    before = file.read_bytes()
    file.write_bytes(bytes([before[0] ^ 1]) + before[1:])
    own = folder / ".einthoven-download"
    sha256 = hashlib.sha256(before).hexdigest()
    with (own / "found").open("a") as stream:
        stream.write(f"\n{sha256} {stamp_of(file.stat())} {path}")
    if path.startswith("m/"):
        known = json.loads((own / "unpacked.json").read_text())
        known["m.zip"]["files"][path.removeprefix("m/")] = str(stamp_of(file.stat()))
        (own / "unpacked.json").write_text(json.dumps(known))


def test_what_rots_unseen_is_found_by_verify_and_then_repaired(serve, tmp_path) -> None:
    server = serve({**FILES, "m.zip": zip_bytes({"m/x.dat": b"XXXX"})})
    release = Release(urls=(server.url,), unpack=(("m.zip", "m"),))
    assert fetch(tmp_path, release=release).ok
    for path in ("a.dat", "m/x.dat"):
        rot(tmp_path, path)
    # By size and times nothing happened.
    assert fetch(tmp_path, release=release).kept == 3
    assert verify(tmp_path).corrupt == ("a.dat", "m/x.dat")
    again = fetch(tmp_path, release=release)
    assert (again.ok, again.set_aside) == (True, ("a.dat",))
    assert verify(tmp_path).ok
    assert (tmp_path / "m/x.dat").read_bytes() == b"XXXX"


def test_names_that_a_disk_takes_for_one_are_not_written_over_each_other(serve, tmp_path, monkeypatch) -> None:
    server = serve({"A/x.dat": b"1", "a/x.dat": b"2", "b.dat": b"3", "sha256sums.txt": b"4"})
    # This disk tells them apart.
    assert fetch(tmp_path / "apart", server).ok
    monkeypatch.setattr(one_name, "_same", lambda file, other: other.exists())
    done = fetch(tmp_path / "one", server)
    assert done.fetched == ("A/x.dat", "b.dat")
    assert set(done.failures) == {"a/x.dat", "sha256sums.txt"}
    assert "this disk takes it for A/x.dat" in done.failures["a/x.dat"]
    assert not (tmp_path / "one" / "a").exists()
    assert not list(parts_folder(tmp_path / "one").iterdir())


def test_names_that_are_alike() -> None:
    assert alike(["a", "A", "b", "caf\u00e9", "cafe\u0301", "B/x", "c"]) == [["a", "A"], ["caf\u00e9", "cafe\u0301"]]
    assert alike(["a/x", "A/y", "stra\u00dfe", "STRASSE"]) == [["stra\u00dfe", "STRASSE"]]


def test_a_disk_that_takes_names_for_one_is_found_out(tmp_path, monkeypatch) -> None:
    names = ["a/x", "A/x", "A/X"]
    assert taken_for_one(tmp_path, names) == {}
    real = Path.touch

    def fold(file: Path) -> None:
        """Make the file under all its names, as far as a trial sees it."""
        real(file)
        for name in names:
            other = file.parents[1] / name
            other.parent.mkdir(exist_ok=True)
            if not other.exists():
                os.link(file, other)

    monkeypatch.setattr(Path, "touch", fold)
    assert taken_for_one(tmp_path, names) == {"A/x": "a/x", "A/X": "a/x"}
    assert not list(tmp_path.iterdir())


def test_the_rest_of_a_download_is_told_when_no_time_has_passed() -> None:
    assert Tally(files=1, all_files=2, size=5, all_bytes=10, seconds=0.0).left == 0.0
    assert Tally(files=0, all_files=2, size=5, all_bytes=10, seconds=0.0).left is None


def test_a_found_file_that_is_none_is_read_past(serve, tmp_path) -> None:
    server = serve(FILES)
    (tmp_path / ".einthoven-download" / "found").mkdir(parents=True)
    assert fetch(tmp_path, server).ok
    assert fetch(tmp_path, server).kept == 2


def test_a_wait_for_one_file_is_no_wait_for_the_others(serve, tmp_path) -> None:
    server = serve(FILES)
    server.will("a.dat", *[bad.status(503, Retry_After="3600")] * 9)
    done = download(Release(urls=(server.url,)), tmp_path, patience=replace(QUICK, attempts=1))
    assert (done.fetched, list(done.failures)) == (("b.dat",), ["a.dat"])


def test_a_date_to_wait_for_is_by_the_clock_of_the_server(serve, tmp_path) -> None:
    server = serve(FILES)
    # By our clock it is years ahead; by its own, two seconds past.
    late = b"Retry-After: Wed, 21 Oct 2065 07:28:00 GMT\r\nDate: Wed, 21 Oct 2065 07:28:02 GMT\r\n"
    server.will("a.dat", bad.raw(b"HTTP/1.1 429 Busy\r\nContent-Length: 0\r\n" + late + b"\r\n"))
    assert fetch(tmp_path, server).ok
    assert _retry_after("Wed, 21 Oct 2065 07:28:09 GMT", "Wed, 21 Oct 2065 07:28:02 GMT") == 7.0


def test_what_a_killed_call_left_of_a_trial_is_removed(serve, tmp_path) -> None:
    server = serve(FILES)
    (parts_folder(tmp_path) / "names-x" / "A").mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (parts_folder(tmp_path) / "names-link").symlink_to(tmp_path / "mine")
    assert fetch(tmp_path, server).ok
    assert not list(parts_folder(tmp_path).iterdir())
    assert (tmp_path / "mine").is_dir()


def test_a_list_that_may_be_cut_short_is_said(serve, tmp_path) -> None:
    server = serve(FILES)
    whole = server.files[SUMS]
    # Cut within the last name, and stated to be all.
    server.files[SUMS] = whole[: whole.rindex(b".dat")]
    done = fetch(tmp_path / "a", server)
    assert any("does not end with a line break: it may be cut short" in note for note in done.notes)
    assert list(done.failures) == ["b"]
    server.files[SUMS] = whole
    assert fetch(tmp_path / "b", server).notes == ()
