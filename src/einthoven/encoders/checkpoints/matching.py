"""Loading weights so that nothing is silently left random."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import torch
from torch import nn

from einthoven.foundation.errors import DataError

from .reading import printable

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
        DataError: names missing or left over, a shape or a kind of number that differs, or values that are not
            finite; all of them are counted and the first named.
    """
    given = {name: torch.as_tensor(value) for name, value in weights.items() if name not in unused}
    check_match(module, given, where=where)
    module.load_state_dict(given, strict=True)


def check_match(module: nn.Module, given: Mapping[str, torch.Tensor], *, where: str) -> None:
    """Refuse weights that are not exactly the tensors of a module.

    Raises:
        DataError: as for `load_strictly`.
    """
    expected = module.state_dict()
    missing = [f"{name} is missing" for name in expected if name not in given]
    unexpected = [f"{printable(name)} is not part of the network" for name in given if name not in expected]
    both = [name for name in expected if name in given]
    shapes = [
        f"{name} has shape {tuple(given[name].shape)}, the network needs {tuple(expected[name].shape)}"
        for name in both
        if given[name].shape != expected[name].shape
    ]
    kinds = [
        f"{name} holds {_kind(given[name])}, the network needs {_kind(expected[name])}"
        for name in both
        if _kind(given[name]) != _kind(expected[name])
    ]
    # Only of what has the right shape: a file of a kilobyte may hold a tensor that claims a terabyte.
    broken = [
        f"{name} holds NaN or infinity"
        for name in both
        if given[name].shape == expected[name].shape
        and given[name].is_floating_point()
        and not torch.isfinite(given[name]).all()
    ]
    problems = missing + unexpected + shapes + kinds + broken
    if not problems:
        return
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    counts = f"{len(both) - len(shapes)} of {len(expected)} tensors match, {len(missing)} missing"
    counts += f", {len(unexpected)} unexpected, {len(shapes)} of another shape"
    counts += f", {len(kinds)} of another kind" if kinds else ""
    counts += f", {len(broken)} not finite"
    raise DataError(
        f"{where} does not fit {type(module).__name__} ({counts}): {'; '.join(problems[:_SHOWN])}{more}. "
        "Nothing was loaded; use the checkpoint this network was made for."
    )


def _kind(tensor: torch.Tensor) -> str:
    if tensor.dtype == torch.bool:
        return "truth values"
    if tensor.is_complex():
        return "complex numbers"
    return "floating-point numbers" if tensor.is_floating_point() else "integers"
