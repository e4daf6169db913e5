"""`einthoven demo | plan | run | status | report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .output import CellProgress, counting, say, show_json, show_table

_Study = Annotated[str, typer.Argument(help="A preset's name, or a study file ending in .yaml or .yml.")]
_Folder = Annotated[Path, typer.Argument(help="The study's folder, such as runs/demo.")]
_Cohort = Annotated[str | None, typer.Option(help="Prepared cohort to run on, instead of the study's own.")]
_Tasks = Annotated[str | None, typer.Option(help="Comma-separated tasks; default all of the cohort.")]
_Encoders = Annotated[str | None, typer.Option(help="Comma-separated encoders, instead of the study's own.")]
_Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="KEY=VALUE over the study's own, such as bootstrap.draws=2000; repeatable. README lists the keys."
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
_Workers = Annotated[int | None, typer.Option(min=1, help="Processes; default one for each core.")]


def register(app: typer.Typer) -> None:
    """Add the study commands to the top level."""
    for command in (demo, plan, run, status, report, verify):
        app.command()(command)


def _changes(cohort: str | None, tasks: str | None, encoders: str | None, settings: list[str] | None) -> dict[str, Any]:
    from einthoven.foundation.errors import UsageError
    from einthoven.studies.loading import parse_setting

    changes: dict[str, Any] = {}
    if cohort:
        changes["cohort"] = cohort
    if tasks is not None:
        changes["tasks"] = [task.strip() for task in tasks.split(",") if task.strip()]
    if encoders is not None:
        changes["encoders"] = [name.strip() for name in encoders.split(",") if name.strip()]
    for option in ("tasks", "encoders"):
        if changes.get(option) == []:
            raise UsageError(f"--{option} names none. Leave it out for those of the study, or name some, with commas.")
    changes.update(parse_setting(text) for text in settings or [])
    return changes


def plan(
    study: _Study,
    cohort: _Cohort = None,
    tasks: _Tasks = None,
    encoders: _Encoders = None,
    settings: _Set = None,
    out: Annotated[Path | None, typer.Option(help="The study's folder; default runs/NAME.")] = None,
    json: _Json = False,
) -> None:
    """List every cell of a study and which of them are finished; runs nothing."""
    from einthoven.studies.ledger import Ledger
    from einthoven.studies.loading import load_spec
    from einthoven.studies.plan import plan_representations

    planned = plan_representations(load_spec(study, changes=_changes(cohort, tasks, encoders, settings)))
    ledger = Ledger(out or Path("runs") / planned.spec.name)
    rows = [(cell.key, cell.kind, cell.title, ledger.has(cell.key)) for cell in planned.cells]
    if json:
        show_json([dict(zip(("key", "kind", "title", "finished"), row, strict=True)) for row in rows])
        return
    shown = [(key[:12], kind, title, "yes" if finished else "no") for key, kind, title, finished in rows]
    show_table(("cell", "kind", "what", "finished"), shown)
    typer.echo(f"{len(rows)} cells, {sum(row[3] for row in rows)} finished in {ledger.folder}")


def run(
    study: _Study,
    cohort: _Cohort = None,
    tasks: _Tasks = None,
    encoders: _Encoders = None,
    settings: _Set = None,
    out: Annotated[Path | None, typer.Option(help="The study's folder; default runs/NAME.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take a folder that holds another study; its finished cells stay.")
    ] = False,
    workers: _Workers = None,
) -> None:
    """Run a study, or go on with one that was stopped, and write its report."""
    from einthoven.studies.loading import load_spec

    _run(load_spec(study, changes=_changes(cohort, tasks, encoders, settings)), out, workers, replace=replace)


def demo(
    out: Annotated[Path, typer.Option(help="The study's folder.")] = Path("runs/demo"),
    records: Annotated[int, typer.Option(min=200, help="Records of the phantom.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the phantom.")] = 0,
    workers: _Workers = None,
) -> None:
    """Make a synthetic cohort with planted truth and run a whole study on it: needs no data and no network."""
    from einthoven.datasets.building import prepare
    from einthoven.foundation.errors import UsageError
    from einthoven.studies.loading import load_spec

    name = "phantom-100hz" if (records, seed) == (2000, 0) else f"phantom-100hz-{records}-seed{seed}"
    options = {"records": records, "seed": seed}
    with counting("making the phantom") as progress:
        try:
            prepare("phantom", name=name, rate=100.0, options=options, progress=progress)
        except UsageError:
            # Made by another version, or under this name from something else; nobody's data are lost with a phantom.
            prepare("phantom", name=name, rate=100.0, options=options, progress=progress, replace=True)
    # The demo is the same study in every version; after an update its cells are new ones.
    _run(load_spec("demo", changes={"cohort": name}), out, workers, replace=True)


def _run(spec: Any, out: Path | None, workers: int | None, *, replace: bool) -> None:
    from einthoven.reports.page import write_report
    from einthoven.studies.executors.local import LocalExecutor
    from einthoven.studies.plan import plan_representations
    from einthoven.studies.running import run_plan

    folder = out or Path("runs") / spec.name
    planned = plan_representations(spec)
    try:
        with LocalExecutor(workers=workers) as executor, CellProgress() as progress:
            summary = run_plan(planned, folder, executor, listener=progress, replace=replace)
    except KeyboardInterrupt:
        # Said here: typer would end the process without a word.
        say(f"Interrupted. Finished cells are kept in {folder}; the same command goes on from them.")
        raise typer.Exit(130) from None
    say(
        f"{summary.done} cells done, {summary.reused} kept from before, {len(summary.failed)} failed, "
        f"{len(summary.blocked)} could not start."
    )
    for title, message in summary.failed.items():
        say(f"FAILED {title}: {message}")
    for title, culprit in summary.blocked.items():
        say(f"not started: {title} (needs {culprit})")
    typer.echo(f"report: {write_report(folder)}")
    say("Open it in a browser; it needs no network.")
    if not summary.complete:
        say("Mend the cause and run the same command again: only what is not finished is run.")
        raise typer.Exit(1)


def status(folder: _Folder, json: _Json = False) -> None:
    """How much of a study is finished, and the digest of what is."""
    from einthoven.studies.inspection import study_status

    found = study_status(folder)
    rows = [
        {"key": s.cell.key, "kind": s.cell.kind, "title": s.cell.title, "state": s.state, "message": s.message}
        for s in found.cells
    ]
    if json:
        name = found.plan.spec.name
        show_json({"study": name, "cells": rows, "finished": found.finished, "digest": found.digest})
        return
    show_table(("cell", "what", "state"), [(row["key"][:12], row["title"], row["state"]) for row in rows])
    for row in rows:
        if row["state"] == "failed":
            say(f"FAILED {row['title']}: {row['message']}")
    typer.echo(f"{found.finished} of {len(rows)} cells finished; digest {found.digest}")


def verify(folder: _Folder, json: _Json = False) -> None:
    """Check that every finished cell is as it was stored, and so the cohort and embeddings if they are here."""
    from einthoven.studies.inspection import verify_study

    checks = []
    for check in verify_study(folder):
        checks.append(check)
        if check.problem:
            say(f"DAMAGED {check.of} {check.what}: {check.problem}")
        elif check.absent:
            say(f"not here, not checked: {check.of} {check.what}")
    damaged = [check for check in checks if check.problem]
    if json:
        show_json([{"of": c.of, "what": c.what, "problem": c.problem, "absent": c.absent} for c in checks])
    else:
        sound = [check.of for check in checks if not check.problem and not check.absent]
        cells = [check for check in checks if check.of == "cell"]
        typer.echo(
            f"{sound.count('cell')} of {len(cells)} finished cells are as they were stored; so are "
            f"{sound.count('cohort')} cohort(s) and {sound.count('embeddings')} embedding array(s)"
        )
    if damaged:
        raise typer.Exit(1)


def report(folder: _Folder) -> None:
    """Write the report of a study's folder again, from its ledger alone."""
    from einthoven.reports.page import write_report

    typer.echo(f"report: {write_report(folder)}")
