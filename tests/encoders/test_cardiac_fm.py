"""CARDIAC-FM against the published network."""

from __future__ import annotations

import numpy as np
import pytest
import torch


@pytest.mark.parametrize(("protocol", "preset"), [("upstream_assumed", "native"), ("interpbench", "interpbench")])
def test_it_is_the_published_one(stand_in, protocol: str, preset: str) -> None:
    golden, encoder = stand_in("cardiac_fm", "cardiac-fm")
    golden.check_preprocessing(encoder, protocol, preset)
    golden.check_network(encoder, protocol, golden.arrays[f"{protocol}/input"].astype(np.float32))
    golden.check_whole(encoder, protocol, preset)


def test_the_order_of_leads_is_seen(stand_in) -> None:
    golden, encoder = stand_in("cardiac_fm", "cardiac-fm")
    x = golden.arrays["upstream_assumed/input"][:1].copy()
    x[:, [4, 5]] = x[:, [5, 4]]
    kept = x.copy()
    with torch.inference_mode():
        exchanged = encoder.module(torch.from_numpy(x)).numpy()
    moved = np.abs(exchanged - golden.arrays["upstream_assumed/embedding"][:1]).max()
    assert moved > 50 * golden.about["protocols"]["upstream_assumed"]["tolerance"]["embedding_atol"]
    np.testing.assert_array_equal(x, kept)


def test_the_embedding_of_a_record_is_the_mean_over_its_halves(stand_in) -> None:
    golden, encoder = stand_in("cardiac_fm", "cardiac-fm")
    x = golden.prepared(encoder, "native")
    assert x.shape == (2, 2, 12, 2500)
    embedding, means = encoder.embed_with_states(x)
    halves = golden.arrays["upstream_assumed/embedding"].reshape(2, 2, -1)
    np.testing.assert_allclose(embedding, halves.mean(axis=1), rtol=0, atol=2e-5)
    last = golden.arrays["upstream_assumed/hidden_mean/12"].reshape(2, 2, -1)
    np.testing.assert_allclose(means[-1], last.mean(axis=1), rtol=0, atol=5e-5)
