"""KED against the published network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from einthoven.encoders.checkpoints.converting import convert
from einthoven.encoders.registry import ENCODERS
from einthoven.foundation.errors import DataError

_PROTOCOLS = [("upstream_fft", "native"), ("ecgfix", "ecgfix")]


@pytest.mark.parametrize(("protocol", "preset"), _PROTOCOLS)
def test_ked_is_the_published_one(stand_in: Callable, protocol: str, preset: str) -> None:
    golden, encoder = stand_in("ked", "ked")
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_network(encoder, protocol, golden.arrays[f"{protocol}/input"])
    golden.check_whole(encoder, protocol, preset)


def test_ked_as_its_authors_evaluate_it_on_the_100_hz_files_of_ptbxl(stand_in: Callable) -> None:
    golden, encoder = stand_in("ked", "ked")
    golden.check_preprocessing(encoder, "upstream_ptbxl", "ptbxl-evaluation", rate=100)
    golden.check_network(encoder, "upstream_ptbxl", golden.arrays["upstream_ptbxl/input"])
    tolerance = golden.about["protocols"]["upstream_ptbxl"]["tolerance"]
    embedding, means = encoder.embed_with_states(golden.prepared(encoder, "ptbxl-evaluation", rate=100))
    expected = golden.arrays["upstream_ptbxl/embedding"]
    np.testing.assert_allclose(embedding, expected, rtol=0, atol=tolerance["embedding_atol"])
    for index, mean in enumerate(means):
        wanted = golden.arrays[f"upstream_ptbxl/hidden_mean/{index:02d}"]
        np.testing.assert_allclose(mean, wanted, rtol=0, atol=tolerance["hidden_atol"])


def test_network_has_the_published_tensors(golden: Path) -> None:
    registered = ENCODERS.get("ked")
    lines = (golden / "encoders" / "ked.keys.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    shapes = {key: shape for key, shape, *_ in rows}
    assert registered.network is not None
    assert registered.card.checkpoint is not None
    with torch.device("meta"):
        network = registered.network()()
    names = registered.card.checkpoint.names(shapes)
    assert set(names) == set(shapes)
    assert len(shapes) == 1224
    assert {own: shapes[name] for name, own in names.items()} == {
        own: "x".join(map(str, tensor.shape)) or "scalar" for own, tensor in network.state_dict().items()
    }
    for key, _, _, origin, _ in rows:
        if origin.startswith("alias:"):
            assert names[key] == names[origin.removeprefix("alias:")]
    assert sum(parameter.numel() for parameter in network.parameters()) == 7_865_984


def test_a_file_whose_two_names_of_a_tensor_differ_is_refused(
    golden_encoder: Callable, tmp_path: Path, home: Path
) -> None:
    golden, registered = golden_encoder("ked"), ENCODERS.get("ked")
    assert registered.network is not None
    second = "6.11.convpath.0.1.0.weight"
    golden.weights[second] = golden.weights[second].copy()
    golden.weights[second][0, 0, 0] += 1e-3
    file = golden.save_as_released("ked", tmp_path)
    with pytest.raises(DataError, match=rf"6\.11\.convs\.1\.0\.weight and {second} are two names of one tensor"):
        convert(registered.card, registered.network(), file, tag="mine")
    assert not list(home.glob("checkpoints/*/*"))


def test_a_file_that_gives_one_of_both_names_is_read() -> None:
    """safetensors keeps one of two names of the same memory, either."""
    source = ENCODERS.get("ked").card.checkpoint
    assert source is not None
    for name in ("4.0.convs.0.0.weight", "4.0.convpath.0.0.0.weight"):
        assert source.names([name]) == {name: "stages.0.0.convs.0.0.weight"}
    with pytest.raises(ValueError, match=r"are both stages\.0\.0\.convs\.0\.0\.weight"):
        source.names(["4.0.convs.0.0.weight", "stages.0.0.convs.0.0.weight"])


def test_untrained_blocks_are_their_shortcuts() -> None:
    network = ENCODERS.get("ked").network
    assert network is not None
    gains = [value for name, value in network()().state_dict().items() if name.endswith(".convs.2.1.weight")]
    assert len(gains) == 3 + 4 + 23 + 3
    assert not any(gain.any() for gain in gains)


def test_order_of_leads_is_seen(stand_in: Callable) -> None:
    golden, encoder = stand_in("ked", "ked")
    x, expected = golden.arrays["upstream_fft/input"], golden.arrays["upstream_fft/embedding"]
    exchanged = x[:, [0, 1, 2, 3, 5, 4, *range(6, 12)]]
    tolerance = golden.about["protocols"]["upstream_fft"]["tolerance"]["embedding_atol"]
    assert np.abs(encoder.embed(exchanged) - expected).max() > 50 * tolerance
