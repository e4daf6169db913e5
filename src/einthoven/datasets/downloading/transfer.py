"""One file, from one of its servers: resumed, checked, and put under its name only if its sha256 is the listed one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.foundation.identity import sha256_file

from .credentials import shown
from .web import Patience, Trouble, Web, in_plain_words

if TYPE_CHECKING:
    from requests import Response

_BLOCK = 1 << 18
_PART = ".part"
_VALIDATOR = ".part-of"
# A part that is smaller is downloaded again sooner than its validator is written.
_WORTH_A_VALIDATOR = 1 << 20

Told = Callable[[int], None]


class NotHadError(Exception):
    """No server gave a file.

    Attributes:
        passing: another attempt later may succeed.
    """

    def __init__(self, reasons: Sequence[tuple[str, Trouble]]) -> None:
        super().__init__("; ".join(f"{shown(url)}: {trouble}" for url, trouble in reasons))
        self.passing = any(not trouble.lasting for _, trouble in reasons)


def part_of(final: Path) -> Path:
    """Where a file lies until it is whole and checked."""
    return final.with_name(f".{final.name}{_PART}")


def is_part(name: str) -> bool:
    """Whether a file's name is that of a part, or of what a part was made from."""
    return name.startswith(".") and name.endswith((_PART, _VALIDATOR))


def fetch(
    web: Web,
    urls: Sequence[str],
    final: Path,
    *,
    sha256: str | None,
    room: Callable[[int], None] = lambda _: None,
    told: Told = lambda _: None,
) -> None:
    """Download one file to `final`, asking one server after the other; what is there of an earlier attempt is resumed.

    Args:
        sha256: what it must have; None for a list of sums, which is taken as it comes and never resumed.
        room: called with the bytes that are still to come before they are written; raises if they do not fit.
        told: called with how many bytes came, negative when some were thrown away.

    Raises:
        NotHadError: no server gave it, with every reason.
        Stopped: the download was told to stop; the part is kept.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    reasons: list[tuple[str, Trouble]] = []
    for url in urls:
        transfer = _Transfer(web, url, final, sha256, room, told)
        try:
            transfer.run()
        except Trouble as trouble:
            reasons.append((url, trouble))
        else:
            return
    raise NotHadError(reasons)


class _Transfer:
    def __init__(
        self, web: Web, url: str, final: Path, sha256: str | None, room: Callable[[int], None], told: Told
    ) -> None:
        self._web, self._url, self._final, self._sha256, self._room, self._told = web, url, final, sha256, room, told
        self._part = part_of(final)
        self._validator = final.with_name(f".{final.name}{_VALIDATOR}")

    def run(self) -> None:
        """Ask until the file is whole, or the patience is at its end."""
        patience = self._web.patience
        in_vain = wrong = 0
        trouble = Trouble("it was never asked", lasting=True)
        for _ in range(patience.requests):
            if self._sha256 is None:
                # Nothing would tell that its two halves are of two versions.
                self._throw_away()
            had = self._size()
            try:
                self._advance(had)
            except Trouble as found:
                trouble = found
                # A server may promise more bytes than the file has; whether it is whole, its sum says.
                if self._sha256 is not None and self._size() > had and self._is_right():
                    return self._publish()
            else:
                if self._sha256 is None or self._is_right():
                    return self._publish()
                wrong += 1
                trouble = Trouble(
                    f"{self._size():,} bytes came whose sha256 is not the listed one",
                    lasting=wrong >= patience.wrong_sums,
                )
                self._throw_away()
            in_vain = 0 if self._size() > had else in_vain + 1
            if trouble.lasting or in_vain >= patience.attempts:
                raise trouble
            wait = _wait(patience, in_vain) if trouble.wait is None else trouble.wait
            self._web.wait(self._url, wait, asked=trouble.wait is not None)
        raise trouble

    def _advance(self, had: int) -> None:
        """One request; appends what comes to the part."""
        with self._web.ask(self._url, headers=self._headers(had)) as response:
            status = response.status_code
            if status == 416:
                if had and _total(response) in (had, None):
                    return
                self._throw_away()
                raise Trouble("416: it has no bytes where the part ends; the part was thrown away")
            if status == 206 and _start(response) != had:
                self._throw_away()
                raise Trouble("206 with other bytes than those asked for; the part was thrown away")
            if "html" in response.headers.get("Content-Type", "") and not self._final.name.endswith((".html", ".htm")):
                raise Trouble("a web page came instead of the file, as where one must log in", lasting=True)
            if status == 200:
                # Asked for the rest, it sends the whole: it knows no ranges, or the file was changed.
                self._throw_away()
            self._receive(response)

    def _headers(self, had: int) -> dict[str, str]:
        if not had:
            return {}
        headers = {"Range": f"bytes={had}-"}
        with suppress(OSError, UnicodeDecodeError, ValueError):
            url, validator = self._validator.read_text(encoding="utf-8").splitlines()
            if url == shown(self._url):
                headers["If-Range"] = validator
        return headers

    def _receive(self, response: Response) -> None:
        length = response.headers.get("Content-Length", "")
        declared = int(length) if length.isdigit() else None
        if declared is not None:
            self._room(declared)
            if response.status_code == 200 and declared >= _WORTH_A_VALIDATOR:
                self._remember(response)
        came = 0

        def how_far() -> str:
            return f"after {came:,} of {'?' if declared is None else f'{declared:,}'} bytes"

        # Unbuffered, so that a killed process leaves every byte that came.
        with self._part.open("ab", buffering=0) as stream, in_plain_words(how_far):
            # As they are sent: the listed sum is that of the file, not of what a Content-Encoding stands for.
            # What has come is written at once, not when a block is full: a silent server must not take it away.
            while block := response.raw.read1(_BLOCK, decode_content=False):
                self._web.check()
                stream.write(block)
                came += len(block)
                self._told(len(block))
        if declared is not None and came != declared:
            raise Trouble(f"it ended {how_far()}")
        if declared is None and self._sha256 is None and not self._part.read_bytes().endswith(b"\n"):
            # Nothing else says that a list without a stated length is whole.
            raise Trouble(f"it ended {how_far()}, in the middle of a line")

    def _remember(self, response: Response) -> None:
        """Keep what identifies this version of the file at this server, so that no other version is appended to it."""
        tag = response.headers.get("ETag", "")
        validator = tag if tag.startswith('"') else response.headers.get("Last-Modified", "")
        if validator:
            self._validator.write_text(f"{shown(self._url)}\n{validator}\n", encoding="utf-8")

    def _is_right(self) -> bool:
        return self._part.exists() and sha256_file(self._part) == self._sha256

    def _publish(self) -> None:
        # On disk before it has its name, or a power cut could leave the name without the bytes.
        handle = os.open(self._part, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        self._part.replace(self._final)
        self._validator.unlink(missing_ok=True)

    def _throw_away(self) -> None:
        self._told(-self._size())
        self._part.unlink(missing_ok=True)
        self._validator.unlink(missing_ok=True)

    def _size(self) -> int:
        try:
            return self._part.stat().st_size
        except FileNotFoundError:
            return 0


def _wait(patience: Patience, in_vain: int) -> float:
    return min(patience.first_wait * 2 ** max(0, in_vain - 1), patience.longest_wait)


def _start(response: Response) -> int | None:
    """First byte of a 206."""
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(match[1]) if match else None


def _total(response: Response) -> int | None:
    """Bytes of the whole file, from the answer to a range that it does not have."""
    match = re.fullmatch(r"bytes \*/(\d+)", response.headers.get("Content-Range", "").strip())
    return int(match[1]) if match else None
