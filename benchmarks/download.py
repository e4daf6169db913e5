"""Loopback throughput of `download` against a plain loop of `urllib`, with a wait before each answer.

    python benchmarks/download.py [--files 400] [--size 24000] [--latency 0.02]

Both write every file; ours also hashes it, flushes it to disk and asks for sizes first. The last line is JSON; `ratio`
is how many times faster ours is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from einthoven.datasets.downloading.download import WORKERS, download
from einthoven.datasets.downloading.release import Release


class Files(BaseHTTPRequestHandler):
    """Serves `files` after a wait."""

    protocol_version = "HTTP/1.1"
    # Or each answer waits for the acknowledgement of its head.
    wbufsize = -1
    files: dict[str, bytes]
    latency: float

    def do_GET(self) -> None:
        """Answer with the file."""
        time.sleep(self.latency)
        body = self.files[self.path.lstrip("/")]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Say nothing."""


def main() -> None:
    """Measure both, one after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--size", type=int, default=24_000, help="bytes of each; a 100 Hz record of PTB-XL has 24,000")
    parser.add_argument("--latency", type=float, default=0.02, help="seconds before each answer")
    chosen = parser.parse_args()
    draw = random.Random(1)  # noqa: S311  # not cryptography
    files = {f"records/{number:05d}.dat": draw.randbytes(chosen.size) for number in range(chosen.files)}
    sums = "".join(f"{hashlib.sha256(body).hexdigest()} {path}\n" for path, body in files.items())
    Files.files, Files.latency = {**files, "SHA256SUMS.txt": sums.encode()}, chosen.latency
    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        for path in files:
            target = Path(folder) / "plain" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with urllib.request.urlopen(url + path, timeout=30) as answer:  # noqa: S310  # our own server
                target.write_bytes(answer.read())
        plain = time.perf_counter() - started
        started = time.perf_counter()
        done = download(Release(urls=(url,)), Path(folder) / "ours")
        ours = time.perf_counter() - started
        assert done.ok
        started = time.perf_counter()
        assert download(Release(urls=(url,)), Path(folder) / "ours").kept == chosen.files
        again = time.perf_counter() - started
    server.shutdown()
    print(f"{chosen.files} files of {chosen.size:,} bytes, {chosen.latency:g} s before each answer, {WORKERS} workers")
    print(f"urllib, one after the other: {plain:.2f} s; download: {ours:.2f} s; a second call: {again:.2f} s")
    seconds = {"urllib": round(plain, 3), "download": round(ours, 3), "again": round(again, 3)}
    print(json.dumps({"benchmark": "download", "seconds": seconds, "ratio": round(plain / ours, 2)}))


if __name__ == "__main__":
    main()
