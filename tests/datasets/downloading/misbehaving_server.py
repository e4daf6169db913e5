"""A file server on the loopback that does wrong on request."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

# What a behaviour gets: the request, and the whole body of the file.
Behaviour = Callable[["Handler", bytes], None]


class Handler(BaseHTTPRequestHandler):
    """Serves the files of its server; each file may have behaviours, which are used up one a request."""

    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]  # it is always this one
    # Or each answer waits for the acknowledgement of its head.
    wbufsize = -1

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def _serve(self) -> None:
        path = unquote(self.path.partition("?")[0]).lstrip("/")
        with self.server.lock:
            self.server.requests[path] += 1
            self.server.headers[path].append((self.command, dict(self.headers)))
            waiting = self.server.behaviours[path] if self.command == "GET" else []
            behaviour = waiting.pop(0) if waiting else (good if self.command == "GET" else self.server.heads)
        if self.server.latency:
            time.sleep(self.server.latency)
        body = self.server.files.get(path)
        with suppress(ConnectionError):
            if body is None and behaviour is good:
                status(404)(self, b"")
            else:
                behaviour(self, body or b"")

    def head(self, code: int, length: int | None, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(code)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def body(self, data: bytes) -> None:
        if self.command != "HEAD":
            self.wfile.write(data)

    def hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.files: dict[str, bytes] = {}
        self.behaviours: dict[str, list[Behaviour]] = defaultdict(list)
        self.heads: Behaviour = good
        self.connections = 0
        self.requests: Counter[str] = Counter()
        self.headers: dict[str, list[tuple[str, dict[str, str]]]] = defaultdict(list)
        self.latency = 0.0

    def verify_request(self, request: object, client_address: object) -> bool:
        self.connections += 1
        return True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that went away


class MisbehavingServer:
    """The server and what it serves."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.http = _Server()
        self.http.files = dict(files)
        self.list_files()
        self._thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/"

    @property
    def files(self) -> dict[str, bytes]:
        return self.http.files

    def list_files(self, **more: str) -> None:
        """Write SHA256SUMS.txt, as PhysioNet does: one space."""
        sums = {path: hashlib.sha256(body).hexdigest() for path, body in self.files.items() if path != "SHA256SUMS.txt"}
        lines = "".join(f"{digest} {path}\n" for path, digest in {**sums, **more}.items())
        self.files["SHA256SUMS.txt"] = lines.encode()

    def will(self, path: str, *behaviours: Behaviour) -> None:
        """What happens to the next requests for a file; after those it is served well."""
        self.http.behaviours[path] = list(behaviours)

    def gets(self, path: str) -> list[dict[str, str]]:
        """Headers of the GET requests for a file."""
        return [headers for command, headers in self.http.headers[path] if command == "GET"]

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self._thread.join(5)


