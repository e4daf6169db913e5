"""Two encoders of a study, or two tables of predictions, compared on one task after the fact."""

from __future__ import annotations

from pathlib import Path

from einthoven.foundation.errors import DataError, UsageError, unknown_name
from einthoven.foundation.seeds import seed_for

from .ledger import Ledger
from .plan import Plan
from .predictions import Predictions, read_predictions
from .results import ProbeResult
from .running import read_plan
from .spec import BootstrapSpec, SupportSpec

PLAN = "plan.json"


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
        for cell in self._plan.cells:
            if cell.kind == "probe" and self._ledger.has(cell.key):
                result = self._ledger.result(cell.key, ProbeResult)
                if (result.task, result.encoder) == (task, encoder):
                    return cell.key
        raise DataError(f"The probe of {encoder} on {task} in {self.folder} is not finished. Run the study on first.")


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
