"""`einthoven compare`."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import say, show_json, show_table

if TYPE_CHECKING:
    from einthoven.statistics.intervals import Interval
    from einthoven.statistics.pair_comparison import Compared, PairComparison

_METRICS = {"auroc": "AUROC", "average_precision": "AUPRC"}
_ADJUSTED = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}
_SHORT = {
    "a higher": "a > b",
    "b higher": "a < b",
    "no difference shown": "not shown",
    "not judged": "not judged",
    "undefined": "undefined",
}
_TESTS = {
    "permutation": "whole-row swap permutation",
    "bootstrap": "paired bootstrap",
    "delong": "DeLong, clustered",
}


def register(app: typer.Typer) -> None:
    """Add the command to the top level."""
    app.command()(compare)


def compare(
    a: Annotated[str, typer.Argument(help="An encoder of a study, or a table of predictions (.csv, .parquet).")],
    b: Annotated[str, typer.Argument(help="Another one.")],
    task: Annotated[str | None, typer.Option(help="Of the study; default its only one.")] = None,
    study: Annotated[Path | None, typer.Option(help="The study's folder; default the only one below runs/.")] = None,
    metric: Annotated[str, typer.Option(help="auroc or average_precision.")] = "auroc",
    test: Annotated[str, typer.Option(help="permutation, bootstrap or delong.")] = "permutation",
    adjust: Annotated[
        str, typer.Option(help="Over the judged labels of the task: holm, bonferroni, bh, by or none.")
    ] = "holm",
    unit: Annotated[str | None, typer.Option(help="Drawn and swapped together: patient (default) or record.")] = None,
    draws: Annotated[int | None, typer.Option(min=100, help="Bootstrap draws and swaps; default 1000.")] = None,
    alpha: Annotated[float, typer.Option(help="Level of the verdicts; intervals have confidence 1 - alpha.")] = 0.05,
    minimum_positives: Annotated[
        int | None, typer.Option(min=1, help="Fewest test positives, and negatives, of a judged label; default 10.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Compare two encoders label by label and on average: difference, interval, p-values, verdict.

    From a study that has run, or from two tables of any program with the columns record_id, label, target and score
    (or logit, or probability), and patient_id where patients have several records.
    """
    from einthoven.foundation.errors import UsageError
    from einthoven.statistics.pair_comparison import compare_pair

    for option, given, known in (
        ("--metric", metric, [*_METRICS]),
        ("--test", test, [*_TESTS]),
        ("--adjust", adjust, [*_ADJUSTED, "none"]),
        ("--unit", unit or "patient", ["patient", "record"]),
    ):
        if given not in known:
            raise UsageError(f"{option}: expected one of {', '.join(known)}, found {given!r}.")
    settings: dict[str, Any] = {"draws": draws or 1000, "seed": 0, "minimum_positives": minimum_positives or 10}
    if _is_table(a) != _is_table(b):
        raise UsageError(
            f"Two encoders of a study or two tables of predictions (.csv, .parquet) were expected, found one of each: "
            f"{a} and {b}."
        )
    if _is_table(a):
        from einthoven.studies.prediction_tables import read_prediction_tables

        if task is not None or study is not None:
            raise UsageError("Tables of predictions belong to no study: leave --task and --study out.")
        found = read_prediction_tables([Path(a), Path(b)])
        what = "the tables"
        if not found.has_patients:
            if unit == "patient":
                raise UsageError("--unit patient: the tables were expected to have a column patient_id each.")
            unit = "record"
    else:
        from einthoven.studies.comparing import StudyPredictions, only_study

        source = StudyPredictions(study or only_study(Path("runs")))
        if task is None and len(source.tasks) > 1:
            raise UsageError(f"Which task of {', '.join(source.tasks)}? Name one with --task.")
        what = task if task is not None else next(iter(source.tasks))
        found = source.read(what, (a, b))
        settings = {
            "draws": draws or source.bootstrap.draws,
            "seed": source.seed,
            "minimum_positives": minimum_positives or source.support.minimum_positives,
        }
        unit = unit or source.bootstrap.unit
    unit = unit or "patient"
    compared = compare_pair(
        found.targets,
        found.scores,
        labels=found.labels,
        units=found.units(unit),
        metric=metric,  # type: ignore[arg-type]  # checked above
        test=test,  # type: ignore[arg-type]  # checked above
        adjust=None if adjust == "none" else adjust,  # type: ignore[arg-type]  # checked above
        alpha=alpha,
        undefined=found.reasons,
        **settings,
    )
    if json:
        show_json(
            _plain({"a": found.encoders[0], "b": found.encoders[1], "task": what, "unit": unit, **asdict(compared)})
        )
        return
    _show(compared, found.encoders, what, unit, records=len(found.targets))


def _is_table(name: str) -> bool:
    return name.lower().endswith((".csv", ".parquet"))


def _show(found: PairComparison, encoders: tuple[str, ...], what: str, unit: str, *, records: int) -> None:
    rows = [
        _row(entry.label, str(entry.positives), entry.compared, _p(entry.compared.p_adjusted)) for entry in found.labels
    ]
    rows.append(_row(f"macro of {found.macro_labels}", "", found.macro, ""))
    title = f"{_METRICS[found.metric]} on {what}: a = {encoders[0]}, b = {encoders[1]}"
    columns = ("label", "pos.", "a", "b", "a - b", f"{100 * (1 - found.alpha):.12g}%", "p", "p adj.", "verdict")
    show_table(columns, rows, title=title, compact=True)
    adjusted = (
        f"adjusted by {_ADJUSTED[found.adjust]} over {found.family} judged labels" if found.adjust else "not adjusted"
    )
    of_units = f"{found.draws} draws of whole {unit}s"
    p = (
        f"{_TESTS[found.test]}, {adjusted}"
        if found.test == "delong"
        else f"{_TESTS[found.test]}, {of_units}, {adjusted}"
    )
    say(
        f"{records} test records of {found.units} {unit}s. p: {p}; the macro average is a question of its own. "
        f"Intervals: paired bootstrap, {of_units}, not adjusted. A difference that is not shown is not equality."
    )
    if found.draws < found.least_draws:
        say(
            f"{found.draws} draws are too few to show a difference of any label, however large: no adjusted p comes "
            f"down to {found.alpha:g}. Take --draws {found.least_draws} or more."
        )
    reasons: dict[str, list[str]] = {}
    for entry in found.labels:
        if entry.compared.reason:
            reasons.setdefault(entry.compared.reason, []).append(entry.label)
    for reason, labels in reasons.items():
        say(f"{', '.join(labels)}: {reason}")
    if found.macro.reason:
        say(f"macro: {found.macro.reason}")


def _row(name: str, positives: str, compared: Compared, adjusted: str) -> tuple[str, ...]:
    return (
        name,
        positives,
        _value(compared.a),
        _value(compared.b),
        _value(compared.difference.point, signed=True),
        _limits(compared.difference),
        _p(compared.p),
        adjusted,
        _SHORT[compared.verdict],
    )


def _limits(found: Interval) -> str:
    return "-" if math.isnan(found.low) else f"{found.low:+.3f} {found.high:+.3f}"


def _value(value: float, *, signed: bool = False) -> str:
    return "-" if math.isnan(value) else f"{value:+.3f}" if signed else f"{value:.3f}"


def _p(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}" if value >= 1e-3 else f"{value:.1g}"


def _plain(value: Any) -> Any:
    """The same for JSON, which has no NaN: null, and the reason stands beside it."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