def good(request: Handler, body: bytes) -> None:
    """As it should be, with ranges."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    headers = {"ETag": tag, "Accept-Ranges": "bytes"}
    start = request.headers.get("Range", "").removeprefix("bytes=").partition("-")[0]
    if request.headers.get("If-Range", tag) != tag or not start:
        request.head(200, len(body), headers)
        request.body(body)
    elif int(start) >= len(body):
        request.head(416, 0, {"Content-Range": f"bytes */{len(body)}"})
    else:
        rest = body[int(start) :]
        request.head(206, len(rest), {**headers, "Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"})
        request.body(rest)


def drops_after(size: int) -> Behaviour:
    """The connection breaks after so many bytes of what was asked for."""

    def behave(request: Handler, body: bytes) -> None:
        start = int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        rest = body[start:]
        headers = {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {}
        request.head(206 if start else 200, len(rest), {**headers, "ETag": '"drops"'})
        request.body(rest[:size])
        request.hang_up()

    return behave


def no_ranges(request: Handler, body: bytes) -> None:
    """The whole file, whatever part was asked for."""
    request.head(200, len(body))
    request.body(body)


def truncates(request: Handler, body: bytes) -> None:
    """Half of it, which is said to be all."""
    request.head(200, len(body) // 2)
    request.body(body[: len(body) // 2])


def unstated_half(request: Handler, body: bytes) -> None:
    """Half of it, with no length."""
    request.head(200, None, {"Connection": "close"})
    request.body(body[: len(body) // 2])
    request.hang_up()


def promises_more(request: Handler, body: bytes) -> None:
    """All of it, with a length that is too large, then the end."""
    request.head(200, len(body) + 100)
    request.body(body)
    request.hang_up()


def flips(request: Handler, body: bytes) -> None:
    """One bit is another."""
    wrong = bytes([body[0] ^ 1]) + body[1:]
    request.head(200, len(wrong))
    request.body(wrong)


def wrong_range(request: Handler, body: bytes) -> None:
    """206 from the beginning, whatever part was asked for."""
    request.head(206, len(body), {"Content-Range": f"bytes 0-{len(body) - 1}/{len(body)}"})
    request.body(body)


def empty(request: Handler, body: bytes) -> None:
    """Nothing, and that is said."""
    request.head(200, 0)


def web_page(request: Handler, body: bytes) -> None:
    """A page to log in, as if it were the file."""
    page = b"<!DOCTYPE html><html><title>Log in</title></html>\n"
    request.head(200, len(page), {"Content-Type": "text/html; charset=utf-8"})
    request.body(page)


def status(code: int, **headers: str) -> Behaviour:
    """A status and no file; underscores in names of headers are dashes."""

    def behave(request: Handler, body: bytes) -> None:
        request.head(code, 3, {name.replace("_", "-"): value for name, value in headers.items()})
        request.body(b"no\n")

    return behave


def redirects(to: str) -> Behaviour:
    """To another place."""

    def behave(request: Handler, body: bytes) -> None:
        request.head(302, 0, {"Location": to})

    return behave


def silent(seconds: float) -> Behaviour:
    """A head and some bytes, then nothing for a while."""

    def behave(request: Handler, body: bytes) -> None:
        request.head(200, len(body))
        request.body(body[:1000])
        request.wfile.flush()
        time.sleep(seconds)
        request.hang_up()

    return behave


def slow(seconds: float, pieces: int = 20) -> Behaviour:
    """In small pieces."""

    def behave(request: Handler, body: bytes) -> None:
        request.head(200, len(body))
        step = max(1, len(body) // pieces)
        for start in range(0, len(body), step):
            request.body(body[start : start + step])
            request.wfile.flush()
            time.sleep(seconds / pieces)

    return behave


def raw(answer: bytes) -> Behaviour:
    """These bytes, then the end."""

    def behave(request: Handler, body: bytes) -> None:
        request.wfile.write(answer)
        request.hang_up()

    return behave


def drips(first: bytes, piece: bytes, every: float = 0.02, most: float = 10.0) -> Behaviour:
    """These bytes, then another piece again and again."""

    def behave(request: Handler, body: bytes) -> None:
        request.wfile.write(first)
        end = time.monotonic() + most
        while time.monotonic() < end:
            request.wfile.write(piece)
            request.wfile.flush()
            time.sleep(every)
        request.hang_up()

    return behave


def endless(request: Handler, body: bytes) -> None:
    """Zeros, with no length."""
    request.head(200, None, {"Connection": "close"})
    for _ in range(4000):
        request.body(bytes(1 << 16))
    request.hang_up()


def ranges_of(size: int) -> Behaviour:
    """At most so many bytes a request."""

    def behave(request: Handler, body: bytes) -> None:
        start = int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        some = body[start : start + size]
        request.head(206, len(some), {"Content-Range": f"bytes {start}-{start + len(some) - 1}/{len(body)}"})
        request.body(some)

    return behave


def typed(kind: str) -> Behaviour:
    """As it should be, with a Content-Type."""

    def behave(request: Handler, body: bytes) -> None:
        request.head(200, len(body), {"Content-Type": kind})
        request.body(body)

    return behave
