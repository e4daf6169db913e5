"""Who one is to a server that gives files only to those it knows; the password goes nowhere else.

The environment variables EINTHOVEN_PHYSIONET_USER and EINTHOVEN_PHYSIONET_PASSWORD are for PhysioNet; any host may have
an entry of its own in ~/.netrc (or the file that NETRC names). Its `default` entry is for nobody in particular and is
not used.
"""

from __future__ import annotations

import netrc
import os
import re
from base64 import b64encode
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from einthoven.foundation.errors import UsageError

USER = "EINTHOVEN_PHYSIONET_USER"
PASSWORD = "EINTHOVEN_PHYSIONET_PASSWORD"  # noqa: S105  # the name of a variable
PHYSIONET_HOSTS = ("physionet.org", "www.physionet.org")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Credentials:
    """A user's name and password at one server; neither is shown by `repr`.

    Attributes:
        note: what one should know of where they are from.
    """

    def __init__(self, url: str, user: str, password: str, *, note: str = "") -> None:
        self.note = note
        self._origin = _origin(url)
        self._header = "Basic " + b64encode(f"{user}:{password}".encode()).decode()

    def __repr__(self) -> str:
        return f"Credentials(for {self._origin[1]})"

    def header_for(self, url: str) -> str | None:
        """What to send as Authorization; None for another host or port, and where anyone could listen."""
        scheme, host, _port = origin = _origin(url)
        if origin != self._origin or not (scheme == "https" or host in _LOOPBACK):
            return None
        return self._header


def credentials_for(url: str) -> Credentials | None:
    """The credentials for the server of a URL, from the environment, else from netrc; None if there are none.

    Raises:
        UsageError: one of the two variables is not set, the netrc file cannot be read, or its entry names no login.
    """
    host = urlsplit(url).hostname or ""
    if host in PHYSIONET_HOSTS:
        user, password = os.environ.get(USER, ""), os.environ.get(PASSWORD, "")
        if bool(user) != bool(password):
            raise UsageError(f"{USER} and {PASSWORD} belong together; {USER if password else PASSWORD} is not set.")
        if user:
            return Credentials(url, user, password)
    file = _netrc_file()
    if file.is_dir():
        raise UsageError(f"{file} is a folder; a netrc file was expected. Let NETRC name one, or unset it.")
    if not file.is_file():
        return None
    try:
        entry = netrc.netrc(file).hosts.get(host) if host != "default" else None
    except netrc.NetrcParseError as error:
        # Its text may hold a part of the file, and so of a password.
        raise UsageError(f"{file} is not a netrc file: line {error.lineno} cannot be read.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read ({type(error).__name__}).") from None
    if not entry or not entry[2]:
        return None
    if not entry[0]:
        raise UsageError(f"{file}: the entry of machine {host} has a password and no login. Add 'login NAME' to it.")
    note = ""
    if os.name != "nt" and file.stat().st_mode & 0o077:
        note = f"{file} holds a password and others may read or write it: `chmod 600 {file}`"
    return Credentials(url, entry[0], entry[2], note=note)


def how_to_log_in(url: str) -> str:
    """What a user has to do to be known to the server of a URL."""
    host = urlsplit(url).hostname or ""
    ways = f"set {USER} and {PASSWORD}, or " if host in PHYSIONET_HOSTS else ""
    return f"{ways}add 'machine {host} login NAME password PASSWORD' to {_netrc_file()}"


def shown(url: str) -> str:
    """A URL as a message may hold it: without user, password, and a query that may be a signature."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, f"***@{host}" if "@" in parts.netloc else host, parts.path, "", ""))


def masked(text: str) -> str:
    """A text with what stands before "@" in its URLs, and their queries, masked."""
    text = re.sub(r"(\w://)[^/\s@]*(?::[^/\s]*)?@", r"\1***@", text)
    return re.sub(r"(\w://[^\s?]*)\?\S*", r"\1?***", text)


def _netrc_file() -> Path:
    chosen = os.environ.get("NETRC")
    return Path(chosen).expanduser() if chosen else Path.home() / ("_netrc" if os.name == "nt" else ".netrc")


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
