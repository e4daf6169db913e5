"""A plain torch network as an encoder: it is called with the signals and gives the embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from einthoven.encoders.networks.observing import Observe
from einthoven.encoders.torch_encoder import TorchEncoder
from einthoven.foundation.errors import UsageError


class ModuleEncoder(TorchEncoder):
    """A network whose forward takes (records, leads, samples) alone; with hidden states, also `observe`."""

    def _pass(self, x: np.ndarray, observe: Observe | None) -> np.ndarray:
        with torch.inference_mode(), self._precision():
            signals = torch.from_numpy(np.require(x, requirements=["C", "W"])).to(self.device)
            given = self.module(signals, observe) if self.card.hidden_states else self.module(signals)
        return embedding_of(given, None, "none", self.card.name).float().cpu().numpy()


def embedding_of(given: Any, output: int | str | None, pooling: str, name: str) -> Tensor:
    """The embedding among what a network gives.

    Args:
        given: a tensor, or several.
        output: which of several, by number or name.
        pooling: "none", or "mean" or "first" over the tokens of (records, tokens, width).

    Raises:
        UsageError: which one cannot be told, or it has other axes.
    """
    found = given
    if isinstance(given, dict):
        found = given.get(output) if output is not None else next(iter(given.values())) if len(given) == 1 else None
    elif isinstance(given, list | tuple):
        number = output if isinstance(output, int) else 0 if len(given) == 1 else None
        found = given[number] if number is not None and number < len(given) else None
    if not isinstance(found, Tensor):
        names = (
            list(given) if isinstance(given, dict) else len(given) if isinstance(given, list | tuple) else "no tensor"
        )
        raise UsageError(
            f"The network of encoder {name} gives {type(given).__name__} ({names}), of which {output!r} is no tensor. "
            "Say which output is the embedding (`output` in its YAML file), or let forward return it alone."
        )
    if found.ndim == 3 and pooling != "none":
        return found.mean(dim=1) if pooling == "mean" else found[:, 0]
    if found.ndim != 2:
        raise UsageError(
            f"The network of encoder {name} gives {tuple(found.shape)}; (records, dimension) was expected. "
            "Of (records, tokens, width), say `pooling: mean` or `first` in its YAML file, or pool in forward."
        )
    return found
