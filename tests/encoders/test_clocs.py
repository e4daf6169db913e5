"""CLOCS against the published networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from einthoven.encoders.registry import ENCODERS

_FIXTURES = {"clocs": ("clocs_12lead", "ecgfix"), "clocs-single-lead": ("clocs_single_lead", "raw_lead_II")}
_CASES = [
    ("clocs", "native"),
    ("clocs", "ecgfix"),
    ("clocs-single-lead", "native"),
]


@pytest.fixture(scope="module")
def golden_encoder(golden_encoder: Callable) -> Callable:
    """The fixtures with views where a chain puts them: upstream keeps them on the last axis, so that they alternate."""

    def opened(name: str):
        golden = golden_encoder(name)
        for protocol in golden.about["protocols"]:
            stored = golden.arrays
            stored[f"{protocol}/input"] = np.moveaxis(stored[f"{protocol}/input"], -1, 1)
            # The fixture gives the halves apart, too: this order is its own, not ours.
            halves = [stored[f"{protocol}/extra/view{view}"] for view in (0, 1)]
            alternating = np.stack(halves, axis=-1).reshape(2, 512)
            np.testing.assert_array_equal(alternating, stored[f"{protocol}/embedding"])
            stored[f"{protocol}/embedding"] = np.concatenate(halves, axis=1)
        return golden

    return opened


@pytest.mark.parametrize(("entry", "preset"), _CASES)
def test_clocs_is_the_published_one(stand_in: Callable, entry: str, preset: str) -> None:
    fixture, protocol = _FIXTURES[entry]
    golden, encoder = stand_in(fixture, entry)
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_whole(encoder, protocol, preset)


@pytest.mark.parametrize("entry", _FIXTURES)
def test_network_and_states_of_both_halves_are_the_published_ones(stand_in: Callable, entry: str) -> None:
    fixture, protocol = _FIXTURES[entry]
    golden, encoder = stand_in(fixture, entry)
    tolerance = golden.about["protocols"][protocol]["tolerance"]
    x = np.ascontiguousarray(golden.arrays[f"{protocol}/input"], dtype=np.float32)
    expected = golden.arrays[f"{protocol}/embedding"]
    np.testing.assert_allclose(encoder.embed(x), expected, rtol=0, atol=tolerance["embedding_atol"])
    states = encoder.hidden_states(x)
    assert [state.shape[1] for state in states] == [832, 136, 20, 2]
    for index, state in enumerate(states):
        for found, kind in ((state.mean(axis=1), "hidden_mean"), (state[:, :4, :16], "hidden_slice")):
            wanted = golden.arrays[f"{protocol}/{kind}/{index:02d}"]
            np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance["hidden_atol"], err_msg=f"{kind} {index}")
    _, means = encoder.embed_with_states(x)
    for index, mean in enumerate(means):
        wanted = golden.arrays[f"{protocol}/hidden_mean/{index:02d}"]
        np.testing.assert_allclose(mean, wanted, rtol=0, atol=tolerance["hidden_atol"])


@pytest.mark.parametrize(("entry", "count"), [("clocs", 86_700), ("clocs-single-lead", 86_392)])
def test_network_has_the_published_tensors(golden: Path, entry: str, count: int) -> None:
    registered = ENCODERS.get(entry)
    fixture, _ = _FIXTURES[entry]
    lines = (golden / "encoders" / f"{fixture}.keys.tsv").read_text().splitlines()
    shapes = {key: shape for key, shape, *_ in (line.split("\t") for line in lines)}
    assert registered.network is not None
    assert registered.card.checkpoint is not None
    with torch.device("meta"):
        network = registered.network()()
    names = registered.card.checkpoint.names(shapes)
    assert set(names) == set(shapes)
    assert {own: shapes[name] for name, own in names.items()} == {
        own: "x".join(map(str, tensor.shape)) or "scalar" for own, tensor in network.state_dict().items()
    }
    assert sum(parameter.numel() for parameter in network.parameters()) == count


def test_names_of_a_compiled_module_are_read() -> None:
    source = ENCODERS.get("clocs").card.checkpoint
    assert source is not None
    assert source.names(["_orig_mod.fc.0.bias"]) == {"_orig_mod.fc.0.bias": "fc.0.bias"}


def test_order_of_leads_and_of_halves_is_seen(stand_in: Callable) -> None:
    golden, encoder = stand_in("clocs_12lead", "clocs")
    tolerance = golden.about["protocols"]["ecgfix"]["tolerance"]["embedding_atol"]
    x = np.ascontiguousarray(golden.arrays["ecgfix/input"], dtype=np.float32)
    before = encoder.embed(x)
    exchanged = x[:, :, [0, 1, 2, 3, 5, 4, *range(6, 12)]]
    assert np.abs(encoder.embed(exchanged) - before).max() > 50 * tolerance
    swapped = encoder.embed(x[:, ::-1].copy())
    np.testing.assert_allclose(swapped, np.roll(before, 256, axis=1), rtol=0, atol=tolerance)
    assert np.abs(swapped - before).max() > 50 * tolerance


def test_dropout_acts_in_training_only() -> None:
    network = ENCODERS.get("clocs").network
    assert network is not None
    torch.manual_seed(0)
    module, x = network()(), torch.randn(4, 12, 2500)
    assert not torch.equal(module(x), module(x))
    module.eval()
    assert torch.equal(module(x), module(x))
