"""Why no answer came, in plain words: the libraries' own texts hold URLs, and so whatever secret stands in them."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from .names import printable
from .trouble import Trouble

_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)
_TUNNEL = re.compile(r"Tunnel connection failed: ([0-9]{3})")
_LONGEST = 120


def in_plain_words(error: Exception, url: str, *, silence: float) -> Trouble:
    """What an exception of the libraries below means to who asked for a URL.

    Nothing of its text is taken but the words of the TLS library on a certificate, and the status of a proxy.

    Args:
        url: what was asked for, as it was after redirects.
        silence: seconds that were waited for a connection, and for each byte.
    """
    import requests
    import urllib3

    chain = list(_chain(error))
    if any(
        isinstance(each, requests.exceptions.InvalidURL | UnicodeError | urllib3.exceptions.LocationValueError)
        for each in chain
    ):
        return Trouble(
            f"its address, or the one it sent us on to, cannot be read ({type(error).__name__})", lasting=True
        )
    if not isinstance(error, urllib3.exceptions.HTTPError | requests.RequestException | OSError):
        return Trouble(f"its answer cannot be understood ({type(error).__name__})")
    if any(isinstance(each, urllib3.exceptions.ProxyError | requests.exceptions.ProxyError) for each in chain):
        return _of_a_proxy(chain, url, silence)
    return _of_a_connection(chain, _place(url), silence) or Trouble("the connection failed", network=True)


def proxy_wants_a_password(reason: str) -> Trouble:
    """A proxy answered 407 in the place of the server."""
    return Trouble(
        f"{reason}: the proxy wants a name and password, which HTTPS_PROXY and HTTP_PROXY may hold",
        lasting=True,
        network=True,
    )


def _of_a_proxy(chain: list[BaseException], url: str, silence: float) -> Trouble:
    proxy = _proxy_for(url)
    named = f"the proxy{f' {proxy}' if proxy else ''}"
    for each in chain:
        match = _TUNNEL.search(str(each))
        if match and match[1] == "407":
            return proxy_wants_a_password(f"407 of {named}")
        if match:
            return Trouble(f"{named} refused the connection to {_place(url)} (status {match[1]})", network=True)
    why = _of_a_connection(chain, proxy or "it", silence)
    reason = f": {why}" if why else ""
    return Trouble(
        f"{named} could not be reached{reason}. HTTPS_PROXY, HTTP_PROXY and NO_PROXY say which is used",
        lasting=why is not None and why.lasting,
        network=True,
    )


def _of_a_connection(chain: list[BaseException], place: str, silence: float) -> Trouble | None:
    """The first cause that is known, from the most telling to the least; None if there is none."""
    import urllib3

    if (found := _of_a_certificate(chain)) is not None:
        return found
    for each in chain:
        if isinstance(each, ssl.SSLError):
            # It has a reason only where OpenSSL gave one.
            why = printable(str(getattr(each, "reason", None) or "it was ended")[:_LONGEST]).replace("_", " ").lower()
            return Trouble(f"the secure (TLS) connection to {place} failed: {why}", network=True)
    for each in chain:
        if isinstance(each, socket.gaierror | urllib3.exceptions.NameResolutionError):
            return Trouble(
                f"the name {place} could not be resolved to an address (no network, no name server, or a wrong name)",
                network=True,
            )
    for each in chain:
        number = each.errno if isinstance(each, OSError) else None
        if number == errno.ECONNREFUSED:
            return Trouble(f"the connection was refused: nothing answers at {place}", network=True)
        if number in _NO_WAY:
            return Trouble(f"this machine has no way to {place} (the network cannot be reached)", network=True)
    # For urllib3 every connection that was not made is one that took too long; the system's own words tell.
    made = not any(isinstance(each, urllib3.exceptions.ConnectTimeoutError) for each in chain)
    if any(isinstance(each, TimeoutError | urllib3.exceptions.ReadTimeoutError) for each in chain):
        what = "no byte came for" if made else f"no connection to {place} was made within"
        return Trouble(f"time-out: {what} {silence:g} s", network=True)
    return None if made else Trouble(f"no connection to {place} could be made", network=True)


def _of_a_certificate(chain: list[BaseException]) -> Trouble | None:
    for each in chain:
        # ssl.CertificateError is the same class; urllib3's own is raised for a wrong name.
        verification = isinstance(each, ssl.SSLCertVerificationError)
        if verification or type(each).__name__ == "CertificateError":
            why = getattr(each, "verify_message", "") or "it is for another name"
            return Trouble(
                f"its certificate was not accepted: {printable(str(why)[:_LONGEST])}. Check this machine's clock; "
                "where a proxy reads along, let REQUESTS_CA_BUNDLE name a file with its certificate",
                lasting=True,
                network=True,
            )
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, and all that it was made of, each once."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, BaseException) or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [getattr(each, "reason", None), *each.args, each.__cause__, each.__context__]


def _place(url: str) -> str:
    """Host and port of a URL, for a message."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    return printable(host[:_LONGEST]) or "it"


def _proxy_for(url: str) -> str:
    """Host and port of the proxy that the environment names for a URL; never its name and password."""
    from requests.utils import get_environ_proxies, select_proxy

    try:
        proxy = select_proxy(url, get_environ_proxies(url)) or ""
        # Without a scheme all of it would be taken for a path.
        return _place(proxy if "://" in proxy else f"//{proxy}") if proxy else ""
    except ValueError:
        return ""
