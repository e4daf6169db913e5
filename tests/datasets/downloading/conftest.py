"""Servers that misbehave, and patience that is short."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from einthoven.datasets.downloading.release import Release
from einthoven.datasets.downloading.web import Patience

from .misbehaving_server import MisbehavingServer

QUICK = Patience(attempts=3, requests=20, first_wait=0.01, longest_wait=1.0, silence=2.0)


def noise(size: int, seed: int) -> bytes:
    """Bytes that are the same every time."""
    return random.Random(seed).randbytes(size)  # noqa: S311  # not cryptography


def release_files() -> dict[str, bytes]:
    """A small release: a table, and records in two folders."""
    draw = random.Random(7)  # noqa: S311  # not cryptography
    files = {"table.csv": b"record\n1\n2\n", "empty.txt": b"", "a name with spaces & more.txt": b"text\n"}
    for folder in ("low", "high"):
        files |= {f"{folder}/0/{name}.dat": draw.randbytes(3000) for name in range(4)}
    return files


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials, and no proxy, of whoever runs the tests."""
    for name in ("EINTHOVEN_PHYSIONET_USER", "EINTHOVEN_PHYSIONET_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")


@pytest.fixture
def serve() -> Iterator[Callable[..., MisbehavingServer]]:
    """Starts servers, and ends them."""
    servers: list[MisbehavingServer] = []

    def start(files: dict[str, bytes] | None = None) -> MisbehavingServer:
        servers.append(MisbehavingServer(release_files() if files is None else files))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def server(serve: Callable[..., MisbehavingServer]) -> MisbehavingServer:
    """One server with a small release."""
    return serve()


@pytest.fixture
def release(server: MisbehavingServer) -> Release:
    """The release of `server`."""
    return Release(urls=(server.url,))
