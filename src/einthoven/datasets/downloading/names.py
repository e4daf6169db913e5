"""Names that come from outside (a list of sums, an archive), checked before any of them becomes a path."""

from __future__ import annotations

import re

from einthoven.foundation.errors import DataError

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HALF = re.compile(r"[\ud800-\udfff]")


def checked_path(name: str, *, where: str) -> str:
    """A relative path, "/" between folders, that stays below the folder it is put under on every system.

    Raises:
        DataError: it is empty, absolute, climbs, or holds a backslash, a drive letter or a control character.
    """
    plain = name.removeprefix("./")
    if not plain:
        problem = "it is empty"
    elif _CONTROL.search(plain):
        problem = "it holds a control character"
    elif "\\" in plain:
        problem = "it holds a backslash"
    elif plain.startswith("/") or plain[1:2] == ":":
        problem = "it is absolute"
    elif ".." in plain.split("/"):
        problem = "it climbs out of its folder"
    elif any(part in ("", ".") for part in plain.split("/")):
        problem = "it has an empty part"
    elif _HALF.search(plain):
        problem = "it holds half of a character"
    else:
        return plain
    raise DataError(f"{where} names {name!r}, which is refused: {problem}. A path below the folder was expected.")


def printable(text: str) -> str:
    """A text that may hold anything, for a terminal: what is no printable character is escaped as `repr` does."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
