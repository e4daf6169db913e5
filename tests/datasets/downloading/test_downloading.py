"""Whatever a server does: a file under its name has the listed sha256, and what could not be had is named."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from einthoven.datasets.downloading.download import download
from einthoven.datasets.downloading.part import part_of
from einthoven.datasets.downloading.release import Release, physionet
from einthoven.datasets.downloading.result import Download
from einthoven.datasets.downloading.stopping import Stop
from einthoven.datasets.downloading.tally import Tally
from einthoven.datasets.downloading.verifying import verify
from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.publishing import BusyError, exclusive

from . import misbehaving_server as bad
from .conftest import QUICK, noise, release_files
from .misbehaving_server import Behaviour, MisbehavingServer

FILE = "low/0/1.dat"
SUMS = "SHA256SUMS.txt"


def fetch(release: Release, folder: Path, **options) -> Download:
    done = download(release, folder, patience=options.pop("patience", QUICK), **options)
    check_names(release, folder)
    return done


def check_names(release: Release, folder: Path) -> None:
    """The promise: no file of the release's has its name and other bytes."""
    for path, body in release_files().items():
        file = folder / path
        assert not file.exists() or file.read_bytes() == body, path


def test_everything_comes_and_a_second_call_asks_for_the_list_only(server, release, tmp_path) -> None:
    told: list[Tally] = []
    said: list[str] = []
    done = fetch(release, tmp_path / "to", progress=told.append, say=said.append)
    assert done.ok
    assert (done.files, len(done.fetched), done.kept, done.left_aside) == (11, 11, 0, 0)
    assert done.size == sum(map(len, release_files().values())) == told[-1].size == told[-1].all_bytes
    assert (told[-1].files, told[-1].all_files, told[-1].left) == (11, 11, 0.0)
    assert any("to fetch: 11 files, 24.0 kB; free on the disk" in line for line in said)
    before = server.http.requests.total()
    again = fetch(release, tmp_path / "to")
    assert (again.ok, again.kept, again.fetched, again.size) == (True, 11, (), 0)
    assert server.http.requests.total() == before + 1
    assert verify(tmp_path / "to").ok


@pytest.mark.parametrize(
    "behaviours",
    [
        (bad.drops_after(700), bad.drops_after(1), bad.drops_after(1500)),
        (bad.truncates,),
        (bad.unstated_half,),
        (bad.promises_more,),
        (bad.flips,),
        (bad.empty,),
        (bad.drops_after(1000), bad.no_ranges),
        (bad.drops_after(1000), bad.wrong_range),
        (bad.drops_after(1000), bad.flips),
        (bad.drops_after(1000), bad.status(416)),
        (bad.status(503), bad.status(500)),
        (bad.status(429, Retry_After="0"), bad.status(429)),
    ],
    ids=lambda behaviours: "-".join(getattr(b, "__qualname__", "?").partition(".")[0] for b in behaviours),
)
def test_what_passes_is_borne_and_the_file_is_right(server, release, tmp_path, behaviours) -> None:
    server.will(FILE, *behaviours)
    done = fetch(release, tmp_path)
    assert done.ok, done.failures
    assert not list(tmp_path.rglob("*.part"))
    # Used up: nothing was right before its time, but for a file that was whole and said to be longer.
    assert not server.http.behaviours[FILE]


def test_after_a_drop_only_the_rest_is_asked_for(server, release, tmp_path) -> None:
    server.will(FILE, bad.drops_after(1000), bad.drops_after(500))
    assert fetch(release, tmp_path).ok
    assert [request.get("Range") for request in server.gets(FILE)] == [None, "bytes=1000-", "bytes=1500-"]


