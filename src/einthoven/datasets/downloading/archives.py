"""Unpacking zip and tar archives: no member leaves its folder, and none is larger than it says."""

from __future__ import annotations

import hashlib
import tarfile
import uuid
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from einthoven.foundation.errors import DataError
from einthoven.foundation.publishing import publish_folder

from .disk_space import free
from .names import checked_path, printable
from .reading import OddFileError, Stamp, read, stamp_of
from .setting_aside import set_aside
from .stopping import Stopped

_BLOCK = 1 << 20
# ECG files shrink two- to tenfold; text of zeros a thousandfold. A member beyond this is no data.
_LARGEST_RATIO = 2000
# A member takes so many bytes of an archive at least, beyond the first thousand.
_LEAST_BYTES = 32
_FEW_MEMBERS = 1000


@dataclass(frozen=True)
class _Member:
    path: str
    size: int
    open: Callable[[], IO[bytes]]


def unpack(archive: Path, into: Path, *, work: Path | None = None) -> dict[str, Stamp]:
    """Unpack an archive to the folder `into`; returns the stamps of its files.

    Members that all lie in one folder of the name of `into` become its content, not a folder in it. Where `into` is
    there already, what is missing or differs is written anew, one file at a time; a file that differs is set aside,
    and what the archive does not hold stays.

    Args:
        work: a folder on the same disk for files that are not whole yet; default one beside `into`.

    Raises:
        DataError: the archive is damaged or of another kind, or a member leaves the folder, is a link or a device,
            is larger than declared, fails its CRC, or is there twice; or the disk is too small; or `into` is no
            folder. It is then untouched, but for whole files.
    """
    if into.is_symlink() or (into.exists() and not into.is_dir()):
        raise DataError(
            f"{into} is a file or a link; a folder for what {archive.name} holds was expected. Move it away."
        )
    with _in_plain_words(archive), _members(archive) as members:
        found = _placed(members, archive, into.name)
        stamps: dict[str, Stamp] = {}
        if into.is_dir():
            absent, changed, stamps = _compared(found, archive, into)
            lacking = {path: found[path] for path in (*absent, *changed)}
            _check_room(lacking, archive, into)
            for path, member in lacking.items():
                stamps[path] = _write_anew(into, path, member, archive, work or into.parent, set(found))
        else:
            _check_room(found, archive, into)
            with publish_folder(into) as folder:
                for path, member in found.items():
                    target = folder / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    _write(target, member, archive)
                    # Its parents get another name, itself does not.
                    stamps[path] = stamp_of(target.stat())
        return stamps


def check_unpacked(
    archive: Path, folder: Path, check: Callable[[], None] = lambda: None
) -> tuple[list[str], list[str], dict[str, Stamp]]:
    """Members of an archive that are missing from a folder, those that differ there, and the stamps of the others."""
    with _in_plain_words(archive), _members(archive) as members:
        return _compared(_placed(members, archive, folder.name), archive, folder, check)


def _compared(
    placed: Mapping[str, _Member], archive: Path, folder: Path, check: Callable[[], None] = lambda: None
) -> tuple[list[str], list[str], dict[str, Stamp]]:
    absent, changed, stamps = [], [], {}
    for path, member in placed.items():
        check()
        digest = hashlib.sha256()
        for block in _content(member, archive):
            digest.update(block)
        try:
            found = read(folder / path, check)
        except OddFileError:
            changed.append(path)
            continue
        if found is None:
            absent.append(path)
        elif found.sha256 != digest.hexdigest():
            changed.append(path)
        else:
            stamps[path] = found.stamp
    return absent, changed, stamps


def _write(target: Path, member: _Member, archive: Path) -> None:
    with target.open("xb") as out:
        for block in _content(member, archive):
            out.write(block)


def _write_anew(folder: Path, path: str, member: _Member, archive: Path, work: Path, taken: Collection[str]) -> Stamp:
    target = folder / path
    whole = work / f".unpacking-{uuid.uuid4().hex[:12]}"
    work.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write(whole, member, archive)
        set_aside(folder, path, taken)
        whole.replace(target)
    finally:
        whole.unlink(missing_ok=True)
    return stamp_of(target.stat())


def _check_room(members: Mapping[str, _Member], archive: Path, into: Path) -> None:
    need, there = sum(member.size for member in members.values()), free(into)
    if need > there:
        raise DataError(f"{archive.name} unpacks to {need:,} bytes; {there:,} are free in {into.parent}. Make room.")


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
    for path in placed:
        for parent in PurePosixPath(path).parents:
            if str(parent) in placed:
                raise DataError(f"{archive.name} holds {parent} as a file and {path} in it. Which one is right?")
    return placed


def _check_number(members: int, archive: Path) -> None:
    size = archive.stat().st_size
    most = _FEW_MEMBERS + size // _LEAST_BYTES
    if members > most:
        raise DataError(f"{archive.name} holds more than {most:,} files in {size:,} bytes, which no data do.")


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
    _check_number(len(opened.infolist()), archive)
    total = 0
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
        # Members may share bytes of the archive: what counts is all of them together.
        total += info.file_size
        if total > _LARGEST_RATIO * archive.stat().st_size:
            raise DataError(
                f"{archive.name} declares {total:,} bytes and more in {archive.stat().st_size:,}; "
                f"at most {_LARGEST_RATIO} to 1 was expected."
            )
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
    for number, info in enumerate(opened, start=1):
        _check_number(number, archive)
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
    except (DataError, MemoryError, Stopped):
        raise
    except OSError as error:
        # Of the disk or of the archive: bz2 raises it for damaged data.
        raise DataError(f"{archive} cannot be unpacked: {error}.") from None
    except Exception as error:  # a damaged archive may break any part of the libraries
        reason = str(error) if isinstance(error, zipfile.BadZipFile | tarfile.TarError) else ""
        reason = reason or f"{type(error).__name__}: {error}"
        raise DataError(
            f"{archive} cannot be unpacked: {printable(reason)}. A whole zip or tar archive was expected."
        ) from None
