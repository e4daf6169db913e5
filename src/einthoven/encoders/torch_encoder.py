"""Encoders that are a torch module: frozen, on any device, with a digest of their weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from einthoven.foundation.errors import UsageError

from .card import EncoderCard, ParameterValue
from .checkpoints.store import tensors_digest
from .contract import Encoder
from .networks.observing import Observe

AUTOCAST = {"off": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


class EncoderNetwork(Protocol):
    """A torch module that gives its embedding when called, and shows its hidden states on the way."""

    def __call__(self, x: Tensor, observe: Observe | None = None) -> Tensor:
        """(batch, leads, samples) to (batch, dimension); states are shown only where somebody looks."""
        ...


class TorchEncoder(Encoder):
    """A network as an encoder.

    The network is made when it is first needed: an encoder whose weights' digest is known (`weights`) has its
    fingerprint without being made.

    Args:
        network: class of what `make` gives; its code is part of the encoder's identity.
        make: gives an `nn.Module` with the call of `EncoderNetwork`. It is put into evaluation mode and frozen.
        weights: digest of the weights, as `checkpoints.store.tensors_digest` gives it; None to take it of the network.
        autocast: "off", or the type matrix products are computed in. It is part of the identity where it is on.
    """

    def __init__(
        self,
        card: EncoderCard,
        parameters: Mapping[str, ParameterValue],
        *,
        network: type[nn.Module],
        make: Callable[[], nn.Module],
        weights: str | None = None,
        autocast: str = "off",
    ) -> None:
        super().__init__(card, parameters)
        if autocast not in AUTOCAST:
            raise UsageError(f"autocast is one of {', '.join(AUTOCAST)}; found {autocast!r}.")
        self.device = torch.device("cpu")
        self._network = network
        self._make = make
        self._weights = weights
        self._autocast = AUTOCAST[autocast]

    @cached_property
    def module(self) -> nn.Module:
        """The network, in evaluation mode and frozen."""
        return self._make().eval().requires_grad_(False).to(self.device)

    def to(self, device: str | torch.device) -> TorchEncoder:
        """Compute on a device ("cpu", "cuda", "cuda:1"); gives the encoder itself.

        Raises:
            UsageError: torch has no such device.
        """
        try:
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"torch cannot use the device {device!r}: {str(error).splitlines()[0]}") from error
        self.device = torch.device(device)
        if "module" in self.__dict__:
            self.module.to(self.device)
        return self

    def _embed(self, x: np.ndarray) -> np.ndarray:
        return self._pass(x, None)

    def _hidden_states(self, x: np.ndarray) -> list[np.ndarray]:
        states: list[np.ndarray] = []
        # A copy: a network may go on to change in place what it has shown.
        self._pass(x, lambda state: states.append(_array(state).copy()))
        return states

    def _embed_with_states(self, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        means: list[Tensor] = []
        # Kept on the device until the pass is over, so that no state makes it wait.
        embedding = self._pass(x, lambda state: means.append(state.float().mean(dim=1)))
        return embedding, [_array(mean) for mean in means]

    def _pass(self, x: np.ndarray, observe: Observe | None) -> np.ndarray:
        with torch.inference_mode(), self._precision():
            return _array(self.module(_tensor(x).to(self.device), observe))

    def _precision(self) -> AbstractContextManager[object]:
        if self._autocast is None:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self._autocast)

    def _code(self) -> tuple[type, ...]:
        # A network put together from torch's own parts has no code of its own.
        own = self._network.__module__.partition(".")[0] != "torch"
        return (*super()._code(), self._network) if own else super()._code()

    def _weights_identity(self) -> object:
        digest = self._weights or tensors_digest(self.module.state_dict())
        return digest if self._autocast is None else [digest, str(self._autocast)]


def _tensor(x: np.ndarray) -> Tensor:
    # A copy where the array is read-only or strided: torch shares memory and would warn, or refuse.
    return torch.from_numpy(np.require(x, requirements=["C", "W"]))


def _array(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.float().cpu().numpy())
