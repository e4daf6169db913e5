"""Converted weights: one safetensors file with a note of where it came from, under `$EINTHOVEN_HOME/checkpoints`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from einthoven.encoders.card import Pretraining
from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.home import checkpoints_folder
from einthoven.foundation.identity import content_key, sha256_array
from einthoven.foundation.publishing import exclusive, publish_folder, write_json
from einthoven.version import VERSION

WEIGHTS = "model.safetensors"
PROVENANCE = "provenance.json"
RELEASED = "released"
_UNTRAINED = "random"
_TAG = re.compile(r"(?=.{1,100}\Z)[a-z0-9]+([.-][a-z0-9]+)*")
_SYSTEM_ERROR = re.compile(r"os error (\d+)")


class Provenance(BaseModel):
    """Where converted weights came from.

    Attributes:
        encoder: the registered encoder they are for.
        tag: what they are called here.
        source: of the file: an address, or its name where it came from this machine. Never a path.
        revision: the commit of the repository it was fetched from; None where it came otherwise.
        source_sha256: of the file.
        source_bytes: its size.
        licence: of the weights, as on the card when they were converted.
        accepted: whether a non-commercial licence was accepted on conversion.
        unused: names of the file that the network does not need.
        tensors: how many the network has.
        pretraining: datasets these weights were trained on, or "unknown", where that is not what the card says; None:
            as on the card.
        pretraining_note: what a reader should know beside that.
        weights_sha256: of names, dtypes, shapes and values; see `tensors_digest`.
        converted: when, UTC, ISO 8601.
        einthoven: version that wrote it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = 1
    encoder: str
    tag: str
    source: str
    revision: str | None = None
    source_sha256: str
    source_bytes: int
    licence: str
    accepted: bool
    unused: tuple[str, ...]
    tensors: int
    weights_sha256: str
    pretraining: Pretraining | None = None
    pretraining_note: str = ""
    converted: str
    einthoven: str


@dataclass(frozen=True)
class StoredWeights:
    """Converted weights of an encoder; nothing is read before `tensors` is called.

    Attributes:
        path: their folder.
    """

    path: Path
    provenance: Provenance

    def tensors(self) -> dict[str, torch.Tensor]:
        """Name in the network -> tensor.

        Raises:
            DataError: the file is gone or is not what was converted.
        """
        from .reading import read_tensors

        again = f"Delete the folder {self.path} and convert or fetch the weights again."
        if not (self.path / WEIGHTS).is_file():
            raise DataError(f"{self.path / WEIGHTS} is gone. {again}")
        try:
            found = read_tensors(self.path / WEIGHTS)
        except DataError as error:
            raise DataError(f"The weights that were converted are damaged: {error} {again}") from error
        digest = tensors_digest(found)
        if digest != self.provenance.weights_sha256:
            raise DataError(
                f"{self.path / WEIGHTS} has digest {digest[:16]}...; {PROVENANCE} says "
                f"{self.provenance.weights_sha256[:16]}.... It changed after it was converted. {again}"
            )
        return found


def tensors_digest(tensors: Mapping[str, torch.Tensor]) -> str:
    """sha256 (64 hex digits) over the names, dtypes, shapes and values of tensors."""
    return content_key({name: sha256_array(_array(tensor)) for name, tensor in tensors.items()})


def store_weights(
    tensors: Mapping[str, torch.Tensor],
    *,
    encoder: str,
    tag: str,
    source: str,
    source_sha256: str,
    source_bytes: int,
    licence: str,
    accepted: bool,
    unused: tuple[str, ...],
    revision: str | None = None,
    pretraining: Pretraining | None = None,
    pretraining_note: str = "",
    replace: bool = False,
) -> StoredWeights:
    """Keep converted weights under an encoder's name and a tag, whole or not at all.

    Raises:
        UsageError: a tag that is no plain word, or one that exists where `replace` is False.
    """
    folder = _folder(encoder, tag)
    # One for all names of an encoder: a writer clears what killed writers of names that begin like its own left.
    with exclusive(folder.parent, wait_seconds=600, doing="converting weights into", what=folder):
        refuse_taken_name(encoder, tag, replace=replace)
        plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
        provenance = Provenance(
            encoder=encoder,
            tag=tag,
            source=source,
            revision=revision,
            source_sha256=source_sha256,
            source_bytes=source_bytes,
            licence=licence,
            accepted=accepted,
            unused=tuple(sorted(unused)),
            tensors=len(plain),
            weights_sha256=tensors_digest(plain),
            pretraining=pretraining,
            pretraining_note=pretraining_note,
            converted=datetime.now(UTC).isoformat(timespec="seconds"),
            einthoven=VERSION,
        )
        with publish_folder(folder, replace=replace) as work:
            _save(plain, work / WEIGHTS)
            write_json(work / PROVENANCE, provenance.model_dump(mode="json"))
    return StoredWeights(folder, provenance)


def refuse_taken_name(encoder: str, tag: str, *, replace: bool) -> None:
    """Refuse a name under which weights are stored, unless they are to be replaced.

    Raises:
        UsageError: it is taken, or is no plain word.
    """
    if tag == _UNTRAINED:
        raise UsageError(f"{tag!r} is what the architecture without any training is called; give another name (--as).")
    folder = _folder(encoder, tag)
    if folder.exists() and not replace:
        raise UsageError(
            f"{encoder} has weights called {tag!r} already ({folder}). Give another name (--as), or replace them "
            "(--replace)."
        )


def open_weights(encoder: str, tag: str = RELEASED) -> StoredWeights | None:
    """The converted weights of an encoder under a tag, or None where there are none.

    Raises:
        UsageError: a tag that is no plain word.
        DataError: a provenance that cannot be read, or is of something else.
    """
    folder = _folder(encoder, tag)
    if not folder.is_dir():
        return None
    try:
        provenance = Provenance.model_validate_json((folder / PROVENANCE).read_bytes())
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValidationError) as error:
        raise DataError(
            f"{folder / PROVENANCE} cannot be read ({type(error).__name__}). Delete the folder {folder} and convert or "
            "fetch the weights again."
        ) from error
    if (provenance.encoder, provenance.tag) != (encoder, tag):
        raise DataError(
            f"{folder} holds weights {provenance.tag!r} of {provenance.encoder}, not {tag!r} of {encoder}. Put it back "
            "where it belongs, or delete it."
        )
    return StoredWeights(folder, provenance)


def stored_tags(encoder: str) -> list[str]:
    """Names under which weights of an encoder are stored, sorted."""
    folder = checkpoints_folder() / encoder
    return sorted(p.name for p in folder.iterdir() if _TAG.fullmatch(p.name)) if folder.is_dir() else []


def _folder(encoder: str, tag: str) -> Path:
    if not _TAG.fullmatch(tag):
        raise UsageError(
            f"Weights are called by a plain word of small letters, digits, '-' and '.'; found {tag!r}. A file is "
            f"brought in first: `einthoven encoders convert {encoder} FILE --as NAME`."
        )
    return checkpoints_folder() / encoder / tag


def _array(tensor: torch.Tensor):
    tensor = tensor.detach().cpu().contiguous()
    # numpy has no bfloat16; its bits are as good for a digest.
    return tensor.view(torch.int16).numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def _save(tensors: dict[str, torch.Tensor], file: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file(tensors, file)
    except SafetensorError as error:
        # A full disk is told as text; everywhere else here it is an OSError.
        if found := _SYSTEM_ERROR.search(str(error)):
            raise OSError(int(found[1]), os.strerror(int(found[1])), str(file)) from error
        raise
