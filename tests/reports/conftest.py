"""Study folders with made-up results, so that the report is tested without running a study."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from einthoven.datasets.dataset import Access
from einthoven.datasets.manifest import CohortSummary, Excluded, TaskCoverage
from einthoven.encoders.card import Pretraining
from einthoven.signals.leads import STANDARD_LEADS
from einthoven.studies.cells import Cell
from einthoven.studies.ledger import Ledger
from einthoven.studies.plan import Plan
from einthoven.studies.results import (
    CohortResult,
    ComparisonResult,
    Difference,
    EmbeddingResult,
    Estimate,
    LabelScores,
    MacroScores,
    Metric,
    ProbedLabel,
    ProbeResult,
)
from einthoven.studies.running import write_plan
from einthoven.studies.spec import EncoderChoice, RepresentationsSpec

_METRICS: tuple[Metric, Metric] = ("auroc", "average_precision")
TRAIN, VAL, TEST, PATIENTS = 1400, 200, 400, 377


def estimate(point: float | None, half: float = 0.03, reason: str | None = None) -> Estimate:
    """An estimate with a symmetric interval, kept within -1 and 1; None is undefined for `reason`."""
    if point is None:
        return Estimate(point=None, low=None, high=None, draws=1000, undefined_draws=0, reason=reason or "one class")
    return Estimate(
        point=point, low=max(point - half, -1.0), high=min(point + half, 1.0), draws=1000, undefined_draws=0,
        reason=None,
    )  # fmt: skip


@dataclass
class StudyMaker:
    """Writes a study folder; what is made up here is known to the tests.

    Attributes:
        labels: task -> label -> test positives.
        skill: encoder -> its macro AUROC; labels lie around it.
        half: half width of the intervals of macro means and of their differences.
        missing: titles of cells that are not run; failed: titles -> messages.
    """

    folder: Path
    labels: dict[str, dict[str, int]] = field(
        default_factory=lambda: {
            "super": {"NORM": 170, "MI": 101, "STTC": 96, "CD": 90, "HYP": 48},
            "rhythm": {
                "SR": 310, "AFIB": 28, "STACH": 15, "SARRH": 14, "SBRAD": 12, "PACE": 10, "SVARR": 4, "BIGU": 2,
                "AFLT": 1, "SVTAC": 1, "PSVT": 0, "TRIGU": 0, "WPW": 11, "LAFB": 33, "IRBBB": 22,
            },
        }
    )  # fmt: skip
    encoders: Sequence[EncoderChoice] = (
        EncoderChoice(name="random-resnet18"),
        EncoderChoice(name="rr-features"),
        EncoderChoice(name="age-sex"),
    )
    skill: Sequence[float] = (0.83, 0.82, 0.68)
    floors: Sequence[bool] = (True, True, True)
    half: float = 0.03
    label_half: float | None = None
    difference_half: float = 0.02
    baseline: str | None = None
    dataset: str = "phantom"
    notes: tuple[str, ...] = ("Synthetic ECGs with planted truth.",)
    example_note: str = "NORM, SR"
    example_record: str | None = "00042"
    pretraining: Pretraining = ()
    minimum: int = 10
    access: Access = "synthetic"
    missing: tuple[str, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)
    promised_factor: int = 1
    commits: Sequence[str] = ("abc123",)

    @property
    def ids(self) -> list[str]:
        return [choice.id for choice in self.encoders]

    def spec(self) -> RepresentationsSpec:
        return RepresentationsSpec(
            name="made-up", cohort="phantom-100hz", split="patients", tasks=tuple(self.labels),
            encoders=tuple(self.encoders), baseline=self.baseline,
        )  # fmt: skip

    def write(self) -> Path:
        """Write `study.yaml`, `plan.json` and every cell that is not missing or failed."""
        spec = self.spec()
        ledger = Ledger(self.folder)
        self._published = 0
        cohort = Cell(
            kind="cohort", title="cohort phantom", spec={"split": "patients"}, inputs={"cohort": "c0"}, version=1
        )
        cells = [cohort]
        self._publish(ledger, cohort, self._cohort(), arrays=self._example())
        embeddings = []
        for index, choice in enumerate(self.encoders):
            cell = Cell(
                kind="embedding", title=f"embed with {choice.id}",
                spec={"encoder": choice.model_dump(mode="json"), "preprocessing": {"rate": 100.0}},
                inputs={"embedding": f"e{index}"}, version=1,
            )  # fmt: skip
            embeddings.append(cell)
            self._publish(ledger, cell, self._embedding(index))
        cells += embeddings
        for task in self.labels:
            probes = []
            for choice, embedding in zip(self.encoders, embeddings, strict=True):
                cell = Cell(
                    kind="probe", title=f"probe {choice.id} on {task}",
                    spec={
                        "encoder": choice.model_dump(mode="json"), "task": task, "split": "patients",
                        "probe": spec.probe.model_dump(mode="json"),
                    },
                    inputs={"embedding": embedding.inputs["embedding"]}, needs=(embedding.key,), version=1,
                )  # fmt: skip
                probes.append(cell)
                self._publish(ledger, cell, self._probe(task, choice.id))
            comparison = Cell(
                kind="comparison", title=f"compare on {task}", spec={"task": task, "encoders": self.ids},
                inputs={f"probe:{i}": probe.key for i, probe in enumerate(probes)},
                needs=tuple(probe.key for probe in probes), version=1,
            )  # fmt: skip
            cells += [*probes, comparison]
            self._publish(ledger, comparison, self.comparison(task))
        write_plan(Plan(spec=spec, cells=tuple(cells)), self.folder)
        return self.folder

    def _example(self) -> dict[str, dict[str, np.ndarray]]:
        return {} if self.example_record is None else {"example": {"signal": example_signal()}}

    def _publish(self, ledger: Ledger, cell: Cell, result, **more) -> None:
        if cell.title in self.failed:
            ledger.record_failure(cell, self.failed[cell.title], "Traceback: /home/someone/secret.py")
        elif cell.title not in self.missing:
            commit = self.commits[self._published % len(self.commits)]
            self._published += 1
            provenance = {
                "einthoven": "0.1.0", "commit": commit, "python": "3.11.4", "platform": "Linux-x", "machine": "x86_64",
                "cpu_count": 2, "packages": {"numpy": "2.0.0", "torch": None}, "threads": {"openmp": 1},
                "started": "2025-01-01T10:00:00+00:00", "seconds": 1.5, "needs": list(cell.needs),
            }  # fmt: skip
            ledger.publish(cell, result, provenance, **more)

    def _cohort(self) -> CohortResult:
        f = self.promised_factor
        tasks = {}
        for task, labels in self.labels.items():
            present = {
                "train": {k: 3 * v + 1 for k, v in labels.items()}, "val": dict(labels), "test": dict(labels),
            }  # fmt: skip
            records = {"train": TRAIN, "val": VAL, "test": TEST}
            tasks[task] = TaskCoverage(
                labels=tuple(labels),
                records_promised={s: f * n for s, n in records.items()}, records_present=records,
                positives_promised={s: {k: f * v for k, v in c.items()} for s, c in present.items()},
                positives_present=present,
            )  # fmt: skip
        excluded = {"signal file missing": 7, "flat in every lead": 2} if f > 1 else {}
        summary = CohortSummary(
            dataset=self.dataset, dataset_version="1", access=self.access, title="Einthoven phantom",
            licence="Apache-2.0", citation="McSharry et al. IEEE TBME 50(3), 2003.", rate=100.0, leads=STANDARD_LEADS,
            samples=1000, gain=1000.0, records=2000, patients=1800, promised_records=2000 * f,
            excluded=Excluded(counts=excluded, first=dict.fromkeys(excluded, ("00001",))), tasks=tasks,
            split_rules=("patients",), concept_tables=(), rules={"phantom": "1"}, notes=self.notes,
            flagged={"clipped": 3}, fingerprint="f0" * 32,
        )  # fmt: skip
        return CohortResult(
            cohort=summary, split_rule="patients", records_by_split={"train": TRAIN, "val": VAL, "test": TEST},
            patients_by_split={"train": 1250, "val": 173, "test": PATIENTS}, example_record=self.example_record,
            example_note=self.example_note,
        )  # fmt: skip

    def _embedding(self, index: int) -> EmbeddingResult:
        return EmbeddingResult(
            encoder=self.ids[index], encoder_fingerprint=f"e{index}", preprocessing="native", embedding_key=f"k{index}",
            sha256="0" * 64, records=2000, dimension=512, title=f"Title of {self.ids[index]}", summary="What it is.",
            floor=self.floors[index], pretraining=self.pretraining, pretraining_note="",
            weights="mine.pt, sha256 " + "a" * 64, licence="Apache-2.0",
        )  # fmt: skip

    def _probe(self, task: str, encoder: str) -> ProbeResult:
        labels = tuple(
            ProbedLabel(
                label=label, reason="no positive record in train" if positives == 0 else None,
                scale=None if positives == 0 else True, C=None if positives == 0 else (10.0 if index == 0 else 0.1),
                class_weight=None if positives == 0 else "none", validation_loss=None if positives == 0 else 0.3,
                at_grid_edge=positives > 0 and index == 0, unconverged_settings=1 if index == 1 else 0,
                train_positives=3 * positives, val_positives=positives, test_positives=positives,
            )
            for index, (label, positives) in enumerate(self.labels[task].items())
        )  # fmt: skip
        return ProbeResult(
            encoder=encoder, task=task, labels=labels, train_records=TRAIN, val_records=VAL, test_records=TEST
        )

    def comparison(self, task: str) -> ComparisonResult:
        """The made-up scores of one task."""
        rng = np.random.default_rng(len(task))
        labels = tuple(self._label(name, positives, rng) for name, positives in self.labels[task].items())
        judged = tuple(scores.label for scores in labels if scores.judged)
        nothing = None if judged else "no label is judged"
        auroc = [point if judged else None for point in self.skill]
        precision = [point - 0.35 if judged else None for point in self.skill]
        return ComparisonResult(
            task=task, encoders=tuple(self.ids), records=TEST, units=PATIENTS, unit="patient", draws=1000,
            confidence=0.95, minimum_positives=self.minimum,
            macro=MacroScores(
                labels=judged, of=len(labels),
                auroc=tuple(estimate(p, self.half, nothing) for p in auroc),
                average_precision=tuple(estimate(p, self.half, nothing) for p in precision),
                differences={
                    "auroc": self._all_differences(auroc), "average_precision": self._all_differences(precision)
                },
            ),
            labels=labels,
        )  # fmt: skip

    def _all_differences(self, points: Sequence[float | None]) -> tuple[Difference, ...]:
        found = []
        references = {points.index(max((p for p in points if p is not None), default=None))}
        if self.baseline in self.ids:
            references.add(self.ids.index(self.baseline))
        for b in sorted(references):
            for a in range(len(points)):
                pa, pb = points[a], points[b]
                if a != b:
                    size = None if pa is None or pb is None else pa - pb
                    e = estimate(size, self.difference_half)
                    found.append(Difference(a=self.ids[a], b=self.ids[b], estimate=e, p=0.5))
        return tuple(found)

    def _label(self, name: str, positives: int, rng: np.random.Generator) -> LabelScores:
        judged = positives >= self.minimum
        half = 0.3 / max(positives, 1) ** 0.5 if self.label_half is None else self.label_half
        shift = float(rng.normal(0, 0.04))
        auroc = [float(np.clip(s + shift + rng.normal(0, 0.02), 0.05, 0.99)) if positives else None for s in self.skill]
        precision = [min(0.99, max(0.02, p - 0.6 + positives / TEST)) if p is not None else None for p in auroc]
        points = dict(zip(_METRICS, (auroc, precision), strict=True))
        best: dict[Metric, str | None] = {
            m: self.ids[int(np.argmax([v or 0 for v in values]))] if judged else None for m, values in points.items()
        }
        reason = None if judged else f"{positives} test positives; {self.minimum} are needed"
        return LabelScores(
            label=name, positives=positives, negatives=TEST - positives, judged=judged, reason=reason,
            auroc=tuple(estimate(p, half, "no positive test record") for p in auroc),
            average_precision=tuple(estimate(p, half, "no positive test record") for p in precision),
            best=best,
            against_best={
                m: self._against(values, best[m], half / 2) for m, values in points.items()
            },
        )  # fmt: skip

    def _against(self, values: Sequence[float | None], best: str | None, half: float) -> tuple[Difference, ...]:
        if best is None:
            return ()
        top = values[self.ids.index(best)]
        return tuple(
            Difference(
                a=name, b=best, estimate=estimate(v - top if v is not None and top is not None else None, half), p=0.2
            )
            for name, v in zip(self.ids, values, strict=True)
            if name != best
        )


def example_signal() -> np.ndarray:
    """float32 (12, 1000) mV at 100 Hz: beats of a simple shape."""
    time = np.arange(1000) / 100.0
    phase = time % 0.8

    def wave(at: float, width: float, height: float) -> np.ndarray:
        return height * np.exp(-(((phase - at) / width) ** 2))

    beat = wave(0.2, 0.03, 0.12) + wave(0.36, 0.012, 1.0) - wave(0.39, 0.01, 0.25) + wave(0.6, 0.05, 0.25)
    scales = np.array([0.7, 1.0, 0.4, -0.8, 0.2, 0.6, -0.5, 0.2, 0.8, 1.2, 1.1, 0.9])
    return (scales[:, None] * beat).astype(np.float32)


@pytest.fixture
def make_study(tmp_path: Path) -> Callable[..., Path]:
    """Write a study folder with whatever of `StudyMaker` the test sets."""

    def make(**changes) -> Path:
        return StudyMaker(folder=tmp_path / "study", **changes).write()

    return make


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., StudyMaker]:
    """The maker itself, for tests that need a typed result and no folder."""

    def make(**changes) -> StudyMaker:
        return StudyMaker(folder=tmp_path / "study", **changes)

    return make


@pytest.fixture
def plain_ecg(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the example ECG as an empty picture: what it looks like is tested where it is drawn."""

    def ecg_svg(signal, rate, *, leads, title) -> str:
        assert signal.shape == (len(leads), 10 * rate)
        return '<svg data-drawn="ecg"></svg>'

    stand_in = types.ModuleType("einthoven.reports.ecg_paper")
    stand_in.ecg_svg = ecg_svg  # type: ignore[attr-defined]  # a module made here
    monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)
