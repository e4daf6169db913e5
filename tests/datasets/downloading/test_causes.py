"""Why nothing came is said in plain words, with what else may be done; no secret is in them."""

from __future__ import annotations

import errno
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import requests
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError, ReadTimeoutError

from einthoven.datasets.downloading.causes import in_plain_words
from einthoven.datasets.downloading.download import download
from einthoven.datasets.downloading.release import Release
from einthoven.datasets.downloading.verifying import verify
from einthoven.foundation.errors import DataError, UsageError

from . import misbehaving_server as bad
from .conftest import QUICK

SECRET = "hunter2-s3cret"  # noqa: S105  # of nobody
SUMS = "SHA256SUMS.txt"
FILES = {"a.dat": b"A" * 3000, "b.dat": b"B" * 100}
HASTY = replace(QUICK, attempts=2, silence=0.3, grace=2.0)


def message(url: str, folder: Path) -> str:
    """What a download says whose list cannot be had."""
    with pytest.raises(DataError, match=r"The list of files SHA256SUMS\.txt could not be downloaded") as caught:
        download(Release(urls=(url,)), folder, patience=HASTY)
    assert SECRET not in str(caught.value)
    assert "the connection failed" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A port that takes connections and never answers."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        found.listen(64)
        yield found


def url_of(found: socket.socket, scheme: str = "http") -> str:
    return f"{scheme}://localhost:{found.getsockname()[1]}/x/"


@pytest.fixture
def closed() -> str:
    """An address where nothing listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets everything be asked through a proxy."""

    def use(address: str) -> None:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"):
            monkeypatch.setenv(name, f"http://erna:{SECRET}@{address}")

    return use


def test_a_list_that_no_network_brings_names_the_cause_and_the_other_way(closed, tmp_path) -> None:
    folder = tmp_path / "my folder"
    found = message(f"http://{closed}/x/", folder)
    assert f"the connection was refused: nothing answers at {closed}" in found
    assert "may be fetched by other means" in found
    assert f"into {folder.resolve()}, each under its listed path and {SUMS} among them" in found
    assert f"`einthoven datasets verify '{folder.resolve()}'` checks them" in found


def test_files_that_no_network_brings_are_noted_with_the_other_way(serve, closed, tmp_path) -> None:
    server = serve(FILES)
    server.will("a.dat", *[bad.redirects(f"http://{closed}/a.dat")] * 9)
    done = download(Release(urls=(server.url,)), tmp_path, patience=HASTY)
    assert f"the connection was refused: nothing answers at {closed}" in done.failures["a.dat"]
    assert any("may be fetched by other means" in note for note in done.notes)
    # What a server answers is no matter of the network.
    server.will("a.dat", *[bad.status(404)] * 9)
    assert download(Release(urls=(server.url,)), tmp_path, patience=HASTY).notes == ()


def test_a_name_that_is_not_known_is_said(monkeypatch, tmp_path) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "the name data.example could not be resolved" in message("https://data.example/x/", tmp_path)


def test_a_server_that_never_answers_is_said(listening, tmp_path) -> None:
    assert "time-out: no byte came for 0.3 s" in message(url_of(listening), tmp_path)


def test_a_proxy_that_is_not_there_is_said_without_its_password(closed, proxy, tmp_path) -> None:
    proxy(closed)
    for scheme in ("http", "https"):
        found = message(f"{scheme}://data.example/x/", tmp_path / scheme)
        assert f"the proxy {closed} could not be reached: the connection was refused" in found
        assert "HTTPS_PROXY, HTTP_PROXY and NO_PROXY say which is used" in found


@pytest.mark.parametrize(
    ("code", "words"),
    [(407, "wants a name and password"), (403, "refused the connection to data.example (status 403)")],
)
def test_a_proxy_that_refuses_is_said_without_its_password(proxy, tmp_path, listening, code: int, words: str) -> None:
    def refuse() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(f"HTTP/1.1 {code} No\r\nContent-Length: 0\r\n\r\n".encode())

    threading.Thread(target=refuse, daemon=True).start()
    proxy(f"127.0.0.1:{listening.getsockname()[1]}")
    assert words in message("https://data.example/x/", tmp_path)
    if code == 407:
        assert words in message("http://data.example/x/", tmp_path)
    listening.shutdown(socket.SHUT_RDWR)


def test_a_password_over_plain_http_goes_past_every_proxy(serve, proxy, tmp_path, monkeypatch) -> None:
    server, listener = serve(FILES), serve({})
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login erna password {SECRET}\n")
    monkeypatch.setenv("NETRC", str(netrc))
    proxy(listener.url.removeprefix("http://").rstrip("/"))
    assert download(Release(urls=(server.url,), login=True), tmp_path / "to", patience=QUICK).ok
    assert listener.http.requests.total() == 0


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate that nobody vouches for, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, pem = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = "req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN=other"  # not localhost
    name = ("-addext", "subjectAltName=DNS:other")
    command = [openssl, *made.split(" "), *name, "-keyout", str(key), "-out", str(pem)]
    subprocess.run(command, check=True, capture_output=True)
    return pem, key


