"""How a network shows its hidden states while it computes."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

Observe = Callable[[Tensor], None]
"""Told every hidden state, (batch, tokens, width), in their order, while the pass goes on."""


def over_time(state: Tensor) -> Tensor:
    """A convolutional state (batch, channels, time) as tokens (batch, time, channels)."""
    return state.transpose(1, 2)
