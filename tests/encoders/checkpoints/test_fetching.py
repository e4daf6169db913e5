"""Fetching from a server on this machine that breaks off, lies and refuses."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.encoders.checkpoints import resuming
from einthoven.encoders.checkpoints.fetching import fetch
from einthoven.encoders.checkpoints.store import open_weights
from einthoven.encoders.registry import ENCODERS
from einthoven.foundation.errors import DataError, UsageError
from einthoven.signals.preprocessing import Preprocessing

COMMIT = "c0ffee" + "0" * 34
TOKEN = "hf_secretsecretsecretsecretsecretsecr"  # noqa: S105


class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(500, 500)


@dataclass
class Server:
    """What it does, and what it was asked.

    Attributes:
        cut: after so many bytes of each answer it breaks off, while `cuts` are left.
        stall: after so many bytes it says nothing more.
    """

    body: bytes
    url: str = ""
    status: int = 200
    error_code: str = ""
    etag: str = '"one"'
    cut: int = 0
    cuts: int = 0
    stall: int = 0
    ranges: bool = True
    kind: str = "application/octet-stream"
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)

    def ranges_asked(self) -> list[str]:
        return [headers["range"] for _, headers in self.asked if "range" in headers]


@pytest.fixture
def server() -> Iterator[Server]:
    torch.manual_seed(0)
    from safetensors.torch import save

    told = Server(save(Wide().state_dict()))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

        def do_HEAD(self) -> None:
            self._answer(b"", len(told.body))

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            if "weights.bin" in self.path:  # the hub's library asks for other things of its own
                told.asked.append((self.path, headers))
            span = re.match(r"bytes=(\d+)-", headers.get("range", ""))
            same = headers.get("if-range", told.etag) == told.etag
            start = int(span[1]) if span and told.ranges and same else 0
            if start >= len(told.body):
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self._answer(told.body[start:], len(told.body) - start, start)

        def _answer(self, body: bytes, length: int, start: int = 0) -> None:
            self.send_response(told.status if told.status != 200 else 206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(told.body) - 1}/{len(told.body)}")
            for name, value in (
                ("Content-Length", str(length if told.status == 200 else 0)),
                ("Content-Type", told.kind),
                ("ETag", told.etag),
                ("X-Repo-Commit", COMMIT),
                ("X-Error-Code", told.error_code),
            ):
                if value:
                    self.send_header(name, value)
            self.end_headers()
            if told.status != 200:
                return
            if told.stall and len(body) > told.stall:
                self.wfile.write(body[: told.stall])
                self.wfile.flush()
                told.release.wait(60)
                self.close_connection = True
            elif told.cuts and told.cut < len(body):
                told.cuts -= 1
                self.wfile.write(body[: told.cut])
                self.close_connection = True
            else:
                self.wfile.write(body)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that are killed are meant to be
    yield told
    told.release.set()
    http.shutdown()
    http.server_close()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming.download, "__kwdefaults__", {**_defaults(), "wait": lambda _seconds: None})
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def _defaults() -> dict[str, Any]:
    return dict(resuming.download.__kwdefaults__ or {})


def card(where: str, **changes: Any) -> EncoderCard:
    source: dict[str, Any] = {
        "where": where,
        "page": "https://example.org/page",
        "file": "weights.bin",
        "access": "a form must be filled in",
        "non_commercial": False,
    }
    return EncoderCard(
        name="wide",
        title="Wide",
        summary="Wide.",
        paper="none",
        code_licence="MIT",
        weights_licence="MIT",
        weights="none",
        consumes="signal",
        checkpoint=CheckpointSource.model_validate(source | changes),
        preprocessings={"native": Preprocessing(name="native", rate=100, seconds=10)},
        dimension=4,
        pretraining="unknown",
    )


def at(server: Server, **changes: Any) -> EncoderCard:
    return card("url", url=f"{server.url}/weights.bin?signed=secret", **changes)


def parts(home: Path) -> list[Path]:
    return [p for p in (home / "checkpoints/wide/.fetching").glob("*") if not p.name.startswith(".")]


def test_a_file_is_fetched_checked_converted_and_then_needed_no_more(server: Server, home: Path) -> None:
    digest = hashlib.sha256(server.body).hexdigest()
    done = fetch(at(server, sha256=digest, bytes=len(server.body)), Wide)
    assert done.fetched
    assert done.stored.provenance.source_sha256 == digest
    assert done.stored.provenance.source_bytes == len(server.body)
    assert not parts(home)
    asked = len(server.asked)
    again = fetch(at(server), Wide)
    assert not again.fetched
    assert len(server.asked) == asked, "what is here was asked for again"
    assert torch.equal(again.stored.tensors()["layer.weight"], done.stored.tensors()["layer.weight"])


@pytest.mark.parametrize("pinned", [True, False])
def test_a_connection_that_breaks_off_is_gone_on_with(pinned: bool, server: Server, home: Path) -> None:
    server.cut, server.cuts = 300_000, 3
    digest = hashlib.sha256(server.body).hexdigest() if pinned else None
    assert fetch(at(server, sha256=digest), Wide).stored.provenance.source_bytes == len(server.body)
    begins = [int(asked[6:-1]) for asked in server.ranges_asked()]
    assert len(begins) == 3
    # What was in the last block on its way is lost.
    assert all(b - a > 300_000 - (1 << 17) for a, b in zip([0, *begins], begins, strict=False))


def test_a_server_without_ranges_is_begun_anew(server: Server, home: Path) -> None:
    server.cut, server.cuts, server.ranges = 300_000, 2, False
    assert fetch(at(server), Wide).fetched


def test_a_file_that_changed_meanwhile_is_begun_anew(server: Server, home: Path) -> None:
    server.cut, server.cuts = 300_000, 99
    new = bytes(server.body)
    server.body = server.body[:300_000] + bytes(len(new) - 300_000)
    server.ranges = False
    with pytest.raises(DataError, match=r"ended after 300,000|broke off"):
        fetch(at(server), Wide)
    server.cuts, server.ranges, server.body, server.etag = 0, True, new, '"two"'
    done = fetch(at(server), Wide)
    assert done.stored.provenance.source_sha256 == hashlib.sha256(new).hexdigest()


def test_a_server_that_always_breaks_off_is_left(server: Server, home: Path) -> None:
    server.cut, server.cuts, server.ranges = 300_000, 99, False
    with pytest.raises(DataError, match=r"[1-9][\d,]+ bytes came so far and are kept"):
        fetch(at(server), Wide)
    assert open_weights("wide") is None


def test_a_file_shorter_than_stated_is_left(server: Server, home: Path) -> None:
    with pytest.raises(DataError, match=r"could not be had"):
        fetch(at(server, bytes=len(server.body) + 7), Wide)
    with pytest.raises(DataError, match=r"states .* bytes where .* were expected"):
        fetch(at(server, bytes=len(server.body) - 7), Wide)


def test_a_wrong_digest_is_thrown_away_and_told(server: Server, home: Path) -> None:
    with pytest.raises(DataError, match=r"came with sha256 .* instead of 0+.*thrown away") as caught:
        fetch(at(server, sha256="0" * 64), Wide)
    assert not parts(home)
    assert open_weights("wide") is None
    assert "127.0.0.1" in str(caught.value)


def test_a_part_that_was_damaged_where_it_lay_is_begun_anew(server: Server, home: Path) -> None:
    whole = server.body
    digest = hashlib.sha256(whole).hexdigest()
    server.cut, server.cuts, server.ranges = 300_000, 99, False
    with pytest.raises(DataError):
        fetch(at(server, sha256=digest), Wide)
    server.cuts, server.ranges = 0, True
    [part] = [p for p in parts(home) if not p.name.endswith(".json")]
    part.write_bytes(b"x" * part.stat().st_size)
    assert fetch(at(server, sha256=digest), Wide).fetched


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "not given to everybody"), (403, "a form must be filled in"), (404, "not there any more"), (503, "503")],
)
def test_refusals_say_what_to_do(status: int, message: str, server: Server, home: Path) -> None:
    server.status = status
    with pytest.raises(DataError, match=message) as caught:
        fetch(at(server), Wide)
    assert "signed=secret" not in str(caught.value)


def test_a_web_page_is_not_weights(server: Server, home: Path) -> None:
    server.kind = "text/html; charset=utf-8"
    with pytest.raises(DataError, match="web page instead of the file"):
        fetch(at(server), Wide)


def test_no_network_is_told_in_plain_words(home: Path) -> None:
    with pytest.raises(DataError, match=r"no connection\. Is there a network"):
        fetch(card("url", url="http://127.0.0.1:9/x"), Wide)


def test_a_file_that_does_not_fit_is_kept_and_not_fetched_again(server: Server, home: Path) -> None:
    size = len(server.body)
    with pytest.raises(DataError, match="does not fit"):
        fetch(at(server, bytes=size), lambda: nn.Linear(2, 2))
    asked = len(server.asked)
    assert fetch(at(server, bytes=size), Wide).fetched
    assert len(server.asked) == asked


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("by-hand", r"in a browser: a form .*Page: https://example.org/page. File: weights.bin. Licence: MIT."),
        ("on-request", r"need an agreement .*`einthoven encoders convert wide FILE`"),
        ("unreleased", r"never released.*weights: random"),
    ],
)
def test_what_no_program_can_fetch(where: str, message: str, home: Path) -> None:
    with pytest.raises(DataError, match=message):
        fetch(card(where), Wide)
    assert not home.exists()


def test_licence_revision_and_offline_come_before_the_network(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="--accept-licence"):
        fetch(at(server, non_commercial=True), Wide)
    with pytest.raises(UsageError, match="no revisions"):
        fetch(at(server), Wide, revision="main")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match="HF_HUB_OFFLINE is set"):
        fetch(at(server), Wide)
    assert not server.asked
    monkeypatch.delenv("HF_HUB_OFFLINE")
    fetch(at(server), Wide)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not fetch(at(server), Wide).fetched


# Hugging Face's own library reads its settings when it is imported: each case is a process of its own.
_ON_THE_HUB = """
import json, sys
sys.path.insert(0, sys.argv[1])
import test_fetching as t
from einthoven.foundation.errors import EinthovenError
arguments = json.loads(sys.argv[2])
try:
    done = t.fetch(t.card("huggingface", repository="owner/name", **arguments.pop("source", {})), t.Wide,
                   progress=lambda came, total: print("came", came, flush=True), **arguments)
    print(json.dumps(done.stored.provenance.model_dump(mode="json")))
