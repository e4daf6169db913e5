"""One file, from one of its servers: resumed, checked, and put under its name only if its sha256 is the listed one."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from .credentials import shown
from .disk_space import NoRoomError, in_bytes
from .part import Part, Told
from .reading import Reading, Stamp, read, stamp_of
from .trouble import Trouble
from .web import Answer, Patience, Web, number

# A part that is smaller is downloaded again sooner than its validator is written.
_WORTH_A_VALIDATOR = 1 << 20
# A range that brings so much is not counted: a server that gives little at a time may be asked as often as it takes.
_WORTH_A_REQUEST = 1 << 16
# So often the disk is asked for its room while a file comes.
_LOOK_AT_THE_DISK = 4 << 20
# A body whose length is not stated is not longer; no file of a release is without a stated length and that large.
_LARGEST_UNSTATED = 4 << 30
# So long a request may take before its rate counts.
_TOO_SHORT_TO_TELL = 5.0
_PAGES = (".html", ".htm", ".xhtml", ".xht")


class NotHadError(Exception):
    """No server gave a file.

    Attributes:
        passing: another attempt later may succeed.
        network: the way to a server is barred; the file may be had by other means.
    """

    def __init__(self, reasons: Sequence[tuple[str, Trouble]]) -> None:
        super().__init__("; ".join(f"{shown(url)}: {trouble}" for url, trouble in reasons))
        self.passing = any(trouble.passing for _, trouble in reasons)
        self.network = any(trouble.network for _, trouble in reasons)


@dataclass(frozen=True)
class Fetched:
    """A file that came.

    Attributes:
        stamp: of the file under its name, when it had the bytes that were checked.
        stated: whether its length was stated.
    """

    stamp: Stamp
    stated: bool


def fetch(
    web: Web,
    urls: Sequence[str],
    final: Path,
    *,
    sha256: str | None,
    part: Path,
    room: Callable[[int], None] = lambda _: None,
    told: Told = lambda _: None,
    largest: int | None = None,
) -> Fetched:
    """Download one file to `final`, asking one server after the other; what is there of an earlier attempt is resumed.

    Args:
        sha256: what it must have; None for a list of sums, which is taken as it comes and never resumed.
        part: where it lies meanwhile, on the same disk.
        room: called with the bytes that are still to come before they are written; raises if they do not fit.
        told: called with how many bytes came, negative when some of them were thrown away.
        largest: bytes that it may have.

    Raises:
        NotHadError: no server gave it, with every reason.
        NoRoomError: the disk cannot take it.
        Stopped: the download was told to stop; the part is kept.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    reasons: list[tuple[str, Trouble]] = []
    lying = Part(part, told)
    for url in urls:
        transfer = _Transfer(web, url, final, sha256, lying, room, largest)
        try:
            return transfer.run()
        except Trouble as trouble:
            reasons.append((url, trouble))
    raise NotHadError(reasons)


class _More(Exception):  # noqa: N818  # not an error
    """The server gave a part of what was asked for, and said so."""


