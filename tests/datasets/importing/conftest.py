"""A ward with signals in every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from .ward import Ward


@pytest.fixture
def ward(tmp_path: Path) -> Ward:
    return Ward(tmp_path / "ward")
