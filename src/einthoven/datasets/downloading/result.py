"""What a download came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Download:
    """What a download came to; paths relative to its folder.

    Attributes:
        files: how many were asked for.
        kept: how many were there and right.
        fetched: what was downloaded.
        size: bytes that came.
        seconds: from the first file that was begun to the end.
        set_aside: what was there with another sha256; it now lies beside, with ".corrupt" at the end of its name,
            or ".corrupt-2" and so on.
        failures: what could not be had -> why.
        left_aside: how many the list names and nobody asked for.
        notes: what else one should know.
    """

    folder: Path
    files: int
    kept: int
    fetched: tuple[str, ...]
    size: int
    seconds: float
    set_aside: tuple[str, ...]
    failures: Mapping[str, str]
    left_aside: int
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every file that was asked for is there with its listed sha256."""
        return not self.failures
