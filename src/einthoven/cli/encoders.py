"""`einthoven encoders ...`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from einthoven.encoders.card import EncoderCard
    from einthoven.encoders.checkpoints.store import StoredWeights
    from einthoven.encoders.registry import EncoderEntry

from .checking import check
from .encoder_card import card_rows, pretraining_of, weights_lines
from .output import counting, say, show_json, show_table

_Name = Annotated[str, typer.Argument(help="A registered encoder; see `einthoven encoders list`.")]
_Tag = Annotated[str, typer.Option("--as", help="What the weights are called here.")]
_Accept = Annotated[
    bool, typer.Option("--accept-licence", help="A licence that forbids commercial use was read and is kept to.")
]
_Replace = Annotated[bool, typer.Option("--replace", help="Put them in the place of weights of that name.")]
_Json = Annotated[bool, typer.Option("--json", help="As JSON.")]

app = typer.Typer(help="Frozen encoders.", no_args_is_help=True, rich_markup_mode=None)
app.command()(check)


@app.command("list")
def list_encoders(json: _Json = False) -> None:
    """Registered encoders. Weights: here, fetch, by hand, on request, or none to have."""
    from einthoven.encoders.availability import availability
    from einthoven.encoders.registry import ENCODERS

    if json:
        show_json([_card_json(entry.card) for entry in ENCODERS])
        return
    show_table(
        ("encoder", "weights", "their licence", "numbers", "pretraining"),
        [
            (e.name, availability(e.card), _short(e.card.weights_licence), e.card.dimension, pretraining_of(e.card))
            for e in ENCODERS
        ],
        compact=True,
    )


@app.command()
def show(name: _Name, json: _Json = False) -> None:
    """The card of an encoder: source, licences, how its weights come, input step by step, embedding."""
    from einthoven.encoders.registry import ENCODERS
    from einthoven.signals.words import steps_in_words

    card = ENCODERS.get(name).card
    if json:
        show_json(_card_json(card))
        return
    show_table((name, card.title), list(card_rows(card)))
    if card.preprocessings:
        rows = [(preset, "\n".join(steps_in_words(chain))) for preset, chain in card.preprocessings.items()]
        show_table(("preset", "what becomes of a record, in mV"), rows)
    for line in weights_lines(card):
        typer.echo(line)


@app.command()
def convert(
    name: _Name,
    file: Annotated[Path, typer.Argument(help="The released file: safetensors or torch; nothing in it is run.")],
    tag: _Tag = "released",
    accept_licence: _Accept = False,
    replace: _Replace = False,
    json: _Json = False,
) -> None:
    """Bring released weights in from a file: every tensor is matched with the network, or nothing is stored."""
    from einthoven.encoders.checkpoints.converting import convert as bring_in

    entry = _with_weights(name)
    assert entry.network is not None  # noqa: S101  # _with_weights has seen to it
    stored = bring_in(entry.card, entry.network(), file, tag=tag, accept_licence=accept_licence, replace=replace)
    _show_stored(stored, json=json)


@app.command()
def fetch(
    name: _Name,
    tag: _Tag = "released",
    revision: Annotated[
        str | None, typer.Option(help="On Hugging Face: a commit, branch or tag; default the one that was tested.")
    ] = None,
    accept_licence: _Accept = False,
    replace: _Replace = False,
    json: _Json = False,
) -> None:
    """Fetch the released weights from where their authors put them, and convert them.

    After an interrupt the same command goes on. Once they are here no network is needed. Weights that must be fetched
    by hand or asked for are not fetched: what to do is said (exit code 1).
    """
    from einthoven.encoders.checkpoints.fetching import fetch as bring

    entry = _with_weights(name)
    assert entry.network is not None  # noqa: S101  # _with_weights has seen to it
    try:
        with counting(f"fetching {name} (kB)") as progress:
            done = bring(
                entry.card,
                entry.network(),
                tag=tag,
                revision=revision,
                accept_licence=accept_licence,
                replace=replace,
                progress=lambda came, total: progress(came // 1000, (total or came) // 1000),
            )
    except KeyboardInterrupt:
        say("Interrupted. What came is kept; the same command goes on from there.")
        raise typer.Exit(130) from None
    if not done.fetched:
        say(f"The weights of {name} are here already; nothing was fetched. --replace fetches them again.")
    _show_stored(done.stored, json=json, fetched=done.fetched)


def _with_weights(name: str) -> EncoderEntry:
    from einthoven.encoders.registry import ENCODERS
    from einthoven.foundation.errors import UsageError

    entry = ENCODERS.get(name)
    if entry.card.checkpoint is None or entry.network is None:
        raise UsageError(f"Encoder {name} has no weights to bring in: {entry.card.weights}.")
    return entry


def _show_stored(stored: StoredWeights, *, json: bool, fetched: bool | None = None) -> None:
    known = stored.provenance
    if json:
        told = {"folder": str(stored.path), "matched": known.tensors, **known.model_dump(mode="json")}
        show_json(told if fetched is None else {"fetched": fetched, **told})
        return
    shown = ", ".join(known.unused[:5]) + (", ..." if len(known.unused) > 5 else "")
    rows = [
        ("matched", f"{known.tensors} of {known.tensors} tensors of the network"),
        ("unused", f"{len(known.unused)} of the file" + (f": {shown}" if known.unused else "")),
        ("digest", known.weights_sha256),
        ("source", known.source),
        *([("revision", known.revision)] if known.revision else []),
        ("sha256 of file", f"{known.source_sha256} ({known.source_bytes:,} bytes)"),
        ("licence", known.licence),
        ("folder", str(stored.path)),
    ]
    parameters = "" if known.tag == "released" else f" with `weights: {known.tag}`"
    for word, text in rows:
        typer.echo(f"{word:<15} {text}")
    typer.echo(f"Use it as {known.encoder}{parameters}.")


def _short(licence: str) -> str:
    """A licence without what is said beside it; the card has all of it."""
    return re.split(r"[;(:]", licence)[0].strip()


def _card_json(card: EncoderCard) -> dict[str, Any]:
    from einthoven.encoders.availability import availability, weights_here

    told = {"availability": availability(card), "weights_here": weights_here(card)}
    return {**card.model_dump(mode="json"), **told}
