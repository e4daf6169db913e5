"""MERL against the published networks."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("protocol", "preset"), [("upstream", "native"), ("ecgfix", "ecgfix")], ids=lambda value: str(value)
)
def test_resnet18_is_the_published_one(stand_in, protocol: str, preset: str) -> None:
    golden, encoder = stand_in("merl_resnet18", "merl-resnet18")
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_network(encoder, protocol, golden.arrays[f"{protocol}/input"].astype(np.float32))
    golden.check_whole(encoder, protocol, preset)
