"""How far a download is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tally:
    """How far a download is.

    Attributes:
        files: done, of `all_files`.
        size: bytes that came, of `all_bytes`, which is None where unknown.
        seconds: since the first file was begun.
    """

    files: int
    all_files: int
    size: int
    all_bytes: int | None
    seconds: float

    @property
    def rate(self) -> float:
        """Bytes a second, from the beginning."""
        return self.size / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to the end; by bytes if all are known, else by files; None if nothing can be told yet."""
        if self.files >= self.all_files:
            return 0.0
        if self.all_bytes and self.rate > 0:
            return max(0.0, self.all_bytes - self.size) / self.rate
        return self.seconds / self.files * (self.all_files - self.files) if self.files else None
