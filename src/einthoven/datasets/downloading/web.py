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

from .causes import in_plain_words, proxy_wants_a_password
from .credentials import Credentials, how_to_log_in, shown
from .names import printable
from .stopping import Stop, Stopped
from .trouble import Trouble

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


class Answer:
    """The head of an answer, and its body as it comes."""

    def __init__(self, web: Web, response: Response, watch: Watch, url: str) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._web, self._response, self._watch, self._url = web, response, watch, url

    def length(self) -> int | None:
        """The stated length of the body; None if it is not stated.

        Raises:
            Trouble: what is stated is no number.
        """
        text = self.headers.get("Content-Length")
        if text is None or "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return None
        # Proxies may write the same length twice, which HTTP lets pass.
        found = {number(each) for each in text.split(",")}
        if len(found) != 1 or None in found:
            raise Trouble(f"it states a length of {printable(text[:40])!r}; a number was expected", lasting=True)
        return found.pop()

    def packing(self) -> str:
        """How the server packed the body, though it was asked not to; "" if it did not."""
        found = self.headers.get("Content-Encoding", "").strip()
        return "" if found.lower() in ("", "identity") else printable(found[:40])

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
            with self._web.in_plain_words(self._watch, self._url):
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
            self._be_quiet(url, seconds)
        self.stop.wait(seconds)

    def _be_quiet(self, url: str, seconds: float) -> None:
        host = urlsplit(url).netloc
        with self._lock:
            self._quiet_until[host] = max(self._quiet_until.get(host, 0.0), time.monotonic() + seconds)

    def _refuse_if_quiet(self, host: str) -> None:
        quiet = self._quiet_until.get(host, 0.0) - time.monotonic()
        if quiet > self.patience.longest_wait:
            raise Trouble(
                f"{host} asks to be left alone for {quiet:.0f} s more, and so was not asked for this",
                lasting=True,
                passing=True,
            )

    @contextmanager
    def ask(self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> Iterator[Answer]:
        """The answer to a request: status 200, 206 or 416, its body not yet read.

        Raises:
            Trouble: any other status, no answer, or a page to log in.
        """
        host = urlsplit(url).netloc
        self._refuse_if_quiet(host)
        quiet = self._quiet_until.get(host, 0.0) - time.monotonic()
        if quiet > 0:
            self.stop.wait(quiet)
        with self._watching().watching(self.patience.grace) as watch:
            with self.in_plain_words(watch, url):
                asked = {"Accept-Encoding": "identity", **(headers or {})}
                response, at, known = self._follow(url, method, asked, watch)
            try:
                if response.status_code not in (200, 206, 416):
                    raise self._refusal(at, response, known=known)
                if method == "HEAD":
                    with self.in_plain_words(watch, at):
                        response.raw.read()  # nothing; its connection is free for the next request then
                yield Answer(self, response, watch, at)
            finally:
                response.close()

    def _follow(self, url: str, method: str, headers: dict[str, str], watch: Watch) -> tuple[Response, str, bool]:
        """The answer at the end of all redirects, its URL, and whether the password was sent there."""
        for _ in range(_REDIRECTS + 1):
            self.stop.check()
            self._refuse_if_quiet(urlsplit(url).netloc)
            known = self._credentials.header_for(url) if self._credentials else None
            # Redirects are followed here, not by requests: each hop decides anew who may see the password.
            # A password that is not encrypted goes to this machine only, and so past every proxy.
            session = self._session(direct=known is not None and urlsplit(url).scheme == "http")
            with self.in_plain_words(watch, url):
                response = session.request(
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

    def _session(self, *, direct: bool) -> Session:
        name = "direct" if direct else "session"
        if not hasattr(self._local, name):
            from .connections import new_session

            setattr(self._local, name, new_session(direct=direct))
        return getattr(self._local, name)

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
        if status == 407:
            return proxy_wants_a_password(reason)
        wait = _retry_after(response.headers.get("Retry-After"), response.headers.get("Date"))
        if wait is not None and wait > self.patience.longest_wait:
            if status == 429:
                # It means all that we ask for, not this one file: thousands more would be rude, and in vain.
                self._be_quiet(url, wait)
            return Trouble(f"{reason}; it asks to be left alone for {wait:.0f} s", lasting=True, passing=True)
        return Trouble(reason, lasting=status not in _PASSING, wait=wait)

    def too_slow(self) -> Trouble:
        """The time of a request was over."""
        patience = self.patience
        return Trouble(
            f"it was too slow (fewer than {patience.slowest:,.0f} bytes a second, or no head of an answer within "
            f"{patience.grace:g} s)",
            network=True,
        )

    @contextmanager
    def in_plain_words(self, watch: Watch, url: str) -> Iterator[None]:
        """Turn whatever asking for a URL makes the libraries raise into Trouble."""
        # Never the text of the error: it holds the URL, with whatever stands in it.
        try:
            yield
        except (Trouble, Stopped):
            raise
        except Exception as error:  # a server's answer may break anything below us
            self.stop.check()
            if watch.fired:
                raise self.too_slow() from None
            raise in_plain_words(error, url, silence=self.patience.silence) from None


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


def _retry_after(value: str | None, date: str | None = None) -> float | None:
    """Seconds of a Retry-After header, which is a number or a date; None if it is neither.

    Args:
        date: the Date header of the same answer: the server's clock need not be this machine's.
    """
    if not value:
        return None
    seconds = number(value)
    if seconds is not None:
        return float(seconds)
    until = _moment(value)
    now = _moment(date) or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds()) if until is not None else None


def _moment(value: str | None) -> datetime | None:
    """The moment that a header states; None if it states none."""
    try:
        moment = parsedate_to_datetime(value or "")
        # In UTC, or the difference to another may be beyond what can be told.
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, TypeError, IndexError, AttributeError):
        return None
