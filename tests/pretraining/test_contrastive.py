"""The contrastive loss against its definition written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from einthoven.pretraining.contrastive import info_nce


def by_definition(first: np.ndarray, second: np.ndarray, temperature: float) -> float:
    """In float64, one pair at a time."""
    count = len(first)

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / math.sqrt(float(a @ a) * float(b @ b)))

    total = 0.0
    for i in range(count):
        for one, other in ((first, second), (second, first)):
            logits = [cosine(one[i], other[j]) / temperature for j in range(count)]
            total += math.log(sum(math.exp(v) for v in logits)) - logits[i]
    return total / (2 * count)


@given(st.integers(1, 12), st.integers(1, 9), st.floats(0.05, 2), st.integers(0, 2**31))
def test_is_its_definition(count: int, dimension: int, temperature: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, count, dimension)) * rng.uniform(0.1, 10)
    found = info_nce(torch.from_numpy(first), torch.from_numpy(second), temperature=temperature)
    assert float(found) == pytest.approx(by_definition(first, second, temperature), abs=3e-5, rel=3e-5)


def test_guessing_is_log_of_the_batch_and_certainty_is_nothing() -> None:
    same = torch.ones(64, 5)
    assert float(info_nce(same, same, temperature=0.1)) == pytest.approx(math.log(64), abs=1e-5)
    apart = torch.eye(16)
    assert float(info_nce(apart, apart, temperature=0.01)) == pytest.approx(0, abs=1e-5)


@given(st.integers(0, 2**31))
def test_order_scale_and_direction_do_not_matter(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    first, second = torch.randn(2, 8, 4, generator=generator)
    loss = float(info_nce(first, second, temperature=0.5))
    order = torch.randperm(8, generator=generator)
    assert float(info_nce(first[order], second[order], temperature=0.5)) == pytest.approx(loss, abs=1e-5)
    assert float(info_nce(first * 7, second * 0.2, temperature=0.5)) == pytest.approx(loss, abs=1e-5)
    assert float(info_nce(second, first, temperature=0.5)) == pytest.approx(loss, abs=1e-5)


def test_shapes_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="two tensors"):
        info_nce(torch.zeros(3, 2), torch.zeros(2, 2), temperature=0.1)
    with pytest.raises(ValueError, match="two tensors"):
        info_nce(torch.zeros(3), torch.zeros(3), temperature=0.1)
