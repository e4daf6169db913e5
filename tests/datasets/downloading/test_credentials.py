"""A password goes to the server it is for, and nowhere else: no other host, no message, no log."""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from einthoven.cli.main import app
from einthoven.datasets.downloading.credentials import Credentials, credentials_for, masked, shown
from einthoven.datasets.downloading.download import download
from einthoven.datasets.downloading.release import Release
from einthoven.datasets.registry import DATASETS
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


@pytest.fixture
def einthoven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server) -> Callable[..., Result]:
    """Runs `einthoven datasets ...`; its ptbxl is what the server has."""
    dataset = replace(DATASETS.get("ptbxl"), release=Release(urls=(server.url,), login=True))
    monkeypatch.setitem(DATASETS._things, "ptbxl", dataset)
    monkeypatch.setenv("EINTHOVEN_HOME", str(tmp_path / "home"))
    return lambda *arguments: CliRunner().invoke(app, ["datasets", *arguments])


def test_the_commands(server, netrc_file, tmp_path, einthoven) -> None:
    server.list_files(**{"gone.dat": "0" * 64})
    folder = tmp_path / "home" / "sources" / "ptbxl"
    done = einthoven("download", "ptbxl", "--only", "low/*", "--only", "gone.dat")
    assert done.exit_code == 1, done.stderr
    assert "ptbxl: 4 files fetched (12.0 kB in " in done.stdout
    assert "1 failed, 5 in all; 7 of the release left aside" in done.stdout
    assert "FAILED gone.dat: " in done.stderr
    assert "404 Not Found" in done.stderr
    assert (folder / FILE).is_file()
    server.list_files()
    again = einthoven("download", "ptbxl", "--json")
    assert again.exit_code == 0, again.stderr
    found = json.loads(again.stdout)
    assert (found["ok"], found["files"], found["kept"], found["fetched"], found["failures"]) == (True, 11, 4, 7, {})
    assert "1 files of the list that lay here are not in today's; first: gone.dat" in again.stderr
    verified = einthoven("verify", "ptbxl", "--json")
    assert (verified.exit_code, json.loads(verified.stdout)["ok"]) == (0, True)
    (folder / FILE).unlink()
    missing = einthoven("verify", str(folder))
    assert missing.exit_code == 1
    assert f"missing: {FILE}" in missing.stdout
    assert f"`einthoven datasets download NAME --to {folder}` fetches what is missing or corrupt" in missing.stderr
    assert "`einthoven datasets download ptbxl` fetches" in einthoven("verify", "ptbxl").stderr
    for result in (done, again, verified, missing):
        assert SECRET not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)


def test_names_that_are_no_text_are_shown(server, netrc_file, tmp_path, einthoven) -> None:
    folder = tmp_path / "home" / "sources" / "ptbxl"
    assert einthoven("download", "ptbxl").exit_code == 0
    (folder / os.fsdecode(b"bad\xff")).write_bytes(b"")
    (folder / "esc\x1b[31m\nmissing: a").write_bytes(b"")
    shown_ = einthoven("verify", "ptbxl")
    assert shown_.exit_code == 0
    assert "not listed: bad\\udcff\n" in shown_.stdout
    assert "not listed: esc\\x1b[31m\\nmissing: a\n" in shown_.stdout
    found = json.loads(einthoven("verify", "ptbxl", "--json").stdout)
    assert found["extra"] == ["bad\udcff", "esc\x1b[31m\nmissing: a"]


def test_an_interrupt_is_said(server, netrc_file, einthoven, monkeypatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    assert einthoven("download", "ptbxl").exit_code == 0
    monkeypatch.setattr("einthoven.datasets.downloading.verifying.compare", interrupted)
    monkeypatch.setattr("einthoven.datasets.downloading.looking.compare", interrupted)
    for command, words in (("verify", "Nothing was changed"), ("download", "goes on from there")):
        result = einthoven(command, "ptbxl")
        assert result.exit_code == 130
        assert f"Interrupted. {'' if command == 'verify' else 'What came'}" in result.stderr
        assert words in result.stderr


def test_the_commands_say_what_cannot_be_downloaded(einthoven) -> None:
    phantom = einthoven("download", "phantom")
    assert (phantom.exit_code, phantom.stdout) == (1, "")
    assert "phantom is made, not read" in str(phantom.exception)
    assert "Did you mean 'ptbxl'" in str(einthoven("verify", "ptbx").exception)


def test_a_password_that_was_not_sent_is_not_said_to_have_been(serve, server, netrc_file, tmp_path) -> None:
    other = serve()
    server.will(FILE, bad.redirects(other.url + FILE))
    other.will(FILE, bad.status(401))
    done = download(Release(urls=(server.url,), login=True), tmp_path / "to", patience=QUICK)
    assert "401 Unauthorized without a name and password" in done.failures[FILE]


def test_netrc_files_that_others_read_or_that_are_none_are_said(server, netrc_file, tmp_path, monkeypatch) -> None:
    netrc_file.chmod(0o644)
    done = download(Release(urls=(server.url,), login=True), tmp_path / "to", patience=QUICK)
    assert done.notes == (f"{netrc_file} holds a password and others may read or write it: `chmod 600 {netrc_file}`",)
    netrc_file.chmod(0o600)
    assert download(Release(urls=(server.url,), login=True), tmp_path / "to", patience=QUICK).notes == ()
    netrc_file.write_text(f"machine 127.0.0.1 password {SECRET}\n")
    with pytest.raises(UsageError, match="has a password and no login") as caught:
        credentials_for(server.url)
    assert SECRET not in str(caught.value)
    monkeypatch.setenv("NETRC", str(tmp_path))
    with pytest.raises(UsageError, match="is a folder; a netrc file was expected"):
        credentials_for(server.url)
