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

They are imported when they are first used, so that importing the package costs nothing.
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
    from .probing.logistic import fit_probes
    from .reports.ecg_paper import draw_ecg
    from .reports.page import write_report
    from .studies.executors.local import LocalExecutor
    from .studies.inspection import study_status, verify_study
    from .studies.ledger import Ledger
    from .studies.loading import load_spec
    from .studies.plan import plan_representations
    from .studies.running import read_plan, run_plan

__version__ = VERSION
_HOMES = {
    "Cohort": "datasets.cohort",
    "EinthovenError": "foundation.errors",
    "Ledger": "studies.ledger",
    "LocalExecutor": "studies.executors.local",
    "auroc": "metrics.discrimination",
    "average_precision": "metrics.discrimination",
    "build_encoder": "encoders.registry",
    "draw_ecg": "reports.ecg_paper",
    "embed_cohort": "embeddings.store",
    "fit_probes": "probing.logistic",
    "load_spec": "studies.loading",
    "plan_representations": "studies.plan",
    "prepare": "datasets.building",
    "read_plan": "studies.running",
    "run_plan": "studies.running",
    "study_status": "studies.inspection",
    "verify_study": "studies.inspection",
    "write_report": "reports.page",
}
__all__ = [
    "Cohort",
    "EinthovenError",
    "Ledger",
    "LocalExecutor",
    "__version__",
    "auroc",
    "average_precision",
    "build_encoder",
    "draw_ecg",
    "embed_cohort",
    "fit_probes",
    "load_spec",
    "plan_representations",
    "prepare",
    "read_plan",
    "run_plan",
    "study_status",
    "verify_study",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