def test_a_part_of_an_earlier_version_is_not_gone_on_with(serve, tmp_path) -> None:
    large = noise(2 << 20, seed=3)
    server = serve({"x.dat": large})
    release = Release(urls=(server.url,))
    server.will("x.dat", bad.drops_after(1 << 20), *[bad.status(503)] * 3)
    assert not download(release, tmp_path, patience=QUICK).ok
    assert part_of(tmp_path, "x.dat").stat().st_size == 1 << 20
    server.files["x.dat"] = large[::-1]
    server.list_files()
    assert download(release, tmp_path, patience=QUICK).ok
    # It was asked for the rest of the version with that tag, and sent the whole of the new one.
    assert server.gets("x.dat")[-1]["If-Range"] == '"drops"'
    assert (tmp_path / "x.dat").read_bytes() == large[::-1]


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (bad.flips, "sha256 is not the listed one"),
        (bad.truncates, "sha256 is not the listed one"),
        (bad.status(404), "404 Not Found"),
        (bad.status(403), "403 Forbidden without a name and password"),
        (bad.status(503), "503 Service Unavailable"),
        (bad.status(503, Retry_After="3600"), "asks to be left alone for 3600 s"),
        (bad.status(503, Retry_After=formatdate(time.time() + 5000, usegmt=True)), "asks to be left alone for"),
        (bad.web_page, "a web page came instead of the file"),
        (bad.drops_after(0), "the connection failed after 0 of 3,000 bytes"),
        (bad.redirects("/x/login/?next=/x"), "wants one to log in"),
        (bad.redirects("/" + FILE), "sent us on more than 5 times"),
        (bad.redirects("file:///etc/passwd"), "not as safe"),
    ],
)
def test_what_lasts_is_reported_by_name_and_a_mirror_is_asked(
    serve, server, release, tmp_path, behaviour: Behaviour, words: str
) -> None:
    server.will(FILE, *[behaviour] * 30)
    done = fetch(release, tmp_path / "a")
    assert list(done.failures) == [FILE]
    assert words in done.failures[FILE]
    assert server.url in done.failures[FILE]
    assert len(done.fetched) == 10
    assert not (tmp_path / "a" / FILE).exists()
    assert verify(tmp_path / "a").missing == (FILE,)

    mirror = serve()
    server.will(FILE, *[behaviour] * 30)
    assert fetch(Release(urls=(server.url, mirror.url)), tmp_path / "b").ok
    assert mirror.http.requests.total() <= 3
    # And the next call brings what was missing.
    server.will(FILE)
    again = fetch(release, tmp_path / "a")
    assert (again.ok, again.fetched, again.kept) == (True, (FILE,), 10)


def test_a_silent_server_is_given_up(serve, tmp_path) -> None:
    server = serve({"x.dat": bytes(3000)})
    server.will("x.dat", bad.silent(1.0))
    patience = replace(QUICK, silence=0.2)
    assert download(Release(urls=(server.url,)), tmp_path, patience=patience).ok
    assert server.gets("x.dat")[1]["Range"] == "bytes=1000-"


def test_a_wait_that_is_asked_for_is_kept(server, release, tmp_path, monkeypatch) -> None:
    server.will(FILE, bad.status(503, Retry_After="1"))
    waits: list[float] = []
    monkeypatch.setattr(Stop, "wait", lambda self, seconds: waits.append(seconds))
    assert fetch(release, tmp_path).ok
    assert 1.0 in waits


def test_a_listed_file_that_no_server_has_is_named(server, release, serve, tmp_path) -> None:
    server.list_files(**{"low/gone.dat": "0" * 64})
    mirror = serve()
    done = fetch(Release(urls=(server.url, mirror.url)), tmp_path)
    assert list(done.failures) == ["low/gone.dat"]
    assert done.failures["low/gone.dat"].count("404") == 2


def test_when_the_network_goes_the_rest_is_named_as_not_tried(serve, tmp_path) -> None:
    server = serve({f"{n}.dat": bytes([n]) for n in range(80)})
    for n in range(80):
        server.will(f"{n}.dat", *[bad.status(503)] * 9)
    done = download(Release(urls=(server.url,)), tmp_path, patience=replace(QUICK, attempts=1), workers=2)
    assert len(done.failures) == 80
    assert sum("not tried: 32 files in a row could not be had" in reason for reason in done.failures.values()) > 40


