"""CSFM against the published networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from einthoven.encoders.networks.csfm import CsfmTiny
from einthoven.encoders.registry import ENCODERS


@pytest.mark.parametrize(("protocol", "preset"), [("upstream", "native"), ("interpbench", "interpbench")])
def test_tiny_is_the_published_one(stand_in, protocol: str, preset: str) -> None:
    golden, encoder = stand_in("csfm_tiny", "csfm-tiny")
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_network(encoder, protocol, golden.arrays[f"{protocol}/input"])
    if preset == "native":
        golden.check_whole(encoder, protocol, preset)


def test_the_mean_of_all_normed_tokens_is_the_published_one(stand_in) -> None:
    """What other studies pool: every token passes the last norm, not the class token alone."""
    golden, encoder = stand_in("csfm_tiny", "csfm-tiny")
    states: list[torch.Tensor] = []
    with torch.inference_mode():
        encoder.module(torch.from_numpy(golden.arrays["upstream/input"][:1]), states.append)
        mean = encoder.module.norm(states[-1]).mean(dim=1).numpy()
    atol = golden.about["protocols"]["upstream"]["tolerance"]["embedding_atol"]
    np.testing.assert_allclose(mean, golden.arrays["upstream/extra/final_norm_mean"][:1], rtol=0, atol=atol)


def test_leads_and_time_are_told_apart(stand_in) -> None:
    golden, encoder = stand_in("csfm_tiny", "csfm-tiny")
    tolerance = golden.about["protocols"]["upstream"]["tolerance"]["embedding_atol"]
    x = golden.arrays["upstream/input"][:1]
    exchanged = x.copy()
    exchanged[:, [4, 5]] = x[:, [5, 4]]
    for other in (exchanged, np.roll(x, 250, axis=-1)):
        assert np.abs(encoder.embed(other) - golden.arrays["upstream/embedding"][:1]).max() > 50 * tolerance


@pytest.mark.parametrize(("size", "parameters"), [("tiny", 19_018_802), ("base", 85_137_458), ("large", 235_192_370)])
def test_every_size_has_the_published_tensors(golden: Path, size: str, parameters: int) -> None:
    entry = ENCODERS.get(f"csfm-{size}")
    assert entry.network is not None
    assert entry.card.checkpoint is not None
    with torch.device("meta"):
        module = entry.network()()
    rows = [
        line.split("\t") for line in (golden.parent / f"facts/encoder_keys/csfm_{size}.tsv").read_text().splitlines()
    ]
    shapes = {f"encoder.{key}": shape for key, shape, *_ in rows}
    names = entry.card.checkpoint.names(shapes)
    assert {names[key]: shapes[key] for key in names} == {
        key: "x".join(map(str, value.shape)) for key, value in module.state_dict().items()
    }
    left = {key.removeprefix("encoder.") for key in shapes if key not in names}
    assert all(key.startswith(("text_", "mlp_head.")) for key in left)
    assert sum(p.numel() for p in module.parameters()) == parameters
    blocks = sum(1 for key in names.values() if key.endswith("qkv.weight"))
    assert entry.card.hidden_states == 1 + blocks
    assert entry.card.dimension == module.get_parameter("norm.weight").numel()


def test_it_computes_in_half_precision(stand_in) -> None:
    golden, encoder = stand_in("csfm_tiny", "csfm-tiny")
    x = torch.from_numpy(golden.arrays["upstream/input"][:1].copy())
    kept = x.clone()
    states: list[torch.Tensor] = []
    assert isinstance(encoder.module, CsfmTiny)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        found = encoder.module(x, states.append).float().numpy()
    assert torch.equal(x, kept)
    assert len(states) == 7
    assert np.abs(found - golden.arrays["upstream/embedding"][:1]).max() < 0.2
