"""MERL against the published networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from einthoven.encoders.registry import ENCODERS
from einthoven.encoders.torch_encoder import TorchEncoder

StandIn = Callable[[str, str], tuple[Any, TorchEncoder]]


@pytest.mark.parametrize(
    ("protocol", "preset"), [("upstream", "native"), ("ecgfix", "ecgfix")], ids=lambda value: str(value)
)
def test_resnet18_is_the_published_one(stand_in: StandIn, protocol: str, preset: str) -> None:
    golden, encoder = stand_in("merl_resnet18", "merl-resnet18")
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_network(encoder, protocol, golden.arrays[f"{protocol}/input"].astype(np.float32))
    golden.check_whole(encoder, protocol, preset)


def test_vit_tiny_is_the_published_one(stand_in: StandIn) -> None:
    golden, encoder = stand_in("merl_vit_tiny", "merl-vit-tiny")
    golden.check_preprocessing(encoder, "upstream", "native")
    golden.check_network(encoder, "upstream", golden.arrays["upstream/input"])
    golden.check_whole(encoder, "upstream", "native")


def test_the_exchange_of_avl_and_avf_is_seen(stand_in: StandIn) -> None:
    golden, encoder = stand_in("merl_vit_tiny", "merl-vit-tiny")
    x = golden.arrays["upstream/input"]
    exchanged = x[:, [0, 1, 2, 3, 5, 4, 6, 7, 8, 9, 10, 11]]
    assert np.abs(encoder.embed(exchanged) - encoder.embed(x)).max() > 50 * 1e-5


@pytest.mark.parametrize(
    ("size", "width", "numbers"),
    [("tiny", 192, 5_473_152), ("middle", 512, 38_188_032), ("base", 768, 85_593_600)],
    ids=lambda value: str(value),
)
def test_the_released_layout_is_all_of_the_vit(golden: Path, size: str, width: int, numbers: int) -> None:
    file = golden.parent / "facts" / "encoder_keys" / f"merl_vit_{size}.tsv"
    released = dict(line.split("\t")[:2] for line in file.read_text().splitlines())
    entry = ENCODERS.get(f"merl-vit-{size}")
    assert entry.network is not None
    assert entry.card.checkpoint is not None
    with torch.device("meta"):
        state = entry.network()().state_dict()
    own = {name: "x".join(map(str, tensor.shape)) for name, tensor in state.items()}
    assert {name: released[key] for key, name in entry.card.checkpoint.names(released).items()} == own
    assert sum(tensor.numel() for tensor in state.values()) == numbers
    assert entry.card.dimension == width
