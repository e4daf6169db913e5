"""From what a study calls an encoder to the encoder: registered, or from a file of the user's own."""

from __future__ import annotations

from einthoven.encoders.own.reference import OwnReference, is_own
from einthoven.encoders.registry import ENCODERS, EncoderEntry, find_encoder
from einthoven.foundation.errors import UsageError

from .cells import Cell
from .spec import EncoderChoice, RepresentationsSpec

_FILE = "encoder"


def entry_of(choice: EncoderChoice) -> EncoderEntry:
    """The card and the builder of a choice; a Python file is run.

    Raises:
        UnknownNameError: no encoder is registered under the name.
        UsageError: there is no such file, or no encoder in it.
        DataError: what the file holds is damaged.
    """
    return find_encoder(choice.file or choice.name)


def with_named_encoders(spec: RepresentationsSpec) -> RepresentationsSpec:
    """The specification with every encoder under the name it has in tables, and every file by its absolute path.

    Raises:
        UnknownNameError: no encoder has that name.
        UsageError: a file that is not there, or two choices that would be called the same.
    """
    encoders, baseline = [], spec.baseline
    for choice in spec.encoders:
        named = _named(choice)
        baseline = named.id if baseline == choice.id else baseline
        encoders.append(named)
    ids = [choice.id for choice in encoders]
    repeated = sorted({i for i in ids if ids.count(i) > 1})
    if repeated:
        raise UsageError(
            f"Two encoders of the study are called {', '.join(repeated)}. Name one of them otherwise on its card, or "
            "in the study: {name: mine-2, file: mine.py:MyEncoder}."
        )
    return spec.model_copy(update={"encoders": tuple(encoders), "baseline": baseline})


def places_of(choice: EncoderChoice) -> dict[str, str]:
    """Where the file of a choice lies, for a cell's places."""
    return {} if choice.file is None else {_FILE: choice.file}


def choice_of(cell: Cell) -> EncoderChoice:
    """The choice a cell was planned with."""
    return EncoderChoice.model_validate({**cell.spec["encoder"], "file": cell.places.get(_FILE)})


def _named(choice: EncoderChoice) -> EncoderChoice:
    if choice.file is None and not is_own(choice.name):
        ENCODERS.get(choice.name)
        return choice
    file = str(OwnReference.parse(choice.file or choice.name).absolute())
    name = choice.name if choice.file is not None else find_encoder(file).name
    if name in ENCODERS.names():
        raise UsageError(f"{name!r} is a registered encoder and cannot name what is in {file}. Name it otherwise.")
    if is_own(name):
        raise UsageError(f"Both name and file of an encoder are files ({name}, {file}). Give it a name, or one file.")
    return choice.model_copy(update={"name": name, "file": file})