def test_a_certificate_that_is_not_accepted_is_said(certificate, listening, tmp_path, monkeypatch) -> None:
    pem, key = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)

    def answer() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError), context.wrap_socket(connection, server_side=True):
                    pass

    threading.Thread(target=answer, daemon=True).start()
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    found = message(url_of(listening, "https"), tmp_path / "a")
    assert "its certificate was not accepted: self" in found
    assert "REQUESTS_CA_BUNDLE" in found
    # Vouched for, it is still that of another name.
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(pem))
    found = message(url_of(listening, "https"), tmp_path / "b")
    assert "its certificate was not accepted: Hostname mismatch" in found
    listening.shutdown(socket.SHUT_RDWR)


def test_a_connection_that_ends_within_its_greeting_is_no_matter_of_a_certificate(listening, tmp_path) -> None:
    taken: list[int] = []

    def hang_up() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                connection.recv(10)
                taken.append(connection.fileno())
                connection.shutdown(socket.SHUT_RDWR)
                connection.close()

    threading.Thread(target=hang_up, daemon=True).start()
    with pytest.raises(DataError) as caught:
        download(Release(urls=(url_of(listening, "https"),)), tmp_path, patience=HASTY)
    assert "certificate" not in str(caught.value)
    # It passes, so it is asked again.
    assert len(taken) == HASTY.attempts
    listening.shutdown(socket.SHUT_RDWR)


def chained(inner: Exception) -> Exception:
    """As requests raises what urllib3 does."""
    pool = urllib3.HTTPSConnectionPool("data.example")
    return requests.exceptions.ConnectionError(MaxRetryError(pool, f"/x?sig={SECRET}", inner))


def unconnected(number: int) -> Exception:
    inner = NewConnectionError(HTTPConnection("data.example"), SECRET)
    inner.__cause__ = OSError(number, "no")
    return chained(inner)


@pytest.mark.parametrize(
    ("error", "words", "lasting"),
    [
        (unconnected(errno.ENETUNREACH), "this machine has no way to data.example", False),
        (unconnected(errno.EHOSTUNREACH), "this machine has no way to data.example", False),
        (unconnected(errno.ECONNREFUSED), "the connection was refused: nothing answers at data.example", False),
        (unconnected(errno.ETIMEDOUT), "time-out: no connection to data.example was made", False),
        (unconnected(errno.EADDRNOTAVAIL), "no connection to data.example could be made", False),
        (
            chained(urllib3.exceptions.SSLError(ssl.SSLEOFError(8, "EOF occurred"))),
            "the secure (TLS) connection",
            False,
        ),
        (ProtocolError(f"broken {SECRET}", ConnectionResetError(104, "reset")), "the connection failed", False),
        (ReadTimeoutError(urllib3.HTTPConnectionPool("x"), "/", SECRET), "time-out: no byte came for 9 s", False),
        (ZeroDivisionError(SECRET), "its answer cannot be understood (ZeroDivisionError)", False),
        (requests.exceptions.InvalidURL(SECRET), "cannot be read (InvalidURL)", True),
    ],
)
def test_every_cause_has_its_words_and_no_secret(error: Exception, words: str, lasting: bool) -> None:
    found = in_plain_words(error, f"https://erna:{SECRET}@data.example/x?sig={SECRET}", silence=9.0)
    assert words in str(found)
    assert found.lasting == lasting
    assert SECRET not in str(found)


def test_an_error_that_is_its_own_cause_is_no_endless_matter() -> None:
    error = OSError("x")
    error.args = (error,)
    assert str(in_plain_words(error, "https://data.example/", silence=1.0)) == "the connection failed"


def test_verify_without_a_list_says_where_it_may_be_placed(tmp_path) -> None:
    with pytest.raises(UsageError, match=r"place SHA256SUMS\.txt there by hand") as caught:
        verify(tmp_path, Release(urls=("https://physionet.org/files/afdb/1.0.0/",)))
    assert "https://physionet.org/files/afdb/1.0.0/SHA256SUMS.txt" in str(caught.value)
    with pytest.raises(UsageError, match=r"put its files there by other means, its list of sums among them"):
        verify(tmp_path / "none")
    # And it is enough, as are files that came by other means.
    server = bad.MisbehavingServer(FILES)
    server.close()
    for path, body in server.files.items():
        (tmp_path / path).write_bytes(body)
    assert verify(tmp_path).ok
