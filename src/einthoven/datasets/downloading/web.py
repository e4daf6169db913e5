"""Asking servers for files: redirects without credentials, waits that servers ask for, errors in plain words."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from .credentials import Credentials, how_to_log_in, shown
from .names import printable
from .stopping import Stop, Stopped

if TYPE_CHECKING:
    from requests import Response, Session

    from .connections import Watch, Watches

_REDIRECTS = 5
_MOVED = (301, 302, 303, 307, 308)
# Not found, gone, not allowed and the like stay so; these pass.
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Patience:
    """How long servers are borne with. All times in seconds.

    Attributes:
        attempts: requests in a row that bring no new byte of a file, or too slowly, before its next server is asked.
        requests: requests for one file to one server in all, however many bytes they bring.
        wrong_sums: downloads with the wrong bytes before the next server is asked.
        first_wait: before the second attempt; doubled for each further one.
        longest_wait: a server that asks for a longer wait is not waited for.
        silence: without any byte, after which a connection is given up.
        grace: until the head of an answer must be there; a body has so long, and a second for each `slowest` bytes.
        slowest: bytes a second that a body brings at least, on the average.
    """

    attempts: int = 5
    requests: int = 100
    wrong_sums: int = 2
    first_wait: float = 1.0
    longest_wait: float = 60.0
    silence: float = 30.0
    grace: float = 60.0
    slowest: float = 1000.0


class Trouble(Exception):  # noqa: N818  # mostly passing, and never shown as an error of its own
    """A request that brought no file.

    Attributes:
        lasting: asking the same server again is of no use.
        wait: seconds after which it asked to be asked again.
    """

    def __init__(self, reason: str, *, lasting: bool = False, wait: float | None = None) -> None:
        super().__init__(reason)
        self.lasting = lasting
        self.wait = wait


class Answer:
    """The head of an answer, and its body as it comes."""

    def __init__(self, web: Web, response: Response, watch: Watch) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._web, self._response, self._watch = web, response, watch

    def length(self) -> int | None:
        """The stated length of the body; None if it is not stated.

        Raises:
            Trouble: what is stated is no number.
        """
        text = self.headers.get("Content-Length")
        if text is None or "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return None
        found = number(text)
        if found is None:
            raise Trouble(f"it states a length of {printable(text[:40])!r}; a number was expected", lasting=True)
        return found

    def blocks(self) -> Iterator[bytes]:
        """The body as it is sent: the listed sum is that of the file, not of what a Content-Encoding stands for.

        Raises:
            Trouble: the connection broke, or the body comes too slowly.
            Stopped: the download was told to stop.
        """
        patience = self._web.patience
        began, came = time.monotonic(), 0
        self._watch.until = began + patience.grace
        while True:
            # What has come is given at once, not when a block is full: a silent server must not take it away.
            with self._web.in_plain_words(self._watch):
                block = self._response.raw.read1(_BLOCK, decode_content=False)
            self._web.stop.check()
            if not block:
                break
            came += len(block)
            self._watch.until = began + patience.grace + came / patience.slowest
            yield block
        if self._watch.fired:
            # An ended connection looks like the end of a body whose length is not stated.
            raise self._web.too_slow()


class Web:
    """What the threads of one download ask servers through.

    One session a thread keeps its connection open from file to file; a release has tens of thousands of small ones.
    """

    def __init__(self, patience: Patience, credentials: Credentials | None, stop: Stop) -> None:
        self.patience = patience
        self.stop = stop
        self._credentials = credentials
        self._local = threading.local()
        self._quiet_until: dict[str, float] = {}
        self._lock = threading.Lock()
        self._watches: Watches | None = None

    def wait(self, url: str, seconds: float, *, asked: bool) -> None:
        """Wait before the next attempt; if the server asked for it, no thread asks that server meanwhile."""
        if asked:
            host = urlsplit(url).netloc
            self._quiet_until[host] = max(self._quiet_until.get(host, 0.0), time.monotonic() + seconds)
        self.stop.wait(seconds)

    @contextmanager
    def ask(self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> Iterator[Answer]:
        """The answer to a request: status 200, 206 or 416, its body not yet read.

        Raises:
            Trouble: any other status, no answer, or a page to log in.
        """
        host = urlsplit(url).netloc
        quiet = self._quiet_until.get(host, 0.0) - time.monotonic()
        if quiet > 0:
            self.stop.wait(min(quiet, self.patience.longest_wait))
        with self._watching().watching(self.patience.grace) as watch:
            with self.in_plain_words(watch):
                response, at, known = self._follow(url, method, {"Accept-Encoding": "identity", **(headers or {})})
            try:
                if response.status_code not in (200, 206, 416):
                    raise self._refusal(at, response, known=known)
                if method == "HEAD":
                    with self.in_plain_words(watch):
                        response.raw.read()  # nothing; its connection is free for the next request then
                yield Answer(self, response, watch)
            finally:
                response.close()

    def _follow(self, url: str, method: str, headers: dict[str, str]) -> tuple[Response, str, bool]:
        """The answer at the end of all redirects, its URL, and whether the password was sent there."""
        for _ in range(_REDIRECTS + 1):
            self.stop.check()
            known = self._credentials.header_for(url) if self._credentials else None
            # Redirects are followed here, not by requests: each hop decides anew who may see the password.
            response = self._session().request(
                method,
                url,
                headers={**headers, "Authorization": known} if known else headers,
                timeout=(self.patience.silence, self.patience.silence),
                stream=True,
                allow_redirects=False,
            )
            if response.status_code not in _MOVED:
                return response, url, known is not None
            response.close()
            target = _target(url, response.headers.get("Location", ""))
            parts = urlsplit(target)
            if "login" in parts.path.split("/"):
                raise Trouble(f"it wants one to log in: {how_to_log_in(url)}", lasting=True)
            if parts.scheme not in ("http", "https") or (url.startswith("https:") and parts.scheme != "https"):
                raise Trouble(f"it sent us on to {printable(shown(target))}, which is not as safe", lasting=True)
            url = target
        raise Trouble(f"it sent us on more than {_REDIRECTS} times, last to {printable(shown(url))}", lasting=True)

    def _session(self) -> Session:
        if not hasattr(self._local, "session"):
            from .connections import new_session

            self._local.session = new_session()
        return self._local.session

    def _watching(self) -> Watches:
        from .connections import Watches

        with self._lock:
            if self._watches is None:
                self._watches = Watches()
                self.stop.then(self._watches.end)
            return self._watches

    def _refusal(self, url: str, response: Response, *, known: bool) -> Trouble:
        status = response.status_code
        reason = printable(f"{status} {(response.reason or '')[:80]}".strip())
        if status in (401, 403):
            who = "with the name and password that were sent" if known else "without a name and password"
            return Trouble(f"{reason} {who}; to log in, {how_to_log_in(url)}", lasting=True)
        wait = _retry_after(response.headers.get("Retry-After"))
        if wait is not None and wait > self.patience.longest_wait:
            return Trouble(f"{reason}; it asks to be left alone for {wait:.0f} s", lasting=True)
        return Trouble(reason, lasting=status not in _PASSING, wait=wait)

    def too_slow(self) -> Trouble:
        """The time of a request was over."""
        patience = self.patience
        return Trouble(
            f"it was too slow (fewer than {patience.slowest:,.0f} bytes a second, or no head of an answer within "
            f"{patience.grace:g} s)"
        )

    @contextmanager
    def in_plain_words(self, watch: Watch) -> Iterator[None]:
        """Turn whatever an answer makes the libraries raise into Trouble."""
        # Never the text of the error: it holds the URL, with whatever stands in it.
        try:
            yield
        except (Trouble, Stopped):
            raise
        except Exception as error:  # a server's answer may break anything below us
            self.stop.check()
            if watch.fired:
                raise self.too_slow() from None
            raise _in_plain_words(error) from None


def _in_plain_words(error: Exception) -> Trouble:
    import requests
    import urllib3

    name = type(error).__name__
    if isinstance(error, requests.exceptions.InvalidURL | UnicodeError | urllib3.exceptions.LocationValueError):
        return Trouble(f"its address, or the one it sent us on to, cannot be read ({name})", lasting=True)
    if not isinstance(error, urllib3.exceptions.HTTPError | requests.RequestException | OSError):
        return Trouble(f"its answer cannot be understood ({name})")
    if "Timeout" in name:
        return Trouble("no byte came for too long")
    if "SSL" in name:
        return Trouble("its certificate was not accepted", lasting=True)
    return Trouble("the proxy could not be reached" if "Proxy" in name else "the connection failed")


def number(text: str | None) -> int | None:
    """The number that a header states; None if it is none, or absurdly large."""
    return int(text) if text is not None and re.fullmatch(r"\s*[0-9]{1,15}\s*", text) else None


def _target(url: str, location: str) -> str:
    """Where a redirect leads, without a user's name and password."""
    with suppress(UnicodeError):
        # Headers are read as Latin-1; most are UTF-8.
        location = location.encode("latin-1").decode("utf-8")
    try:
        target = urljoin(url, location)
        parts = urlsplit(target)
        _ = parts.hostname, parts.port
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    except ValueError:
        raise Trouble("it sent us on to an address that cannot be read", lasting=True) from None


def _retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header, which is a number or a date; None if it is neither."""
    if not value:
        return None
    seconds = number(value)
    if seconds is not None:
        return float(seconds)
    try:
        moment = parsedate_to_datetime(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError, TypeError, IndexError, AttributeError):
        return None
