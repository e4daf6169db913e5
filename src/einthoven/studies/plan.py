"""From a specification to the complete list of cells, before anything runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from einthoven.datasets.cohort import Cohort
from einthoven.datasets.dataset import SPLITS
from einthoven.foundation.errors import UsageError, unknown_name

from .cells import Cell
from .choices import with_named_encoders
from .kinds.cohort import plan_cohort
from .kinds.comparison import plan_comparison
from .kinds.embedding import plan_embedding
from .kinds.probe import plan_probe
from .spec import RepresentationsSpec


@dataclass(frozen=True)
class Plan:
    """Every cell of a study, in an order in which each comes after what it needs.

    Attributes:
        spec: the specification, with tasks and split rule filled in.
    """

    spec: RepresentationsSpec
    cells: tuple[Cell, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of all cells, in order."""
        return tuple(cell.key for cell in self.cells)

    def of_kind(self, kind: str) -> list[Cell]:
        """The cells of one kind, in order."""
        return [cell for cell in self.cells if cell.kind == kind]

    def counts(self) -> dict[str, int]:
        """How many cells of each kind."""
        return dict(Counter(cell.kind for cell in self.cells))


def plan_representations(spec: RepresentationsSpec) -> Plan:
    """The cells of a representation study: cohort, embeddings, probes, comparisons.

    Raises:
        UnknownNameError: an encoder, preset, parameter, task, split rule or cohort that does not exist.
        UsageError: a baseline that is not among the encoders, or two encoders that are the same thing.
    """
    cohort = Cohort.open(spec.cohort)
    for task in spec.tasks:
        if task not in cohort.manifest.tasks:
            raise unknown_name("task", task, cohort.manifest.tasks, where=f"cohort {cohort.name}")
    rule = spec.split or cohort.manifest.split_rules[0]
    if rule not in cohort.manifest.split_rules:
        raise unknown_name("split rule", rule, cohort.manifest.split_rules, where=f"cohort {cohort.name}")
    spec = spec.model_copy(update={"tasks": spec.tasks or tuple(cohort.manifest.tasks), "split": rule})
    _refuse_empty_splits(cohort, spec.tasks, rule)
    # First of all: a misspelt name is said as such, not as a baseline that is missing.
    spec = with_named_encoders(spec)
    ids = [choice.id for choice in spec.encoders]
    if spec.baseline is not None and spec.baseline not in ids:
        raise UsageError(
            f"baseline is {spec.baseline!r}; it must be one of the study's encoders: {', '.join(ids)}. "
            "Name one of them (--set baseline=NAME), or none (--set baseline=null)."
        )

    cells = [plan_cohort(cohort, place=spec.cohort, rule=rule, show_record=spec.show_record)]
    embeddings = {choice.id: plan_embedding(choice, cohort, place=spec.cohort) for choice in spec.encoders}
    _refuse_same_embeddings(embeddings)
    cells += embeddings.values()
    for task in spec.tasks:
        probes = [
            plan_probe(
                choice, task, rule, spec.probe, embedding=embeddings[choice.id], cohort=cohort, place=spec.cohort
            )
            for choice in spec.encoders
        ]
        cells += [*probes, plan_comparison(spec, task, probes=probes)]
    return Plan(spec=spec, cells=tuple(cells))


def _refuse_empty_splits(cohort: Cohort, tasks: Iterable[str], rule: str) -> None:
    """Known before anything runs, so said before anything runs."""
    split = cohort.split(rule)
    for task in tasks:
        of_task = split[cohort.task(task).rows]
        empty = [name for name in SPLITS if not (of_task == name).any()]
        if empty:
            raise UsageError(
                f"Task {task} has no record in the {' and the '.join(empty)} split of rule {rule!r} of cohort "
                f"{cohort.name}, so no probe can be fitted, chosen and tested. Leave the task out (--tasks), take "
                f"another split rule (--set split=RULE; there are {', '.join(cohort.manifest.split_rules)}), or mend "
                "the dataset's `splits`."
            )


def _refuse_same_embeddings(cells: Mapping[str, Cell]) -> None:
    """Two names for one thing would be compared with each other, and the thing counted twice."""
    first: dict[str, str] = {}
    for choice, cell in cells.items():
        other = first.setdefault(cell.inputs["embedding"], choice)
        if other != choice:
            raise UsageError(f"The encoders {other} and {choice} give the same embeddings; name one of them only.")
