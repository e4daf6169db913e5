"""`einthoven datasets ...`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import downloads, importing
from .output import say, show_json, show_table
from .preparing import BAD_RECORDS, bad_records_of, counting_records, say_what_lacks
from .support import show_support

if TYPE_CHECKING:
    from einthoven.datasets.dataset import Dataset
    from einthoven.datasets.leaks import Duplicate
    from einthoven.datasets.manifest import TaskCoverage

_SENTENCE = 40

app = typer.Typer(help="Datasets and prepared cohorts.", no_args_is_help=True, rich_markup_mode=None)
downloads.register(app)
importing.register(app)


@app.command("list")
def list_datasets(json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Registered datasets, and the cohorts prepared from them."""
    from einthoven.datasets.cohort import Cohort, prepared_cohorts
    from einthoven.datasets.registry import DATASETS
    from einthoven.foundation.errors import DataError

    cohorts = []
    for name in prepared_cohorts():
        try:
            cohorts.append(Cohort.open(name).manifest)
        except DataError as error:
            say(f"warning: cohort {name} cannot be opened: {error}")
    if json:
        show_json(
            {
                "datasets": [entry.card.model_dump(mode="json") for entry in DATASETS],
                "cohorts": [m.model_dump(mode="json", include=_COHORT_FIELDS) for m in cohorts],
            }
        )
        return
    show_table(
        ("dataset", "version", "rates (Hz)", "tasks", "access", "licence"),
        [
            (
                d.name,
                d.card.version,
                ", ".join(f"{r:g}" for r in d.card.rates),
                "\n".join(d.card.tasks),
                d.card.access,
                d.card.licence,
            )
            for d in DATASETS
        ],
        title="Registered datasets",
    )
    if cohorts:
        show_table(
            ("cohort", "dataset", "records", "patients", "rate (Hz)", "fingerprint"),
            [(m.name, m.dataset, _present(m), m.patients, f"{m.rate:g}", m.fingerprint[:12]) for m in cohorts],
            title="Prepared cohorts",
        )
    else:
        say("No cohort is prepared yet; make one with `einthoven datasets prepare`.")


_COHORT_FIELDS = {
    "name",
    "dataset",
    "dataset_version",
    "records",
    "promised_records",
    "patients",
    "rate",
    "fingerprint",
}


def _present(manifest) -> str:
    if manifest.records == manifest.promised_records:
        return f"{manifest.records:,}"
    return f"{manifest.records:,} of {manifest.promised_records:,}"


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A registered dataset or a prepared cohort.")],
    source: Annotated[Path | None, typer.Option(help="Folder of the dataset's files, to count its labels.")] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """The card of a dataset and how many records its labels have, or what a prepared cohort holds.

    Labels are counted from the metadata in --source; without it, from a cohort that was prepared from the dataset.
    """
    from einthoven.datasets.cohort import Cohort, prepared_cohorts, split_part
    from einthoven.datasets.registry import DATASETS
    from einthoven.foundation.errors import UsageError, unknown_name

    if name in DATASETS.names():
        _show_dataset(DATASETS.get(name), source, json=json)
        return
    if name not in prepared_cohorts():
        raise unknown_name("dataset or cohort", name, [*DATASETS.names(), *prepared_cohorts()])
    if source is not None:
        raise UsageError(f"{name} is a prepared cohort, which needs no --source.")
    manifest = Cohort.open(name).manifest
    if json:
        show_json(manifest.model_dump(mode="json"))
        return
    fields = {
        "dataset", "dataset_version", "licence", "rate", "leads", "patients", "concept_tables", "fingerprint",
        "created", "notes",
    }  # fmt: skip
    rows = [("records", _present(manifest)), ("left out", _text(manifest.excluded.counts))]
    rows += [(key, _text(value)) for key, value in manifest.model_dump(mode="json", include=fields).items()]
    summaries = manifest.split_summaries or _split_rules_of(manifest.dataset)
    rows += [
        (f"split {rule}", f"{summaries.get(rule, 'unknown')}\nsha256 {manifest.digests[split_part(rule)]}")
        for rule in manifest.split_rules
    ]
    show_table(("field", name), rows)
    show_support(manifest.tasks, manifest.families, promised=False, title="Positive records by label and split")


def _split_rules_of(dataset: str) -> Mapping[str, str]:
    """What the card of a registered dataset says of its split rules, for cohorts that do not say it themselves."""
    from einthoven.datasets.registry import DATASETS

    return DATASETS.get(dataset).card.split_rules if dataset in DATASETS.names() else {}


