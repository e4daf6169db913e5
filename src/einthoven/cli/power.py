"""`einthoven power`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import note, show_json, show_table

if TYPE_CHECKING:
    from einthoven.statistics.power import Assumptions
    from einthoven.studies.study_separability import TaskSeparability
    from einthoven.studies.task_power import LabelPower

_ENOUGH = 1.0
# Options that not every question takes.
_BELONGS = {
    "tasks": ("a cohort", "a study"),
    "split": ("a cohort",),
    "difference": ("a cohort", "numbers"),
    "auroc": ("a cohort", "numbers"),
    "correlation": ("a cohort", "numbers"),
    "alike": ("a cohort",),
    "by_label": ("a study",),
}
# Would be 0 with three decimals, and is not.
_SMALL = 5e-4
_TOO_MANY = "more than a billion positives"


def register(app: typer.Typer) -> None:
    """Add the command to the top level."""
    app.command()(power)


def power(
    context: typer.Context,
    cohort: Annotated[str | None, typer.Argument(help="A prepared cohort: what its tasks can show.")] = None,
    study: Annotated[
        Path | None, typer.Option(help="Folder of a study that has run: which encoders it could tell apart.")
    ] = None,
    tables: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Two tables of predictions: what they could tell apart.")
    ] = None,
    tasks: Annotated[str | None, typer.Option(help="Comma-separated tasks; default all.")] = None,
    split: Annotated[str | None, typer.Option(help="Split rule of the cohort; default its first.")] = None,
    positives: Annotated[
        float | None, typer.Option(help="Instead of a cohort: independent test records with the label.")
    ] = None,
    negatives: Annotated[float | None, typer.Option(help="And without it.")] = None,
    difference: Annotated[
        float | None, typer.Option(help="Also say how many positives it takes to show this difference of AUROC.")
    ] = None,
    auroc: Annotated[float, typer.Option(help="Assumed AUROC of the weaker encoder.")] = 0.85,
    correlation: Annotated[
        float, typer.Option(help="Assumed correlation of two encoders' AUROCs on one test set.")
    ] = 0.5,
    alike: Annotated[
        float, typer.Option(help="How much records of one patient repeat each other: 0 not at all, 1 wholly.")
    ] = 1.0,
    alpha: Annotated[float, typer.Option(help="Two-sided level of all comparisons together.")] = 0.05,
    chance: Annotated[float, typer.Option("--power", help="With which a true difference is to be found.")] = 0.8,
    comparisons: Annotated[
        int | None,
        typer.Option(min=1, help="How many comparisons share the level; default 1, or all pairs of a study."),
    ] = None,
    by_label: Annotated[bool, typer.Option("--by-label", help="Of a study: every judged label too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """The smallest difference of AUROC that a test set can show.

    Before a study: of a cohort's tasks, or of so many positives and negatives, under assumptions. After it: of a
    study's own draws, pair by pair.
    """
    from einthoven.foundation.errors import UsageError
    from einthoven.statistics.power import Assumptions

    asked = [cohort is not None, study is not None, tables is not None, positives is not None or negatives is not None]
    if sum(asked) != 1:
        raise UsageError(
            "Name one of: a prepared cohort (`einthoven power ptbxl-100hz`), a study that has run "
            "(--study runs/NAME), two tables of predictions (--tables A.csv B.csv), or numbers (--positives 40 "
            "--negatives 2000)."
        )
    named = zip(("a cohort", "a study", "tables", "numbers"), asked, strict=True)
    _refuse_others(context, next(name for name, given in named if given))
    chosen = tuple(dict.fromkeys(task.strip() for task in tasks.split(",") if task.strip())) if tasks else ()
    if tables is not None:
        _of_tables(tables, alpha, chance, comparisons, json=json)
        return
    if study is not None:
        _after(study, chosen, by_label, alpha, chance, comparisons, json=json)
        return
    assumed = Assumptions(auroc, correlation, alpha, chance, comparisons or 1)
    if cohort is not None:
        _before(cohort, chosen, split, assumed, alike, difference, json=json)
        return
    if positives is None or negatives is None:
        raise UsageError("Give both --positives and --negatives: an AUROC compares one with the other.")
    _numbers(positives, negatives, assumed, difference, json=json)


def _refuse_others(context: typer.Context, asked: str) -> None:
    """An option that would change nothing is refused: its answer would be taken for that of another question."""
    from einthoven.foundation.errors import UsageError

    for option, of in _BELONGS.items():
        source = context.get_parameter_source(option)
        if asked not in of and source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"--{option.replace('_', '-')} is of {' or '.join(of)}, not of {asked}: leave it out.")


def _numbers(positives: float, negatives: float, assumed: Assumptions, difference: float | None, *, json: bool) -> None:
    from einthoven.foundation.errors import UsageError
    from einthoven.statistics.power import needed_positives, power_to_show, smallest_difference

    if not (0 < positives < math.inf and 0 < negatives < math.inf):
        raise UsageError(f"--positives and --negatives: expected numbers above 0, found {positives} and {negatives}.")
    found = smallest_difference(positives, negatives, assumed)
    row: dict[str, Any] = {
        "positives": positives,
        "negatives": negatives,
        "smallest_difference": _or_none(found.difference),
        "reason": found.reason,
    }
    if difference is not None:
        share = positives / (positives + negatives)
        row["difference"] = difference
        row["power"] = _or_none(power_to_show(difference, positives, negatives, assumed))
        row |= _needed_row(needed_positives(difference, prevalence=share, assumed=assumed))
    if json:
        show_json({"assumed": vars(assumed), **row})
        return
    show_table(
        ("", "value"), [(key.replace("_", " "), _shown(value)) for key, value in row.items() if value is not None]
    )
    _say_assumed(assumed, None)


def _before(
    name: str,
    tasks: tuple[str, ...],
    rule: str | None,
    assumed: Assumptions,
    alike: float,
    difference: float | None,
    *,
    json: bool,
) -> None:
    from einthoven.datasets.cohort import Cohort
    from einthoven.studies.comparing import partial_cohort
    from einthoven.studies.task_power import task_power

    cohort = Cohort.open(name)
    partial = partial_cohort(cohort.manifest)
    chosen = tasks or tuple(cohort.manifest.tasks)
    found = [
        label
        for task in chosen
        for label in task_power(cohort, task, rule=rule, assumed=assumed, alike=alike, difference=difference)
    ]
    if json:
        rows = [_label_row(label) for label in found]
        show_json(
            {
                "cohort": name,
                "partial": partial,
                "split": rule or cohort.manifest.split_rules[0],
                "assumed": vars(assumed),
                "alike": alike,
                "labels": rows,
            }
        )
        return
    columns = ["task", "label", "positives", "their patients", "negatives", "smallest difference"]
    if difference is not None:
        columns.append("positives needed")
    rows = []
    for label in found:
        support = label.support
        row = [label.task, label.label, support.positives, support.positive_patients, support.negatives]
        row.append(_shown(_or_none(label.smallest.difference)))
        rows.append(row if label.needed is None else [*row, _shown_needed(label.needed)])
    title = f"Smallest difference of AUROC on test, split {rule or cohort.manifest.split_rules[0]}"
    needed = f"; positives needed to show {difference:g}" if difference is not None else ""
    show_table(columns, rows, title=title + needed)
    for label in found:
        if label.smallest.reason is not None:
            note(f"{label.task} {label.label}: {label.smallest.reason}")
    if partial is not None:
        note(f"Partial cohort: {partial}")
    _say_assumed(assumed, alike)


def _label_row(label: LabelPower) -> dict[str, Any]:
    row = {"task": label.task, "label": label.label, **vars(label.support)}
    row |= {"smallest_difference": _or_none(label.smallest.difference), "reason": label.smallest.reason}
    return row if label.needed is None else {**row, **_needed_row(label.needed)}


def _needed_row(needed: float) -> dict[str, Any]:
    """For JSON, which has neither NaN nor infinity; the reason for a NaN is that of the smallest difference."""
    row: dict[str, Any] = {"needed_positives": _or_none(needed)}
    return {**row, "needed_reason": _TOO_MANY} if math.isinf(needed) else row


def _shown_needed(needed: float) -> str:
    return "> 1e9" if math.isinf(needed) else _shown(_or_none(needed), whole=True)


def _after(
    folder: Path,
    tasks: tuple[str, ...],
    by_label: bool,
    alpha: float,
    chance: float,
    comparisons: int | None,
    *,
    json: bool,
) -> None:
    from einthoven.studies.study_separability import study_separability

    found = study_separability(
        folder, tasks=tasks, by_label=by_label, alpha=alpha, power=chance, comparisons=comparisons
    )
    from einthoven.studies.comparing import StudyPredictions

    partial = StudyPredictions(folder).partial()
    _show_pairs(
        found, "pairs of a task", alpha, chance, comparisons, {"study": str(folder), "partial": partial}, json=json
    )


def _of_tables(files: tuple[Path, Path], alpha: float, chance: float, comparisons: int | None, *, json: bool) -> None:
    from einthoven.studies.study_separability import tables_separability

    found = tables_separability(files, alpha=alpha, power=chance, comparisons=comparisons)
    place = {"tables": [str(file) for file in files], "partial": None}
    _show_pairs(found, "pairs of tables", alpha, chance, comparisons, place, json=json)


def _show_pairs(
    found: tuple[TaskSeparability, ...],
    family: str,
    alpha: float,
    chance: float,
    comparisons: int | None,
    place: dict[str, Any],
    *,
    json: bool,
) -> None:
    size = comparisons if comparisons is not None else len(found[0].pairs)
    over = f"{size} comparison{'' if size == 1 else 's'}" + ("" if comparisons is not None else f" (all {family})")
    if json:
        settings = {"alpha": alpha, "power": chance, "comparisons": size, "adjust": "bonferroni", "family": over}
        show_json({**place, **settings, "tasks": [_pairs_row(entry) for entry in found]})
        return
    for entry in found:
        metric = "AUROC" if entry.metric == "auroc" else "AUPRC"
        rows = [
            (
                pair.a,
                pair.b,
                _shown(_or_none(pair.difference), signed=True),
                _shown(_or_none(pair.smallest)),
                pair.reason or _reach(pair.times),
            )
            for pair in entry.pairs
        ]
        title = f"{entry.task}: {f'{metric} of {entry.label}' if entry.label else f'macro {metric}'}"
        show_table(("a", "b", "a minus b", "smallest difference", "within reach"), rows, title=title)
    note(
        f"Smallest difference: the true one that this test set finds with power {chance:g}, at a level of {alpha:g} "
        f"over {over}, by Bonferroni; from the spread of the paired draws. Within reach: whether a true difference as "
        "large as the observed one would be, or how many times as many patients that would take. `einthoven compare` "
        "adjusts over the judged labels of one task and pair instead (Holm)."
    )
    if place["partial"] is not None:
        note(f"Partial cohort: {place['partial']}")


def _pairs_row(entry: TaskSeparability) -> dict[str, Any]:
    pairs = []
    for pair in entry.pairs:
        row = {key: _or_none(value) for key, value in vars(pair).items()}
        if math.isinf(pair.times):
            row["times_reason"] = "no difference was observed, which no number of patients shows"
        pairs.append(row)
    return {"task": entry.task, "metric": entry.metric, "label": entry.label, "reason": entry.reason, "pairs": pairs}


def _reach(times: float) -> str:
    if math.isnan(times):
        return "-"
    if times <= _ENOUGH:
        return "yes"
    return "never" if math.isinf(times) else f"with {times:.3g}x the patients"


def _say_assumed(assumed: Assumptions, alike: float | None) -> None:
    patients = "" if alike is None else f", records of one patient alike {alike:g}"
    options = ("auroc", "correlation", *(() if alike is None else ("alike",)), "alpha", "comparisons", "power")
    note(
        f"Assumed: AUROC {assumed.auroc:g}, correlation {assumed.correlation:g} (see --study for that of your pairs)"
        f"{patients}; level {assumed.alpha:g} over {assumed.comparisons} "
        f"comparison{'' if assumed.comparisons == 1 else 's'} by Bonferroni, power {assumed.power:g}. `einthoven "
        "compare` adjusts over the judged labels of a task (Holm). "
        f"Change them with {', '.join(f'--{option}' for option in options)}."
    )


def _shown(value: object, *, signed: bool = False, whole: bool = False) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    if whole or (value.is_integer() and abs(value) >= 1):
        return f"{value:,.0f}"
    sign = "+" if signed else ""
    if 0 < abs(value) < _SMALL:
        return f"{value:{sign}.1g}"
    return f"{value:{sign}.3f}" if signed or abs(value) < 1 else f"{value:,.6g}"


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
