"""One file over HTTP: what came before an interrupt is kept and gone on with."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.foundation.errors import DataError
from einthoven.foundation.publishing import write_json

if TYPE_CHECKING:
    import requests

Progress = Callable[[int, int | None], None]
"""Told how many bytes are there and how many there will be, where that is known."""

_ATTEMPTS = 5
# What is on its way when a connection breaks is lost, up to this.
_BLOCK = 1 << 16
_TIMEOUT = (10, 60)


class RefusedError(DataError):
    """The server answered and does not give the file.

    Attributes:
        status: of HTTP.
    """

    def __init__(self, status: int, where: str) -> None:
        super().__init__(f"{where} answered {status}.")
        self.status = status


class _LostError(Exception):
    """What another attempt may mend."""


def download(
    url: str,
    part: Path,
    *,
    headers: Mapping[str, str] | None = None,
    size: int | None = None,
    unchanging: bool = False,
    progress: Progress = lambda _done, _total: None,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Bring `part` to its whole length; the caller tells by its digest whether it is the right file.

    Args:
        url: of the file; redirects are followed, and another host is sent no authorization.
        part: what came before, which is gone on with; nothing is thrown away on an interrupt.
        headers: sent along; never shown.
        size: bytes the file must have, where known.
        unchanging: the address always gives the same bytes; else what came is gone on with only where the server says
            by its validator that it is still the same file.
        progress: see `Progress`.
        wait: sleeps for seconds.

    Raises:
        RefusedError: the server says no.
        DataError: the server cannot be reached, breaks off again and again, or sends another thing.
    """
    part.parent.mkdir(parents=True, exist_ok=True)
    in_vain = furthest = 0
    while True:
        had = _size(part)
        furthest = max(furthest, had)
        if size is not None and had == size:
            return
        if size is not None and had > size:
            part.unlink()
            had = 0
        try:
            _advance(url, part, had, headers or {}, size, unchanging, progress)
        except _LostError as error:
            # What came before and was thrown away is no progress.
            in_vain = 0 if _size(part) > furthest else in_vain + 1
            if in_vain >= _ATTEMPTS:
                raise DataError(
                    f"{_host(url)} could not be had: {error}. Is there a network, and may it be reached? "
                    f"{_size(part):,} bytes came so far and are kept; the same command goes on from there."
                ) from error
            wait(min(2.0**in_vain, 30.0))
        else:
            return


def forget(part: Path) -> None:
    """Throw away what came of a file."""
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def _advance(
    url: str,
    part: Path,
    had: int,
    headers: Mapping[str, str],
    size: int | None,
    unchanging: bool,
    progress: Progress,
) -> None:
    import requests

    wanted = {"Accept-Encoding": "identity"}
    validator = _validator_of(part, url)
    if had and (unchanging or validator):
        wanted["Range"] = f"bytes={had}-"
        if not unchanging and validator:
            wanted["If-Range"] = validator
    try:
        with requests.get(url, headers=wanted, auth=_With(headers), stream=True, timeout=_TIMEOUT) as answer:
            start = _start_of(answer, had if "Range" in wanted else 0, part)
            _remember(part, url, answer)
            _receive(answer, part, start, size, progress)
    except requests.RequestException as error:
        # Its text may hold the address that a redirect signed.
        raise _LostError(_in_words(error)) from None


class _With:
    """Headers as an `auth` of requests, so that ~/.netrc does not put others in their place."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers.update(self._headers)
        return request


def _start_of(answer: requests.Response, had: int, part: Path) -> int:
    """The byte the answer begins at."""
    status, where = answer.status_code, _host(answer.url)
    if status == 416:
        forget(part)
        raise _LostError("416: it has no bytes where the part ends")
    if status in (408, 425, 429) or status >= 500:
        raise _LostError(f"it answered {status}")
    if status not in (200, 206):
        raise RefusedError(status, where)
    if "html" in answer.headers.get("Content-Type", ""):
        raise DataError(
            f"{where} sent a web page instead of the file, as where one must log in or agree to something. Open the "
            "page of the weights in a browser."
        )
    if status == 200:
        return 0
    begins = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
    if begins is None or int(begins[1]) != had:
        forget(part)
        raise _LostError("206 with other bytes than those asked for")
    return had


def _receive(answer: requests.Response, part: Path, start: int, size: int | None, progress: Progress) -> None:
    stated = answer.headers.get("Content-Length", "")
    total = start + int(stated) if stated.isdigit() else size
    if size is not None and total is not None and total > size:
        raise DataError(f"{_host(answer.url)} states {total:,} bytes where {size:,} were expected; it is another file.")
    done = start
    with part.open("ab" if start else "wb") as stream:
        for block in answer.iter_content(_BLOCK):
            done += len(block)
            if size is not None and done > size:
                raise DataError(f"{_host(answer.url)} sends more than the {size:,} bytes that were expected.")
            stream.write(block)
            progress(done, total)
    whole = total if size is None else size
    if whole is not None and done < whole:
        raise _LostError(f"it ended after {done:,} of {whole:,} bytes")


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _note(part: Path) -> Path:
    return part.with_name(f"{part.name}.from.json")


def _remember(part: Path, url: str, answer: requests.Response) -> None:
    etag = answer.headers.get("ETag", "")
    # A weak one promises no equal bytes.
    validator = etag if etag and not etag.startswith("W/") else answer.headers.get("Last-Modified", "")
    write_json(_note(part), {"url": url, "validator": validator})


def _validator_of(part: Path, url: str) -> str:
    try:
        note = json.loads(_note(part).read_text(encoding="utf-8"))
        return str(note["validator"]) if note["url"] == url else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _host(url: str) -> str:
    """Who was asked; the rest of an address may be signed, and is nobody's business."""
    return url.split("?", 1)[0].split("/")[2].rpartition("@")[2]


def _in_words(error: Exception) -> str:
    import requests

    if isinstance(error, requests.exceptions.ConnectTimeout | requests.exceptions.ReadTimeout):
        return "it does not answer"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not trusted here"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy does not let it through"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "it broke off"
    if isinstance(error, requests.exceptions.ConnectionError):
        return "no connection"
    return type(error).__name__
