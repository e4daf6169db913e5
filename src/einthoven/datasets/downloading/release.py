"""Where the files of a published dataset are, and which of them a dataset here reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from einthoven.foundation.errors import UsageError

PHYSIONET = "https://physionet.org/files"
# The mirror of PhysioNet's open projects; credentialed ones are not on it.
PHYSIONET_OPEN = "https://physionet-open.s3.amazonaws.com"


@dataclass(frozen=True)
class Release:
    """One version of a dataset as it is published: files below a URL, and a list of their sha256 beside them.

    Attributes:
        urls: folders that hold the same files, each with "/" at its end; the first is asked first, the others are
            mirrors.
        sums: name of the list, one line "sha256  path" for each file.
        include: patterns of the paths that are read here, such as "training/georgia/*"; "*" matches "/" too. All files
            if there is none.
        always: patterns of paths that every part of the release needs; they are taken whatever else is chosen.
        unpack: archive -> folder its files appear in, both relative to the release.
        login: files are given only to those who log in and have signed the agreement.
    """

    urls: tuple[str, ...]
    sums: str = "SHA256SUMS.txt"
    include: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    unpack: tuple[tuple[str, str], ...] = ()
    login: bool = False

    def __post_init__(self) -> None:
        if not self.urls or not all(url.endswith("/") for url in self.urls):
            raise ValueError(f"urls are {self.urls!r}; at least one was expected, each with '/' at its end.")
        if any("@" in url.partition("://")[2].partition("/")[0] for url in self.urls):
            # Not shown: the message would hold the password.
            raise ValueError("a URL of a release holds a name and password; they belong into the environment or netrc.")

    def mirrored(self, mirrors: Sequence[str]) -> Release:
        """The same release, asked for at other folders first.

        Raises:
            UsageError: a mirror is no URL of a folder on a web server.
        """
        for url in mirrors:
            parts = urlsplit(url)
            # Not shown: what is wrong with it may be a password.
            if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
                raise UsageError(
                    "A mirror is the http or https URL of the folder that holds the files and "
                    f"{self.sums}, without name, password and query, such as https://HOST/ptb-xl/1.0.3/."
                )
        own = tuple(url if url.endswith("/") else f"{url}/" for url in mirrors)
        return replace(self, urls=tuple(dict.fromkeys((*own, *self.urls))))

    def wants(self, path: str, only: tuple[str, ...] = ()) -> bool:
        """Whether a listed path is to be downloaded; `only` are patterns that choose a part."""
        if matches(path, self.always):
            return True
        return (not self.include or matches(path, self.include)) and (not only or matches(path, only))

    def lacks(self, listed: Iterable[str]) -> list[str]:
        """Patterns and archives that the release promises and no listed path fits."""
        paths = list(listed)
        promised = (*self.include, *self.always, *(archive for archive, _ in self.unpack))
        return [pattern for pattern in promised if not any(matches(path, (pattern,)) for path in paths)]


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether a path fits one of the patterns; upper and lower case differ, on every system."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def physionet(
    project: str,
    version: str,
    *,
    include: tuple[str, ...] = (),
    always: tuple[str, ...] = (),
    unpack: tuple[tuple[str, str], ...] = (),
    login: bool = False,
) -> Release:
    """The release of a PhysioNet project: `physionet("afdb", "1.0.0")`."""
    roots = (PHYSIONET,) if login else (PHYSIONET, PHYSIONET_OPEN)
    urls = tuple(f"{root}/{project}/{version}/" for root in roots)
    return Release(urls=urls, include=include, always=always, unpack=unpack, login=login)
