"""What a reader must know before believing a number: what is missing, thin, or may mislead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from einthoven.datasets.manifest import CohortSummary

from .formatting import count, percent, plural, without_folders
from .origins import origins
from .reading import StudyReading

# Below this many positives a 95 % percentile interval of AUROC covers clearly less than it claims; see methods.
FEW_POSITIVES = 50

Level = Literal["serious", "caution", "note"]


@dataclass(frozen=True)
class Caution:
    """One thing to know.

    Attributes:
        level: "serious" makes numbers unusable for a claim, "caution" limits them, "note" is good to know.
        title: the thing itself, one line.
        detail: what follows from it.
        items: the single cases.
    """

    level: Level
    title: str
    detail: str = ""
    items: tuple[str, ...] = ()


def cautions(study: StudyReading) -> list[Caution]:
    """Everything to be warned of, the serious first; the order within a level is fixed."""
    rules: tuple[Callable[[StudyReading], list[Caution]], ...] = (
        _synthetic, _records, _positives, _floors, _pretraining, _low_support, _undefined, _few_positives,
        _undefined_draws, _no_width, _grid_edge, _unconverged, _split_rule, _mixed, _flagged, _notes,
    )  # fmt: skip
    found = [caution for rule in rules for caution in rule(study)]
    rank: dict[Level, int] = {"serious": 0, "caution": 1, "note": 2}
    return sorted(found, key=lambda caution: rank[caution.level])


def _synthetic(study: StudyReading) -> list[Caution]:
    if study.cohort is None or study.cohort.cohort.dataset != "phantom":
        return []
    title = "The ECGs are synthetic (the phantom)."
    detail = "Scores show that the machinery works. They say nothing about how good an encoder is on patients."
    return [Caution("serious", title, detail)]


def _records(study: StudyReading) -> list[Caution]:
    if study.cohort is None:
        return []
    cohort = study.cohort.cohort
    if cohort.records >= cohort.promised_records and not cohort.excluded.counts:
        return []
    share = cohort.records / cohort.promised_records if cohort.promised_records else 0.0
    return [
        Caution(
            "serious" if share < 0.95 else "caution",
            f"{count(cohort.records)} of {plural(cohort.promised_records, 'record')} of {cohort.title} are in "
            f"the cohort ({100 * share:.3g} %).",
            "Scores are of the records present. Do not compare them with numbers on the whole dataset.",
            tuple(
                f"{plural(number, 'record')}: {without_folders(reason)}{_first_ids(cohort, reason)}"
                for reason, number in cohort.excluded.counts.items()
            ),
        )
    ]


def _first_ids(cohort: CohortSummary, reason: str) -> str:
    first = cohort.excluded.first.get(reason)
    return f" (first: {', '.join(first)})" if first and cohort.may_be_shown else ""


def _positives(study: StudyReading) -> list[Caution]:
    if study.cohort is None:
        return []
    items = []
    for task in study.tasks:
        coverage = study.cohort.cohort.tasks.get(task)
        if coverage is None:
            continue
        promised = sum(coverage.positives_promised.get("test", {}).values())
        present = sum(coverage.positives_present.get("test", {}).values())
        lost = [
            label
            for label in coverage.labels
            if coverage.positives_promised.get("test", {}).get(label, 0) > 0
            and coverage.positives_present.get("test", {}).get(label, 0) == 0
        ]
        if present < promised:
            gone = f"; none left of {', '.join(lost)}" if lost else ""
            items.append(f"{task}: {count(present)} of {count(promised)} are here{gone}")
    if not items:
        return []
    return [Caution("caution", "The cohort has fewer test positives than its source promises.", "", tuple(items))]


def _floors(study: StudyReading) -> list[Caution]:
    baseline = study.spec.baseline
    if study.embeddings and set(study.embeddings) <= study.floors and len(study.embeddings) == len(study.encoders):
        detail = "Nothing here was trained on ECGs: this is what a trained encoder has to beat, not a result about one."
        return [Caution("note", "Every encoder here is a floor.", detail)]
    if baseline is not None and baseline in study.floors:
        summary = study.embeddings[baseline].summary
        detail = f"{summary} To be better than it is the least that can be asked of an encoder."
        return [Caution("note", f"The baseline {baseline} is a floor.", detail)]
    return []


def _pretraining(study: StudyReading) -> list[Caution]:
    if study.cohort is None:
        return []
    dataset = study.cohort.cohort.dataset
    unknown, seen = [], []
    for name, result in study.embeddings.items():
        if result.pretraining == "unknown":
            unknown.append(name)
        elif dataset in result.pretraining:
            note = f" ({result.pretraining_note})" if result.pretraining_note else ""
            seen.append(f"{name}: {', '.join(result.pretraining)}{note}")
    found = []
    if seen:
        title = f"{plural(len(seen), 'encoder')} had this dataset in pretraining."
        found.append(Caution("caution", title, "Their scores may profit from records they have seen.", tuple(seen)))
    if unknown:
        title = f"What {plural(len(unknown), 'encoder')} had in pretraining is unknown."
        found.append(Caution("caution", title, "That test records were seen cannot be excluded.", tuple(unknown)))
    return found


def _low_support(study: StudyReading) -> list[Caution]:
    items, total, of, minimum = [], 0, 0, study.spec.support.minimum_positives
    for task, comparison in study.comparisons.items():
        low = [s for s in comparison.labels if not s.judged]
        total, of, minimum = total + len(low), of + len(comparison.labels), comparison.minimum_positives
        if low:
            names = ", ".join(f"{s.label} ({s.positives})" for s in low)
            items.append(f"{task}, {len(low)} of {len(comparison.labels)}: {names}")
    if not items:
        return []
    return [
        Caution(
            "caution",
            f"{total} of {plural(of, 'label')} are not judged.",
            f"A label with fewer than {minimum} positive or negative test records, or without a probe, is in no mean "
            "and no verdict. The number of test positives is in brackets.",
            tuple(items),
        )
    ]


def _undefined(study: StudyReading) -> list[Caution]:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for (task, _), probe in study.probes.items():
        for label in probe.labels:
            if label.reason is not None:
                names = by_reason.setdefault((task, label.reason), [])
                if label.label not in names:
                    names.append(label.label)
    if not by_reason:
        return []
    total = len({(task, name) for (task, _), names in by_reason.items() for name in names})
    items = tuple(
        f"{task}, {without_folders(reason)}: {', '.join(names)}" for (task, reason), names in by_reason.items()
    )
    return [Caution("caution", f"{plural(total, 'label has', 'labels have')} no probe.", "", items)]


def _few_positives(study: StudyReading) -> list[Caution]:
    items = []
    for task, comparison in study.comparisons.items():
        few = [f"{s.label} ({s.positives})" for s in comparison.labels if s.judged and s.positives < FEW_POSITIVES]
        if few:
            items.append(f"{task}: {', '.join(few)}")
    if not items:
        return []
    claimed = percent(study.spec.bootstrap.confidence)
    return [
        Caution(
            "note",
            f"Some judged labels have fewer than {FEW_POSITIVES} test positives.",
            f"Their intervals are somewhat too narrow: they hold the truth less often than the {claimed} they claim.",
            tuple(items),
        )
    ]


def _undefined_draws(study: StudyReading) -> list[Caution]:
    items = []
    for task, comparison in study.comparisons.items():
        worst = max((e.undefined_draws for e in comparison.macro.auroc), default=0)
        if worst and any(scores.judged for scores in comparison.labels):
            items.append(f"{task}: {worst} of {comparison.draws} draws")
    if not items:
        return []
    detail = "In these draws a judged label had no positive record; they are left out of the interval of the mean."
    return [Caution("note", "Some bootstrap draws have no macro mean.", detail, tuple(items))]


def _no_width(study: StudyReading) -> list[Caution]:
    """A score of 1 in every draw has an interval without width, which claims a certainty that nobody has."""
    items = []
    for task, comparison in study.comparisons.items():
        names = [
            f"{scores.label} ({name})"
            for scores in comparison.labels
            if scores.judged
            for name, estimate in zip(comparison.encoders, scores.auroc, strict=True)
            if estimate.low is not None and estimate.low == estimate.high
        ]
        if names:
            items.append(f"{task}: {', '.join(names)}")
    if not items:
        return []
    detail = "Every draw gave the same score: the interval says nothing of patients who were not drawn."
    return [Caution("note", "Some intervals have no width.", detail, tuple(items))]


def _grid_edge(study: StudyReading) -> list[Caution]:
    items, at_edge, fitted = [], 0, 0
    for (task, encoder), probe in study.probes.items():
        edge = [label.label for label in probe.labels if label.at_grid_edge]
        fitted += sum(label.reason is None for label in probe.labels)
        at_edge += len(edge)
        if edge:
            items.append(f"{encoder} on {task}, {len(edge)} of {len(probe.labels)}: {', '.join(edge)}")
    if not at_edge:
        return []
    strengths = study.spec.probe.C
    return [
        Caution(
            "caution" if at_edge > fitted / 2 else "note",
            f"{at_edge} of {plural(fitted, 'probe')} chose a C at the edge of the grid.",
            f"The grid of C reaches from {min(strengths):g} to {max(strengths):g}; a wider one might give these probes "
            "other scores.",
            tuple(items),
        )
    ]


def _unconverged(study: StudyReading) -> list[Caution]:
    items, total = [], 0
    for (task, encoder), probe in study.probes.items():
        settings = sum(label.unconverged_settings for label in probe.labels)
        total += settings
        if settings:
            names = [label.label for label in probe.labels if label.unconverged_settings]
            items.append(f"{encoder} on {task}, {plural(settings, 'fit')}: {', '.join(names)}")
    if not total:
        return []
    detail = "Their settings compete with weights that are not the optimum."
    return [Caution("caution", f"{plural(total, 'probe fit')} did not converge.", detail, tuple(items))]


def _split_rule(study: StudyReading) -> list[Caution]:
    cohort = study.cohort
    if cohort is None or not cohort.cohort.split_rules or cohort.split_rule == cohort.cohort.split_rules[0]:
        return []
    title = f"The split rule is {cohort.split_rule}, not the cohort's default {cohort.cohort.split_rules[0]}."
    detail = "Promised and present counts of the coverage table are by the default rule."
    return [Caution("caution", title, detail)]


def _mixed(study: StudyReading) -> list[Caution]:
    """Keys hold what was asked for, not the libraries that answered; where these differ a reader must know."""
    differing = [origin for origin in origins(study) if origin.differs and origin.decides]
    if not differing:
        return []
    detail = "Differences between encoders may in part be differences between versions. Run in a new folder to be sure."
    items = tuple(f"{origin.name}: {', '.join(origin.values)}" for origin in differing)
    level: Level = "note" if [origin.name for origin in differing] == ["commit"] else "caution"
    return [Caution(level, "Not all cells were made by the same software.", detail, items)]


def _flagged(study: StudyReading) -> list[Caution]:
    flags = {} if study.cohort is None else {k: v for k, v in study.cohort.cohort.flagged.items() if v}
    if not flags:
        return []
    items = tuple(f"{plural(number, 'record')}: {flag}" for flag, number in flags.items())
    return [Caution("note", "Some signals are flagged for quality.", "Flagged records are kept.", items)]


def _notes(study: StudyReading) -> list[Caution]:
    notes = () if study.cohort is None else study.cohort.cohort.notes
    if not notes:
        return []
    return [Caution("note", "Notes on the cohort.", "", tuple(without_folders(note) for note in notes))]
