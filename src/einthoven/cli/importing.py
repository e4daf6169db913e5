"""`einthoven datasets import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import say, show_json, show_table
from .preparing import BAD_RECORDS, bad_records_of, counting_records, say_what_lacks
from .support import show_support

if TYPE_CHECKING:
    from einthoven.datasets.cohort import Cohort
    from einthoven.datasets.importing.mapping import ImportPlan
    from einthoven.datasets.importing.preparing import Preview

_SHOWN = 10


def register(app: typer.Typer) -> None:
    """Add the command to `einthoven datasets`."""
    app.command("import")(import_command)


def import_command(
    table: Annotated[Path | None, typer.Argument(help="CSV or parquet, one row an ECG.")] = None,
    signals: Annotated[Path | None, typer.Option(help="Folder below which the signal files lie.")] = None,
    mapping: Annotated[Path | None, typer.Option(help="YAML file: what the columns are; see --example.")] = None,
    outcomes: Annotated[
        Path | None, typer.Option(help="Table of measurements, for forecasting tasks with a rule.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the cohort; default its dataset's, with -RATEhz.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE over the mapping, such as signals.units=uV."),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of the dataset (`name` of the mapping).")] = None,
    record: Annotated[str | None, typer.Option(help="Column of record ids.")] = None,
    patient: Annotated[str | None, typer.Option(help="Column of patient ids.")] = None,
    file: Annotated[str | None, typer.Option(help='Signal file of a row: "{record}.hea" or "{column}".')] = None,
    units: Annotated[str | None, typer.Option(help="Of .mat, .npy and HDF5 signals: mV, uV or V.")] = None,
    rate: Annotated[float | None, typer.Option(help="Of .mat, .npy and HDF5 signals, Hz.")] = None,
    leads: Annotated[str | None, typer.Option(help='In file order, with commas; or "standard".')] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="A column of 0 and 1 that is a label of the task `labels`; repeatable.")
    ] = None,
    example: Annotated[
        str | None, typer.Option(help="Write a mapping to begin from: labels, wfdb, hemodynamic or forecasting.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be made, and of whom; write nothing.")
    ] = False,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Go on without records whose files do not exist; reports say so.")
    ] = False,
    bad_records: Annotated[str, typer.Option(help=BAD_RECORDS)] = "refuse",
    replace: Annotated[bool, typer.Option("--replace", help="Replace another cohort of the same name.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Prepare a cohort from a table of your own and a folder of signal files (WFDB, EDF, .mat, .npy, HDF5)."""
    from einthoven.datasets.importing.examples import EXAMPLES
    from einthoven.datasets.importing.loading import load_plan, parse_setting
    from einthoven.foundation.errors import UsageError, unknown_name

    if example is not None:
        if example not in EXAMPLES:
            raise unknown_name("example", example, EXAMPLES)
        _show_example(EXAMPLES[example], json=json)
        return
    if table is None or signals is None:
        raise UsageError("Name a table and the folder of its signals: einthoven datasets import TABLE --signals DIR.")
    bad = bad_records_of(bad_records)
    given: dict[str, Any] = {
        "name": dataset,
        "record": record,
        "patient": patient,
        "signals.file": file,
        "signals.units": units,
        "signals.rate": rate,
        "signals.leads": leads,
        "tasks.labels": {"kind": "boolean", "columns": label} if label else None,
    }
    changes = {key: value for key, value in given.items() if value is not None}
    plan = load_plan(mapping, changes | dict(parse_setting(text) for text in setting or []))
    try:
        if dry_run:
            from einthoven.datasets.importing.preparing import preview

            found = preview(table, signals, plan, outcomes=outcomes)
            _show_preview(found, json=json)
            if found.first or len(found.missing) == found.records:
                raise typer.Exit(1)  # importing would end there
            return
        cohort = _import(
            table,
            signals,
            plan,
            outcomes=outcomes,
            name=name,
            allow_missing=allow_missing,
            bad_records=bad,
            replace=replace,
        )
    except KeyboardInterrupt:
        # Said here: typer would end the process without a word.
        say("Interrupted; nothing was stored.")
        raise typer.Exit(130) from None
    manifest = cohort.manifest
    if json:
        show_json(manifest.model_dump(mode="json"))
        return
    typer.echo(
        f"{cohort.name}: {manifest.records:,} of {manifest.promised_records:,} records of {manifest.patients:,} "
        f"patients in {cohort.path}"
    )
    for note in manifest.notes:
        say(note)
    say_what_lacks(cohort)


def _import(table: Path, signals: Path, plan: ImportPlan, **options: Any) -> Cohort:
    from einthoven.datasets.importing.preparing import import_table

    with counting_records(f"importing {plan.name}") as counter:
        cohort = import_table(table, signals, plan, progress=counter, **options)
    if not counter.made:
        say("It was imported before, from the same table, mapping and files by the same code, and is kept.")
    return cohort


def _show_example(text: str, *, json: bool) -> None:
    """A mapping as YAML with comments; as JSON, which YAML takes too, without."""
    if json:
        import yaml

        show_json(yaml.safe_load(text))
    else:
        typer.echo(text, nl=False)


def _show_preview(found: Preview, *, json: bool) -> None:
    if json:
        from dataclasses import asdict

        tasks = {task: coverage.model_dump(mode="json") for task, coverage in found.tasks.items()}
        show_json({**asdict(found), "tasks": tasks})
        return
    samples = "differ in length" if found.samples is None else f"{found.samples} a lead"
    show_table(
        ("field", found.dataset),
        [
            ("records", f"{found.records:,}"),
            ("patients", f"{found.patients:,}"),
            ("without their files", f"{len(found.missing):,}"),
            ("rate (Hz)", f"{found.rate:g}"),
            ("leads", ", ".join(found.leads)),
            ("samples", samples),
            ("split rules", ", ".join(found.split_rules)),
            ("first record", found.first or ("can be stored" if len(found.missing) < found.records else "-")),
        ],
    )
    title = f"Positive records by label and split ({found.split_rules[0]})"
    show_support(found.tasks, found.families, promised=False, title=title)
    left = [(task, reason, count) for task, reasons in found.left_out.items() for reason, count in reasons.items()]
    if left:
        show_table(("task", "left out because", "records"), left, title="Records that are not in a task")
    for note in found.notes:
        say(note)
    if found.missing:
        first = ", ".join(dict.fromkeys(found.missing[:_SHOWN]))
        missing = f"{len(found.missing):,} of {found.records:,} records"
        say(f"warning: {missing} without a file below the folder of signals; first: {first}")
    say("Nothing was written.")
