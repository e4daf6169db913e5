"""Half-written results must not be seen: files and folders appear whole, by one rename, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from .errors import EinthovenError

_WORK = ".unfinished-"
_OLD = "-old"


class BusyError(EinthovenError):
    """Another process holds the lock of what was asked for."""


@contextmanager
def exclusive(
    path: Path, *, wait_seconds: float = 0.0, doing: str = "writing", what: Path | None = None
) -> Iterator[None]:
    """Hold the lock file beside `path` while the block runs; `doing` and `what` (default `path`) are for the message.

    The operating system drops the lock when the process dies, so a killed run never blocks the next one.

    Raises:
        BusyError: another process still holds it after `wait_seconds`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.parent / f".{path.name}.lock")
    try:
        lock.acquire(timeout=wait_seconds)
    except Timeout:
        raise BusyError(
            f"Another process is {doing} {what or path} (its lock {lock.lock_file} is held). "
            "Wait for it to finish, or stop it, then run this again."
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def publish_folder(final: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give an empty working folder; when the block ends without an error it becomes `final` by one rename.

    On an error, and on a kill, `final` is untouched. Working folders of killed processes are removed by the next
    call for the same `final` (call it under `exclusive`).

    Raises:
        FileExistsError: `final` exists and `replace` is False.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    for aside in final.parent.glob(f"{_WORK}{final.name}-*{_OLD}"):
        # A kill between the two renames of a replacement left the old folder aside and nothing in its place.
        if not final.exists():
            aside.rename(final)
    for stale in final.parent.glob(f"{_WORK}{final.name}-*"):
        shutil.rmtree(stale, ignore_errors=True)
    if final.exists() and not replace:
        raise FileExistsError(f"{final} exists already; it is not overwritten.")
    work = final.parent / f"{_WORK}{final.name}-{uuid.uuid4().hex[:12]}"
    work.mkdir()
    try:
        yield work
        for file in work.rglob("*"):
            _flush(file)
        _flush(work)
        if final.exists():
            # POSIX has no atomic exchange of folders; the old one is moved aside first and removed last.
            aside = final.parent / f"{_WORK}{final.name}-{uuid.uuid4().hex[:12]}{_OLD}"
            final.rename(aside)
            work.rename(final)
            shutil.rmtree(aside, ignore_errors=True)
        else:
            work.rename(final)
        _flush(final.parent)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file so that a reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.parent / f"{_WORK}{path.name}-{uuid.uuid4().hex[:12]}"
    try:
        work.write_text(text, encoding="utf-8", newline="\n")
        _flush(work)
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, whole or not at all; a float that is not finite is refused."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The value of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def _flush(path: Path) -> None:
    """Ask the operating system to put a file or folder on disk, so that the rename is not ahead of the bytes."""
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders; its renames are journalled
    # Windows flushes only what may be written.
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