def _show_dataset(dataset: Dataset, source: Path | None, *, json: bool) -> None:
    coverage, counted_from = _coverage_of(dataset, source)
    card = {**dataset.card.model_dump(mode="json"), "how": dataset.how_to_get}
    if json:
        support = {
            task: {"records": found.records_promised, "positives": found.positives_promised}
            for task, found in coverage.items()
        }
        show_json({**card, "support": support, "counted_from": counted_from})
        return
    tasks, concepts = card.pop("tasks"), card.pop("concepts")
    del card["needs_source"]
    card["sizes"] = {key: value for key, value in card["sizes"].items() if value is not None}
    show_table(("field", dataset.name), [(field, _text(value)) for field, value in card.items() if value])
    show_table(
        ("task", "family", "about"),
        [(task, about["family"], about["summary"]) for task, about in tasks.items()],
        title="Tasks",
    )
    if concepts:
        show_table(("concept table", "about"), list(concepts.items()), title="Concept tables")
    if not coverage:
        say(f"To see how many records each label has: einthoven datasets show {dataset.name} --source FOLDER")
        return
    families = {task: about.family for task, about in dataset.card.tasks.items()}
    title = f"Positive records by label and split, {counted_from}"
    show_support(coverage, families, promised=True, title=title)


def _coverage_of(dataset: Dataset, source: Path | None) -> tuple[Mapping[str, TaskCoverage], str]:
    """How many records each label has, and what they were counted from; nothing if there is nothing to count."""
    import numpy as np

    from einthoven.datasets.cohort import Cohort, prepared_cohorts
    from einthoven.datasets.coverage import task_coverage
    from einthoven.datasets.source import open_source
    from einthoven.foundation.errors import DataError

    if source is None and dataset.card.needs_source:
        for name in prepared_cohorts():
            try:
                manifest = Cohort.open(name).manifest
            except DataError:
                continue  # `datasets list` warns of it
            if manifest.dataset == dataset.name:
                return manifest.tasks, f"of the whole release, by the metadata that cohort {name} was made from"
        return {}, ""
    scan = open_source(dataset, source, rate=dataset.card.rates[0], options={}).scan
    where = f"in the metadata in {source}" if source else "as it is made by default"
    return {task: task_coverage(scan, task, np.zeros(len(scan.records), dtype=bool)) for task in scan.tasks}, where


