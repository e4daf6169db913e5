"""From a file of the user's own to an entry like those of the catalogue."""

from __future__ import annotations

from pathlib import Path

from einthoven.encoders.registry import ENCODERS, EncoderEntry
from einthoven.foundation.errors import UsageError

from .description import Description, described_card, name_from, own_card, preparation, read_description
from .reference import DESCRIPTION, EMBEDDINGS, ONNX, PYTHON, TORCHSCRIPT, OwnReference


def open_own(text: str) -> EncoderEntry:
    """An encoder before it is built, from a file.

    Args:
        text: "mine.py:MyEncoder" or "mine.py" (which is run); "model.yaml", which describes a TorchScript or ONNX
            network or a table of embeddings beside it; "model.pt" or "model.onnx" with such a file of the same name;
            "embeddings.parquet" or "embeddings.npy", which need none.

    Raises:
        UsageError: no such file, or one no encoder can be made of.
        DataError: the table or network is damaged.
    """
    reference = OwnReference.parse(text)
    path = reference.path.expanduser()
    if not path.is_file():
        raise UsageError(f"There is no file {path} to take an encoder from (looked in {Path.cwd()}).")
    suffix = path.suffix.casefold()
    if suffix in PYTHON:
        from .python_file import entry_from_python

        entry = entry_from_python(OwnReference(path, reference.thing))
    elif suffix in DESCRIPTION:
        entry = _described(read_description(path), path)
    elif suffix in EMBEDDINGS:
        entry = _embeddings(path, _beside(path), path)
    else:
        description = _beside(path)
        if description is None:
            raise UsageError(
                f"{path} does not say what it takes: write {path.with_suffix('.yaml').name} beside it, for example "
                f"{{name: {name_from(path.stem)}, file: {path.name}, dimension: 512, input: {{rate: 250, seconds: 10, "
                "normalisation: lead-z}}."
            )
        entry = _described(description, path.with_suffix(".yaml"))
    if entry.name in ENCODERS.names():
        raise UsageError(f"{path} calls its encoder {entry.name!r}, which is a registered one. Give it another name.")
    return entry


def _beside(path: Path) -> Description | None:
    found = [path.with_suffix(suffix) for suffix in DESCRIPTION if path.with_suffix(suffix).is_file()]
    if not found:
        return None
    description = read_description(found[0])
    if Path(description.file).name != path.name:
        raise UsageError(f"{found[0]} describes {description.file}, not {path.name}. Name the one that is meant.")
    return description


def _described(description: Description, where: Path) -> EncoderEntry:
    path = where.parent / description.file
    if not path.is_file():
        raise UsageError(f"{where} describes {description.file}, and there is no file {path}.")
    suffix = path.suffix.casefold()
    if suffix in EMBEDDINGS:
        return _embeddings(path, description, where)
    if suffix not in (*TORCHSCRIPT, *ONNX):
        known = ", ".join((*TORCHSCRIPT, *ONNX, *EMBEDDINGS))
        raise UsageError(f"{where}: file is {description.file!r}; one that ends in {known} was expected.")
    if description.dimension is None:
        raise UsageError(f"{where} does not say `dimension`, how many numbers an embedding has.")
    preprocessing, factor = preparation(description, where)
    kind = "TorchScript" if suffix in TORCHSCRIPT else "ONNX"
    card = described_card(
        description,
        preprocessing=preprocessing,
        dimension=description.dimension,
        summary=f"A network from a {kind} file.",
    )

    def build():
        from .exported import Arrangement, OnnxEncoder, TorchScriptEncoder

        arrangement = Arrangement(factor, description.layout, description.output, description.pooling)
        return (TorchScriptEncoder if suffix in TORCHSCRIPT else OnnxEncoder)(card, path, arrangement)

    return EncoderEntry(card=card, build=build)


def _embeddings(path: Path, description: Description | None, where: Path) -> EncoderEntry:
    from .precomputed import Precomputed, read_embeddings

    table = read_embeddings(path)
    dimension = table.values.shape[1]
    summary = f"Embeddings that were computed elsewhere, of {len(table.ids):,} records."
    if description is None:
        card = own_card(name=name_from(path.stem), dimension=dimension, preprocessing=None, summary=summary)
    else:
        if description.dimension not in (None, dimension):
            raise UsageError(
                f"{where} says dimension {description.dimension}; {path.name} has {dimension} numbers each."
            )
        if description.input is not None:
            raise UsageError(f"{where}: embeddings are not computed here, so `input` means nothing. Leave it out.")
        card = described_card(description, preprocessing=None, dimension=dimension, summary=summary)
    return EncoderEntry(card=card, build=lambda: Precomputed(card, table))
