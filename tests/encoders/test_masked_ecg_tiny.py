"""The one real checkpoint at hand: from the authors' file to what it makes of real records."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
import wfdb

from einthoven.encoders.checkpoints.converting import convert
from einthoven.encoders.networks.masked_transformer import MaskedTransformer
from einthoven.encoders.registry import ENCODERS, build_encoder
from einthoven.encoders.torch_encoder import TorchEncoder
from einthoven.signals.leads import STANDARD_LEADS

pytestmark = pytest.mark.realdata
_NAME = "masked-ecg-tiny"
_FOLDER = Path("checkpoints/ribeiro_physionet12_transformer_pretrain")


@pytest.fixture
def encoder(real_data: Path, home: Path) -> TorchEncoder:
    file = real_data / _FOLDER / "pretrain_model.pth"
    if not file.is_file():
        pytest.skip(f"no {file}")
    entry = ENCODERS.get(_NAME)
    assert entry.network is not None
    stored = convert(entry.card, entry.network(), file)
    assert stored.provenance.tensors == 29
    assert stored.provenance.unused == ()
    built = build_encoder(_NAME)
    assert isinstance(built, TorchEncoder)
    return built


@pytest.fixture
def records(real_data: Path) -> np.ndarray:
    """24 records in mV, none of which the network was trained or chosen on: 14 of PTB-XL, 10 of Georgia."""
    seen = {
        name.strip()
        for part in ("train", "valid")
        for name in (real_data / _FOLDER / f"pretrain_{part}_ids.txt").read_text().split(",")
    }
    assert len(seen) == 6877
    with (real_data / "RECORDS_INDEX.tsv").open(newline="") as stream:
        georgia = [row for row in csv.DictReader(stream, delimiter="\t") if row["dataset"] == "Georgia"]
    stems = [stem.with_suffix("") for stem in sorted((real_data / "ptbxl/records500").rglob("*.hea"))[:14]]
    stems += [real_data / row["path"] for row in georgia]
    assert not seen & {stem.name for stem in stems}
    signals = [np.asarray(wfdb.rdsamp(str(stem))[0]) for stem in stems]
    assert len(signals) == 24
    return np.stack([signal.T for signal in signals])


def explained(module: torch.nn.Module, x: np.ndarray) -> np.ndarray:
    """Of each record the part of its sum of squares that the network gives back."""
    assert isinstance(module, MaskedTransformer)
    with torch.inference_mode():
        left = x - module.reconstruct(torch.from_numpy(x)).numpy()
    return 1 - (left**2).sum(axis=(1, 2)) / (x**2).sum(axis=(1, 2))


def test_it_gives_back_unseen_records_in_millivolts_and_in_nothing_else(
    encoder: TorchEncoder, records: np.ndarray
) -> None:
    x = encoder.card.preprocessing().apply(records, STANDARD_LEADS, 500.0)  # type: ignore[union-attr]
    in_millivolts = explained(encoder.module, x)
    assert in_millivolts.min() > 0.6
    assert in_millivolts.mean() == pytest.approx(0.799, abs=0.005)
    assert explained(encoder.module, 1000 * x).max() < 0.05
    for seed in range(3):
        untrained = build_encoder(_NAME, weights="random", seed=seed)
        assert isinstance(untrained, TorchEncoder)
        assert explained(untrained.module, x).max() < 0


def test_the_network_is_that_of_attention_is_all_you_need(encoder: TorchEncoder, records: np.ndarray) -> None:
    """Written out once more, without torch's layers."""
    weights = {name: tensor.double() for name, tensor in encoder.module.state_dict().items()}
    x = encoder.card.preprocessing().apply(records[:2], STANDARD_LEADS, 500.0)  # type: ignore[union-attr]
    states = [torch.from_numpy(state).double() for state in encoder.hidden_states(x)]
    samples = torch.from_numpy(x).double()
    tokens = torch.stack([samples[:, :, k::4] for k in range(4)], dim=1).flatten(1, 2).transpose(1, 2)
    place = torch.arange(1000).double()
    for i in range(5):
        angle = place / 10000 ** (2 * i / 10)
        torch.testing.assert_close(weights["pos_encoder.pe"][:1000, 0, 2 * i], angle.sin(), rtol=0, atol=1e-4)
        torch.testing.assert_close(weights["pos_encoder.pe"][:1000, 0, 2 * i + 1], angle.cos(), rtol=0, atol=1e-4)
    state = (tokens @ weights["encoder.weight"].T + weights["encoder.bias"]) * 12**0.5
    state = state + weights["pos_encoder.pe"][:1000, 0]
    torch.testing.assert_close(states[0], state, rtol=0, atol=1e-5)
    for index in range(2):
        part = {k.split(f"layers.{index}.")[1]: v for k, v in weights.items() if f"layers.{index}." in k}
        mixed = state @ part["self_attn.in_proj_weight"].T + part["self_attn.in_proj_bias"]
        heads = []
        for head in range(2):
            q, k, v = (mixed[..., 10 * j + 5 * head : 10 * j + 5 * head + 5] for j in range(3))
            heads.append(torch.softmax(q @ k.transpose(1, 2) / 5**0.5, dim=-1) @ v)
        out = torch.cat(heads, dim=-1) @ part["self_attn.out_proj.weight"].T + part["self_attn.out_proj.bias"]
        state = _norm(state + out, part, "norm1")
        inner = torch.relu(state @ part["linear1.weight"].T + part["linear1.bias"])
        state = _norm(state + inner @ part["linear2.weight"].T + part["linear2.bias"], part, "norm2")
        torch.testing.assert_close(states[index + 1], state, rtol=0, atol=2e-5)
    torch.testing.assert_close(torch.from_numpy(encoder.embed(x)).double(), state.mean(dim=1), rtol=0, atol=1e-5)


def _norm(x: torch.Tensor, part: dict[str, torch.Tensor], name: str) -> torch.Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    scaled = centred / (centred.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    return scaled * part[f"{name}.weight"] + part[f"{name}.bias"]
