"""ECGFounder against the published network."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest
import torch

from einthoven.encoders.registry import ENCODERS

_PROTOCOLS = [("upstream_finetune", "native"), ("upstream_ptbxl", "ptbxl-evaluation")]
_DEAD = re.compile(r".*\.bn\d\..*|first_bn\..*")


@pytest.fixture(scope="module")
def golden_encoder(golden_encoder: Callable) -> Callable:
    """The fixture, where the classifier counts as used because it gives extra/logits, which no embedding needs."""

    def opened(name: str):
        golden = golden_encoder(name)
        golden.rows = [row._replace(use="unused") if row.key.startswith("dense.") else row for row in golden.rows]
        return golden

    return opened


@pytest.mark.parametrize(("protocol", "preset"), _PROTOCOLS)
def test_ecgfounder_is_the_published_one(stand_in: Callable, protocol: str, preset: str) -> None:
    golden, encoder = stand_in("ecgfounder_12lead", "ecgfounder")
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_network(encoder, protocol, golden.arrays[f"{protocol}/input"])
    golden.check_whole(encoder, protocol, preset)


def test_the_published_logits_follow_from_the_embedding(stand_in: Callable) -> None:
    """What the classifier, which is not kept, would say."""
    golden, encoder = stand_in("ecgfounder_12lead", "ecgfounder")
    embedding = encoder.embed(golden.arrays["upstream_finetune/input"])
    logits = embedding @ golden.weights["dense.weight"].T + golden.weights["dense.bias"]
    np.testing.assert_allclose(logits, golden.arrays["upstream_finetune/extra/logits"], rtol=0, atol=5e-5)


@pytest.mark.parametrize(("entry", "leads"), [("ecgfounder", 12), ("ecgfounder-1lead", 1)])
def test_network_has_the_published_tensors(golden: Path, entry: str, leads: int) -> None:
    registered = ENCODERS.get(entry)
    lines = (golden / "encoders" / "ecgfounder_12lead.keys.tsv").read_text().splitlines()
    shapes = {key: shape for key, shape, *_ in (line.split("\t") for line in lines)}
    # All that differs between the two (facts/encoder_keys/ecgfounder_1lead.tsv).
    shapes["first_conv.conv.weight"] = f"64x{leads}x16"
    assert registered.network is not None
    assert registered.card.checkpoint is not None
    with torch.device("meta"):
        network = registered.network()()
    names = registered.card.checkpoint.names(shapes)
    assert all(_DEAD.fullmatch(key) or key.startswith("dense.") for key in set(shapes) - set(names))
    assert {own: shapes[name] for name, own in names.items()} == {
        own: "x".join(map(str, tensor.shape)) or "scalar" for own, tensor in network.state_dict().items()
    }
    used = sum(parameter.numel() for parameter in network.parameters())
    dead = [key for key in shapes if _DEAD.fullmatch(key) and key.endswith(("weight", "bias"))]
    # The number usually given counts batch-norms that are never called.
    assert used + sum(prod(map(int, shapes[key].split("x"))) for key in dead) == 30_665_264 - (12 - leads) * 64 * 16


def test_order_of_leads_is_seen(stand_in: Callable) -> None:
    golden, encoder = stand_in("ecgfounder_12lead", "ecgfounder")
    x, expected = golden.arrays["upstream_ptbxl/input"], golden.arrays["upstream_ptbxl/embedding"]
    exchanged = x[:, [0, 1, 2, 3, 5, 4, *range(6, 12)]]
    tolerance = golden.about["protocols"]["upstream_ptbxl"]["tolerance"]["embedding_atol"]
    assert np.abs(encoder.embed(exchanged) - expected).max() > 50 * tolerance


def test_one_lead_takes_lead_i() -> None:
    card = ENCODERS.get("ecgfounder-1lead").card
    assert {preset.leads for preset in card.preprocessings.values()} == {("I",)}
    network = ENCODERS.get("ecgfounder-1lead").network
    assert network is not None
    states: list[torch.Size] = []
    with torch.device("meta"):
        embedding = network()()(torch.zeros(2, 1, 5000), lambda state: states.append(state.shape))
    assert embedding.shape == (2, 1024)
    assert [shape[1] for shape in states] == [2500, 1250, 625, 313, 157, 79, 40, 20]
