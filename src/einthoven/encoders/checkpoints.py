"""Loading weights so that nothing is silently left random."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import torch
from torch import nn

from einthoven.foundation.errors import DataError

_SHOWN = 5


def load_strictly(
    module: nn.Module,
    weights: Mapping[str, np.ndarray | torch.Tensor],
    *,
    unused: Collection[str] = (),
    where: str = "the checkpoint",
) -> None:
    """Copy weights into a module: every tensor of the module is matched, or nothing is loaded.

    Args:
        module: changed in place.
        weights: tensor name -> value.
        unused: names that the checkpoint may hold and the module does not need, such as a pre-training head.
        where: the checkpoint, for messages.

    Raises:
        DataError: names missing or left over, or a shape that differs; all of them are counted and the first named.
    """
    expected = module.state_dict()
    given = {name: torch.as_tensor(value) for name, value in weights.items() if name not in unused}
    problems = [f"{name} is missing" for name in expected if name not in given]
    problems += [f"{name} is not part of the network" for name in given if name not in expected]
    problems += [
        f"{name} has shape {tuple(given[name].shape)}, the network needs {tuple(tensor.shape)}"
        for name, tensor in expected.items()
        if name in given and given[name].shape != tensor.shape
    ]
    if problems:
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise DataError(
            f"{where} does not fit {type(module).__name__} ({len(problems)} of {len(expected)} tensors): "
            f"{'; '.join(problems[:_SHOWN])}{more}. Nothing was loaded; use the checkpoint this network was made for."
        )
    module.load_state_dict(given, strict=True)
