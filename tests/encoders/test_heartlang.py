"""HeartLang against the published networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from einthoven.encoders.registry import ENCODERS
from einthoven.signals.leads import STANDARD_LEADS

PROTOCOLS = [("upstream", "native", 500), ("upstream_ptbxl", "ptbxl", 100), ("ecgfix", "ecgfix", 500)]
every_protocol = pytest.mark.parametrize(("protocol", "preset", "rate"), PROTOCOLS)


def stored_input(golden, protocol: str) -> np.ndarray:
    """The fixture's tensors as the rows the network takes."""
    beats = golden.arrays[f"{protocol}/input"]
    ids = [golden.arrays.get(f"{protocol}/{name}") for name in ("in_chan", "in_time")]
    columns = [np.full(beats.shape[:2], -1) if values is None else values for values in ids]
    return np.concatenate([np.stack(columns, axis=-1), beats], axis=-1).astype(np.float32)


@every_protocol
def test_beats_are_cut_as_published(stand_in, protocol: str, preset: str, rate: int) -> None:
    golden, encoder = stand_in("heartlang", "heartlang")
    found, expected = golden.prepared(encoder, preset, rate=rate), stored_input(golden, protocol)
    np.testing.assert_array_equal(found[..., :2], expected[..., :2])
    atol = 2e-6 * np.abs(expected[..., 2:]).max()
    np.testing.assert_allclose(found[..., 2:], expected[..., 2:], rtol=0, atol=atol)
    np.testing.assert_array_equal(found[..., 2:] != 0, expected[..., 2:] != 0)


@every_protocol
def test_the_network_is_the_published_one(stand_in, protocol: str, preset: str, rate: int) -> None:
    golden, encoder = stand_in("heartlang", "heartlang")
    golden.check_network(encoder, protocol, stored_input(golden, protocol))
    if rate == 500:  # the whole way of these is below
        return
    tolerance = golden.about["protocols"][protocol]["tolerance"]["embedding_atol"]
    embedding = encoder.embed(golden.prepared(encoder, preset, rate=rate))
    # Preprocessing may differ in the last digits, and the network may enlarge that.
    np.testing.assert_allclose(embedding, golden.arrays[f"{protocol}/embedding"], rtol=0, atol=20 * tolerance)


@pytest.mark.parametrize(("protocol", "preset"), [("upstream", "native"), ("ecgfix", "ecgfix")])
def test_from_the_record_to_the_embedding(stand_in, protocol: str, preset: str) -> None:
    golden, encoder = stand_in("heartlang", "heartlang")
    golden.check_whole(encoder, protocol, preset)


def test_the_mean_of_all_normed_tokens_is_the_published_one(stand_in) -> None:
    golden, encoder = stand_in("heartlang", "heartlang")
    states: list[torch.Tensor] = []
    with torch.inference_mode():
        encoder.module(torch.from_numpy(stored_input(golden, "upstream")), states.append)
        mean = encoder.module.norm(states[-1]).mean(dim=1).numpy()
    atol = golden.about["protocols"]["upstream"]["tolerance"]["embedding_atol"]
    np.testing.assert_allclose(mean, golden.arrays["upstream/extra/final_norm_mean_257"], rtol=0, atol=atol)


def test_leads_seconds_and_places_are_told_apart(stand_in) -> None:
    golden, encoder = stand_in("heartlang", "heartlang")
    tolerance = golden.about["protocols"]["upstream"]["tolerance"]["embedding_atol"]
    x = stored_input(golden, "upstream")[:1]
    others = [x.copy() for _ in range(4)]
    others[0][:, [0, 20]] = x[:, [20, 0]]  # two rows
    others[1][..., 0] = np.where(x[..., 0] == 5, 6, np.where(x[..., 0] == 6, 5, x[..., 0]))
    others[2][..., 1] = np.where(x[..., 1] > 0, np.maximum(x[..., 1] - 1, 1), 0)
    others[3][..., :2] = -1
    for other in others:
        assert np.abs(encoder.embed(other) - golden.arrays["upstream/embedding"][:1]).max() > 50 * tolerance


def test_a_record_without_beats_is_embedded_beside_others(stand_in) -> None:
    golden, encoder = stand_in("heartlang", "heartlang")
    signal = golden.records["signal_500"].copy()
    signal[0, 0] = 0.2  # lead I is flat, the others are not
    for preset in ("native", "ecgfix"):
        x = encoder.card.preprocessings[preset].apply(signal, STANDARD_LEADS, 500.0)
        assert not x[0, :, 2:].any()
        assert (x[0, :, :2] == (0 if preset == "native" else -1)).all()
        found = encoder.embed(x)
        assert np.isfinite(found).all()
        assert found[0].any() == (preset == "native")
        protocol = "upstream" if preset == "native" else "ecgfix"
        tolerance = golden.about["protocols"][protocol]["tolerance"]["embedding_atol"]
        expected = golden.arrays[f"{protocol}/embedding"][1]
        np.testing.assert_allclose(found[1], expected, rtol=0, atol=20 * tolerance)


def test_records_with_and_without_ids_may_share_a_batch(stand_in) -> None:
    golden, encoder = stand_in("heartlang", "heartlang")
    mixed = np.stack([stored_input(golden, "upstream")[0], stored_input(golden, "ecgfix")[1]])
    found = encoder.embed(mixed)
    for row, protocol in enumerate(("upstream", "ecgfix")):
        tolerance = golden.about["protocols"][protocol]["tolerance"]["embedding_atol"]
        expected = golden.arrays[f"{protocol}/embedding"][row]
        np.testing.assert_allclose(found[row], expected, rtol=0, atol=tolerance)


def test_the_network_has_the_published_tensors(golden: Path) -> None:
    entry = ENCODERS.get("heartlang")
    assert entry.network is not None
    assert entry.card.checkpoint is not None
    with torch.device("meta"):
        module = entry.network()()
    table = (golden.parent / "facts/encoder_keys/heartlang_backbone.tsv").read_text()
    shapes = {key: shape for key, shape, *_ in (line.split("\t") for line in table.splitlines())}
    names = entry.card.checkpoint.names(shapes)
    assert {names[key]: shapes[key] for key in names} == {
        key: "x".join(map(str, value.shape)) for key, value in module.state_dict().items()
    }
    assert set(shapes) - set(names) <= {"mask_token"}
    assert sum(p.numel() for p in module.parameters()) == 38_262_528 - 768 * ("mask_token" in shapes)


def test_it_computes_in_half_precision(stand_in) -> None:
    golden, encoder = stand_in("heartlang", "heartlang")
    x = torch.from_numpy(stored_input(golden, "upstream"))
    kept = x.clone()
    states: list[torch.Tensor] = []
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        found = encoder.module(x, states.append).float().numpy()
    assert torch.equal(x, kept)
    assert len(states) == 13
    assert np.abs(found - golden.arrays["upstream/embedding"]).max() < 0.2
