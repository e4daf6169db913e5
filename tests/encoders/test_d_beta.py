"""D-BETA against the published network."""

from __future__ import annotations

import numpy as np
import pytest
import torch


@pytest.mark.parametrize(("protocol", "preset"), [("upstream", "native"), ("ecgfix", "ecgfix")])
def test_it_is_the_published_one(stand_in, protocol: str, preset: str) -> None:
    golden, encoder = stand_in("d_beta", "d-beta")
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_network(encoder, protocol, golden.arrays[f"{protocol}/input"].astype(np.float32))
    golden.check_whole(encoder, protocol, preset)


def test_the_order_of_leads_is_seen(stand_in) -> None:
    golden, encoder = stand_in("d_beta", "d-beta")
    x = golden.arrays["upstream/input"][:1].copy()
    x[:, [4, 5]] = x[:, [5, 4]]
    kept = x.copy()
    with torch.inference_mode():
        exchanged = encoder.module(torch.from_numpy(x)).numpy()
    moved = np.abs(exchanged - golden.arrays["upstream/embedding"][:1]).max()
    assert moved > 50 * golden.about["protocols"]["upstream"]["tolerance"]["embedding_atol"]
    np.testing.assert_array_equal(x, kept)


def test_the_class_token_comes_first_and_makes_the_embedding(stand_in) -> None:
    golden, encoder = stand_in("d_beta", "d-beta")
    states: list[torch.Tensor] = []
    network = encoder.module
    with torch.inference_mode():
        embedding = network(torch.from_numpy(golden.arrays["upstream/input"][:1].copy()), states.append)
        again = torch.tanh(network.pooler(network.projection(states[-1][:, 0])))
        first = network.encoder.layer_norm(network.class_embedding)
    assert {state.shape for state in states} == {(1, 313, 768)}
    torch.testing.assert_close(embedding, again, rtol=0, atol=1e-6)
    # No place is added to it: before the first block it is the same for every record.
    torch.testing.assert_close(states[0][0, 0], first, rtol=0, atol=1e-6)


def test_half_the_precision_gives_nearly_the_same(stand_in) -> None:
    golden, encoder = stand_in("d_beta", "d-beta")
    states: list[torch.Tensor] = []
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        embedding = encoder.module(torch.from_numpy(golden.arrays["upstream/input"][:1].copy()), states.append)
    expected = golden.arrays["upstream/embedding"][0]
    found = embedding.float().numpy()[0]
    assert np.corrcoef(found, expected)[0, 1] > 0.999
    assert not np.array_equal(found, expected)
    assert len(states) == encoder.card.hidden_states