except EinthovenError as error:
    print(f"{type(error).__name__}: {error}")
"""


def on_the_hub(server: Server | None, home: Path, arguments: dict[str, Any] | None = None, **env: str) -> list[str]:
    process = _start(server, home, arguments, env)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert TOKEN not in out + err
    return out.splitlines()


def _start(
    server: Server | None, home: Path, arguments: dict[str, Any] | None, env: dict[str, str]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _ON_THE_HUB, Path(__file__).parent, json.dumps(arguments or {})],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "EINTHOVEN_HOME": str(home),
            "HF_HOME": str(home / "hf"),
            "HF_ENDPOINT": server.url if server else "http://127.0.0.1:9",
            "HF_TOKEN": TOKEN,
            "HF_DEBUG": "1",
            **env,
        },
    )


@pytest.mark.slow
def test_from_the_hub_with_the_commit_pinned_and_the_token_unseen(server: Server, home: Path) -> None:
    server.etag = f'"{hashlib.sha256(server.body).hexdigest()}"'
    known = json.loads(on_the_hub(server, home)[-1])
    assert known["revision"] == COMMIT
    assert known["source"] == f"hf://owner/name@{COMMIT}/weights.bin"
    assert known["source_sha256"] == server.etag.strip('"')
    [(path, headers)] = server.asked
    assert path == f"/owner/name/resolve/{COMMIT}/weights.bin"
    assert headers["authorization"] == f"Bearer {TOKEN}"
    stored = "".join(p.read_text(errors="ignore") for p in home.rglob("*.json"))
    assert TOKEN not in stored
    # Without the server, and with another revision that is the same commit.
    assert json.loads(on_the_hub(None, home, HF_HUB_OFFLINE="1")[-1]) == known
    assert json.loads(on_the_hub(None, home, {"revision": COMMIT})[-1]) == known
    assert "already" in on_the_hub(None, home, {"revision": "main"})[-1]


@pytest.mark.slow
def test_a_killed_fetch_from_the_hub_goes_on(server: Server, home: Path) -> None:
    server.stall = 600_000
    process = _start(server, home, None, {})
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("came") and int(line.split()[1]) >= 500_000:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    server.stall = 0
    server.release.set()
    [part] = [p for p in parts(home) if not p.name.endswith(".json")]
    had = part.stat().st_size
    assert had >= 500_000
    known = json.loads(on_the_hub(server, home)[-1])
    assert server.ranges_asked() == [f"bytes={had}-"]
    assert known["source_sha256"] == hashlib.sha256(server.body).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (403, "GatedRepo", r"is gated\. .*agree to their terms; then log in here \(`hf auth login`"),
        (401, "RepoNotFound", r"not there, or not for everybody.*hf auth login"),
        (404, "EntryNotFound", r"has no file weights\.bin at main"),
        (404, "RevisionNotFound", r"has no revision 'main'"),
        (500, "", r"answered 500"),
    ],
)
def test_refusals_of_the_hub(status: int, code: str, message: str, server: Server, home: Path) -> None:
    server.status, server.error_code = status, code
    assert re.search(message, on_the_hub(server, home)[-1])
    assert not server.asked


@pytest.mark.slow
def test_the_hub_out_of_reach_and_a_wrong_file_from_it(server: Server, home: Path) -> None:
    assert "Hugging Face could not be had: no connection" in on_the_hub(None, home)[-1]
    server.etag = f'"{"0" * 64}"'
    assert "instead of 0000" in on_the_hub(server, home)[-1]
    server.etag = '"small"'
    assert "was released with 1111" in on_the_hub(server, home, {"source": {"sha256": "1" * 64}})[-1]
    assert not parts(home)


def test_without_the_library_the_line_to_install_it_is_given(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DataError) as caught:
        fetch(card("huggingface", repository="owner/name"), Wide)
    assert str(caught.value).splitlines()[-1] == "pip install 'einthoven[encoders]'"


def test_a_redirect_to_another_host_is_sent_no_token(server: Server, home: Path, tmp_path: Path) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"{server.url}/weights.bin")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    http = ThreadingHTTPServer(("127.0.0.2", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.2:{http.server_port}/x"
        resuming.download(url, tmp_path / "part", headers={"Authorization": f"Bearer {TOKEN}"})
    finally:
        http.shutdown()
        http.server_close()
    assert (tmp_path / "part").read_bytes() == server.body
    assert "authorization" not in server.asked[-1][1]


def test_every_card_can_be_asked_how_its_weights_come(home: Path) -> None:
    """The way that is told for weights that no program can fetch is complete for every registered encoder."""
    for entry in ENCODERS:
        source = entry.card.checkpoint
        if source is not None and not source.fetchable:
            assert entry.network is not None
            with pytest.raises(DataError, match=f"einthoven encoders convert {entry.name} FILE"):
                fetch(entry.card, entry.network())
