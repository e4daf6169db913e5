"""`einthoven compare`."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import note, show_json, show_table

if TYPE_CHECKING:
    from einthoven.statistics.intervals import Interval
    from einthoven.statistics.pair_comparison import Compared, PairComparison
    from einthoven.studies.comparing import EncoderComparison

_METRICS = {"auroc": "AUROC", "average_precision": "AUPRC"}
_ALIASES = {"auprc": "average_precision"}
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
_INTERVALS = {
    "percentile": "paired bootstrap, percentile",
    "bca": "paired bootstrap, BCa",
    "jackknife": "jackknife",
}
# Beside a verdict where the adjusted p and the interval disagree.
_MARKS = {None: "", "p": " (p only)", "interval": " (interval only)"}


def register(app: typer.Typer) -> None:
    """Add the command to the top level."""
    app.command()(compare)


def compare(
    a: Annotated[str, typer.Argument(help="An encoder of a study, or a table of predictions (.csv, .parquet).")],
    b: Annotated[str, typer.Argument(help="Another one.")],
    task: Annotated[str | None, typer.Option(help="Of the study; default its only one.")] = None,
    study: Annotated[Path | None, typer.Option(help="The study's folder; default the only one below runs/.")] = None,
    metric: Annotated[str, typer.Option(help="auroc or average_precision (auprc).")] = "auroc",
    test: Annotated[str, typer.Option(help="permutation, bootstrap or delong.")] = "permutation",
    exchange: Annotated[
        str | None,
        typer.Option(help="What the permutation exchanges: scores (default of a study) or ranks (of tables)."),
    ] = None,
    interval: Annotated[
        str, typer.Option(help="Of the difference: percentile, bca or jackknife (docs/intervals.md).")
    ] = "percentile",
    adjust: Annotated[
        str, typer.Option(help="Over the judged labels of the task: holm, bonferroni, bh, by or none.")
    ] = "holm",
    unit: Annotated[
        str | None, typer.Option(help="Drawn and swapped together: patient or record; default the study's, or patient.")
    ] = None,
    draws: Annotated[
        int | None, typer.Option(min=100, help="Bootstrap draws and swaps; default the study's, or 1000.")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Level of the verdicts; intervals have confidence 1 - alpha. Default from the study's confidence, "
            "or 0.05."
        ),
    ] = None,
    minimum_positives: Annotated[
        int | None,
        typer.Option(
            min=1, help="Fewest test positives, and negatives, of a judged label; default the study's, or 10."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Compare two encoders label by label and on average: difference, interval, p-values, verdict.

    From a study that has run, or from two tables of any program with the columns record_id, label, target and score
    (or logit, or probability), and patient_id where patients have several records.
    """
    from einthoven.foundation.errors import UsageError

    metric = _ALIASES.get(metric, metric)
    for option, given, known in (
        ("--metric", metric, [*_METRICS]),
        ("--test", test, [*_TESTS]),
        ("--exchange", exchange or "ranks", ["ranks", "scores"]),
        ("--interval", interval, [*_INTERVALS]),
        ("--adjust", adjust, [*_ADJUSTED, "none"]),
        ("--unit", unit or "patient", ["patient", "record"]),
    ):
        if given not in known:
            hint = (
                " jackknife-logit is of a value, and a difference is none; take jackknife." if "logit" in given else ""
            )
            raise UsageError(f"{option}: expected one of {', '.join(known)}, found {given!r}.{hint}")
    if exchange is not None and test != "permutation":
        raise UsageError(f"--exchange is of the permutation test, not of {test}: leave it out.")
    settings: dict[str, Any] = {
        "metric": metric,
        "test": test,
        "interval": interval,
        "adjust": None if adjust == "none" else adjust,
        "unit": unit,
        "draws": draws,
        "alpha": alpha,
        "minimum_positives": minimum_positives,
    }
    if exchange is not None:
        settings["exchange"] = exchange
    if _is_table(a) != _is_table(b):
        raise UsageError(
            f"Two encoders of a study or two tables of predictions (.csv, .parquet) were expected, found one of each: "
            f"{a} and {b}."
        )
    from einthoven.studies.comparing import compare_study, compare_tables, only_study

    if _is_table(a):
        if task is not None or study is not None:
            raise UsageError("Tables of predictions belong to no study: leave --task and --study out.")
        found = compare_tables([Path(a), Path(b)], **settings)
    else:
        found = compare_study(study or only_study(Path("runs")), a, b, task=task, **settings)
    if json:
        place = {key: value for key, value in asdict(found).items() if key != "compared"}
        words = {"test_name": _test_name(found.compared), "interval_name": _INTERVALS[found.compared.interval]}
        show_json({**place, **words, **asdict(found.compared)})
        return
    _show(found)


