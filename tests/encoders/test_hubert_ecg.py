"""HuBERT-ECG against the published network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from einthoven.encoders.registry import ENCODERS

# The facts' counts less the embedding of a mask, which is not built.
_PARAMETERS = {"small": 30_209_664 - 512, "base": 92_798_848 - 768, "large": 187_644_736 - 960}
_TENSORS = {"small": 145, "base": 209, "large": 273}


@pytest.mark.parametrize("size", ["small", "base"])
@pytest.mark.parametrize(("protocol", "preset"), [("upstream", "native"), ("interpbench", "interpbench")])
def test_it_is_the_published_one(stand_in, size: str, protocol: str, preset: str) -> None:
    golden, encoder = stand_in(f"hubert_ecg_{size}", f"hubert-ecg-{size}")
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_network(encoder, protocol, golden.arrays[f"{protocol}/input"][:, None])
    golden.check_whole(encoder, protocol, preset)


def test_leads_are_joined_in_their_order_and_tokens_are_as_published(stand_in) -> None:
    golden, encoder = stand_in("hubert_ecg_small", "hubert-ecg-small")
    states: list[torch.Tensor] = []
    joined = golden.arrays["upstream/input"][:1]
    leads = joined.reshape(12, 500)[[0, 1, 2, 3, 5, 4, *range(6, 12)]]
    x = torch.from_numpy(np.ascontiguousarray(leads.reshape(1, 1, -1)))
    with torch.inference_mode():
        exchanged = encoder.module(x, states.append).numpy()
    assert {state.shape for state in states} == {(1, 93, 512)}
    moved = np.abs(exchanged - golden.arrays["upstream/embedding"][:1]).max()
    assert moved > 50 * golden.about["protocols"]["upstream"]["tolerance"]["embedding_atol"]
    assert encoder.hidden_states(golden.prepared(encoder, "interpbench")[:1])[0].shape == (1, 468, 512)


def test_the_decimation_filter_runs_across_the_joints(stand_in) -> None:
    """A pulse at the end of one lead is seen at the start of the next."""
    _, encoder = stand_in("hubert_ecg_small", "hubert-ecg-small")
    chain = encoder.card.preprocessings["native"]
    time = np.arange(5000) / 500
    signal = np.tile(np.sin(2 * np.pi * time), (1, 12, 1))
    other = signal.copy()
    other[0, 0, 2450:2499] += 0.4 * np.hanning(49)  # lead I, just before the cut at 5 s
    names = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
    changed = np.abs(chain.apply(other, names, 500) - chain.apply(signal, names, 500))[0, 0]
    assert changed[500:504].max() > 1e-3
    assert changed[700:].max() < 1e-6


def test_half_the_precision_gives_nearly_the_same(stand_in) -> None:
    golden, encoder = stand_in("hubert_ecg_small", "hubert-ecg-small")
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        embedding = encoder.module(torch.from_numpy(golden.arrays["upstream/input"][:1, None].copy()))
    expected = golden.arrays["upstream/embedding"][0]
    found = embedding.float().numpy()[0]
    assert np.corrcoef(found, expected)[0, 1] > 0.999
    assert not np.array_equal(found, expected)


@pytest.mark.parametrize("size", ["small", "base", "large"])
@pytest.mark.parametrize("spelling", ["hooks", "parametrization"])
def test_the_released_layout_is_exactly_the_network(golden: Path, size: str, spelling: str) -> None:
    file = golden.parent / "facts" / "encoder_keys" / f"hubert_ecg_{size}.tsv"
    if not file.is_file():
        pytest.skip(f"no key table {file}")
    rows = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines())
    table = {key: tuple(map(int, shape.split("x"))) for key, shape, *_ in rows}
    assert len(table) == _TENSORS[size]
    if spelling == "hooks":
        renamed = {"parametrizations.weight.original0": "weight_g", "parametrizations.weight.original1": "weight_v"}
        for new, old in renamed.items():
            table = {key.replace(new, old): shape for key, shape in table.items()}
    entry = ENCODERS.get(f"hubert-ecg-{size}")
    layout = entry.card.checkpoint
    assert layout is not None
    assert entry.network is not None
    heads = ["final_proj.0.weight", "final_proj.0.bias", "label_embedding.0.weight"]
    names = layout.names([*table, *heads])
    assert set(table) - set(names) == {"masked_spec_embed"}
    with torch.device("meta"):
        module: Any = entry.network()()
    shapes = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    assert {own: table[released] for released, own in names.items()} == shapes
    assert sum(parameter.numel() for parameter in module.parameters()) == _PARAMETERS[size]
    assert len(module.encoder.layers) + 1 == entry.card.hidden_states
    assert {block.attention.config._attn_implementation for block in module.encoder.layers} == {"sdpa"}
