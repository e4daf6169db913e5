"""Encoders that are a torch module: frozen, on the CPU, with a digest of their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from einthoven.foundation.identity import content_key, sha256_array

from .card import EncoderCard, ParameterValue
from .contract import Encoder


class ConvolutionalNetwork(Protocol):
    """A torch module that gives its embedding when called, and its states with channels before time."""

    def states(self, x: Tensor) -> list[Tensor]:
        """(batch, leads, samples) to tensors (batch, channels, time)."""
        ...

    def __call__(self, x: Tensor) -> Tensor:
        """(batch, leads, samples) to (batch, dimension)."""
        ...


class ConvolutionalEncoder(Encoder):
    """A convolutional network as an encoder; its hidden states' tokens are time steps.

    Args:
        module: an `nn.Module` with the methods of `ConvolutionalNetwork`. It is put into evaluation mode and frozen.
    """

    def __init__(self, card: EncoderCard, parameters: Mapping[str, ParameterValue], *, module: nn.Module) -> None:
        super().__init__(card, parameters)
        self.module = module.eval().requires_grad_(False)

    def _embed(self, x: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return self.module(_tensor(x)).numpy()

    def _hidden_states(self, x: np.ndarray) -> list[np.ndarray]:
        network: ConvolutionalNetwork = self.module  # type: ignore[assignment]  # promised by the constructor's caller
        with torch.inference_mode():
            return [np.ascontiguousarray(state.transpose(1, 2).numpy()) for state in network.states(_tensor(x))]

    def _code(self) -> tuple[type, ...]:
        network = type(self.module)
        # A network put together from torch's own parts has no code of its own.
        return super()._code() if network.__module__.startswith("torch.") else (*super()._code(), network)

    def _weights_identity(self) -> str:
        return weights_digest(self.module)


def weights_digest(module: nn.Module) -> str:
    """sha256 over the names, shapes, dtypes and bytes of a module's parameters and buffers."""
    return content_key({name: sha256_array(tensor.cpu().numpy()) for name, tensor in module.state_dict().items()})


def _tensor(x: np.ndarray) -> Tensor:
    # A copy where the array is read-only or strided: torch shares memory and would warn, or refuse.
    return torch.from_numpy(np.require(x, requirements=["C", "W"]))
