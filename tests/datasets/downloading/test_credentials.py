"""A password goes to the server it is for, and nowhere else: no other host, no message, no log."""

from __future__ import annotations

import base64
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from einthoven.datasets.downloading.credentials import Credentials, credentials_for, masked, shown
from einthoven.datasets.downloading.download import download
from einthoven.datasets.downloading.release import Release
from einthoven.foundation.errors import UsageError

from . import misbehaving_server as bad
from .conftest import QUICK, release_files

SECRET = "hunter2-s3cret"  # noqa: S105  # of nobody
BASIC = "Basic " + base64.b64encode(f"erna:{SECRET}".encode()).decode()
FILE = "low/0/1.dat"


@pytest.fixture
def netrc_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "netrc"
    file.write_text(f"machine 127.0.0.1 login erna password {SECRET}\n")
    monkeypatch.setenv("NETRC", str(file))
    return file


def test_the_password_goes_to_its_server_and_not_with_a_redirect(
    serve, server, netrc_file, tmp_path, caplog, capsys
) -> None:
    caplog.set_level(logging.DEBUG)
    other = serve()
    port = other.url.rstrip("/").rpartition(":")[2]
    server.will(FILE, bad.redirects(f"{other.url}{FILE}?X-Signature={SECRET}"))
    server.will("low/0/2.dat", bad.redirects(f"http://erna:{SECRET}@localhost:{port}/low/0/2.dat"))
    server.will("low/0/3.dat", *[bad.redirects(f"http://erna:{SECRET}@127.0.0.1:{port}/gone?x={SECRET}")] * 9)
    told: list[str] = []
    done = download(
        Release(urls=(server.url,), login=True),
        tmp_path / "to",
        patience=QUICK,
        say=told.append,
        progress=lambda tally: told.append(repr(tally)),
    )
    assert list(done.failures) == ["low/0/3.dat"]
    assert all(request.get("Authorization") == BASIC for path in release_files() for request in server.gets(path))
    elsewhere = [headers for asked in other.http.headers.values() for _, headers in asked]
    assert len(elsewhere) >= 3
    assert not any("Authorization" in headers or "Cookie" in headers for headers in elsewhere)
    output = capsys.readouterr()
    everything = [repr(done), str(dict(done.failures)), *told, output.out, output.err]
    everything += [file.read_text(errors="replace") for file in (tmp_path / "to").rglob("*") if file.is_file()]
    for text in everything:
        assert SECRET not in text
        assert BASIC.partition(" ")[2] not in text
    # urllib3 writes paths to its own log when asked for debug; no header is in it.
    assert BASIC.partition(" ")[2] not in caplog.text


def test_an_open_release_is_asked_without_a_password(server, netrc_file, tmp_path) -> None:
    assert download(Release(urls=(server.url,)), tmp_path / "to", patience=QUICK).ok
    asked = [headers for found in server.http.headers.values() for _, headers in found]
    assert not any("Authorization" in headers for headers in asked)


def test_a_refused_password_is_not_shown(server, netrc_file, tmp_path) -> None:
    server.will(FILE, *[bad.status(401)] * 3)
    done = download(Release(urls=(server.url,), login=True), tmp_path / "to", patience=QUICK)
    assert "401 Unauthorized with the name and password that were sent" in done.failures[FILE]
    assert SECRET not in str(done)


def test_without_credentials_a_login_is_refused_before_anything_is_asked(server, tmp_path) -> None:
    with pytest.raises(UsageError, match=r"add 'machine 127\.0\.0\.1 login NAME password PASSWORD' to"):
        download(Release(urls=(server.url,), login=True), tmp_path / "to")
    assert server.http.requests.total() == 0
    with pytest.raises(UsageError, match="set EINTHOVEN_PHYSIONET_USER and EINTHOVEN_PHYSIONET_PASSWORD, or add"):
        download(Release(urls=("https://physionet.org/files/x/1/",), login=True), tmp_path / "to")


def test_variables_are_for_physionet_only_and_belong_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EINTHOVEN_PHYSIONET_USER", "erna")
    with pytest.raises(UsageError, match="EINTHOVEN_PHYSIONET_PASSWORD is not set"):
        credentials_for("https://physionet.org/files/")
    monkeypatch.setenv("EINTHOVEN_PHYSIONET_PASSWORD", SECRET)
    known = credentials_for("https://physionet.org/files/")
    assert known is not None
    assert SECRET not in repr(known)
    assert known.header_for("https://physionet.org/x") == BASIC
    for url in (
        "http://physionet.org/x",
        "https://physionet.org:444/x",
        "https://physionet.org.evil.example/x",
        "https://evil.example/physionet.org",
        "https://physionet.org@evil.example/x",
    ):
        assert known.header_for(url) is None
    assert credentials_for("https://example.org/") is None


