"""The network against outputs of the published one (stand-in weights, real records)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from einthoven.encoders.checkpoints.matching import load_strictly
from einthoven.encoders.networks.resnet1d import ResNet18
from einthoven.encoders.registry import ENCODERS
from einthoven.encoders.torch_encoder import TorchEncoder
from einthoven.foundation.errors import DataError

_PROTOCOLS = [f"100hz_{band}_{norm}" for band in ("nobp", "bp") for norm in ("none", "dataset", "sample")]
_PROTOCOLS.append("250hz_bp_sample")
_UNUSED = ("linear.weight", "linear.bias")


class Fixture:
    """Stored input, outputs and tolerances of the published network, and its stand-in weights."""

    def __init__(self, folder: Path) -> None:
        self.rule = _load(folder / "fill.py")
        self.rows = self.rule.read_keys(folder / "random_resnet18.keys.tsv")
        self.weights: dict[str, np.ndarray] = self.rule.fill_table(self.rows)
        with safe_open(str(folder / "random_resnet18.safetensors"), framework="np") as file:
            self.golden: dict[str, Any] = json.loads(file.metadata()["golden"])
            self.arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118  # not a mapping


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden_fill", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def fixture(golden: Path) -> Fixture:
    return Fixture(golden / "encoders")


@pytest.fixture(scope="module")
def published(fixture: Fixture) -> TorchEncoder:
    network = ResNet18()
    load_strictly(network, fixture.weights, unused=_UNUSED)
    return TorchEncoder(ENCODERS.get("random-resnet18").card, {}, network=ResNet18, make=lambda: network)


def test_stand_in_weights_are_those_of_the_fixture(fixture: Fixture) -> None:
    assert fixture.rule.digest(fixture.weights) == fixture.golden["fill"]["sha256"]


def test_every_protocol_with_a_stored_input_is_tested(fixture: Fixture) -> None:
    stored = [name for name in fixture.golden["protocols"] if f"{name}/input" in fixture.arrays]
    assert sorted(stored) == sorted(_PROTOCOLS)


def test_state_dict_has_the_published_keys_and_shapes(fixture: Fixture) -> None:
    expected = {row.key: row.shape for row in fixture.rows if row.use != "unused"}
    assert {row.key for row in fixture.rows if row.use == "unused"} == set(_UNUSED)
    assert {name: tuple(tensor.shape) for name, tensor in ResNet18().state_dict().items()} == expected


@pytest.mark.parametrize("protocol", _PROTOCOLS)
def test_outputs_are_those_of_the_published_network(fixture: Fixture, published: TorchEncoder, protocol: str) -> None:
    x = torch.from_numpy(fixture.arrays[f"{protocol}/input"].astype(np.float32))
    tolerance = fixture.golden["protocols"][protocol]["tolerance"]
    network = published.module
    assert isinstance(network, ResNet18)
    with torch.inference_mode():
        states: list[np.ndarray] = []
        embedding = network(x, lambda state: states.append(state.numpy().copy())).numpy()
    np.testing.assert_allclose(
        embedding, fixture.arrays[f"{protocol}/embedding"], rtol=0, atol=tolerance["embedding_atol"]
    )
    assert len(states) == fixture.golden["protocols"][protocol]["n_states"]
    for index, state in enumerate(states):
        for found, kind in ((state.mean(axis=1), "hidden_mean"), (state[:, :4, :16], "hidden_slice")):
            np.testing.assert_allclose(
                found, fixture.arrays[f"{protocol}/{kind}/{index:02d}"], rtol=0, atol=tolerance["hidden_atol"]
            )


def test_encoder_gives_the_same_as_the_network(fixture: Fixture, published: TorchEncoder) -> None:
    protocol = "100hz_nobp_none"
    tolerance = fixture.golden["protocols"][protocol]["tolerance"]
    x = fixture.arrays[f"{protocol}/input"].astype(np.float32)
    expected = fixture.arrays[f"{protocol}/embedding"]
    np.testing.assert_allclose(published.embed(x), expected, rtol=0, atol=tolerance["embedding_atol"])
    last = published.hidden_states(x)[-1]
    np.testing.assert_allclose(last.mean(axis=1), expected, rtol=0, atol=tolerance["embedding_atol"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("layer3.0.shortcut.1.bias"), r"layer3\.0\.shortcut\.1\.bias is missing"),
        (lambda w: w.update({"head.weight": w["conv1.weight"]}), r"head\.weight is not part of the network"),
        (
            lambda w: w.update({"conv1.weight": w["conv1.weight"][:, :1]}),
            r"\(64, 1, 7\), the network needs \(64, 12, 7\)",
        ),
    ],
)
def test_loading_is_all_or_nothing(fixture: Fixture, change: Any, message: str) -> None:
    weights = dict(fixture.weights)
    change(weights)
    network = ResNet18()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with pytest.raises(DataError, match=message):
        load_strictly(network, weights, unused=_UNUSED, where="checkpoint.pt")
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name])


def test_unused_tensors_must_be_named(fixture: Fixture) -> None:
    with pytest.raises(
        DataError,
        match=r"^the checkpoint does not fit ResNet18 \(120 of 120 tensors match, 0 missing, 2 unexpected.*: linear",
    ):
        load_strictly(ResNet18(), fixture.weights)
