"""ST-MEM against the published network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from einthoven.encoders.networks.st_mem import StMem
from einthoven.encoders.registry import ENCODERS
from einthoven.encoders.torch_encoder import TorchEncoder

StandIn = Callable[[str, str], tuple[Any, TorchEncoder]]


def _blocks(encoder: TorchEncoder, count: int) -> nn.ModuleList:
    blocks = encoder.module.blocks
    assert isinstance(blocks, nn.ModuleList)
    return blocks[:count]


@pytest.mark.parametrize(("protocol", "preset"), [("upstream", "native"), ("interpbench", "interpbench")])
def test_is_the_published_one(stand_in: StandIn, protocol: str, preset: str) -> None:
    golden, encoder = stand_in("st_mem", "st-mem")
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_network(encoder, protocol, golden.arrays[f"{protocol}/input"])


def test_from_record_to_embedding(stand_in: StandIn) -> None:
    golden, encoder = stand_in("st_mem", "st-mem")
    golden.check_whole(encoder, "interpbench", "interpbench")


def test_the_embedding_of_a_record_is_the_mean_over_its_three_windows(stand_in: StandIn) -> None:
    golden, encoder = stand_in("st_mem", "st-mem")
    expected = golden.arrays["upstream/embedding"].reshape(2, 3, 768).mean(axis=1)
    found, means = encoder.embed_with_states(golden.prepared(encoder, "native")[:1])
    np.testing.assert_allclose(found, expected[:1], rtol=0, atol=2e-5)
    for index, mean in enumerate(means):
        of_windows = golden.arrays[f"upstream/hidden_mean/{index:02d}"][:3].mean(axis=0)
        np.testing.assert_allclose(mean, of_windows[None], rtol=0, atol=2e-4)


def test_exchanged_leads_are_seen(stand_in: StandIn) -> None:
    golden, encoder = stand_in("st_mem", "st-mem")
    exchanged = golden.arrays["interpbench/input"][:1, [0, 1, 2, 3, 5, 4, 6, 7, 8, 9, 10, 11]]
    assert np.abs(encoder.embed(exchanged) - golden.arrays["interpbench/embedding"][:1]).max() > 50 * 1e-5


def test_separators_open_and_close_every_lead(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    golden, encoder = stand_in("st_mem", "st-mem")
    monkeypatch.setitem(encoder.module._modules, "blocks", _blocks(encoder, 0))
    state = encoder.hidden_states(golden.arrays["interpbench/input"])[0].reshape(2, 12, 32, 768)
    weights = golden.weights
    for lead in (0, 11):
        added = weights["sep_embedding"] + weights[f"lead_embeddings.{lead}"]
        for place in (0, 31):
            wanted = added + weights["pos_embedding"][0, place]
            np.testing.assert_allclose(state[:, lead, place], np.stack([wanted, wanted]), rtol=0, atol=1e-6)


def test_untrained_positions_are_a_table_between_zeros() -> None:
    table = StMem().pos_embedding.detach().numpy()[0]
    assert not table[[0, 31]].any()
    np.testing.assert_allclose(np.square(table[1:31]).sum(axis=1), 384, rtol=1e-6)
    np.testing.assert_array_equal(table[1], np.repeat([0, 1], 384).astype(np.float32))


def test_the_released_layout_is_all_of_the_network(golden: Path) -> None:
    file = golden.parent / "facts" / "encoder_keys" / "st_mem_vit_base.tsv"
    released = dict(line.split("\t")[:2] for line in file.read_text().splitlines())
    source = ENCODERS.get("st-mem").card.checkpoint
    assert source is not None
    with torch.device("meta"):
        state = StMem().state_dict()
    own = {name: "x".join(map(str, tensor.shape)) for name, tensor in state.items()}
    assert {name: released[key] for key, name in source.names(released).items()} == own
    assert sum(tensor.numel() for tensor in state.values()) == 85_150_614


def test_runs_in_bfloat16(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    golden, encoder = stand_in("st_mem", "st-mem")
    monkeypatch.setitem(encoder.module._modules, "blocks", _blocks(encoder, 1))
    x = torch.from_numpy(golden.arrays["interpbench/input"][:1].copy())
    with torch.inference_mode():
        exact = encoder.module(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            near = encoder.module(x)
    assert 0 < float((near - exact).abs().max()) < 0.1
