"""What every step of one download needs to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from .release import Release
from .stopping import Stop
from .web import Web

Say = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """One download.

    Attributes:
        folder: where its files go.
        only: patterns of the part that was asked for.
        say: takes lines on what is going to happen.
    """

    release: Release
    folder: Path
    only: tuple[str, ...]
    workers: int
    web: Web
    stop: Stop
    say: Say

    def urls(self, path: str) -> list[str]:
        """Where a path of the release is, at each of its servers."""
        return [url + quote(path) for url in self.release.urls]

    def wants(self, path: str) -> bool:
        """Whether a listed path was asked for."""
        return self.release.wants(path, self.only)