def _is_table(name: str) -> bool:
    return name.lower().endswith((".csv", ".parquet"))


def _show(result: EncoderComparison) -> None:
    found, unit = result.compared, result.unit
    what = result.task or "the tables"
    rows = [
        _row(entry.label, str(entry.positives), entry.compared, _p(entry.compared, entry.compared.p_adjusted))
        for entry in found.labels
    ]
    rows.append(_row(f"macro of {found.macro_labels}", "", found.macro, ""))
    title = f"{_METRICS[found.metric]} on {what}: a = {result.a}, b = {result.b}"
    columns = ("label", "pos.", "a", "b", "a - b", f"{100 * (1 - found.alpha):.12g}%", "p", "p adj.", "verdict")
    show_table(columns, rows, title=title, compact=True)
    of_units = f"{found.draws} draws of whole {unit}s"
    drawn = "" if found.test == "delong" else f", {of_units}"
    of_interval = "" if found.interval == "jackknife" else f", {of_units}"
    note(
        f"{_count(result.records, 'test record')} of {_count(found.units, unit)}. p: {_test_name(found)}{drawn}, "
        f"{_family(found)}; the macro average is a question of its own. Intervals: {_INTERVALS[found.interval]}"
        f"{of_interval}, not adjusted. One is called higher where the adjusted p is at most {found.alpha:g} and the "
        "interval excludes zero. A difference that is not shown is not equality."
    )
    if found.adjust:
        note("`einthoven power` shares its level by Bonferroni over what it names, a stricter rule than Holm's.")
    if result.partial is not None:
        note(f"Partial cohort: {result.partial}")
    alone = [(entry.label, entry.compared) for entry in found.labels] + [("macro", found.macro)]
    for only, words in (
        ("p", "the p-value alone shows a difference, the interval holds zero or is missing; none is claimed"),
        ("interval", "the interval alone excludes zero, the adjusted p does not come down to alpha; none is claimed"),
    ):
        names = [name for name, one in alone if one.only == only]
        if names:
            note(f"{', '.join(names)}: {words}.")
    if found.draws < found.least_draws:
        note(
            f"{found.draws} draws are too few to show a difference of any label, however large: no adjusted p comes "
            f"down to {found.alpha:g}. Take --draws {found.least_draws} or more."
        )
    _say_reasons(found)


def _say_reasons(found: PairComparison) -> None:
    reasons: dict[str, list[str]] = {}
    for entry in found.labels:
        reason = entry.compared.reason or (entry.compared.only == "p" and entry.compared.difference.reason) or None
        if reason:
            reasons.setdefault(reason, []).append(entry.label)
    for reason, labels in reasons.items():
        note(f"{', '.join(labels)}: {reason}")
    if found.macro.reason:
        note(f"macro: {found.macro.reason}")


def _test_name(found: PairComparison) -> str:
    return _TESTS[found.test] + (f" of {found.exchange}" if found.exchange else "")


def _family(found: PairComparison) -> str:
    if not found.adjust:
        return "not adjusted"
    return f"adjusted by {_ADJUSTED[found.adjust]} over {_count(found.family, 'judged label')} of this task"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _row(name: str, positives: str, compared: Compared, adjusted: str) -> tuple[str, ...]:
    return (
        name,
        positives,
        _value(compared.a),
        _value(compared.b),
        _value(compared.difference.point, signed=True),
        _limits(compared.difference),
        _p(compared, compared.p),
        adjusted,
        _SHORT[compared.verdict] + _MARKS[compared.only],
    )


def _limits(found: Interval) -> str:
    return "-" if math.isnan(found.low) else f"[{found.low:+.3f}, {found.high:+.3f}]"


def _value(value: float, *, signed: bool = False) -> str:
    return "-" if math.isnan(value) else f"{value:+.3f}" if signed else f"{value:.3f}"


def _p(compared: Compared, value: float) -> str:
    if math.isnan(value):
        return "-"
    # So many draws can give no less: more of them might.
    least = "<=" if compared.p_at_floor and value < 1 else ""
    return least + (f"{value:.3f}" if round(value, 3) >= 1e-3 else f"{value:.1g}")