class _Transfer:
    def __init__(
        self,
        web: Web,
        url: str,
        final: Path,
        sha256: str | None,
        part: Part,
        room: Callable[[int], None],
        largest: int | None,
    ) -> None:
        self._web, self._url, self._final, self._sha256, self._part = web, url, final, sha256, part
        self._room, self._largest = room, largest
        self._stated = True
        self._packed = ""

    def run(self) -> Fetched:
        """Ask until the file is whole, or the patience is at its end."""
        patience = self._web.patience
        asked = in_vain = wrong = 0
        trouble = Trouble("it was never asked", lasting=True)
        while asked < patience.requests:
            asked += 1
            if self._sha256 is None:
                # Nothing would tell that its two halves are of two versions.
                self._part.throw_away()
            had, began = self._part.size(), time.monotonic()
            try:
                self._advance(had)
            except _More:
                came = self._part.size() - had
                asked -= came >= _WORTH_A_REQUEST
                trouble = Trouble(f"it gave {self._part.size():,} bytes in {asked:,} ranges, and still not all")
                continue
            except Trouble as found:
                trouble = found
                # A server may promise more bytes than the file has; whether it is whole, its sum says.
                if self._sha256 is not None and self._part.size() > had and self._is_right(reading := self._read()):
                    return self._publish(reading)
            else:
                reading = self._read()
                if self._is_right(reading):
                    return self._publish(reading)
                wrong += 1
                found = f"{reading.sha256} instead of {self._sha256}" if reading else "they are gone"
                trouble = Trouble(
                    f"{self._part.size():,} bytes came whose sha256 is not the listed one ({found}){self._packed}",
                    lasting=wrong >= patience.wrong_sums,
                )
                self._part.throw_away()
            in_vain = 0 if self._brought(self._part.size() - had, time.monotonic() - began) else in_vain + 1
            if trouble.lasting or in_vain >= patience.attempts:
                raise trouble
            wait = _wait(patience, in_vain) if trouble.wait is None else trouble.wait
            self._web.wait(self._url, wait, asked=trouble.wait is not None)
        raise trouble

    def _brought(self, size: int, seconds: float) -> bool:
        """Whether a request was of use; a list begins anew each time, so half of it is of none."""
        enough = self._web.patience.slowest * max(0.0, seconds - _TOO_SHORT_TO_TELL)
        return self._sha256 is not None and size > 0 and size >= enough

    def _advance(self, had: int) -> None:
        """One request; appends what comes to the part."""
        with self._web.ask(self._url, headers=self._headers(had)) as answer:
            total = None
            if answer.status == 416:
                if had and _total_of_416(answer) in (had, None):
                    return
                self._part.throw_away()
                raise Trouble("416: it has no bytes where the part ends; the part was thrown away")
            if answer.status == 206:
                start, end, total = _range(answer)
                if start != had:
                    self._part.throw_away()
                    raise Trouble("206 with other bytes than those asked for; the part was thrown away")
                if self._sha256 is None and (total is None or end != total - 1):
                    raise Trouble("206: a part of the list, though all of it was asked for", lasting=True)
            if "html" in answer.headers.get("Content-Type", "") and not self._final.name.lower().endswith(_PAGES):
                raise Trouble("a web page came instead of the file, as where one must log in", lasting=True)
            if packing := answer.packing():
                self._packed = f", packed by the server (Content-Encoding {packing}) though it was asked not to"
                if self._sha256 is None:
                    raise Trouble(f"the list came{self._packed.lstrip(',')}", lasting=True)
            if answer.status == 200:
                # Asked for the rest, it sends the whole: it knows no ranges, or the file was changed.
                self._part.throw_away()
            self._receive(answer)
        size = self._part.size()
        if total is not None and had < size < total:
            raise _More

    def _headers(self, had: int) -> dict[str, str]:
        if not had:
            return {}
        validator = self._part.validator(self._url)
        return {"Range": f"bytes={had}-"} | ({"If-Range": validator} if validator else {})

    def _receive(self, answer: Answer) -> None:
        declared = answer.length()
        self._stated = declared is not None
        largest = _LARGEST_UNSTATED if self._largest is None else self._largest
        if declared is not None:
            if self._largest is not None and declared > largest:
                raise Trouble(f"it states {declared:,} bytes; at most {largest:,} were expected", lasting=True)
            self._room(declared)
            if answer.status == 200 and declared >= _WORTH_A_VALIDATOR:
                self._part.remember(self._url, answer)
        came, looked = 0, -_LOOK_AT_THE_DISK

        def how_far() -> str:
            return f"after {came:,} of {'?' if declared is None else f'{declared:,}'} bytes"

        with self._part.open() as stream:
            try:
                for block in answer.blocks():
                    came += len(block)
                    if came - looked >= _LOOK_AT_THE_DISK:
                        looked = came
                        self._room(len(block))
                    if declared is None:
                        _check_size(came, largest)
                    stream.write(block)
                    self._part.came(len(block))
            except Trouble as trouble:
                raise Trouble(f"{trouble} {how_far()}", lasting=trouble.lasting, network=trouble.network) from None
            except (NoRoomError, OSError) as error:
                if declared is not None:
                    raise
                # It would fill the disk again, and nothing of it is known to be of use.
                self._part.throw_away()
                reason = f"it sent {in_bytes(came)} without stating a length, which were thrown away: {error}"
                raise Trouble(reason, lasting=True) from None
        if declared is not None and came != declared:
            raise Trouble(f"it ended {how_far()}")
        if declared is None and self._sha256 is None and not ends_a_line(self._part.file):
            # Nothing else says that a list without a stated length is whole.
            raise Trouble(f"it ended {how_far()}, in the middle of a line")

    def _read(self) -> Reading | None:
        """What came, as it lies on the disk."""
        self._part.size()
        return read(self._part.file, self._web.stop.check)

    def _is_right(self, reading: Reading | None) -> TypeGuard[Reading]:
        return reading is not None and self._sha256 in (None, reading.sha256)

    def _publish(self, reading: Reading) -> Fetched:
        # On disk before it has its name, or a power cut could leave the name without the bytes.
        handle = os.open(self._part.file, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        with self._web.stop.publishing():
            if not stamp_of(self._part.file.lstat()).has_the_bytes_of(reading.stamp):
                raise Trouble("its part was changed by another program after it was checked")
            self._part.file.replace(self._final)
            stamp = stamp_of(self._final.lstat())
        self._part.published()
        if not stamp.has_the_bytes_of(reading.stamp):
            raise Trouble("it was changed by another program after it was checked")
        return Fetched(stamp, self._stated)


def _check_size(came: int, largest: int) -> None:
    if came > largest:
        raise NoRoomError(f"at most {in_bytes(largest)} were expected")


def _wait(patience: Patience, in_vain: int) -> float:
    return min(patience.first_wait * 2 ** max(0, in_vain - 1), patience.longest_wait)


def _range(answer: Answer) -> tuple[int | None, int | None, int | None]:
    """First and last byte of a 206, and bytes of the whole file."""
    match = re.match(r"bytes ([0-9]{1,15})-([0-9]{1,15})/([0-9]{1,15}|\*)", answer.headers.get("Content-Range", ""))
    return (int(match[1]), int(match[2]), number(match[3])) if match else (None, None, None)


def _total_of_416(answer: Answer) -> int | None:
    """Bytes of the whole file, from the answer to a range that it does not have."""
    match = re.fullmatch(r"bytes \*/([0-9]{1,15})", answer.headers.get("Content-Range", "").strip())
    return int(match[1]) if match else None


def ends_a_line(file: Path) -> bool:
    """Whether the last byte of a file is a line break."""
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - 1))
        return stream.read(1) == b"\n"