def test_a_part_of_a_release_brings_what_every_part_needs_and_says_what_is_left(server, tmp_path) -> None:
    release = Release(urls=(server.url,), always=("table.csv",))
    said: list[str] = []
    done = fetch(release, tmp_path, only=["low/*"], say=said.append)
    assert (done.ok, done.files, done.left_aside) == (True, 5, 6)
    assert "6 more of the release are left aside" in said[0]
    found = verify(tmp_path)
    assert (found.ok, found.files, found.left_aside) == (True, 5, 6)
    # What was asked for before still counts.
    assert fetch(release, tmp_path, only=["high/*"]).ok
    (tmp_path / FILE).unlink()
    assert verify(tmp_path).missing == (FILE,)
    with pytest.raises(UsageError, match="No listed file fits 'hihg"):
        fetch(release, tmp_path, only=["hihg/*"])


def test_what_the_release_promises_and_the_list_lacks_is_a_failure(server, tmp_path) -> None:
    done = fetch(Release(urls=(server.url,), include=("low/*", "labels.csv")), tmp_path)
    assert dict(done.failures) == {"labels.csv": "SHA256SUMS.txt names no such file"}


def test_corrupt_and_truncated_files_are_set_aside_and_fetched_again(release, tmp_path) -> None:
    (tmp_path / "low" / "0").mkdir(parents=True)
    (tmp_path / FILE).write_bytes(release_files()[FILE][:100])
    (tmp_path / "table.csv").write_bytes(release_files()["table.csv"])
    done = fetch(release, tmp_path)
    assert (done.ok, done.kept, done.set_aside) == (True, 1, (FILE,))
    assert (tmp_path / f"{FILE}.corrupt").read_bytes() == release_files()[FILE][:100]
    # A change that keeps size and modification time is seen too.
    times = (tmp_path / FILE).stat()
    (tmp_path / FILE).write_bytes(bytes(3000))
    os.utime(tmp_path / FILE, ns=(times.st_atime_ns, times.st_mtime_ns))
    again = fetch(release, tmp_path)
    assert (again.set_aside, again.fetched) == ((FILE,), (FILE,))


def test_verify_finds_what_is_missing_corrupt_and_extra_and_asks_nobody(server, release, tmp_path) -> None:
    assert fetch(release, tmp_path).ok
    before = server.http.requests.total()
    (tmp_path / FILE).unlink()
    times = (tmp_path / "low/0/2.dat").stat()
    (tmp_path / "low/0/2.dat").write_bytes(bytes(3000))
    os.utime(tmp_path / "low/0/2.dat", ns=(times.st_atime_ns, times.st_mtime_ns))
    (tmp_path / "low/index.html").write_text("left by wget")
    found = verify(tmp_path)
    assert (found.missing, found.corrupt, found.extra) == ((FILE,), ("low/0/2.dat",), ("low/index.html",))
    assert (found.ok, found.files) == (False, 11)
    assert server.http.requests.total() == before
    with pytest.raises(UsageError, match=r"holds no SHA256SUMS.txt"):
        verify(tmp_path / "low")


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (bad.web_page, "a web page came instead"),
        (bad.empty, "names no file"),
        (bad.unstated_half, "in the middle of a line"),
        (bad.status(404), "404"),
        (bad.drops_after(50), "the connection failed after 50"),
    ],
)
def test_without_a_list_nothing_is_done_and_an_old_one_stays(server, release, tmp_path, behaviour, words) -> None:
    (tmp_path / SUMS).write_text("old")
    server.will(SUMS, *[behaviour] * 30)
    with pytest.raises(DataError, match=words):
        fetch(release, tmp_path)
    assert (tmp_path / SUMS).read_text() == "old"
    assert not (tmp_path / "table.csv").exists()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<!DOCTYPE html>\n<title>Log in</title>\n", "it is a web page"),
        (b"0123 x\n", "was expected"),
        (b"0" * 64 + b" ../../x\n", "climbs out"),
        (b"0" * 64 + b"  /etc/passwd\n", "absolute"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ],
)
def test_a_list_that_is_none_is_refused(server, release, tmp_path, body, words) -> None:
    server.files[SUMS] = body
    with pytest.raises(DataError, match=words):
        fetch(release, tmp_path)
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] in ([], [".files.lock"])


