"""Reading files of weights without running anything that is in them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from einthoven.foundation.errors import DataError

_SAFE_WAY = (
    "It is not opened, because opening it would run what it names. Where you trust it, open it once with the code it "
    "was written by and save its tensors alone: `safetensors.torch.save_file({name: tensor.contiguous() for name, "
    "tensor in state_dict.items()}, 'weights.safetensors')`; then convert that file."
)


def read_tensors(path: Path, *, key: str = "", allowed: tuple[str, ...] = ()) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors or torch file, on the CPU.

    Args:
        path: of the file; what it is is told by its content.
        key: dotted, of the dictionary in a torch file that holds the tensors; "" where the file is that dictionary.
            Not used for safetensors, which hold nothing else.
        allowed: classes, beside those torch itself holds for safe, that a torch file may hold ("argparse.Namespace").

    Returns:
        name -> tensor, in the file's order; an entry of the dictionary that is no tensor is left out.

    Raises:
        DataError: no such file, one that is cut or of another kind, one that would have to run code to be read, or
            one without the key.
    """
    if not path.is_file():
        raise DataError(f"No file {path}. Give the file of released weights.")
    with path.open("rb") as stream:
        head = stream.read(9)
    # A safetensors file begins with the length of its JSON header and an opening brace.
    if len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") <= path.stat().st_size:
        return _safetensors(path)
    found: Any = _torch_file(path, allowed)
    for part in key.split(".") if key else ():
        if not isinstance(found, Mapping) or part not in found:
            there = ", ".join(map(str, list(found)[:8])) if isinstance(found, Mapping) else type(found).__name__
            raise DataError(f"{path} has no {key!r} to read tensors from; found {there}. Is it the released file?")
        found = found[part]
    if not isinstance(found, Mapping):
        raise DataError(f"{path} holds a {type(found).__name__}; a dictionary of tensors was expected. {_SAFE_WAY}")
    tensors = {str(name): value for name, value in found.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        raise DataError(
            f"{path} holds no tensor{f' under {key!r}' if key else ''}; found {', '.join(map(str, list(found)[:8]))}."
        )
    return tensors


def _safetensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path, device="cpu")
    except SafetensorError as error:
        raise DataError(f"{path} is no whole safetensors file: {error}. Fetch it again.") from error


def _torch_file(path: Path, allowed: tuple[str, ...]) -> Any:
    try:
        with torch.serialization.safe_globals([_class(name) for name in allowed]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch, pickle and zipfile raise what they like about a file that is not theirs
        foreign = _foreign(path, allowed)
        if foreign:
            raise DataError(f"{path} holds more than tensors ({', '.join(foreign[:5])}). {_SAFE_WAY}") from error
        raise DataError(
            f"{path} ({path.stat().st_size:,} bytes) can be read neither as safetensors nor as a torch file: "
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}. Fetch it again."
        ) from error


def _foreign(path: Path, allowed: tuple[str, ...]) -> list[str]:
    """Classes a torch file names beside the safe ones; found without running it."""
    try:
        return sorted(set(torch.serialization.get_unsafe_globals_in_checkpoint(path)) - set(allowed))
    except Exception:  # not a torch zip file: there is nothing to list
        return []


def _class(dotted: str) -> Any:
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)
