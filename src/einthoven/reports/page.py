"""A study's report: one self-contained page and its tables, from the study's folder alone."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from einthoven.foundation.publishing import exclusive, publish_folder
from einthoven.signals.words import described
from einthoven.studies.results import METRICS

from . import formatting
from .cautions import FEW_POSITIVES, cautions
from .colours import Look, looks
from .figures import label_forest, macro_forest, symbol
from .origins import kind_times, last_finished, origins
from .pairs import METRIC_NAMES, best_macro
from .reading import StudyReading, read_study
from .tables import report_tables
from .verdicts import task_verdict
from .views import chosen_settings, coverage_rows, difference_rows, label_rows, macro_rows

REPORT = "report"


def write_report(folder: Path) -> Path:
    """Write a study's report from its folder; the study may be unfinished.

    The report appears by one rename; the same ledger gives the same bytes.

    Args:
        folder: of the study, as `einthoven run` wrote it.

    Returns:
        `folder/report/index.html`; beside it lie `tables/*.csv`.

    Raises:
        DataError: the folder holds no study, or a result of another schema.
        BusyError: another process is writing the report.
    """
    study = read_study(folder)
    final = folder / REPORT
    with exclusive(final, wait_seconds=60, doing="writing the report"), publish_folder(final, replace=True) as work:
        (work / "index.html").write_text(render_page(study), encoding="utf-8", newline="\n")
        (work / "tables").mkdir()
        for stem, table in report_tables(study).items():
            table.write_csv(work / "tables" / f"{stem}.csv")
    return final / "index.html"


def render_page(study: StudyReading) -> str:
    """The page as HTML text; everything in it that was not written here is escaped."""
    drawn = looks(study.encoders, study.floors)
    times, total_time = kind_times(study)
    script = _resource("tables.js")
    context: dict[str, Any] = {
        "study": study,
        "cohort": study.cohort.cohort if study.cohort else None,
        "verdicts": [task_verdict(study, task) for task in study.tasks],
        "cautions": cautions(study),
        "macro": macro_rows(study),
        "labels": label_rows(study),
        "differences": difference_rows(study),
        "coverage": coverage_rows(study),
        "settings": chosen_settings(study),
        "keys": {name: Markup(symbol(look)) for name, look in drawn.items()},  # noqa: S704  # SVG written by figures.py
        "encoder_cards": [_card(study, index) for index in range(len(study.encoders))],
        "macro_figures": _macro_figures(study, drawn),
        "label_figures": _label_figures(study, drawn),
        "example": _example(study),
        "origins": origins(study),
        "times": times,
        "total_time": total_time,
        "last": last_finished(study),
        "few_positives": FEW_POSITIVES,
        "confidence": formatting.percent(study.spec.bootstrap.confidence),
        "script": Markup(script),  # noqa: S704  # our own file
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "style": Markup(_resource("page.css")),  # noqa: S704  # our own file
    }
    return _templates().get_template("page.html.j2").render(context) + "\n"


def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("einthoven.reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": formatting.count,
        "number": formatting.number,
        "plural": formatting.plural,
        "shared": formatting.without_folders,
    }
    return environment


def _resource(name: str) -> str:
    return (resources.files("einthoven.reports") / "templates" / name).read_text(encoding="utf-8")


def _macro_figures(study: StudyReading, drawn: dict[str, Look]) -> list[tuple[str, Markup]]:
    """Metric name and forest plot, for each metric that has anything to show."""
    found = []
    for metric in METRICS:
        shown = [c for c in study.comparisons.values() if best_macro(c, metric) is not None]
        if shown:
            svg = macro_forest(shown, metric, drawn, baseline=study.spec.baseline)
            found.append((METRIC_NAMES[metric], Markup(svg)))  # noqa: S704  # Vega escapes every text of the data
    return found


def _label_figures(study: StudyReading, drawn: dict[str, Look]) -> list[tuple[str, Markup]]:
    """Task and the forest plot of its judged labels, most positives first."""
    found = []
    for task, comparison in study.comparisons.items():
        judged = sorted((s for s in comparison.labels if s.judged), key=lambda s: (-s.positives, s.label))
        if judged:
            found.append((task, Markup(label_forest(comparison, judged, drawn))))  # noqa: S704  # as above
    return found


def _example(study: StudyReading) -> Markup | None:
    if study.cohort is None or study.example is None:
        return None
    from .ecg_paper import ecg_svg

    cohort = study.cohort.cohort
    title = f"Record {study.cohort.example_record}"
    return Markup(ecg_svg(study.example, cohort.rate, leads=cohort.leads, title=title))  # noqa: S704  # escapes its title


def _card(study: StudyReading, index: int) -> dict[str, Any]:
    choice = study.spec.encoders[index]
    reading = study.cell("embedding", encoder=choice.id)
    return {
        "id": choice.id,
        "choice": choice,
        "result": study.embeddings.get(choice.id),
        "why": reading.why_missing if reading else "not in the plan",
        "preprocessing": described(reading.cell.spec.get("preprocessing", {})) if reading else [],
    }
