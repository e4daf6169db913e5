"""Tensor names of vision transformers in the code of ST-MEM, which MERL took over, and what they are called here."""

from __future__ import annotations

BLOCK_NAMES: tuple[tuple[str, str], ...] = (
    (r"^block(\d+)\.attn\.norm\.", r"blocks.\1.norm1."),
    (r"^block(\d+)\.attn\.fn\.to_qkv\.", r"blocks.\1.qkv."),
    (r"^block(\d+)\.attn\.fn\.to_out\.0\.", r"blocks.\1.proj."),
    (r"^block(\d+)\.ff\.norm\.", r"blocks.\1.norm2."),
    (r"^block(\d+)\.ff\.fn\.net\.0\.", r"blocks.\1.fc1."),
    (r"^block(\d+)\.ff\.fn\.net\.3\.", r"blocks.\1.fc2."),
)
"""For `CheckpointSource.rename`."""
