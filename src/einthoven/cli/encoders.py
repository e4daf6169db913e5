"""`einthoven encoders ...`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from einthoven.encoders.card import EncoderCard

from .output import show_json, show_table

app = typer.Typer(help="Frozen encoders.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_encoders(json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Registered encoders."""
    from einthoven.encoders.registry import ENCODERS

    if json:
        show_json([entry.card.model_dump(mode="json") for entry in ENCODERS])
        return
    show_table(
        ("encoder", "summary", "dimension", "presets", "pretraining"),
        [
            (e.name, e.card.summary, e.card.dimension, ", ".join(e.card.preprocessings) or "-", _pretraining(e.card))
            for e in ENCODERS
        ],
    )


def _pretraining(card: EncoderCard) -> str:
    return "unknown" if card.pretraining == "unknown" else ", ".join(card.pretraining) or "none"


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A registered encoder.")],
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """The card of an encoder: source, licence, input, embedding."""
    from einthoven.encoders.registry import ENCODERS

    card = ENCODERS.get(name).card
    if json:
        show_json(card.model_dump(mode="json"))
        return
    rows = [(field, value) for field, value in card.model_dump(mode="json").items() if field != "preprocessings"]
    show_table(("field", name), rows)
    for preset, preprocessing in card.preprocessings.items():
        show_table(("field", f"preprocessing {preset}"), list(preprocessing.model_dump(mode="json").items()))
