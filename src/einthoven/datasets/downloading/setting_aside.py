"""Files with other bytes than the listed ones are kept beside, under a name that nothing else has."""

from __future__ import annotations

import os
from collections.abc import Collection
from itertools import count
from pathlib import Path

_CORRUPT = ".corrupt"
# Most disks take names of 255 bytes.
_LONGEST = 240


def set_aside(folder: Path, path: str, taken: Collection[str]) -> str | None:
    """Rename what lies under a path to PATH.corrupt, or PATH.corrupt-2 and so on; None if nothing lies there.

    Args:
        taken: paths that other files have or will have.
    """
    file = folder / path
    if not os.path.lexists(file):
        return None
    parent, slash, name = path.rpartition("/")
    stem = name.encode()[:_LONGEST].decode(errors="ignore")
    for number in count(1):
        aside = f"{parent}{slash}{stem}{_CORRUPT}{f'-{number}' if number > 1 else ''}"
        if aside not in taken and not os.path.lexists(folder / aside):
            file.rename(folder / aside)
            return aside
    raise AssertionError
