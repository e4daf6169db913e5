"""What an encoder from a user's file holds beside its code: arrays, tensors, networks, numbers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from pydantic import BaseModel

from einthoven.foundation.identity import content_key, sha256_array

_DEPTH = 12
_CODE = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType, PurePath)
# What the contract keeps on an encoder itself; its identity counts them already.
_OF_THE_CONTRACT = frozenset({"card", "parameters", "origin", "_fingerprint", "device"})


@dataclass
class State:
    """What was found by walking through attributes, lists and dictionaries.

    Attributes:
        arrays: place ("net.conv.weight") -> array or tensor.
        modules: place -> torch module.
        plain: place -> number, text, or None.
        unseen: place -> type of what cannot be looked into.
    """

    arrays: dict[str, Any] = field(default_factory=dict)
    modules: dict[str, Any] = field(default_factory=dict)
    plain: dict[str, object] = field(default_factory=dict)
    unseen: dict[str, str] = field(default_factory=dict)

    def digests(self) -> dict[str, str]:
        """Place -> sha256 of each array."""
        return {place: _digest(array) for place, array in self.arrays.items()}

    def digest(self) -> str:
        """sha256 (64 hex digits) over everything that can be looked into."""
        return content_key({"arrays": self.digests(), "plain": {k: repr(v) for k, v in self.plain.items()}})


def state_of(encoder: object) -> State:
    """What an encoder holds beside its card and parameters."""
    torch_encoder = sys.modules.get("einthoven.encoders.torch_encoder")
    state = State()
    if torch_encoder is not None and isinstance(encoder, torch_encoder.TorchEncoder):
        _walk(getattr(encoder, "module"), "", state, 0, set())  # noqa: B009  # its class is known at run time only
        return state
    held = {name: value for name, value in vars(encoder).items() if name not in _OF_THE_CONTRACT}
    for name, value in held.items():
        _walk(value, name, state, 0, set())
    return state


def state_of_globals(module: ModuleType) -> State:
    """Arrays, tensors and networks among the globals of a module; its code is not looked at here."""
    state = State()
    torch = sys.modules.get("torch")
    kinds: tuple[type, ...] = (np.ndarray, *((torch.Tensor, torch.nn.Module) if torch else ()))
    for name, value in vars(module).items():
        if isinstance(value, kinds):
            _walk(value, name, state, 0, set())
    return state


def _walk(value: Any, place: str, state: State, depth: int, above: set[int]) -> None:
    torch: Any = sys.modules.get("torch")
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        state.plain[place] = value
    elif _is_array(value, torch):
        state.arrays[place] = value
    elif torch is not None and isinstance(value, torch.nn.Module):
        state.modules[place] = value
        prefix = f"{place}." if place else ""
        for name, tensor in (*value.named_parameters(), *value.named_buffers()):
            state.arrays[prefix + name] = tensor
    elif torch is not None and isinstance(value, torch.device | torch.dtype | np.dtype):
        state.plain[place] = str(value)
    elif isinstance(value, BaseModel):
        state.plain[place] = value.model_dump_json()
    elif isinstance(value, _CODE):
        return  # code is counted as code; a path says where, not what
    elif depth >= _DEPTH or id(value) in above:
        state.unseen[place] = type(value).__name__
    elif isinstance(value, set | frozenset):
        state.plain[place] = sorted(map(repr, value))
    else:
        _walk_inside(value, place, state, depth + 1, above | {id(value)})


def _is_array(value: Any, torch: Any) -> bool:
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    return torch is not None and isinstance(value, torch.Tensor)


def _walk_inside(value: Any, place: str, state: State, depth: int, above: set[int]) -> None:
    if isinstance(value, Mapping):
        items = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        items = [(str(index), item) for index, item in enumerate(value)]
    elif isinstance(getattr(value, "__dict__", None), dict):
        # Of a class written in C, what is in its dictionary is not all there is of it.
        if type(value).__flags__ & (1 << 9) == 0:
            state.unseen[place] = type(value).__name__
            return
        state.plain[f"{place}.type"] = type(value).__qualname__
        items = list(vars(value).items())
    else:
        state.unseen[place] = type(value).__name__
        return
    for name, item in items:
        _walk(item, f"{place}.{name}" if place else name, state, depth, above)


def _digest(array: Any) -> str:
    if isinstance(array, np.ndarray):
        return sha256_array(array)
    from einthoven.encoders.checkpoints.store import tensors_digest

    return tensors_digest({"": array})
