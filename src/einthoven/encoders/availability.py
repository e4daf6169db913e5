"""Whether the weights of an encoder are on this machine, and if not how they come; asked without torch."""

from __future__ import annotations

from einthoven.foundation.home import checkpoints_folder

from .card import EncoderCard

_WAYS = {
    "huggingface": "fetch",
    "url": "fetch",
    "by-hand": "by hand",
    "on-request": "on request",
    "unreleased": "none",
}


def weights_here(card: EncoderCard) -> list[str]:
    """Names of the weights that are stored, "released" first; whether they are whole is told when they are opened."""
    folder = checkpoints_folder() / card.name
    found = [p.parent.name for p in folder.glob("*/provenance.json") if not p.parent.name.startswith(".")]
    return sorted(found, key=lambda tag: (tag != "released", tag))


def availability(card: EncoderCard) -> str:
    """One of "here", "fetch", "by hand", "on request", and "none" where there are no trained weights to have."""
    if card.checkpoint is None:
        return "none"
    return "here" if "released" in weights_here(card) else _WAYS[card.checkpoint.where]
