"""What to do where this program cannot reach a server and something else can."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def by_hand(folder: Path, sums: str, urls: Sequence[str]) -> str:
    """How files may be fetched by other means: from where, to where, and how they are checked then."""
    return (
        "The files may be fetched by other means too (a browser, wget, another machine): from "
        f"{' or '.join(urls)} into {folder}, each under its listed path and {sums} among them; then "
        f"`einthoven datasets verify {shlex.quote(str(folder))}` checks them."
    )