def _text(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {item}" for key, item in value.items()) or "-"
    if isinstance(value, list | tuple):
        between = "\n" if any(len(str(item)) > _SENTENCE for item in value) else ", "
        return between.join(str(item) for item in value) or "-"
    return str(value)


@app.command()
def prepare(
    dataset: Annotated[str, typer.Argument(help="A registered dataset; see `einthoven datasets list`.")],
    source: Annotated[
        Path | None, typer.Option(help="Folder of the dataset's files; default where `datasets download` puts them.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Sampling rate of the files to take, Hz; default the dataset's first.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the cohort; default DATASET-RATEhz.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="KEY=INTEGER, such as records=500 for the phantom; repeatable.")
    ] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Go on without records whose files do not exist; reports say so.")
    ] = False,
    bad_records: Annotated[str, typer.Option(help=BAD_RECORDS)] = "refuse",
    replace: Annotated[bool, typer.Option("--replace", help="Replace another cohort of the same name.")] = False,
) -> None:
    """Read a dataset once and store it as a cohort under $EINTHOVEN_HOME."""
    from einthoven.datasets.building import prepare as prepare_cohort

    bad = bad_records_of(bad_records)
    with counting_records(f"preparing {dataset}") as counter:
        cohort = prepare_cohort(
            dataset,
            source,
            rate=rate,
            name=name,
            options=dict(_integer(text) for text in option or []),
            allow_missing=allow_missing,
            bad_records=bad,
            replace=replace,
            progress=counter,
        )
    manifest = cohort.manifest
    if not counter.made:
        say("It was prepared before, from the same files by the same code, and is kept.")
    typer.echo(f"{cohort.name}: {_present(manifest)} records of {manifest.patients:,} patients in {cohort.path}")
    say_what_lacks(cohort)


def _integer(text: str) -> tuple[str, int]:
    from einthoven.foundation.errors import UsageError

    key, _separator, value = text.partition("=")
    try:
        return key.strip(), int(value)
    except ValueError:
        raise UsageError(f"--option {text!r}: expected KEY=INTEGER, such as records=500.") from None


@app.command()
def check(cohort: Annotated[str, typer.Argument(help="A prepared cohort.")]) -> None:
    """Compute a cohort's fingerprint again from its files, and compare."""
    from einthoven.datasets.cohort import Cohort

    opened = Cohort.open(cohort)
    opened.verify()
    typer.echo(f"{opened.name}: {len(opened):,} records, fingerprint {opened.fingerprint} holds")


@app.command()
def leaks(
    cohorts: Annotated[list[str], typer.Argument(help="Prepared cohorts: one to look within, more to look across.")],
    show_all: Annotated[
        bool, typer.Option("--all", help="List all pairs of records, not only those in different splits.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Find patients in two splits, and recordings under two ids; exit code 1 if a test score is flattered.

    Pairs of records in one split, or in none, flatter no score: without --all they are only counted. JSON has them all.
    """
    from dataclasses import asdict

    from einthoven.datasets.cohort import Cohort
    from einthoven.datasets.leaks import find_duplicates, find_patient_leaks

    opened = [Cohort.open(name) for name in cohorts]
    patients = [leak for cohort in opened for leak in find_patient_leaks(cohort)]
    duplicates = find_duplicates(opened)
    crossing = sum(duplicate.crosses_splits for duplicate in duplicates)
    if json:
        pairs = [{**asdict(duplicate), "crosses_splits": duplicate.crosses_splits} for duplicate in duplicates]
        show_json({"patients": [asdict(leak) for leak in patients], "duplicates": pairs})
    else:
        if patients:
            rows = [(leak.cohort, leak.rule, leak.patient_id, ", ".join(leak.splits)) for leak in patients]
            show_table(("cohort", "rule", "patient", "splits"), rows, title="Patients in more than one split")
        listed = [duplicate for duplicate in duplicates if show_all or duplicate.crosses_splits]
        if listed:
            show_table(
                ("record", "the same as", "correlation", "same patient id", "splits"),
                [
                    (
                        f"{d.first.cohort} {d.first.record_id}",
                        f"{d.second.cohort} {d.second.record_id}",
                        f"{d.correlation:.4f}",
                        "yes" if d.first.patient_id == d.second.patient_id else "no",
                        f"{d.first.split or '-'}, {d.second.split or '-'}" + (" (CROSSES)" if d.crosses_splits else ""),
                    )
                    for d in listed
                ],
                title="One recording under two ids",
            )
        if not show_all:
            _say_the_others(duplicates)
        total = sum(len(cohort) for cohort in opened)
        typer.echo(
            f"{total:,} records: {len(patients)} patient(s) in more than one split, {len(duplicates)} pair(s) of "
            f"records with the same recording, {crossing} of them across splits"
        )
    if patients or crossing:
        raise typer.Exit(1)


def _say_the_others(duplicates: Sequence[Duplicate]) -> None:
    """How many pairs are not listed, by the cohorts they lie in."""
    from collections import Counter

    others = Counter(
        (d.first.cohort, d.second.cohort, d.first.patient_id == d.second.patient_id)
        for d in duplicates
        if not d.crosses_splits
    )
    for (one, two, same), count in others.items():
        where = f"within {one}" if one == two else f"between {one} and {two}"
        say(f"{count:,} pair(s) {where}, in no two splits and of {'one patient id' if same else 'two'}: see --all")


@app.command()
def draw(
    cohort: Annotated[str, typer.Argument(help="A prepared cohort.")],
    record: Annotated[str | None, typer.Argument(help="A record id; default the first.")] = None,
    out: Annotated[Path, typer.Option(help="File to write, .svg or .png.")] = Path("ecg.svg"),
) -> None:
    """Draw one record on ECG paper."""
    import numpy as np

    from einthoven.datasets.cohort import Cohort
    from einthoven.foundation.errors import UsageError
    from einthoven.reports.ecg_paper import ecg_png, ecg_svg

    opened = Cohort.open(cohort)
    ids = list(opened.record_ids)
    record = record or str(ids[0])
    if record not in ids:
        raise UsageError(
            f"Cohort {opened.name} has no record {record!r}. It has {len(ids):,}, from {ids[0]} to {ids[-1]}."
        )
    signal = opened.signals(np.array([ids.index(record)]))[0]
    title = f"{opened.manifest.title} record {record}"
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".svg":
        out.write_text(ecg_svg(signal, opened.rate, leads=opened.leads, title=title), encoding="utf-8", newline="\n")
    elif out.suffix == ".png":
        out.write_bytes(ecg_png(signal, opened.rate, leads=opened.leads, title=title))
    else:
        raise UsageError(f"--out {out}: the file must end in .svg or .png.")
    typer.echo(str(out))