def test_plain_http_gets_a_password_on_the_loopback_only() -> None:
    assert Credentials("http://example.org/", "erna", SECRET).header_for("http://example.org/x") is None
    assert Credentials("http://127.0.0.1:8/", "erna", SECRET).header_for("http://127.0.0.1:8/x") == BASIC
    assert Credentials("http://127.0.0.1:8/", "erna", SECRET).header_for("http://127.0.0.1:9/x") is None


def test_netrc_entries_for_nobody_in_particular_are_not_used(netrc_file: Path) -> None:
    netrc_file.write_text(f"default login erna password {SECRET}\n")
    assert credentials_for("https://physionet.org/") is None
    assert credentials_for("https://default/") is None


def test_a_damaged_netrc_is_refused_without_its_text(netrc_file: Path) -> None:
    netrc_file.write_text(f"machine physionet.org login erna passwrd {SECRET}\n")
    with pytest.raises(UsageError, match="line 1 cannot be read") as caught:
        credentials_for("https://physionet.org/")
    assert SECRET not in str(caught.value)
    assert "passwrd" not in str(caught.value)


def test_urls_are_shown_without_what_is_secret() -> None:
    assert shown(f"https://erna:{SECRET}@x.org:8/a?sig={SECRET}#{SECRET}") == "https://***@x.org:8/a"
    assert masked(f"at https://erna:{SECRET}@x.org/a?s={SECRET} x") == "at https://***@x.org/a?*** x"
    with pytest.raises(ValueError, match="a name and password") as caught:
        Release(urls=(f"https://erna:{SECRET}@x.org/",))
    assert SECRET not in str(caught.value)


SCRIPT = """
import sys
from dataclasses import replace
from einthoven.datasets.downloading.release import Release
from einthoven.datasets.registry import DATASETS
entry = DATASETS.get("ptbxl")
DATASETS._things["ptbxl"] = replace(entry, release=Release(urls=(sys.argv.pop(1),), login=True))
from einthoven.cli.main import main
main()
"""


def einthoven(url: str, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, url, "datasets", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "EINTHOVEN_HOME": str(home)},
    )


def test_the_commands(server, netrc_file, tmp_path) -> None:
    server.list_files(**{"gone.dat": "0" * 64})
    home = tmp_path / "home"
    done = einthoven(server.url, "download", "ptbxl", "--only", "low/*", "--only", "gone.dat", home=home)
    assert done.returncode == 1, done.stderr
    assert "ptbxl: 4 files fetched (12.0 kB in " in done.stdout
    assert "1 failed, 5 in all; 7 of the release left aside" in done.stdout
    assert "FAILED gone.dat: " in done.stderr
    assert "404 Not Found" in done.stderr
    assert (home / "sources" / "ptbxl" / FILE).is_file()
    server.list_files()
    again = einthoven(server.url, "download", "ptbxl", "--json", home=home)
    assert again.returncode == 0, again.stderr
    found = json.loads(again.stdout)
    assert (found["ok"], found["files"], found["kept"], found["fetched"], found["failures"]) == (True, 11, 4, 7, {})
    assert "1 files of the list that lay here are not in today's; first: gone.dat" in again.stderr
    verified = einthoven(server.url, "verify", "ptbxl", "--json", home=home)
    assert (verified.returncode, json.loads(verified.stdout)["ok"]) == (0, True)
    (home / "sources" / "ptbxl" / FILE).unlink()
    missing = einthoven(server.url, "verify", str(home / "sources" / "ptbxl"), home=home)
    assert missing.returncode == 1
    assert f"missing: {FILE}" in missing.stdout
    for process in (done, again, verified, missing):
        assert SECRET not in process.stdout + process.stderr
        assert "Traceback" not in process.stderr


def test_the_commands_say_what_cannot_be_downloaded(server, tmp_path) -> None:
    phantom = einthoven(server.url, "download", "phantom", home=tmp_path)
    assert (phantom.returncode, phantom.stdout) == (2, "")
    assert "phantom is made, not read" in phantom.stderr
    assert "Did you mean 'ptbxl'" in einthoven(server.url, "verify", "ptbx", home=tmp_path).stderr
