"""Unpacking zip and tar archives: no member leaves its folder, none is larger than it says, and all appear or none."""

from __future__ import annotations

import gzip
import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from einthoven.foundation.errors import DataError
from einthoven.foundation.publishing import publish_folder

from .names import checked_path

_BLOCK = 1 << 20
# ECG files shrink two- to tenfold; text of zeros a thousandfold. A member beyond this is no data.
_LARGEST_RATIO = 2000
_KEPT_FREE = 64 << 20


@dataclass(frozen=True)
class _Member:
    path: str
    size: int
    open: Callable[[], IO[bytes]]


def unpack(archive: Path, into: Path) -> int:
    """Unpack an archive to the folder `into`, which is replaced; returns how many files it has.

    Members that all lie in one folder of the name of `into` become its content, not a folder in it.

    Raises:
        DataError: the archive is damaged or of another kind, or a member leaves the folder, is a link or a device,
            is larger than declared, fails its CRC, or is there twice; or the disk is too small. `into` is then
            untouched.
    """
    with _in_plain_words(archive), _members(archive) as members:
        found = _placed(members, archive, into.name)
        need, free = sum(member.size for member in found.values()), _free(into)
        if need > free - _KEPT_FREE:
            raise DataError(f"{archive.name} unpacks to {need:,} bytes; {free:,} are free in {into.parent}. Make room.")
        with publish_folder(into, replace=True) as work:
            for path, member in found.items():
                target = work / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as out:
                    for block in _content(member, archive):
                        out.write(block)
        return len(found)


def check_unpacked(archive: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Which members of an archive are missing from a folder, and which differ there, byte by byte."""
    absent, changed = [], []
    with _in_plain_words(archive), _members(archive) as members:
        for path, member in _placed(members, archive, folder.name).items():
            file = folder / path
            if not file.is_file():
                absent.append(path)
                continue
            with file.open("rb") as stream:
                same = all(stream.read(len(block)) == block for block in _content(member, archive))
                if not same or stream.read(1):
                    changed.append(path)
    return absent, changed


def is_unpacked(archive: Path, folder: Path) -> bool:
    """Whether every member of an archive lies in a folder with its size; contents are not read."""
    with _in_plain_words(archive), _members(archive) as members:
        placed = _placed(members, archive, folder.name)
        return all(_size(folder / path) == member.size for path, member in placed.items())


def _content(member: _Member, archive: Path) -> Iterator[bytes]:
    """The bytes of a member, no more and no fewer than it says."""
    left = member.size
    with member.open() as stream:
        while block := stream.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise DataError(f"{archive.name}: {member.path} is larger than the {member.size:,} bytes it declares.")
            yield block
    if left:
        raise DataError(f"{archive.name}: {member.path} ends {left:,} bytes before the {member.size:,} it declares.")


def _placed(members: Sequence[_Member], archive: Path, name: str) -> dict[str, _Member]:
    """Path below the target -> member."""
    if not members:
        raise DataError(f"{archive.name} holds no file.")
    doubled = all(member.path.startswith(f"{name}/") for member in members)
    placed: dict[str, _Member] = {}
    for member in members:
        path = member.path.removeprefix(f"{name}/") if doubled else member.path
        if path in placed:
            raise DataError(f"{archive.name} holds {member.path} twice. Which one is right?")
        placed[path] = member
    return placed


@contextmanager
def _members(archive: Path) -> Iterator[Sequence[_Member]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            yield _zip_members(opened, archive)
    else:
        with tarfile.open(archive) as opened:
            yield _tar_members(opened, archive)


def _zip_members(opened: zipfile.ZipFile, archive: Path) -> Sequence[_Member]:
    members = []
    for info in opened.infolist():
        # The name as it is in the file: `filename` has its backslashes replaced on some systems.
        path = checked_path(info.orig_filename.rstrip("/"), where=archive.name)
        kind = (info.external_attr >> 16) & 0o170000
        if kind not in (0, 0o100000, 0o040000):
            raise DataError(f"{archive.name}: {path} is a link or a device; files were expected.")
        if info.is_dir():
            continue
        if info.flag_bits & 1:
            raise DataError(f"{archive.name}: {path} is encrypted; plain files were expected.")
        if info.file_size > _LARGEST_RATIO * max(info.compress_size, 1):
            raise DataError(
                f"{archive.name}: {path} declares {info.file_size:,} bytes from {info.compress_size:,} compressed "
                f"ones; at most {_LARGEST_RATIO} to 1 was expected."
            )
        members.append(_Member(path, info.file_size, lambda info=info: opened.open(info)))
    return members


def _tar_members(opened: tarfile.TarFile, archive: Path) -> Sequence[_Member]:
    members = []
    bound = _LARGEST_RATIO * archive.stat().st_size
    total = 0
    for info in opened:
        if info.isdir():
            checked_path(info.name.rstrip("/") + "/x", where=archive.name)
            continue
        path = checked_path(info.name, where=archive.name)
        if not info.isreg():
            raise DataError(f"{archive.name}: {path} is a link or a device; files were expected.")
        total += info.size
        if total > bound:
            raise DataError(
                f"{archive.name} declares {total:,} bytes and more from {archive.stat().st_size:,} compressed ones; "
                f"at most {_LARGEST_RATIO} to 1 was expected."
            )

        def content(info: tarfile.TarInfo = info) -> IO[bytes]:
            stream = opened.extractfile(info)
            assert stream is not None  # noqa: S101  # a regular file has content
            return stream

        members.append(_Member(path, info.size, content))
    return members


@contextmanager
def _in_plain_words(archive: Path) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        gzip.BadGzipFile,
        lzma.LZMAError,
        zlib.error,
        EOFError,
        NotImplementedError,
    ) as error:
        raise DataError(f"{archive} cannot be unpacked: {error}. A whole zip or tar archive was expected.") from None


def _free(folder: Path) -> int:
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _size(file: Path) -> int | None:
    return file.stat().st_size if file.is_file() else None
