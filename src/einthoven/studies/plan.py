"""From a specification to the complete list of cells, before anything runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from einthoven.datasets.cohort import Cohort
from einthoven.encoders.registry import ENCODERS, build_encoder
from einthoven.foundation.errors import UsageError, unknown_name

from .cells import Cell
from .kinds import cohort as cohort_kind
from .kinds import comparison as comparison_kind
from .kinds import embedding as embedding_kind
from .kinds import probe as probe_kind
from .spec import EncoderChoice, RepresentationsSpec


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
        UsageError: a baseline that is not among the encoders.
    """
    cohort = Cohort.open(spec.cohort)
    for task in spec.tasks:
        if task not in cohort.manifest.tasks:
            raise unknown_name("task", task, cohort.manifest.tasks, where=f"cohort {cohort.name}")
    rule = spec.split or cohort.manifest.split_rules[0]
    if rule not in cohort.manifest.split_rules:
        raise unknown_name("split rule", rule, cohort.manifest.split_rules, where=f"cohort {cohort.name}")
    spec = spec.model_copy(update={"tasks": spec.tasks or tuple(cohort.manifest.tasks), "split": rule})
    ids = [choice.id for choice in spec.encoders]
    if spec.baseline is not None and spec.baseline not in ids:
        raise UsageError(f"baseline is {spec.baseline!r}; it must be one of the study's encoders: {', '.join(ids)}.")

    inputs = {"cohort": cohort.fingerprint}
    places = {"cohort": str(cohort.path)}
    cells = [
        Cell(
            kind="cohort",
            title=f"cohort {cohort.name}",
            spec={"split": rule},
            inputs=inputs,
            places=places,
            version=cohort_kind.VERSION,
        )
    ]
    embeddings = {choice.id: _embedding(choice, inputs, places) for choice in spec.encoders}
    cells += embeddings.values()
    for task in spec.tasks:
        probes = [_probe(spec, choice, task, embeddings[choice.id], inputs, places) for choice in spec.encoders]
        cells += probes
        cells.append(_comparison(spec, task, probes, ids, inputs, places))
    return Plan(spec=spec, cells=tuple(cells))


def _embedding(choice: EncoderChoice, inputs: dict[str, str], places: dict[str, str]) -> Cell:
    card = ENCODERS.get(choice.name).card
    preprocessing = card.preprocessing(choice.preprocessing)
    encoder = build_encoder(choice.name, **choice.parameters)
    return Cell(
        kind="embedding",
        title=f"embed with {choice.id}",
        spec={"encoder": choice.model_dump(mode="json"), "preprocessing": preprocessing.identity()},
        inputs={**inputs, "encoder": encoder.fingerprint()},
        places=places,
        version=embedding_kind.VERSION,
    )


def _probe(spec, choice, task, embedding: Cell, inputs, places) -> Cell:
    return Cell(
        kind="probe",
        title=f"probe {choice.id} on {task}",
        spec={
            "encoder": choice.model_dump(mode="json"),
            "task": task,
            "split": spec.split,
            "probe": spec.probe.model_dump(mode="json"),
        },
        inputs={**inputs, "embedding": embedding.key},
        needs=(embedding.key,),
        places=places,
        version=probe_kind.VERSION,
    )


def _comparison(spec, task, probes: list[Cell], ids, inputs, places) -> Cell:
    return Cell(
        kind="comparison",
        title=f"compare {len(ids)} encoders on {task}",
        spec={
            "task": task,
            "encoders": ids,
            "bootstrap": spec.bootstrap.model_dump(mode="json"),
            "support": spec.support.model_dump(mode="json"),
            "seed": spec.seed,
        },
        inputs={**inputs, **{f"probe:{index}": probe.key for index, probe in enumerate(probes)}},
        needs=tuple(probe.key for probe in probes),
        places=places,
        version=comparison_kind.VERSION,
    )