def test_a_disk_that_is_too_small_is_refused_before_and_noticed_while(server, release, tmp_path, monkeypatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, (64 << 20) + 20_000))
    with pytest.raises(DataError, match=r"too small: 24\.0 kB are to be fetched and 20\.0 kB are free"):
        fetch(release, tmp_path)
    assert not (tmp_path / FILE).exists()
    # The servers may not say how large files are, and others write to the disk too.
    answers = iter([(64 << 20) + 2 * 10**6] * 12)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, next(answers, 0)))
    done = fetch(release, tmp_path, workers=1)
    assert 0 < len(done.fetched) < 11
    assert set(done.fetched) | set(done.failures) == set(release_files())
    assert any("still to come" in reason for reason in done.failures.values())
    assert any("not tried: the disk is full" in reason for reason in done.failures.values())


def test_the_size_of_many_files_is_estimated_by_kind(server, release, tmp_path) -> None:
    said: list[str] = []
    server.files.update({f"many/{n}.dat": bytes([n]) * 100 for n in range(200)})
    server.list_files()
    done = fetch(release, tmp_path, say=said.append)
    assert done.size == 44_016
    assert any("about 44.0 kB (from the sizes of 27 of them)" in line for line in said), said


def test_an_unknown_size_is_said(server, release, tmp_path) -> None:
    said: list[str] = []
    server.http.heads = bad.status(405)
    told: list[Tally] = []
    assert fetch(release, tmp_path, say=said.append, progress=told.append).ok
    assert any("11 files, an unknown number of bytes (the servers do not tell)" in line for line in said)
    assert told[-1].all_bytes is None


def test_connections_are_kept_from_file_to_file(serve, tmp_path) -> None:
    server = serve({f"{n}.dat": bytes([n]) * 100 for n in range(100)})
    assert download(Release(urls=(server.url,)), tmp_path, workers=2, patience=QUICK).ok
    # The list, two threads that ask for sizes, two that fetch.
    assert server.http.connections <= 5


