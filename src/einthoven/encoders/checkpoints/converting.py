"""From a released file to the weights of a network here: every tensor accounted for, then stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import nn

from einthoven.encoders.card import EncoderCard, Pretraining
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.identity import sha256_file

from .matching import check_match
from .reading import read_tensors
from .store import RELEASED, StoredWeights, refuse_taken_name, store_weights


def convert(
    card: EncoderCard,
    network: Callable[[], nn.Module],
    file: Path,
    *,
    tag: str = RELEASED,
    source: str | None = None,
    revision: str | None = None,
    accept_licence: bool = False,
    pretraining: Pretraining = "unknown",
    licence: str = "not stated",
    replace: bool = False,
) -> StoredWeights:
    """Read a file of weights, match it with the network, and store it.

    Under the tag "released" the weights are what the card speaks of. Under any other they are somebody's own: that they
    fit the network says nothing of the data they have seen, so nothing of that is taken from the card.

    Args:
        card: of the encoder; its `checkpoint` says how the file is laid out.
        network: makes the encoder's network; its values do not matter.
        file: as released.
        tag: what the weights are called here.
        source: where the file came from; by default its name.
        revision: commit of the repository it came from.
        accept_licence: that a non-commercial licence was read and is kept to.
        pretraining: names of the datasets that weights of another tag than "released" were trained on.
        licence: of such weights.
        replace: weights of the same tag.

    Raises:
        UsageError: the encoder has no released weights; a non-commercial licence was not accepted; the tag is taken.
        DataError: the file cannot be read safely, or is not the network's; what matched is counted.
    """
    layout = checkpoint_of(card)
    refuse_unaccepted(card, accept_licence=accept_licence)
    refuse_taken_name(card.name, tag, replace=replace)
    digest = sha256_file(file) if file.is_file() else ""
    if layout.sha256 and digest and tag == RELEASED and digest != layout.sha256:
        raise DataError(
            f"{file} has sha256 {digest}; {card.name} was released with {layout.sha256}. Fetch it again, or, if it is "
            "another training on purpose, give it a name of its own (--as NAME)."
        )
    tensors = read_tensors(file, key=layout.key, allowed=layout.globals)
    used, unused = fit_to_network(tensors, layout, network, where=str(file))
    return store_weights(
        used,
        encoder=card.name,
        tag=tag,
        source=source or file.name,
        revision=revision,
        source_sha256=digest,
        source_bytes=file.stat().st_size,
        licence=card.weights_licence if tag == RELEASED else licence,
        accepted=accept_licence,
        unused=unused,
        pretraining=None if tag == RELEASED else pretraining,
        replace=replace,
    )


def fit_to_network(
    released: Mapping[str, torch.Tensor], layout: CheckpointSource, network: Callable[[], nn.Module], *, where: str
) -> tuple[dict[str, torch.Tensor], tuple[str, ...]]:
    """Tensors under the network's names, float32, and the released names that are not used.

    A file that was converted before, whose names are the network's already, is taken as it is.

    Raises:
        DataError: a tensor is missing, left over or of another shape, or is given twice with different values.
    """
    with torch.device("meta"):
        expected = network()
    if set(released) == set(expected.state_dict()):
        names = {name: name for name in released}
    else:
        try:
            names = layout.names(released)
        except ValueError as error:
            raise DataError(f"{where}: {error}. It is not the released file, or is damaged.") from error
    # Before anything is copied; and again after it, as a number may be too large for float32.
    check_match(expected, {own: released[name] for name, own in names.items()}, where=where)
    given: dict[str, torch.Tensor] = {}
    first: dict[str, str] = {}
    for name, own in names.items():
        tensor = released[name].float() if released[name].is_floating_point() else released[name]
        if own in given and not torch.equal(given[own], tensor):
            raise DataError(
                f"{where}: {first[own]} and {name} are two names of one tensor and hold different values, so that "
                "which of them the network computes with would depend on the order of loading. The file is damaged; "
                "fetch it again."
            )
        given[own] = tensor
        first.setdefault(own, name)
    check_match(expected, given, where=where)
    return given, tuple(name for name in released if name not in names)


def checkpoint_of(card: EncoderCard) -> CheckpointSource:
    """Where an encoder's weights come from.

    Raises:
        UsageError: it has none.
    """
    if card.checkpoint is None:
        raise UsageError(f"Encoder {card.name} has no weights to bring in: {card.weights}.")
    return card.checkpoint


def refuse_unaccepted(card: EncoderCard, *, accept_licence: bool) -> None:
    """Refuse weights under a non-commercial licence that was not accepted.

    Raises:
        UsageError: with the licence and what to do.
    """
    if checkpoint_of(card).non_commercial and not accept_licence:
        raise UsageError(
            f"The weights of {card.name} are released under {card.weights_licence}, which does not allow commercial "
            f"use (see {checkpoint_of(card).page}). If you keep to it, say so: --accept-licence."
        )
