"""Networks exported to a file: TorchScript and ONNX."""

from __future__ import annotations

import hashlib
import importlib
import io
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.contract import Encoder
from einthoven.encoders.networks.observing import Observe
from einthoven.encoders.torch_encoder import TorchEncoder
from einthoven.foundation.errors import DataError, UsageError

from .module import embedding_of


class Arrangement:
    """How the prepared signals go in and the embedding comes out; part of the identity.

    Args:
        factor: what the prepared signals are multiplied by (1000 for a network of microvolts).
        layout: "leads-samples" or "samples-leads".
        output, pooling: see `description.Description`.
    """

    def __init__(self, factor: float, layout: str, output: int | str | None, pooling: str) -> None:
        self.factor, self.layout, self.output, self.pooling = factor, layout, output, pooling

    def identity(self) -> list[object]:
        """JSON-able."""
        return [self.factor, self.layout, self.output, self.pooling]

    def arranged(self, x: np.ndarray) -> np.ndarray:
        """float32 (records, leads, samples) as the network wants it, a new array."""
        x = x * np.float32(self.factor)
        return np.ascontiguousarray(x.swapaxes(1, 2)) if self.layout == "samples-leads" else x


class TorchScriptEncoder(TorchEncoder):
    """A network saved with `torch.jit.save`.

    Its program runs in torch's own interpreter, which knows no Python; torch's operators can read and write files,
    though, so it is as trustworthy as who made it.
    """

    def __init__(self, card: EncoderCard, path: Path, arrangement: Arrangement) -> None:
        content = path.read_bytes()
        self._arrangement = arrangement
        digest = hashlib.sha256(content).hexdigest()
        super().__init__(card, {}, network=nn.Module, make=lambda: _load_torchscript(path, digest), weights=digest)

    @cached_property
    def module(self) -> nn.Module:
        """The network, in evaluation mode and frozen; scripted modules cannot be frozen at once."""
        module = self._make().eval().to(self.device)
        for parameter in module.parameters():
            parameter.requires_grad_(False)
        return module

    def _pass(self, x: np.ndarray, observe: Observe | None) -> np.ndarray:
        with torch.inference_mode():
            given = self.module(torch.from_numpy(self._arrangement.arranged(x)).to(self.device))
        return _embedding(given, self._arrangement, self.card.name)

    def _weights_identity(self) -> object:
        return [super()._weights_identity(), *self._arrangement.identity()]


class OnnxEncoder(Encoder):
    """A network in ONNX, computed by onnxruntime on the CPU."""

    def __init__(self, card: EncoderCard, path: Path, arrangement: Arrangement) -> None:
        super().__init__(card, {})
        self._path = path
        self._arrangement = arrangement
        self._content_sha256 = hashlib.sha256(path.read_bytes()).hexdigest()

    @cached_property
    def _session(self) -> Any:
        runtime = _onnxruntime(self._path)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        try:
            # From its bytes: weights in a second file, which no digest would count, are not found then.
            content = _same_bytes(self._path, self._content_sha256)
            return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except DataError:
            raise
        except Exception as error:  # onnxruntime has exceptions of its own for everything
            raise DataError(
                f"{self._path} cannot be opened by onnxruntime: {str(error).splitlines()[0]}. Export it again, as one "
                "file with its weights inside."
            ) from error

    def _embed(self, x: np.ndarray) -> np.ndarray:
        session = self._session
        inputs, outputs = session.get_inputs(), [output.name for output in session.get_outputs()]
        if len(inputs) != 1:
            raise UsageError(
                f"{self._path} has {len(inputs)} inputs ({', '.join(i.name for i in inputs)}); one, the signals, was "
                "expected. Export the network with the others fixed."
            )
        given = session.run(None, {inputs[0].name: self._arrangement.arranged(x)})
        by_name = {name: torch.from_numpy(np.asarray(array)) for name, array in zip(outputs, given, strict=True)}
        chosen: Any = list(by_name.values()) if isinstance(self._arrangement.output, int) else by_name
        return _embedding(chosen, self._arrangement, self.card.name)

    def _weights_identity(self) -> object:
        return [self._content_sha256, *self._arrangement.identity()]


def _embedding(given: Any, arrangement: Arrangement, name: str) -> np.ndarray:
    return embedding_of(given, arrangement.output, arrangement.pooling, name).float().cpu().numpy()


def _load_torchscript(path: Path, digest: str) -> nn.Module:
    content = _same_bytes(path, digest)
    try:
        with warnings.catch_warnings():
            # torch deprecates TorchScript in favour of formats that it does not promise to read again either.
            warnings.simplefilter("ignore", DeprecationWarning)
            return torch.jit.load(io.BytesIO(content), map_location="cpu")
    except (RuntimeError, ValueError) as error:
        raise DataError(
            f"{path} ({len(content):,} bytes) holds no TorchScript network. A file of weights alone is no network: "
            "export one with torch.jit.script or torch.jit.trace and torch.jit.save, or give a Python file that makes "
            "the network and loads them."
        ) from error


def _same_bytes(path: Path, digest: str) -> bytes:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise DataError(f"{path} changed while it was used. Start again.")
    return content


def _onnxruntime(path: Path) -> Any:
    try:
        return importlib.import_module("onnxruntime")
    except ImportError:
        raise UsageError(
            f"{path} is an ONNX network, which onnxruntime computes, and onnxruntime is not installed. Install it with "
            "`pip install onnxruntime`, or export the network to TorchScript."
        ) from None
