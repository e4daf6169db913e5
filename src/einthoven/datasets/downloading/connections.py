"""Connections that can be ended from another thread, so that no server holds one for ever, a byte at a time.

A timeout of a socket is for one read: a server that drips headers, or "100 Continue", or trailers never reaches it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from einthoven.version import VERSION

_LOOK_SECONDS = 0.05
_here = threading.local()


class Watch:
    """One request: until when it may last, and the socket it goes through.

    Attributes:
        fired: its time was over, and its connection was ended.
    """

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self.fired = False
        self._socket: socket.socket | None = None

    def use(self, found: socket.socket | None) -> None:
        """The socket of the request."""
        if found is not None:
            self._socket = found
        if self.fired:
            self.end()

    def end(self) -> None:
        """End its connection; whoever reads from it notices at once."""
        self.fired = True
        if self._socket is not None:
            with suppress(OSError):
                # Not that of SSLSocket, which takes the encryption away first, under the reader's hands.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Watches:
    """Ends the connections of requests whose time is over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[Watch] = set()
        self._thread: threading.Thread | None = None
        self._ended = False

    @contextmanager
    def watching(self, seconds: float) -> Iterator[Watch]:
        """A watch over what this thread asks for in the block."""
        watch = Watch(seconds)
        with self._lock:
            self._open.add(watch)
            watch.fired = self._ended
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, daemon=True)
                self._thread.start()
        _here.watch = watch
        try:
            yield watch
        finally:
            _here.watch = None
            with self._lock:
                self._open.discard(watch)

    def end(self) -> None:
        """End all connections, and those of whatever is asked for later."""
        with self._lock:
            self._ended = True
            for watch in self._open:
                watch.end()

    def _look(self) -> None:
        while not self._ended:
            time.sleep(_LOOK_SECONDS)
            now = time.monotonic()
            with self._lock:
                for watch in self._open:
                    if now > watch.until:
                        watch.end()


def new_session(*, direct: bool = False) -> requests.Session:
    """A session without cookies, passwords or redirects of its own; if `direct`, it asks past all proxies."""
    session = _Session()
    session.trust_env = not direct
    # Proxies and certificates are taken from the environment. Passwords are not: without an `auth` of its own,
    # requests sends what it finds in netrc, and over plain http too.
    session.auth = _nothing
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.headers["User-Agent"] = f"einthoven/{VERSION}"
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter())
    return session


def _nothing(request: PreparedRequest) -> PreparedRequest:
    return request


class _Session(requests.Session):
    def get_redirect_target(self, resp: Response) -> str | None:
        # Even when told to follow none, requests would read the whole body of a redirect, and parse where it leads.
        return None


def _use(found: socket.socket | None) -> None:
    watch: Watch | None = getattr(_here, "watch", None)
    if watch is not None:
        watch.use(found)


class _Watched:
    """What both kinds of connections do, mixed in before them."""

    sock: Any

    def _new_conn(self) -> socket.socket:
        found = super()._new_conn()  # pyright: ignore[reportAttributeAccessIssue]  # of the class it is mixed into
        _use(found)
        return found

    def connect(self) -> None:
        super().connect()  # pyright: ignore[reportAttributeAccessIssue]
        _use(self.sock)

    def request(self, *arguments: Any, **named: Any) -> None:
        _use(self.sock)
        super().request(*arguments, **named)  # pyright: ignore[reportAttributeAccessIssue]


class _Http(_Watched, HTTPConnection):
    pass


class _Https(_Watched, HTTPSConnection):
    pass


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http  # pyright: ignore[reportAssignmentType]


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https  # pyright: ignore[reportAssignmentType]


_POOLS = {"http": _HttpPool, "https": _HttpsPool}


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        super().init_poolmanager(*arguments, **named)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **named: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **named)
        if not proxy.lower().startswith("socks"):
            manager.pool_classes_by_scheme = _POOLS
        return manager
