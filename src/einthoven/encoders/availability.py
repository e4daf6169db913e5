"""Whether the weights of an encoder are on this machine, and if not how they come; asked without torch."""

from __future__ import annotations

from einthoven.foundation.home import checkpoints_folder

from .card import EncoderCard

_WAYS = {
    "huggingface": "fetch",
    "url": "fetch",
    "by-hand": "by hand",
    "on-request": "on request",
    "unreleased": "never released",
}


def weights_here(card: EncoderCard) -> list[str]:
    """Names of the weights that are stored, "released" first; whether they are whole is told when they are opened."""
    folder = checkpoints_folder() / card.name
    found = [p.parent.name for p in folder.glob("*/provenance.json") if not p.parent.name.startswith(".")]
    return sorted(found, key=lambda tag: (tag != "released", tag))


def availability(card: EncoderCard) -> str:
    """In a word or two: how the weights of an encoder stand.

    Returns:
        "not needed" where there are none to have; "here", or "here: own" with the names under which others than the
        released ones are stored; else how the released ones come: "fetch", "by hand", "on request", "never released".
    """
    if card.checkpoint is None:
        return "not needed"
    tags = weights_here(card)
    if not tags:
        return _WAYS[card.checkpoint.where]
    return "here" if tags == ["released"] else f"here: {', '.join(tags)}"
