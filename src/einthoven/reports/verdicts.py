"""What a study found, in sentences that claim no more than its intervals show."""

from __future__ import annotations

from dataclasses import dataclass

from einthoven.studies.results import ComparisonResult, Difference, Metric

from .formatting import interval, number, plural, with_interval
from .pairs import METRIC_NAMES, best_macro, estimates_of, find_difference, reversed_difference, what_it_shows
from .reading import StudyReading

# More encoders than this are told by their range: a list of twelve differences is a table, not a sentence.
_LISTED = 4


@dataclass(frozen=True)
class Verdict:
    """The finding of one task.

    Attributes:
        basis: over how many labels, records and patients.
        headline: the finding itself.
        clauses: how the others stand, and what else is to be known.
        defined: whether there is a finding at all.
    """

    task: str
    basis: str
    headline: str
    clauses: tuple[str, ...] = ()
    defined: bool = True


def task_verdict(study: StudyReading, task: str) -> Verdict:
    """The finding of one task: which encoder has the highest macro AUROC, and what can be told from it.

    "No difference can be shown" is said where the interval of the paired difference holds zero. It is not equality.
    """
    comparison = study.comparisons.get(task)
    if comparison is None:
        return Verdict(task, "", f"No result: {study.why_no_comparison(task)}.", defined=False)
    basis = basis_of(comparison)
    best = best_macro(comparison, "auroc")
    if best is None:
        reasons = sorted({e.reason for e in comparison.macro.auroc if e.reason}) or ["no label could be judged"]
        return Verdict(task, basis, f"No macro AUROC is defined: {'; '.join(reasons)}.", defined=False)
    value = with_interval(comparison.macro.auroc[comparison.encoders.index(best)])
    floor = " (a floor)" if best in study.floors else ""
    if len(comparison.encoders) == 1:
        return Verdict(task, basis, f"{best}{floor} has a macro AUROC of {value}; there is nothing to compare it with.")
    clauses = [*_standings(comparison, best, "auroc"), *_undefined(comparison)]
    baseline = study.spec.baseline
    if baseline is not None and baseline in comparison.encoders and baseline != best:
        clauses += _against_baseline(comparison, baseline, best)
    clauses.append(_by_average_precision(comparison, best))
    tied = [
        name
        for name, estimate in zip(comparison.encoders, comparison.macro.auroc, strict=True)
        if estimate.point == comparison.macro.auroc[comparison.encoders.index(best)].point and name != best
    ]
    shared = f" {plural(len(tied), 'other')} reach exactly the same: {', '.join(tied)}." if tied else ""
    return Verdict(task, basis, f"{best}{floor} has the highest macro AUROC, {value}.{shared}", tuple(clauses))


def basis_of(comparison: ComparisonResult) -> str:
    """What a comparison's macro means rest on."""
    judged = f"{len(comparison.macro.labels)} of {plural(comparison.macro.of, 'label')} judged"
    records = plural(comparison.records, "test record")
    if comparison.unit == "record":
        return f"{judged}; {records}"
    return f"{judged}; {records} of {plural(comparison.units, comparison.unit)}"


def _standings(comparison: ComparisonResult, best: str, metric: Metric) -> list[str]:
    """How every other encoder stands to the best; each is named or counted in exactly one clause."""
    ahead: dict[str, list[tuple[str, Difference]]] = {"higher": [], "undecided": [], "lower": []}
    unknown = []
    for name, estimate in zip(comparison.encoders, estimates_of(comparison.macro, metric), strict=True):
        if name == best or estimate.point is None:
            continue
        difference = find_difference(comparison.macro.differences.get(metric, ()), best, name)
        shows = what_it_shows(difference)
        if difference is None or shows == "undefined":
            unknown.append(name)
        else:
            ahead[shows].append((name, difference))
    clauses = []
    if ahead["undecided"]:
        clauses.append(f"No difference from it can be shown for {_listed(ahead['undecided'])}.")
    if ahead["higher"]:
        clauses.append(_lower(ahead["higher"]))
    clauses += [
        f"{name} has the lower point estimate, yet the interval of the difference favours it "
        f"({with_interval(difference.estimate)}): read this pair with care."
        for name, difference in ahead["lower"]
    ]
    if unknown:
        clauses.append(f"Not compared with it: {', '.join(unknown)}.")
    return clauses


def _lower(pairs: list[tuple[str, Difference]]) -> str:
    if len(pairs) <= _LISTED:
        told = "; ".join(f"{name} by {with_interval(difference.estimate)}" for name, difference in pairs)
        return f"Lower: {told}."
    sizes = [difference.estimate.point or 0.0 for _, difference in pairs]
    names = ", ".join(name for name, _ in pairs)
    return f"{len(pairs)} are lower, by {number(min(sizes))} to {number(max(sizes))}: {names}."


def _listed(pairs: list[tuple[str, Difference]]) -> str:
    if len(pairs) <= _LISTED:
        return "; ".join(f"{name} ({_from_highest(difference)})" for name, difference in pairs)
    return ", ".join(name for name, _ in pairs)


def _from_highest(difference: Difference) -> str:
    """Another minus the highest, with its sign: as the table of differences has it."""
    estimate = reversed_difference(difference).estimate
    return f"difference {number(estimate.point, signed=True)} {interval(estimate)}".rstrip()


def _undefined(comparison: ComparisonResult) -> list[str]:
    missing = [
        f"{name} ({estimate.reason or 'no reason given'})"
        for name, estimate in zip(comparison.encoders, comparison.macro.auroc, strict=True)
        if estimate.point is None
    ]
    return [f"No macro AUROC is defined for {'; '.join(missing)}."] if missing else []


def _against_baseline(comparison: ComparisonResult, baseline: str, best: str) -> list[str]:
    told = []
    for name in comparison.encoders:
        if name in (baseline, best):
            continue
        difference = find_difference(comparison.macro.differences.get("auroc", ()), name, baseline)
        if difference is None:
            continue
        shows = what_it_shows(difference)
        size = f"{number(difference.estimate.point, signed=True)} {interval(difference.estimate)}".rstrip()
        words = {"higher": "higher", "lower": "lower", "undecided": "no difference shown", "undefined": "undefined"}
        told.append(f"{name} {words[shows]} ({size})")
    if not told:
        return []
    if len(told) > _LISTED:
        return [f"How the others stand to the baseline {baseline} is in the table of differences."]
    return [f"Against the baseline {baseline}: {'; '.join(told)}."]


def _by_average_precision(comparison: ComparisonResult, best: str) -> str:
    name = METRIC_NAMES["average_precision"]
    leader = best_macro(comparison, "average_precision")
    if leader is None:
        return f"No macro {name} is defined."
    value = with_interval(comparison.macro.average_precision[comparison.encoders.index(leader)])
    if leader == best:
        return f"It also has the highest macro {name}, {value}."
    difference = find_difference(comparison.macro.differences.get("average_precision", ()), leader, best)
    ending = {
        "higher": "and the difference is shown",
        "undecided": f"but no difference from {best} can be shown",
    }.get(what_it_shows(difference), f"and was not compared with {best}")
    return f"By macro {name} the highest is {leader}, {value}, {ending}."
