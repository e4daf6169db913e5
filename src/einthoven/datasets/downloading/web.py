"""Asking servers for files: redirects without credentials, waits that servers ask for, errors in plain words."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from einthoven.version import VERSION

from .credentials import Credentials, how_to_log_in, shown

if TYPE_CHECKING:
    from requests import PreparedRequest, Response, Session

_REDIRECTS = 5
_MOVED = (301, 302, 303, 307, 308)
# Not found, gone, not allowed and the like stay so; these pass.
_PASSING = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Patience:
    """How long servers are borne with. All times in seconds.

    Attributes:
        attempts: requests in a row that bring no new byte of a file before its next server is asked.
        requests: requests for one file to one server in all, however many bytes they bring.
        wrong_sums: downloads with the wrong bytes before the next server is asked.
        first_wait: before the second attempt; doubled for each further one.
        longest_wait: a server that asks for a longer wait is not waited for.
        silence: without any byte, after which a connection is given up.
    """

    attempts: int = 5
    requests: int = 100
    wrong_sums: int = 2
    first_wait: float = 1.0
    longest_wait: float = 60.0
    silence: float = 30.0


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


class Stopped(Exception):  # noqa: N818  # not an error: somebody asked for it
    """The download was told to stop."""


class Web:
    """What the threads of one download ask servers through.

    One session a thread keeps its connection open from file to file; a release has tens of thousands of small ones.
    """

    def __init__(self, patience: Patience, credentials: Credentials | None, stop: threading.Event) -> None:
        self.patience = patience
        self._credentials = credentials
        self._stop = stop
        self._local = threading.local()
        self._quiet_until: dict[str, float] = {}

    def check(self) -> None:
        """Raises Stopped if the download was told to stop."""
        if self._stop.is_set():
            raise Stopped

    def wait(self, url: str, seconds: float, *, asked: bool) -> None:
        """Wait before the next attempt; if the server asked for it, no thread asks that server meanwhile."""
        if asked:
            host = urlsplit(url).netloc
            self._quiet_until[host] = max(self._quiet_until.get(host, 0.0), time.monotonic() + seconds)
        if self._stop.wait(seconds):
            raise Stopped

    @contextmanager
    def ask(self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> Iterator[Response]:
        """The answer to a request: status 200, 206 or 416, its body not yet read.

        Raises:
            Trouble: any other status, no answer, or a page to log in.
        """
        import requests

        with _in_plain_words(requests.RequestException):
            response = self._follow(url, method, {"Accept-Encoding": "identity", **(headers or {})})
        try:
            if response.status_code not in (200, 206, 416):
                raise self._refusal(url, response)
            if method == "HEAD":
                response.raw.read()  # nothing; its connection is free for the next request then
            yield response
        finally:
            response.close()

    def _follow(self, url: str, method: str, headers: dict[str, str]) -> Response:
        for _ in range(_REDIRECTS + 1):
            self.check()
            quiet = self._quiet_until.get(urlsplit(url).netloc, 0.0) - time.monotonic()
            if quiet > 0 and self._stop.wait(min(quiet, self.patience.longest_wait)):
                raise Stopped
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
                return response
            target = _without_user(urljoin(url, response.headers.get("Location", "")))
            response.close()
            parts = urlsplit(target)
            if "login" in parts.path.split("/"):
                raise Trouble(f"it wants one to log in: {how_to_log_in(url)}", lasting=True)
            if parts.scheme not in ("http", "https") or (url.startswith("https:") and parts.scheme != "https"):
                raise Trouble(f"it sent us on to {shown(target)}, which is not as safe", lasting=True)
            url = target
        raise Trouble(f"it sent us on more than {_REDIRECTS} times, last to {shown(url)}", lasting=True)

    def _session(self) -> Session:
        if not hasattr(self._local, "session"):
            import requests

            session = requests.Session()
            # Proxies and certificates are taken from the environment. Passwords are not: without an `auth` of its own,
            # requests sends what it finds in netrc, and over plain http too.
            session.auth = _nothing
            session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
            session.headers["User-Agent"] = f"einthoven/{VERSION}"
            self._local.session = session
        return self._local.session

    def _refusal(self, url: str, response: Response) -> Trouble:
        status = response.status_code
        reason = f"{status} {response.reason or ''}".strip()
        if status in (401, 403):
            known = "with the name and password that were sent" if self._credentials else "without a name and password"
            return Trouble(f"{reason} {known}; to log in, {how_to_log_in(url)}", lasting=True)
        wait = _retry_after(response.headers.get("Retry-After"))
        if wait is not None and wait > self.patience.longest_wait:
            return Trouble(f"{reason}; it asks to be left alone for {wait:.0f} s", lasting=True)
        return Trouble(reason, lasting=status not in _PASSING, wait=wait)


@contextmanager
def in_plain_words(what: Callable[[], str]) -> Iterator[None]:
    """Turn what a broken connection raises while a body is read into Trouble; `what` says how far it came."""
    import requests
    import urllib3

    try:
        with _in_plain_words(urllib3.exceptions.HTTPError, requests.RequestException, ConnectionError, TimeoutError):
            yield
    except Trouble as trouble:
        raise Trouble(f"{trouble} {what()}") from None


@contextmanager
def _in_plain_words(*kinds: type[Exception]) -> Iterator[None]:
    # Never the text of the error: it holds the URL, with whatever stands in it.
    try:
        yield
    except kinds as error:
        name = type(error).__name__
        if "Timeout" in name:
            reason = "no byte came for too long"
        elif "SSL" in name:
            reason = "its certificate was not accepted"
        elif "Proxy" in name:
            reason = "the proxy could not be reached"
        else:
            reason = "the connection failed"
        raise Trouble(reason, lasting="SSL" in name) from None


def _nothing(request: PreparedRequest) -> PreparedRequest:
    return request


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header, which is a number or a date."""
    if not value:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
