"""Servers that mean harm, or know no better: nothing hangs, fills the disk or the memory, or ends in a traceback."""

from __future__ import annotations

import hashlib
import shutil
import time
import tracemalloc
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from einthoven.datasets.downloading import sums, transfer
from einthoven.datasets.downloading.download import download
from einthoven.datasets.downloading.part import part_of, parts_folder
from einthoven.datasets.downloading.release import Release
from einthoven.datasets.downloading.stopping import Stop, Stopped
from einthoven.datasets.downloading.verifying import verify
from einthoven.datasets.downloading.web import _retry_after
from einthoven.foundation.errors import DataError

from . import misbehaving_server as bad
from .conftest import QUICK
from .misbehaving_server import Behaviour

SUMS = "SHA256SUMS.txt"
FILES = {"a.dat": b"A" * 3000, "b.dat": b"B" * 100}
OK = b"HTTP/1.1 200 OK\r\n"
HASTY = replace(QUICK, attempts=2, grace=0.15)


def moved(location: bytes) -> Behaviour:
    return bad.raw(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n")


def later(after: bytes) -> Behaviour:
    return bad.raw(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: " + after + b"\r\n\r\n")


ODD = [
    bad.raw(OK + b"Content-Length: \xb2\r\n\r\n" + FILES["a.dat"]),
    bad.raw(OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + FILES["a.dat"]),
    bad.raw(OK + b"Content-Length: -5\r\n\r\n" + FILES["a.dat"]),
    later(b"\xb2"),
    later(b"9" * 5000),
    later(b"Wed, 21 Oct 2015 07:28:00 +99999999999999999999"),
    later(b"Wed, 21 Oct 9999 23:59:59 -2359"),
    later(b"1 1 1 1:1:1 +1e5"),
    moved(b"http://[bad"),
    moved(b"http://127.0.0.1:99999/"),
    moved(b"http://" + b"a" * 70 + b".example/"),
    moved(b"http://.x/"),
    moved(b"\xb2"),
    moved(b"http://\xff\xfe/"),
    bad.raw(b"garbage\r\n\r\n"),
    bad.raw(b"\0" * 70000),
    bad.raw(b"HTTP/1.1 404 \x1b[31mNo\r\nContent-Length: 0\r\n\r\n"),
]


@pytest.mark.parametrize("behaviour", ODD)
def test_an_answer_that_cannot_be_understood_is_a_failure_of_its_file(serve, tmp_path, behaviour) -> None:
    server = serve(FILES)
    release = Release(urls=(server.url,))
    quick = replace(QUICK, attempts=1, silence=0.5)
    server.will("a.dat", *[behaviour] * 9)
    done = download(release, tmp_path, patience=quick)
    assert (list(done.failures), done.fetched) == (["a.dat"], ("b.dat",))
    assert server.url in done.failures["a.dat"]
    assert done.failures["a.dat"].isprintable()
    server.will(SUMS, *[behaviour] * 9)
    with pytest.raises(DataError, match="could not be downloaded"):
        download(release, tmp_path / "x", patience=quick)
    server.will("a.dat")
    server.will(SUMS)
    assert download(release, tmp_path, patience=quick).ok


def test_waits_that_are_none_are_none() -> None:
    assert _retry_after("12") == 12.0
    assert _retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert [_retry_after(text) for text in ("\xb2", "9" * 5000, "x", "-1", "(", "", None)] == [None] * 7


def test_what_nobody_foresaw_is_a_failure_of_its_file(serve, tmp_path, monkeypatch) -> None:
    server = serve(FILES)
    monkeypatch.setattr(transfer, "_range", lambda answer: 1 / 0)
    server.will("a.dat", bad.wrong_range)
    done = download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    assert dict(done.failures) == {"a.dat": "ZeroDivisionError: division by zero"}
    assert done.fetched == ("b.dat",)


@pytest.mark.parametrize("path", ["a.dat", SUMS])
@pytest.mark.parametrize(
    "behaviour",
    [
        bad.drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        bad.drips(OK + b"X: ", b"a"),
        bad.drips(OK + b"\r\n", b"a"),
        bad.drips(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
        bad.drips(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nA\r\n0\r\n", b"X: y\r\n"),
    ],
    ids=["100", "head", "body", "chunks", "trailers"],
)
def test_a_server_that_drips_is_given_up(serve, tmp_path, behaviour, path) -> None:
    server = serve(FILES)
    server.will(path, *[behaviour] * 30)
    started = time.monotonic()
    if path == SUMS:
        with pytest.raises(DataError, match="it was too slow"):
            download(Release(urls=(server.url,)), tmp_path, patience=HASTY)
    else:
        done = download(Release(urls=(server.url,)), tmp_path, patience=HASTY)
        assert "it was too slow" in done.failures["a.dat"]
        assert done.fetched == ("b.dat",)
    assert time.monotonic() - started < 5


def test_a_server_that_drips_instead_of_telling_sizes_is_given_up(serve, tmp_path) -> None:
    server = serve(FILES)
    server.http.heads = bad.drips(OK + b"X: ", b"a")
    started = time.monotonic()
    assert download(Release(urls=(server.url,)), tmp_path, patience=HASTY).ok
    assert time.monotonic() - started < 5


def test_the_body_of_a_redirect_is_not_read(serve, tmp_path) -> None:
    server = serve(FILES)
    server.will("a.dat", bad.drips(b"HTTP/1.1 302 Found\r\nLocation: /a.dat\r\n\r\n", bytes(1 << 16), every=0.0))
    tracemalloc.start()
    try:
        assert download(Release(urls=(server.url,)), tmp_path, patience=QUICK).ok
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_attempts_for_the_list_are_bounded(serve, tmp_path) -> None:
    server = serve(FILES)
    server.will(SUMS, *[bad.drops_after(10)] * 99)
    with pytest.raises(DataError, match="after 10 of"):
        download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    assert len(server.gets(SUMS)) == QUICK.attempts


def small_disk(monkeypatch: pytest.MonkeyPatch, folder: Path, size: int) -> None:
    """A disk of `size` bytes beside those that are never filled."""
    usage = namedtuple("usage", "total used free")

    def measure(_: object) -> usage:
        used = sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())
        return usage(size, used, size + (64 << 20) - used)

    monkeypatch.setattr(shutil, "disk_usage", measure)


@pytest.mark.parametrize("path", ["a.dat", SUMS])
def test_a_body_without_an_end_does_not_fill_the_disk(serve, tmp_path, monkeypatch, path) -> None:
    monkeypatch.setattr(transfer, "_LOOK_AT_THE_DISK", 1 << 18)
    server = serve(FILES)
    release = Release(urls=(server.url,))
    small_disk(monkeypatch, tmp_path, 4 << 20)
    server.will(path, *[bad.endless] * 9)
    if path == SUMS:
        with pytest.raises(DataError, match=r"without stating a length, which were thrown away: .* are free on"):
            download(release, tmp_path, patience=QUICK)
    else:
        done = download(release, tmp_path, patience=QUICK)
        assert "without stating a length, which were thrown away" in done.failures["a.dat"]
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 10_000
    server.will(path)
    assert download(release, tmp_path, patience=QUICK).ok


@pytest.mark.parametrize("path", ["a.dat", SUMS])
def test_a_body_without_a_length_has_a_bound(serve, tmp_path, monkeypatch, path) -> None:
    monkeypatch.setattr(transfer, "_LARGEST_UNSTATED", 1 << 20)
    monkeypatch.setattr("einthoven.datasets.downloading.listing.LARGEST_LIST", 1 << 20)
    server = serve(FILES)
    server.will(path, *[bad.endless] * 9)
    if path == SUMS:
        with pytest.raises(DataError, match=r"at most 1\.0 MB were expected"):
            download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    else:
        done = download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
        assert "at most 1.0 MB were expected" in done.failures["a.dat"]
    assert not list(parts_folder(tmp_path).iterdir())


def test_parts_that_fill_the_disk_give_way(serve, tmp_path, monkeypatch) -> None:
    server = serve(FILES)
    parts_folder(tmp_path).mkdir(parents=True)
    part_of(tmp_path, "a.dat").write_bytes(bytes(4 << 20))
    (parts_folder(tmp_path) / "of-nobody.part").write_bytes(b"x")
    small_disk(monkeypatch, tmp_path, 4 << 20)
    done = download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    assert done.ok
    assert "a part of 4.2 MB was thrown away" in done.notes[0]
    assert not list(parts_folder(tmp_path).iterdir())


def test_a_part_that_is_larger_than_its_file_gives_way(serve, tmp_path) -> None:
    server = serve(FILES)
    parts_folder(tmp_path).mkdir(parents=True)
    part_of(tmp_path, "a.dat").write_bytes(bytes(2 << 20))
    done = download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    assert (done.ok, done.size) == (True, 3100)
    assert "Range" not in server.gets("a.dat")[0]


def test_a_list_that_is_too_large_is_refused(serve, tmp_path, monkeypatch) -> None:
    server = serve(FILES)
    server.will(SUMS, *[bad.raw(OK + b"Content-Length: 999999999999\r\n\r\n" + b"0" * 1000)] * 9)
    with pytest.raises(DataError, match=r"it states 999,999,999,999 bytes; at most 1,073,741,824 were expected"):
        download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    server.will(SUMS)
    server.files[SUMS] = b"0" * 20_000
    with pytest.raises(DataError, match=r"line 1: .* beyond 8,192 characters"):
        download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    monkeypatch.setattr(sums, "LARGEST_LIST", 100)
    (tmp_path / "list").write_bytes(b"0" * 101)
    with pytest.raises(DataError, match="is 101 bytes; at most 100 were expected"):
        sums.read_sums(tmp_path / "list")


def test_a_part_of_the_list_is_not_the_list(serve, tmp_path) -> None:
    server = serve(FILES)
    server.will(SUMS, *[bad.ranges_of(server.files[SUMS].index(b"\n") + 1)] * 9)
    with pytest.raises(DataError, match="206: a part of the list"):
        download(Release(urls=(server.url,)), tmp_path / "a", patience=QUICK)
    server.will(SUMS, bad.ranges_of(10_000))
    assert download(Release(urls=(server.url,)), tmp_path / "b", patience=QUICK).notes == ()
    server.will(SUMS, bad.raw(OK + b"\r\n" + server.files[SUMS]))
    [note] = download(Release(urls=(server.url,)), tmp_path / "c", patience=QUICK).notes
    assert "came without a stated length" in note


def test_a_server_that_gives_little_at_a_time_is_asked_for_the_rest(serve, tmp_path) -> None:
    server = serve(FILES)
    server.will("a.dat", *[bad.ranges_of(1000)] * 9)
    done = download(Release(urls=(server.url,)), tmp_path / "a", patience=QUICK)
    assert (done.ok, done.size) == (True, 3100)
    assert [asked.get("Range") for asked in server.gets("a.dat")] == [None, "bytes=1000-", "bytes=2000-"]
    # But not for ever.
    server.will("a.dat", *[bad.ranges_of(1)] * 99)
    done = download(Release(urls=(server.url,)), tmp_path / "b", patience=QUICK)
    assert "it gave 20 bytes in 20 ranges, and still not all" in done.failures["a.dat"]


def test_a_page_that_is_listed_is_a_file(serve, tmp_path) -> None:
    pages = dict.fromkeys(("README.HTML", "i.xhtml", "i.htm"), b"<html>")
    server = serve(pages)
    for name in pages:
        server.will(name, bad.typed("text/html"))
    assert download(Release(urls=(server.url,)), tmp_path, patience=QUICK).ok


def test_bytes_that_were_never_counted_are_not_taken_off(serve, tmp_path) -> None:
    server = serve(FILES)
    parts_folder(tmp_path).mkdir(parents=True)
    part_of(tmp_path, "a.dat").write_bytes(b"2" * 50)
    server.will("a.dat", *[bad.status(404)] * 9)
    assert download(Release(urls=(server.url,)), tmp_path, patience=QUICK).size == 100
    server.will("a.dat", *[bad.truncates] * 9)
    assert download(Release(urls=(server.url,)), tmp_path, patience=QUICK).size == 0


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[Stop]:
    """What downloads of the test are told to stop with."""
    made: list[Stop] = []

    def make() -> Stop:
        made.append(Stop())
        return made[-1]

    monkeypatch.setattr("einthoven.datasets.downloading.download.Stop", make)
    return made


@pytest.mark.parametrize(("method", "path"), [("HEAD", "a.dat"), ("GET", "a.dat"), ("GET", SUMS)])
def test_a_stop_is_honoured_while_a_server_is_silent(serve, tmp_path, stops, method, path) -> None:
    server = serve(FILES)
    asked: list[float] = []

    def silent(request, body) -> None:
        asked.append(time.monotonic())
        stops[0].set()
        time.sleep(3)

    if method == "HEAD":
        server.http.heads = silent
    else:
        server.will(path, silent)
    with pytest.raises(Stopped):
        download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    assert time.monotonic() - asked[0] < 2


def test_nothing_is_published_after_a_stop(serve, tmp_path, stops, monkeypatch) -> None:
    server = serve({"a.dat": FILES["a.dat"]})
    before = transfer.read

    def read(file, check):
        # A thread that has just hashed a part when the download is told to stop.
        found = before(file, check)
        if found is not None and found.sha256 == hashlib.sha256(FILES["a.dat"]).hexdigest():
            stops[0].set()
        return found

    monkeypatch.setattr(transfer, "read", read)
    with pytest.raises(Stopped):
        download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    assert not (tmp_path / "a.dat").exists()
    assert verify(tmp_path).missing == ("a.dat",)
