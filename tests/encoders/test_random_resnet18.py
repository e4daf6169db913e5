from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from einthoven.encoders.checkpoints.store import tensors_digest
from einthoven.encoders.registry import build_encoder
from einthoven.encoders.torch_encoder import TorchEncoder


def built(seed: int = 0) -> TorchEncoder:
    encoder = build_encoder("random-resnet18", seed=seed)
    assert isinstance(encoder, TorchEncoder)
    return encoder


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(4, 12, 1000)).astype(np.float32)


def test_seed_changes_weights_embeddings_and_fingerprint(x: np.ndarray) -> None:
    first, second = built(0), built(1)
    assert tensors_digest(first.module.state_dict()) != tensors_digest(second.module.state_dict())
    assert first.fingerprint() != second.fingerprint()
    assert np.abs(first.embed(x) - second.embed(x)).max() > 0.01
    assert second.parameters == {"seed": 1}


def test_one_changed_weight_changes_the_fingerprint() -> None:
    before, changed = built(), built()
    with torch.no_grad():
        next(changed.module.parameters())[0, 0, 0] += 1e-3
    assert changed.fingerprint() != before.fingerprint()


def test_building_leaves_the_random_state_of_torch_and_numpy_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    np.random.seed(7)  # the global state is what must not move
    number = np.random.random()
    np.random.seed(7)
    built(11)
    assert torch.equal(torch.rand(3), expected)
    assert np.random.random() == number


def test_random_state_of_torch_does_not_change_the_weights() -> None:
    torch.manual_seed(1)
    one = tensors_digest(built().module.state_dict())
    torch.manual_seed(2)
    assert tensors_digest(built().module.state_dict()) == one


def test_network_is_in_evaluation_mode_and_frozen(x: np.ndarray) -> None:
    module = built().module
    assert not any(part.training for part in module.modules())
    assert not any(parameter.requires_grad for parameter in module.parameters())


def test_embedding_does_not_move_batch_norm_statistics(x: np.ndarray) -> None:
    encoder = built()
    before = tensors_digest(encoder.module.state_dict())
    encoder.embed(x)
    encoder.hidden_states(x)
    assert tensors_digest(encoder.module.state_dict()) == before


def test_batch_norm_is_the_identity_up_to_its_epsilon() -> None:
    norms = [part for part in built().module.modules() if isinstance(part, nn.BatchNorm1d)]
    assert len(norms) == 20
    for norm in norms:
        assert norm.running_mean is not None
        assert norm.running_var is not None
        assert torch.equal(norm.running_mean, torch.zeros_like(norm.running_mean))
        assert torch.equal(norm.running_var, torch.ones_like(norm.running_var))


def test_no_bias_so_doubling_the_signal_doubles_the_embedding(x: np.ndarray) -> None:
    encoder = built()
    np.testing.assert_allclose(encoder.embed(2 * x), 2 * encoder.embed(x), rtol=1e-4, atol=1e-6)


def test_mean_of_the_last_state_is_the_embedding(x: np.ndarray) -> None:
    encoder = built()
    states = encoder.hidden_states(x)
    assert [state.shape[1:] for state in states] == [(500, 64), (500, 64), (250, 128), (125, 256), (63, 512)]
    np.testing.assert_allclose(states[-1].mean(axis=1), encoder.embed(x), rtol=0, atol=1e-5)


def test_first_state_is_the_stem_written_out(x: np.ndarray) -> None:
    encoder = built()
    weights = encoder.module.state_dict()["conv1.weight"].numpy().astype(np.float64)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (3, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 7, axis=2)[:, :, ::2]
    stem = np.einsum("blts,cls->btc", windows, weights) / np.sqrt(1 + 1e-5)
    np.testing.assert_allclose(encoder.hidden_states(x)[0], np.maximum(stem, 0), rtol=0, atol=1e-5)


def test_every_lead_matters(x: np.ndarray) -> None:
    encoder = built()
    whole = encoder.embed(x)
    for lead in range(12):
        without = x.copy()
        without[:, lead] = 0
        assert np.abs(encoder.embed(without) - whole).max() > 1e-4
