"""Source folders for datasets of which there are no real files in the layout of their release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .layouts import write_code15, write_ptb
from .record_layouts import write_echonext, write_mimic, write_ptbxl_plus
from .rhythm_layouts import write_afdb, write_ltafdb, write_unified_af

# Dataset -> what writes a small folder in its layout. Their real records, where there are any, are read in their tests.
MADE: dict[str, Callable[[Path], Path]] = {
    "afdb": write_afdb,
    "code15": write_code15,
    "echonext": write_echonext,
    "ltafdb": write_ltafdb,
    "mimic-iv-ecg": write_mimic,
    "ptbxl-plus": write_ptbxl_plus,
    "unified-af": write_unified_af,
    "ptb": write_ptb,
}
