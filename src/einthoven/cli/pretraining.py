"""`einthoven pretrain ...`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import counting_with_words, say, show_json, show_table

if TYPE_CHECKING:
    from einthoven.datasets.cohort import Cohort
    from einthoven.pretraining.clocs import Pretrained
    from einthoven.pretraining.settings import ContrastiveSettings

app = typer.Typer(help="Train an encoder without labels.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Train an encoder without labels."""


@app.command()
def clocs(
    cohort: Annotated[str, typer.Option(help="A prepared cohort; its training records are trained on.")],
    name: Annotated[str, typer.Option("--as", help="What the weights will be called.")] = "own",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the training; default runs/pretrain-clocs-NAME-COHORT.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training records.")] = 50,
    batch: Annotated[int, typer.Option(min=2, help="Records a step.")] = 256,
    learning_rate: Annotated[float, typer.Option(help="Of Adam.")] = 1e-4,
    temperature: Annotated[float, typer.Option(help="Of the contrastive loss.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Of initial weights, order and dropout.")] = 0,
    split: Annotated[str | None, typer.Option(help="Split rule of the cohort; default its first.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")] = "cpu",
    replace: Annotated[bool, typer.Option(help="Put these weights in the place of others of that name.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """CLOCS (CMSC): two five-second halves of a record are told from those of other records.

    A training that was stopped goes on where it was when it is called again.
    """
    from einthoven.datasets.cohort import Cohort
    from einthoven.encoders.checkpoints.store import open_weights, refuse_taken_name
    from einthoven.foundation.errors import UsageError
    from einthoven.foundation.publishing import write_text
    from einthoven.pretraining.clocs import ENCODER, pretrain_clocs, training_identity
    from einthoven.pretraining.keeping import keep
    from einthoven.pretraining.settings import ContrastiveSettings
    from einthoven.reports.loss_curve import LossPoint, loss_curve

    if name in ("random", "released"):
        raise UsageError(f"Own weights cannot be called {name!r}; give another name (--as).")
    opened = Cohort.open(cohort)
    settings = ContrastiveSettings(
        epochs=epochs, batch=batch, learning_rate=learning_rate, temperature=temperature, seed=seed, split=split
    )
    folder = out or Path("runs") / f"pretrain-clocs-{name}-{opened.name}"
    there = None if replace else open_weights(ENCODER, name)
    if there is not None and there.provenance.source_sha256 == training_identity(opened, settings):
        told = {"encoder": ENCODER, "weights": name, "weights_sha256": there.provenance.weights_sha256}
        if json:
            show_json({"finished_already": True, **told, "folder": str(folder)})
        else:
            say(f"This training is finished already: {there.provenance.source}; nothing was done. {_use_of(name)}")
        return
    refuse_taken_name(ENCODER, name, replace=replace)
    try:
        with counting_with_words("pretraining clocs") as progress:
            done = pretrain_clocs(opened, folder, settings=settings, device=device, progress=progress)
    except KeyboardInterrupt:
        say(f"stopped; what was trained so far is in {folder}, and the same command goes on from there.")
        raise typer.Exit(130) from None
    points = [LossPoint(e.epoch, e.train_loss, e.validation_loss) for e in done.history]
    write_text(folder / "loss.svg", loss_curve(points, best=done.best.epoch, guessing=done.guessing))
    kept = keep(done, opened, settings, tag=name, replace=replace)
    result = _result(done, opened, settings, folder, name) | {"weights_sha256": kept.provenance.weights_sha256}
    if json:
        show_json(result)
        return
    show_table(("what", "found"), [(key.replace("_", " "), value) for key, value in result.items()])
    if done.best.epoch == 0:
        say("warning: no epoch had a lower validation loss than the network had before training. Nothing was learned.")
    elif done.best.epoch == settings.epochs:
        say("The last epoch had the lowest validation loss: more of them (--epochs, with another --as) may lower it.")
    say(f"The curve is {folder / 'loss.svg'}. {_use_of(name)}")


def _use_of(name: str) -> str:
    return f"In a study file: {{name: clocs, parameters: {{weights: {name}}}}}"


def _result(done: Pretrained, cohort: Cohort, settings: ContrastiveSettings, folder: Path, name: str) -> dict[str, Any]:
    return {
        "encoder": "clocs",
        "weights": name,
        "cohort": cohort.name,
        "split": done.split,
        "training_records": done.train,
        "validation_records": done.validation,
        "epochs": settings.epochs,
        "kept_epoch": done.best.epoch,
        "validation_loss_before": round(done.history[0].validation_loss, 6),
        "validation_loss": round(done.best.validation_loss, 6),
        "seconds": round(sum(epoch.seconds for epoch in done.history), 1),
        "folder": str(folder),
    }
