"""The card of an encoder in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from einthoven.encoders.card import EncoderCard


def card_rows(card: EncoderCard) -> Iterator[tuple[str, str]]:
    """What there is to know, as pairs of a word and a text."""
    from einthoven.encoders.availability import availability

    yield "what", card.summary
    yield "paper", card.paper
    yield "reads", "signals" if card.consumes == "signal" else "metadata of the record, no signal"
    yield "gives", f"{card.dimension} numbers a record" + (": " + ", ".join(card.features) if card.features else "")
    if card.hidden_states:
        yield "hidden states", f"{card.hidden_states}; tokens: {card.tokens}"
    if card.floor:
        yield "role", "a floor: a useful encoder beats it"
    yield "pretraining", pretraining_of(card) + (f" ({card.pretraining_note})" if card.pretraining_note else "")
    if overlap := _overlap(card):
        yield "overlap", overlap
    yield "code licence", card.code_licence
    yield "weights licence", card.weights_licence
    yield "weights", f"{card.weights} ({availability(card)})" if card.checkpoint else card.weights
    for name, parameter in card.parameters.items():
        yield f"parameter {name}", f"{parameter.kind}, default {parameter.default!r}: {parameter.summary}"


def pretraining_of(card: EncoderCard) -> str:
    """Names of datasets, "none" or "unknown"."""
    return "unknown" if card.pretraining == "unknown" else ", ".join(card.pretraining) or "none"


def weights_lines(card: EncoderCard) -> list[str]:
    """How the weights come, in lines that are to be copied."""
    from einthoven.encoders.availability import weights_here

    source = card.checkpoint
    if source is None:
        return []
    tags = weights_here(card)
    lines = [f"Weights here: {', '.join(tags)}."] if tags else []
    if "released" not in tags:
        accept = " --accept-licence" if source.non_commercial else ""
        size = f" ({source.bytes / 1e6:,.1f} MB)" if source.bytes else ""
        lines.append(f"The released weights{size} are not here: {source.access}.")
        if source.fetchable:
            lines += ["Fetch them:", f"  einthoven encoders fetch {card.name}{accept}"]
        lines += [f"With {source.file} at hand:", f"  einthoven encoders convert {card.name} FILE{accept}"]
    return [*lines, f"Page: {source.page}"]


def _overlap(card: EncoderCard) -> str:
    if card.pretraining == "unknown":
        return "unknown; test records may have been seen in pretraining"
    if not card.pretraining:
        return ""
    return (
        f"results on {', '.join(card.pretraining)} may be of records that it has seen; reports say so where the names "
        "are equal"
    )
