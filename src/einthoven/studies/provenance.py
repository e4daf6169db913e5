"""How a number came about: software, versions, threads, seeds, times."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from einthoven.version import VERSION

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "polars", "numba", "wfdb", "neurokit2")


@cache
def environment() -> dict[str, Any]:
    """Software and machine, without names of people, hosts or folders."""
    return {
        "einthoven": VERSION,
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_count": os.cpu_count(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the checkout the package is imported from, None outside one; "+changes" if its code has any."""
    folder = Path(__file__).resolve().parents[3]
    if not (folder / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        return subprocess.run(  # noqa: S603  # fixed arguments, no shell
            ["git", "-C", str(folder), *arguments],  # noqa: S607  # git from PATH, as the user has it
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        ).stdout.strip()

    try:
        commit = git("rev-parse", "HEAD")
        # New modules count whatever the user's git is set to show.
        status = ("status", "--porcelain", "--untracked-files=normal", "--", "src", "pyproject.toml")
        return commit + ("+changes" if git(*status) else "")
    except (OSError, subprocess.SubprocessError):
        return None


def threads() -> dict[str, int]:
    """Thread limits in force in this process: torch, and each numeric library's pool."""
    from threadpoolctl import threadpool_info

    found = {f"{pool['internal_api']}": int(pool["num_threads"]) for pool in threadpool_info()}
    if "torch" in sys.modules:
        found["torch"] = sys.modules["torch"].get_num_threads()
    return found
