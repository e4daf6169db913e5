"""Lists of sha256 sums, as `sha256sum` writes them and as PhysioNet publishes them beside a release."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from einthoven.foundation.errors import DataError

from .kept_state import FOLDER
from .names import checked_path
from .reading import OddFileError, refuse_odd

# `sha256sum` writes two spaces, or a space and "*"; PhysioNet writes one space.
_LINE = re.compile(r"([0-9A-Fa-f]{64})(?:  | \*| |\t)(\S.*)")
# No system has longer paths.
_LONGEST_LINE = 8192
# Twelve million files; the largest release has 1.6 million.
LARGEST_LIST = 1 << 30


def read_sums(file: Path, *, where: str = "") -> dict[str, str]:
    """Path -> sha256 (64 lower-case hex digits) of a list, in its order; without the list's own name.

    Args:
        where: what messages call the list; default its path.

    Raises:
        DataError: it is no such list: a web page, cut short, empty, not UTF-8, or with a name that is refused.
    """
    where = where or str(file)
    try:
        refuse_odd(file.stat())
        with file.open(encoding="utf-8-sig", newline="\n") as stream:
            if file.stat().st_size > LARGEST_LIST:
                raise DataError(f"{where} is {file.stat().st_size:,} bytes; at most {LARGEST_LIST:,} were expected.")
            found = parse_sums(_lines(stream, where), where=where, name=file.name)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where} is not UTF-8 text ({error.reason} at byte {error.start}); a list was expected."
        ) from None
    except (OSError, OddFileError) as error:
        raise DataError(f"{where} cannot be read: {error}") from None
    found.pop(file.name, None)  # a list cannot state its own sum
    if not found:
        raise DataError(f"{where} names no file; one line 'sha256  path' for each file was expected.")
    return found


def _lines(stream: TextIO, where: str) -> Iterator[str]:
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            raise DataError(
                f"{where}, line {number}: 'sha256  path' was expected, {line[:60]!r} and more was found, beyond "
                f"{_LONGEST_LINE:,} characters."
            )
        yield line


def parse_sums(lines: Iterable[str], *, where: str, name: str = "") -> dict[str, str]:
    """Path -> sha256 of lines "sha256  path", "sha256 path" or "sha256 *path"; blank lines are skipped.

    Args:
        name: of the list itself, which is a file and so can be no folder.

    Raises:
        DataError: a line is another thing, a name is refused (see `checked_path`), is that of a folder of another, or
            lies where a download keeps its own files; or one path has two sums.
    """
    found: dict[str, str] = {}
    folders: set[str] = set()
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            page = ": it is a web page" if text.lstrip().startswith("<") else ""
            raise DataError(f"{where}, line {number}: 'sha256  path' was expected, {text[:60]!r} was found{page}.")
        path = checked_path(match[2], where=f"{where}, line {number}")
        top = path.partition("/")[0]
        if top.casefold() == FOLDER:
            raise DataError(f"{where}, line {number}: {path} is refused: downloads keep files of their own there.")
        parent = path.rpartition("/")[0]
        while parent and parent not in folders:
            folders.add(parent)
            if parent in found or parent == name:
                raise DataError(f"{where}, line {number}: {path} is refused: {parent} is a file, and cannot hold it.")
            parent = parent.rpartition("/")[0]
        if path in folders:
            raise DataError(f"{where}, line {number}: {path} is refused: it is a folder, which other lines are in.")
        digest = match[1].lower()
        if found.setdefault(path, digest) != digest:
            raise DataError(f"{where}, line {number}: {path} was named before with another sha256. Which one is right?")
    return found
