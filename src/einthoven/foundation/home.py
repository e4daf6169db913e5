"""Where things live at run time: `$EINTHOVEN_HOME`, or the platform's user cache."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def home() -> Path:
    """The folder that holds `sources/`, `cohorts/`, `checkpoints/` and `embeddings/`; not created here."""
    chosen = os.environ.get("EINTHOVEN_HOME")
    return Path(chosen).expanduser().resolve() if chosen else user_cache_path("einthoven", appauthor=False)


def sources_folder() -> Path:
    """Downloaded datasets as their publishers laid them out, one folder each."""
    return home() / "sources"


def cohorts_folder() -> Path:
    """Prepared cohorts, one folder each."""
    return home() / "cohorts"


def checkpoints_folder() -> Path:
    """Converted weights of encoders, one folder for each encoder and each name its weights have."""
    return home() / "checkpoints"


def embeddings_folder() -> Path:
    """Stored embeddings, one folder for each content key."""
    return home() / "embeddings"
