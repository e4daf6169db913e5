"""Reading files of weights without running anything that is in them."""

from __future__ import annotations

import importlib
import pickle
import pickletools
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from einthoven.foundation.errors import DataError
from einthoven.foundation.words import counted

_SAVE_TENSORS = (
    "Where you trust it, open it once with the code it was written by and save its tensors alone: "
    "`safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in state_dict.items()}, "
    "'weights.safetensors')`; then convert that file."
)
# Before it, a file could run code although only weights were asked for (CVE-2025-32434).
_SAFE_TORCH = (2, 6)
_SHOWN = 8
_PICKLES_OF_A_LEGACY_FILE = 4
_EXPECTED = "Expected: the file of weights its authors released (.pt, .pth, .ckpt, .bin, .safetensors)."
_TEXT = ("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")


def read_tensors(path: Path, *, key: str = "", allowed: tuple[str, ...] = ()) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors or torch file, on the CPU.

    Args:
        path: of the file; what it is is told by its content.
        key: dotted, of the dictionary in a torch file that holds the tensors; "" where the file is that dictionary.
            Not used for safetensors, which hold nothing else.
        allowed: classes, beside those torch itself holds for safe, that a torch file may hold ("argparse.Namespace").

    Returns:
        name -> plain tensor, in the file's order; an entry of the dictionary that is no tensor is left out.

    Raises:
        DataError: no such file, one that is cut or of another kind, one that would have to run code to be read, one
            without the key, or with tensors that hold no plain numbers.
    """
    if not path.is_file():
        raise DataError(f"No file {path}. Give the file of released weights.")
    with path.open("rb") as stream:
        head = stream.read(64)
    # A safetensors file begins with the length of its JSON header and an opening brace.
    if len(head) > 8 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= path.stat().st_size:
        found: Any = _safetensors(path)
        key = ""
    else:
        _refuse_no_weights(path, head)
        found = _torch_file(path, allowed)
    for part in key.split(".") if key else ():
        if not isinstance(found, Mapping) or part not in found:
            there = _listed(found) if isinstance(found, Mapping) else type(found).__name__
            raise DataError(f"{path} has no {key!r} to read tensors from; found {there}. Is it the released file?")
        found = found[part]
    where = f" under {key!r}" if key else ""
    if not isinstance(found, Mapping):
        raise DataError(
            f"{path} holds a {type(found).__name__}{where}; a dictionary of tensors was expected. Is it the released "
            "file?"
        )
    tensors = {name: value.detach() for name, value in found.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        raise DataError(f"{path} holds no tensor{where}; found {_listed(found)}. Is it the released file?")
    _refuse_odd(path, tensors)
    return tensors


def printable(name: object) -> str:
    """A name out of a file, fit for a message: no control characters, not long."""
    text = "".join(c if c.isprintable() else "?" for c in str(name))
    return text if len(text) <= 100 else f"{text[:97]}..."


def _listed(names: Iterable[object]) -> str:
    shown = [printable(name) for name in names]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return (", ".join(shown[:_SHOWN]) or "nothing") + more


def _refuse_no_weights(path: Path, head: bytes) -> None:
    """What often lies where weights were meant to be."""
    if not head:
        raise DataError(f"{path} is empty. Fetch it again.")
    if head.startswith(b"version https://git-lfs"):
        raise DataError(f"{path} is a git-lfs pointer, not the file itself. `git lfs pull` brings it.")
    if head.lstrip()[:1] == b"<":
        raise DataError(
            f"{path} is a web page, not a file of weights: the download was answered with a question or a refusal. "
            "Open the address in a browser and download the file there."
        )


def _refuse_odd(path: Path, tensors: Mapping[Any, torch.Tensor]) -> None:
    odd = [
        f"{printable(name)} ({what})"
        for name, tensor in tensors.items()
        if (what := "" if isinstance(name, str) else "its name is no text") or (what := _oddity(tensor))
    ]
    if odd:
        raise DataError(
            f"{path} holds {counted(len(odd), 'tensor that is', 'tensors that are')} no plain numbers: "
            f"{', '.join(odd[:_SHOWN])}. Save dense tensors under names that are text."
        )


def _oddity(tensor: torch.Tensor) -> str:
    if tensor.is_meta:
        return "without values, saved from the device 'meta'"
    if tensor.is_quantized:
        return "quantised"
    if tensor.is_nested or tensor.layout != torch.strided:
        return "not dense"
    if tensor.is_floating_point() and tensor.dtype.itemsize < 2:
        return f"rounded to {str(tensor.dtype).removeprefix('torch.')}"
    return ""


def _safetensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path, device="cpu")
    except SafetensorError as error:
        raise DataError(f"{path} is no whole safetensors file: {printable(error)}. Fetch it again.") from error


def _torch_file(path: Path, allowed: tuple[str, ...]) -> Any:
    version = tuple(int("".join(filter(str.isdigit, part)) or 0) for part in torch.__version__.split(".")[:2])
    if version < _SAFE_TORCH:
        raise DataError(
            f"{path} is a torch file, which torch {torch.__version__} cannot read safely (CVE-2025-32434): install "
            "torch 2.6 or newer, or save its tensors as safetensors."
        )
    classes = [_class(name) for name in allowed]
    try:
        with torch.serialization.safe_globals(classes), warnings.catch_warnings():
            # What torch thinks of how a file was written helps nobody who did not write it.
            warnings.simplefilter("ignore", UserWarning)
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch, pickle and zipfile raise what they like about a file that is not theirs
        size = path.stat().st_size
        if "TorchScript" in str(error):
            raise DataError(
                f"{path} is a TorchScript program, not tensors alone; it is not run. {_SAVE_TENSORS}"
            ) from error
        foreign = _foreign(path, allowed)
        if foreign:
            raise DataError(
                f"{path} holds more than tensors ({', '.join(foreign[:5])}). It is not opened, because opening it "
                f"would run what it names. {_SAVE_TENSORS}"
            ) from error
        if _is_text(path):
            raise DataError(f"{path} is no torch or safetensors file: it holds text. {_EXPECTED}") from error
        # torch's own words are left out where they advise to open the file unsafely.
        why = "" if "weights_only" in str(error) else f": {printable(str(error).partition(chr(10))[0])}"
        raise DataError(
            f"{path} ({size:,} bytes) can be read neither as safetensors nor as a torch file "
            f"({type(error).__name__}{why}). It is damaged, cut off, or something else. {_EXPECTED}"
        ) from error


def _is_text(path: Path) -> bool:
    """A program, a table, notes: what no file of weights begins as."""
    with path.open("rb") as stream:
        head = stream.read(4096)
    # The last character may have been cut in two.
    text = head.decode("utf-8", errors="ignore")
    whole = len(text.encode()) >= len(head) - 3
    return whole and all(character.isprintable() or character in "\t\n\r\f" for character in text)


def _foreign(path: Path, allowed: tuple[str, ...]) -> list[str]:
    """Classes a torch file names beside the safe ones; found without running it."""
    try:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    except Exception:  # no zip file: written before torch 1.6, or by pickle
        names = _named_by_pickles(path)
    return sorted(printable(name) for name in set(names) - set(allowed))


def _named_by_pickles(path: Path) -> set[str]:
    """Foreign classes in the pickles one after the other that a file of before torch 1.6 begins with."""
    found: set[str] = set()
    with path.open("rb") as stream:
        # Pickles of protocol 0 have no mark at their beginning, and the letters of any text are opcodes to it: only one
        # that goes on to the end of the file is believed.
        marked = stream.read(1) == b"\x80"
        stream.seek(0)
        for _ in range(_PICKLES_OF_A_LEGACY_FILE):
            texts: list[str] = []
            try:
                for opcode, argument, _position in pickletools.genops(stream):
                    if opcode.name in _TEXT:
                        texts.append(str(argument))
                    elif opcode.name in ("GLOBAL", "INST"):
                        found.add(str(argument).replace(" ", "."))
                    elif opcode.name == "STACK_GLOBAL" and len(texts) > 1:
                        found.add(".".join(texts[-2:]))
            except (ValueError, EOFError, pickle.UnpicklingError, OverflowError, MemoryError):
                break
        if not marked and stream.tell() != path.stat().st_size:
            return set()
    return {name for name in found if not _of_torch(name)}


def _of_torch(name: str) -> bool:
    # torch's own types of storages and numbers, and what puts a tensor together.
    own = name.startswith("torch.") and name.count(".") == 1
    return own or name in ("collections.OrderedDict", "torch.Size") or name.startswith("torch._utils._rebuild_")


def _class(dotted: str) -> Any:
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)
