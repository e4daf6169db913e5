"""Lists of sha256 sums, as `sha256sum` writes them and as PhysioNet publishes them beside a release."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from einthoven.foundation.errors import DataError

from .names import checked_path

# `sha256sum` writes two spaces, or a space and "*"; PhysioNet writes one space.
_LINE = re.compile(r"([0-9A-Fa-f]{64})(?:  | \*| |\t)(\S.*)")


def read_sums(file: Path, *, where: str = "") -> dict[str, str]:
    """Path -> sha256 (64 lower-case hex digits) of a list, in its order; without the list's own name.

    Args:
        where: what messages call the list; default its path.

    Raises:
        DataError: it is no such list: a web page, cut short, empty, not UTF-8, or with a name that is refused.
    """
    where = where or str(file)
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            found = parse_sums(stream, where=where)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where} is not UTF-8 text ({error.reason} at byte {error.start}); a list was expected."
        ) from None
    found.pop(file.name, None)  # a list cannot state its own sum
    if not found:
        raise DataError(f"{where} names no file; one line 'sha256  path' for each file was expected.")
    return found


def parse_sums(lines: Iterable[str], *, where: str) -> dict[str, str]:
    """Path -> sha256 of lines "sha256  path", "sha256 path" or "sha256 *path"; blank lines are skipped.

    Raises:
        DataError: a line is another thing, a name is refused (see `checked_path`), or one path has two sums.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            page = ": it is a web page" if text.lstrip().startswith("<") else ""
            raise DataError(f"{where}, line {number}: 'sha256  path' was expected, {text[:60]!r} was found{page}.")
        path = checked_path(match[2], where=f"{where}, line {number}")
        digest = match[1].lower()
        if found.setdefault(path, digest) != digest:
            raise DataError(f"{where}, line {number}: {path} was named before with another sha256. Which one is right?")
    return found
