"""Einthoven: a benchmark for ECG models.

The names below are the whole public interface of a study, from files to a report:

    from pathlib import Path

    import einthoven

    if __name__ == "__main__":  # worker processes read this script too, and must not start the study again
        cohort = einthoven.prepare("ptbxl", "ptb-xl-1.0.3", rate=100)
        plan = einthoven.plan_representations(einthoven.load_spec("representations", changes={"cohort": cohort.name}))
        with einthoven.LocalExecutor() as executor:
            einthoven.run_plan(plan, Path("runs/representations"), executor)
        einthoven.write_report(Path("runs/representations"))

They are imported when they are first used, so that importing the package costs nothing. The others compare encoders
afterwards, of a study or of tables of predictions (`compare_study`, `compare_tables`), by metrics and statistics that
may be used alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .version import VERSION

if TYPE_CHECKING:
    from .datasets.building import prepare
    from .datasets.cohort import Cohort
    from .embeddings.store import embed_cohort
    from .encoders.registry import build_encoder
    from .foundation.errors import EinthovenError
    from .metrics.discrimination import auroc, average_precision
    from .metrics.per_label import discriminate_labels
    from .probing.logistic import fit_probes
    from .reports.ecg_paper import draw_ecg
    from .reports.page import write_report
    from .statistics.interval_kinds import interval_of_kind
    from .statistics.macro import judge_labels, macro_average
    from .statistics.pair_comparison import compare_pair
    from .studies.comparing import compare_study, compare_tables
    from .studies.executors.local import LocalExecutor
    from .studies.inspection import study_status, verify_study
    from .studies.ledger import Ledger
    from .studies.loading import load_spec
    from .studies.plan import plan_representations
    from .studies.prediction_tables import read_prediction_tables
    from .studies.predictions import Predictions
    from .studies.running import read_plan, run_plan
    from .studies.study_separability import study_separability
    from .studies.task_power import task_power

__version__ = VERSION
_HOMES = {
    "Cohort": "datasets.cohort",
    "EinthovenError": "foundation.errors",
    "Ledger": "studies.ledger",
    "LocalExecutor": "studies.executors.local",
    "Predictions": "studies.predictions",
    "auroc": "metrics.discrimination",
    "average_precision": "metrics.discrimination",
    "build_encoder": "encoders.registry",
    "compare_pair": "statistics.pair_comparison",
    "compare_study": "studies.comparing",
    "compare_tables": "studies.comparing",
    "discriminate_labels": "metrics.per_label",
    "draw_ecg": "reports.ecg_paper",
    "embed_cohort": "embeddings.store",
    "fit_probes": "probing.logistic",
    "interval_of_kind": "statistics.interval_kinds",
    "judge_labels": "statistics.macro",
    "load_spec": "studies.loading",
    "macro_average": "statistics.macro",
    "plan_representations": "studies.plan",
    "prepare": "datasets.building",
    "read_plan": "studies.running",
    "read_prediction_tables": "studies.prediction_tables",
    "run_plan": "studies.running",
    "study_separability": "studies.study_separability",
    "study_status": "studies.inspection",
    "task_power": "studies.task_power",
    "verify_study": "studies.inspection",
    "write_report": "reports.page",
}
# Written out, as type checkers read it; a test holds it to the homes above.
__all__ = [
    "Cohort",
    "EinthovenError",
    "Ledger",
    "LocalExecutor",
    "Predictions",
    "__version__",
    "auroc",
    "average_precision",
    "build_encoder",
    "compare_pair",
    "compare_study",
    "compare_tables",
    "discriminate_labels",
    "draw_ecg",
    "embed_cohort",
    "fit_probes",
    "interval_of_kind",
    "judge_labels",
    "load_spec",
    "macro_average",
    "plan_representations",
    "prepare",
    "read_plan",
    "read_prediction_tables",
    "run_plan",
    "study_separability",
    "study_status",
    "task_power",
    "verify_study",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
