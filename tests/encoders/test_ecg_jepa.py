"""ECG-JEPA against the published network."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from einthoven.encoders.networks.ecg_jepa import EcgJepa
from einthoven.encoders.networks.positions import sine_cosine_of_leads
from einthoven.encoders.registry import ENCODERS
from einthoven.encoders.torch_encoder import TorchEncoder

_TABLE_SHA256 = "cf7f6fb180ac70256325bbf88bf7d10f3ed2f73bf3c8f2a6721d99377b4644a6"


def _blocks(encoder: TorchEncoder, count: int) -> nn.ModuleList:
    blocks = encoder.module.blocks
    assert isinstance(blocks, nn.ModuleList)
    return blocks[:count]


def _table() -> np.ndarray:
    return sine_cosine_of_leads(8, 50, 768).astype(np.float32)


@pytest.fixture(scope="module")
def jepa(golden_encoder: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, TorchEncoder]:
    golden = golden_encoder("ecg_jepa")
    # Released files hold the table of positions; the golden weights leave it to the model.
    golden.weights["pos_embed"] = _table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EINTHOVEN_HOME", str(tmp_path_factory.mktemp("home")))
        encoder = golden.build("ecg-jepa", tmp_path_factory.mktemp("released"))
        _ = encoder.module
    return golden, encoder


@pytest.mark.parametrize(("protocol", "preset"), [("upstream", "native"), ("interpbench", "interpbench")])
def test_is_the_published_one(jepa: tuple[Any, TorchEncoder], protocol: str, preset: str) -> None:
    golden, encoder = jepa
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_network(encoder, protocol, golden.arrays[f"{protocol}/input"])
    golden.check_whole(encoder, protocol, preset)


def test_the_epsilon_of_the_norms_and_exchanged_leads_are_seen(jepa: tuple[Any, TorchEncoder]) -> None:
    golden, encoder = jepa
    x, exact = golden.arrays["upstream/input"][:1], golden.arrays["upstream/embedding_f64"][:1]
    # The golden tolerance is hardly narrow enough to see the epsilon; 2e-6 of the float64 result is.
    np.testing.assert_allclose(encoder.embed(x), exact, rtol=0, atol=2e-6)
    exchanged = x[:, [0, 1, 2, 3, 5, 4, 6, 7]]
    assert np.abs(encoder.embed(exchanged) - exact).max() > 50 * 5e-6


def test_positions_are_the_fixed_table(golden_encoder: Callable[[str], Any]) -> None:
    table = _table()
    assert hashlib.sha256(table.tobytes()).hexdigest() == _TABLE_SHA256
    rows = golden_encoder("ecg_jepa").arrays["computed/pos_embed_rows_0_1_49_50_399"]
    np.testing.assert_array_equal(table[[0, 1, 49, 50, 399]], rows)
    np.testing.assert_array_equal(EcgJepa().pos_embed.detach().numpy(), table)


def test_a_token_sees_its_lead_and_its_time_step_only(
    jepa: tuple[Any, TorchEncoder], monkeypatch: pytest.MonkeyPatch
) -> None:
    golden, encoder = jepa
    monkeypatch.setitem(encoder.module._modules, "blocks", _blocks(encoder, 1))
    x = golden.arrays["upstream/input"][:1]
    changed = x.copy()
    changed[0, 3, 7 * 50 : 8 * 50] += 1.0  # lead 3, time step 7
    before, after = encoder.hidden_states(x)[1], encoder.hidden_states(changed)[1]
    moved = np.abs(after - before).max(axis=2).reshape(8, 50) > 1e-6
    expected = np.zeros((8, 50), dtype=bool)
    expected[3] = True
    expected[:, 7] = True
    np.testing.assert_array_equal(moved, expected)


def test_the_released_layout_is_all_of_the_network(golden: Path) -> None:
    file = golden.parent / "facts" / "encoder_keys" / "ecg_jepa_encoder.tsv"
    released = dict(line.split("\t")[:2] for line in file.read_text().splitlines())
    source = ENCODERS.get("ecg-jepa").card.checkpoint
    assert source is not None
    with torch.device("meta"):
        state = EcgJepa().state_dict()
    own = {name: "x".join(map(str, tensor.shape)) for name, tensor in state.items()}
    assert {name: released[key] for key, name in source.names(released).items()} == own
    assert sum(tensor.numel() for tensor in state.values()) == 85_374_720


def test_runs_in_bfloat16(jepa: tuple[Any, TorchEncoder], monkeypatch: pytest.MonkeyPatch) -> None:
    golden, encoder = jepa
    monkeypatch.setitem(encoder.module._modules, "blocks", _blocks(encoder, 1))
    x = torch.from_numpy(golden.arrays["upstream/input"][:1].copy())
    with torch.inference_mode():
        exact = encoder.module(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            near = encoder.module(x)
    assert 0 < float((near - exact).abs().max()) < 0.05
