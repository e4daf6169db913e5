"""Encoders with released weights: one way to register, build and start them at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from einthoven.foundation.errors import DataError
from einthoven.foundation.seeds import seed_for

from .card import EncoderCard, Parameter, ParameterValue
from .contract import Encoder
from .registry import EncoderEntry

if TYPE_CHECKING:
    from torch import nn

    from .checkpoints.store import Provenance

RANDOM = "random"
PARAMETERS = {
    "weights": Parameter(
        kind="str",
        default="released",
        summary="'released', 'random' (the architecture without any training), or the name other weights were "
        "converted under",
    ),
    "seed": Parameter(kind="int", default=0, minimum=0, summary="of the initial weights; used with weights: random"),
    "autocast": Parameter(
        kind="str", default="off", summary="'off' (float32), 'bfloat16' or 'float16': faster on a GPU, less exact"
    ),
}
"""What every released encoder lets its user set; a card takes these."""


def released(card: EncoderCard, *, network: Callable[[], type[nn.Module]]) -> EncoderEntry:
    """An entry for the catalogue.

    Args:
        card: with `checkpoint`, and `parameters=PARAMETERS`.
        network: gives the class of the network, which is called without arguments; imports torch when it is called.
    """

    def build(*, weights: str, seed: int, autocast: str) -> Encoder:
        from .torch_encoder import TorchEncoder

        kind = network()
        parameters: dict[str, ParameterValue] = {"weights": weights, "seed": seed, "autocast": autocast}
        if weights == RANDOM:
            return TorchEncoder(
                _untrained(card),
                parameters,
                network=kind,
                make=lambda: initialised(kind, card.name, seed),
                autocast=autocast,
            )
        from .checkpoints.matching import load_strictly
        from .checkpoints.store import open_weights, stored_tags

        stored = open_weights(card.name, weights)
        if stored is None:
            raise DataError(_missing(card, weights, [tag for tag in stored_tags(card.name) if tag != weights]))

        def load() -> nn.Module:
            module = initialised(kind, card.name, 0)
            load_strictly(module, stored.tensors(), where=str(stored.path))
            return module

        known = stored.provenance
        return TorchEncoder(
            card_of_weights(card, known),
            parameters,
            network=kind,
            make=load,
            weights=known.weights_sha256,
            autocast=autocast,
        )

    return EncoderEntry(card=card, build=build, network=network)


def card_of_weights(card: EncoderCard, known: Provenance) -> EncoderCard:
    """The card of an encoder with the weights that were brought in: which file they are from, and what it has seen.

    Args:
        card: of the released encoder.
        known: of the weights.
    """
    revision = f" at {known.revision}" if known.revision else ""
    source = f"{known.source}{revision}"
    if known.source_bytes:
        source += f", sha256 {known.source_sha256}"
    released_file = known.pretraining is None
    if released_file and not (card.checkpoint and card.checkpoint.sha256) and not known.revision:
        source += ", taken for the released file on its user's word (no digest of it is known)"
    told: dict[str, object] = {"weights": source, "weights_licence": known.licence}
    if not released_file:
        # A report looks on the card for test records that were seen in training.
        told |= {
            "title": f"{card.title}, weights {known.tag}",
            "summary": f"The architecture of {card.title} with weights brought in as {known.tag!r}.",
            "pretraining": known.pretraining,
            "pretraining_note": known.pretraining_note,
        }
    return card.model_copy(update=told)


def _untrained(card: EncoderCard) -> EncoderCard:
    """The card of the architecture with random weights: it has seen no data, and is a control."""
    return card.model_copy(
        update={
            "title": f"{card.title}, untrained",
            "summary": f"The architecture of {card.title} with its initial random weights.",
            "weights": "none (random)",
            "weights_licence": "not applicable (drawn from a seed)",
            "pretraining": (),
            "pretraining_note": "",
            "floor": True,
        }
    )


def initialised(network: Callable[[], nn.Module], name: str, seed: int) -> nn.Module:
    """A network with its initial random weights, from the stream "init" of the encoder's name and the seed."""
    import torch

    # The CPU generator alone is forked and seeded: the caller's random state, on any device, stays as it was.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed_for("init", name, seed))
        return network()


def _missing(card: EncoderCard, tag: str, others: list[str]) -> str:
    source = card.checkpoint
    there = f" Weights called {', '.join(others)} are there." if others else ""
    if tag != "released":
        return (
            f"Encoder {card.name} has no weights called {tag!r} on this machine.{there} Bring a file in: "
            f"`einthoven encoders convert {card.name} FILE --as {tag}`."
        )
    if source is not None and source.fetchable:
        accept = " --accept-licence" if source.non_commercial else ""
        how = f"Fetch them: `einthoven encoders fetch {card.name}{accept}`"
    else:
        how = f"They cannot be fetched by a program: {source.access if source else card.weights}. With the file at "
        how += f"hand: `einthoven encoders convert {card.name} FILE`"
    return (
        f"The released weights of encoder {card.name} are not on this machine.{there} {how}. Its architecture without "
        f"any training is `weights: random`."
    )