def test_two_downloads_to_one_folder_are_refused(release, tmp_path) -> None:
    with (
        exclusive(tmp_path / ".einthoven-download" / "files"),
        pytest.raises(BusyError, match="is downloading to") as caught,
    ):
        fetch(release, tmp_path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_download_that_was_ended_goes_on_where_it_was(serve, tmp_path, ending) -> None:
    files = {"a.dat": noise(400_000, seed=1), "b.dat": noise(400_000, seed=2)}
    server: MisbehavingServer = serve(files)
    for path in files:
        server.will(path, bad.slow(20.0, pieces=100))
    script = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from einthoven.datasets.downloading.download import download\n"
        "from einthoven.datasets.downloading.release import Release\n"
        "download(Release(urls=(sys.argv[1],)), sys.argv[2])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, server.url, str(tmp_path)], stderr=subprocess.DEVNULL)
    parts = [part_of(tmp_path, path) for path in files]
    deadline = time.monotonic() + 20
    while not all(part.exists() and part.stat().st_size > 20_000 for part in parts):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    if ending == signal.SIGKILL:
        # Meanwhile nobody else may write there.
        with pytest.raises(BusyError):
            download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    process.send_signal(ending)
    process.wait(10)
    assert not any((tmp_path / path).exists() for path in files)
    had = [part.stat().st_size for part in parts]
    done = download(Release(urls=(server.url,)), tmp_path, patience=QUICK)
    assert done.ok
    assert done.size == 800_000 - sum(had)
    assert all((tmp_path / path).read_bytes() == body for path, body in files.items())


_BEHAVIOURS = [
    bad.good,
    bad.no_ranges,
    bad.truncates,
    bad.unstated_half,
    bad.promises_more,
    bad.flips,
    bad.wrong_range,
    bad.empty,
    bad.web_page,
    bad.drops_after(0),
    bad.drops_after(1),
    bad.drops_after(2999),
    bad.status(404),
    bad.status(416),
    bad.status(429),
    bad.status(503),
    bad.redirects("/table.csv"),
    bad.redirects("/high/0/0.dat"),
]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(_BEHAVIOURS), max_size=6), st.lists(st.sampled_from(_BEHAVIOURS), max_size=3))
def test_whatever_a_server_does_a_named_file_has_its_sum(server, release, tmp_path, first, second) -> None:
    folder = Path(os.path.join(tmp_path, hashlib.sha256(os.urandom(8)).hexdigest()[:12]))  # noqa: PTH118
    patience = replace(QUICK, attempts=2, first_wait=0.0)
    small = replace(release, include=("low/0/1.dat", "table.csv"))
    server.will(FILE, *first)
    server.will("table.csv", *second)
    done = fetch(small, folder, patience=patience)
    assert set(done.fetched) | set(done.failures) == {FILE, "table.csv"}
    assert set(done.fetched) & set(done.failures) == set()
    for path in done.fetched:
        assert (folder / path).read_bytes() == release_files()[path]
    for path in done.failures:
        assert not (folder / path).exists()
    server.will(FILE)
    server.will("table.csv")
    assert fetch(small, folder, patience=patience).ok


def test_releases_of_physionet() -> None:
    assert physionet("afdb", "1.0.0").urls == (
        "https://physionet.org/files/afdb/1.0.0/",
        "https://physionet-open.s3.amazonaws.com/afdb/1.0.0/",
    )
    assert physionet("echonext", "1.1.0", login=True).urls == ("https://physionet.org/files/echonext/1.1.0/",)
    with pytest.raises(ValueError, match="'/' at its end"):
        Release(urls=("https://physionet.org/files/afdb/1.0.0",))


def test_a_mirror_is_asked_first_and_the_publisher_for_what_it_lacks(serve, server, release, tmp_path) -> None:
    mirror = serve()
    del mirror.files["low/0/1.dat"]
    done = fetch(release, tmp_path, mirrors=[mirror.url.rstrip("/")])
    assert done.ok
    asked = {path for path in release_files() if server.gets(path)}
    assert asked <= {"low/0/1.dat"}
    for wrong in ("ftp://x/y/", "/srv/mirror", "https://me:secret@host/x/", "https://host/x/?key=1"):
        with pytest.raises(UsageError, match="A mirror is the http or https URL of the folder") as refused:
            fetch(release, tmp_path, mirrors=[wrong])
        assert "secret" not in str(refused.value)


def test_a_mirror_gets_no_password_of_the_publisher_and_needs_none(serve, tmp_path, monkeypatch) -> None:
    mirror = serve()
    closed = Release(urls=("https://physionet.org/files/nothing/1.0/",), login=True)
    assert fetch(closed, tmp_path, mirrors=[mirror.url]).ok
    monkeypatch.setenv("EINTHOVEN_PHYSIONET_USER", "me")
    monkeypatch.setenv("EINTHOVEN_PHYSIONET_PASSWORD", "secret")
    assert fetch(closed, tmp_path / "again", mirrors=[mirror.url]).ok
    headers = [sent for path in release_files() for sent in mirror.gets(path)]
    assert headers
    assert not any("authorization" in map(str.lower, sent) for sent in headers)
