"""Two encoders of a study, or two tables of predictions, compared on one task after the fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from einthoven.datasets.manifest import CohortSummary
from einthoven.foundation.errors import DataError, UsageError, unknown_name
from einthoven.foundation.seeds import seed_for
from einthoven.metrics.discrimination import Discrimination
from einthoven.statistics.multiplicity import Method
from einthoven.statistics.pair_comparison import (
    DifferenceInterval,
    Exchange,
    PairComparison,
    PairTest,
    compare_pair,
)

from .ledger import Ledger
from .plan import Plan
from .prediction_tables import read_prediction_tables
from .predictions import Predictions, read_predictions
from .results import CohortResult
from .running import read_plan
from .spec import BootstrapSpec, EncoderChoice, SupportSpec

PLAN = "plan.json"
Unit = Literal["patient", "record"]


class StudyPredictions:
    """The finished probes of a study's folder, and the settings it was planned with.

    Raises:
        DataError: the folder holds no study.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._plan: Plan = read_plan(folder)
        self._ledger = Ledger(folder)

    @property
    def bootstrap(self) -> BootstrapSpec:
        """How its intervals were made."""
        return self._plan.spec.bootstrap

    @property
    def support(self) -> SupportSpec:
        """When its labels are judged."""
        return self._plan.spec.support

    @property
    def seed(self) -> int:
        """Of its bootstrap draws: with the same number of draws, intervals are those of its report."""
        return seed_for("bootstrap", self._plan.spec.seed)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Its tasks."""
        return self._plan.spec.tasks

    def read(self, task: str, encoders: tuple[str, ...]) -> Predictions:
        """Test predictions of some of its encoders on one task.

        Raises:
            UnknownNameError: no such task or encoder.
            UsageError: an encoder twice.
            DataError: a probe is not finished.
        """
        spec = self._plan.spec
        if task not in spec.tasks:
            raise unknown_name("task", task, spec.tasks, where=f"the study in {self.folder}")
        known = [choice.id for choice in spec.encoders]
        for name in encoders:
            if name not in known:
                raise unknown_name("encoder", name, known, where=f"the study in {self.folder}")
        if len(set(encoders)) < len(encoders):
            raise UsageError(f"Two different encoders were expected, found {encoders[0]} twice.")
        keys = []
        for name in encoders:
            keys.append(self._probe(task, name))
        return read_predictions(self._ledger, keys)

    def _probe(self, task: str, encoder: str) -> str:
        for cell in self._plan.of_kind("probe"):
            # From the plan: a ledger is read for the one cell that is asked for, and not for those before it.
            if cell.spec["task"] == task and EncoderChoice.model_validate(cell.spec["encoder"]).id == encoder:
                if self._ledger.has(cell.key):
                    return cell.key
                break
        raise DataError(f"The probe of {encoder} on {task} in {self.folder} is not finished. Run the study on first.")

    def partial(self) -> str | None:
        """That its cohort lacks records that the dataset promises, in words; None if it is whole."""
        for cell in self._plan.of_kind("cohort"):
            if self._ledger.has(cell.key):
                return partial_cohort(self._ledger.result(cell.key, CohortResult).cohort)
        return None


def partial_cohort(cohort: CohortSummary) -> str | None:
    """That records of a cohort are missing, in the words of a report; None if none is."""
    if cohort.records >= cohort.promised_records and not cohort.excluded.counts:
        return None
    share = cohort.records / cohort.promised_records if cohort.promised_records else 0.0
    return (
        f"{cohort.records:,} of {cohort.promised_records:,} records of {cohort.title} are in the cohort "
        f"({100 * share:.3g} %): do not compare these numbers with numbers on the whole dataset."
    )


@dataclass(frozen=True)
class EncoderComparison:
    """Two encoders on one task, and what they were compared on.

    Attributes:
        a, b: their names; of tables, the files'.
        task: of the study; None for tables.
        unit: what was drawn and swapped together, "patient" or "record".
        records: how many test records.
        partial: what a partial cohort lacks, in words; None if it is whole, or not known, as of tables.
        compared: the comparison.
    """

    a: str
    b: str
    task: str | None
    unit: Unit
    records: int
    partial: str | None
    compared: PairComparison


def compare_study(
    folder: Path,
    a: str,
    b: str,
    *,
    task: str | None = None,
    metric: Discrimination = "auroc",
    test: PairTest = "permutation",
    exchange: Exchange = "scores",
    interval: DifferenceInterval = "percentile",
    adjust: Method | None = "holm",
    unit: Unit | None = None,
    draws: int | None = None,
    alpha: float | None = None,
    minimum_positives: int | None = None,
) -> EncoderComparison:
    """Compare two encoders of a study that has run, by its own settings where none are given.

    Args:
        folder: of the study.
        a, b: two of its encoders.
        task: one of its tasks; None is its only one.
        metric, test, interval, adjust: as `compare_pair`.
        exchange: what the permutation test exchanges; scores of a study are logits of probes of one kind, so they are
            of one scale and exchanged as they are.
        unit, draws, minimum_positives: None is the study's own.
        alpha: None is 1 minus the study's confidence.

    Raises:
        UsageError: two encoders that are one, several tasks and none named, a setting that is not offered.
        UnknownNameError: no such task or encoder.
        DataError: the folder holds no study, or a probe is not finished.
    """
    study = StudyPredictions(folder)
    if task is None and len(study.tasks) > 1:
        raise UsageError(f"Which task of {', '.join(study.tasks)}? Name one with --task.")
    chosen = task if task is not None else next(iter(study.tasks))
    found = study.read(chosen, (a, b))
    return _compare(
        found,
        task=chosen,
        partial=study.partial(),
        seed=study.seed,
        bootstrap=study.bootstrap,
        support=study.support,
        metric=metric,
        test=test,
        exchange=exchange,
        interval=interval,
        adjust=adjust,
        unit=unit,
        draws=draws,
        alpha=alpha,
        minimum_positives=minimum_positives,
    )


def compare_tables(
    files: Sequence[Path],
    *,
    metric: Discrimination = "auroc",
    test: PairTest = "permutation",
    exchange: Exchange = "ranks",
    interval: DifferenceInterval = "percentile",
    adjust: Method | None = "holm",
    unit: Unit | None = None,
    draws: int | None = None,
    alpha: float | None = None,
    minimum_positives: int | None = None,
) -> EncoderComparison:
    """Compare two tables of predictions of any program, by the defaults of a study where no settings are given.

    Args:
        files: two files as `read_prediction_tables` takes them.
        metric, test, interval, adjust: as `compare_pair`.
        exchange: what the permutation test exchanges; "ranks", as nothing is known of the scales of two programs.
        unit: None is "patient" where the tables name patients, else "record".
        draws, minimum_positives, alpha: None is the default of a study; alpha 0.05.

    Raises:
        UsageError: a setting that is not offered, patients asked for that the tables do not name, or scores of two
            scales to be exchanged as they are.
        DataError: as `read_prediction_tables`.
    """
    found = read_prediction_tables(files)
    if len(found.encoders) != 2:
        raise UsageError(f"Two tables of predictions were expected, found {len(found.encoders)}.")
    if not found.has_patients:
        if unit == "patient":
            raise UsageError("--unit patient: the tables were expected to have a column patient_id each.")
        unit = "record"
    if test == "permutation" and exchange == "scores" and len(set(found.scales)) > 1:
        raise UsageError(
            f"A swap of scores puts one in another's place, so they must be of one scale; found {found.scales[0]} in "
            f"{files[0]} and {found.scales[1]} in {files[1]}. Exchange ranks (the default of tables), or take --test "
            "bootstrap."
        )
    return _compare(
        found,
        task=None,
        partial=None,
        seed=0,
        bootstrap=BootstrapSpec(),
        support=SupportSpec(),
        metric=metric,
        test=test,
        exchange=exchange,
        interval=interval,
        adjust=adjust,
        unit=unit,
        draws=draws,
        alpha=alpha,
        minimum_positives=minimum_positives,
    )


def _compare(
    found: Predictions,
    *,
    task: str | None,
    partial: str | None,
    seed: int,
    bootstrap: BootstrapSpec,
    support: SupportSpec,
    unit: Unit | None,
    draws: int | None,
    alpha: float | None,
    minimum_positives: int | None,
    **settings: Any,
) -> EncoderComparison:
    chosen = unit or bootstrap.unit
    compared = compare_pair(
        found.targets,
        found.scores,
        labels=found.labels,
        units=found.units(chosen),
        draws=draws or bootstrap.draws,
        seed=seed,
        # 1 - 0.95 is a little more than 0.05.
        alpha=alpha if alpha is not None else round(1 - bootstrap.confidence, 12),
        minimum_positives=minimum_positives or support.minimum_positives,
        undefined=found.reasons,
        **settings,
    )
    return EncoderComparison(
        a=found.encoders[0],
        b=found.encoders[1],
        task=task,
        unit=chosen,
        records=len(found.targets),
        partial=partial,
        compared=compared,
    )


def only_study(runs: Path) -> Path:
    """The one study below a folder.

    Raises:
        UsageError: there is none, or there are several.
    """
    found = sorted(file.parent for file in runs.glob(f"*/{PLAN}"))
    if len(found) == 1:
        return found[0]
    there = f"found {', '.join(str(folder) for folder in found)}" if found else "found none"
    raise UsageError(f"Which study? One below {runs}/ was expected, {there}. Name its folder with --study.")
