"""What the documents tell people to write works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from einthoven.datasets.building import prepare
from einthoven.datasets.phantom.generator import generate_phantom
from einthoven.datasets.registry import DATASETS
from einthoven.encoders.registry import ENCODERS
from einthoven.studies.plan import plan_representations
from einthoven.studies.spec import RepresentationsSpec, parse_spec
from einthoven.studies.work import run_cell

_ROOT = Path(__file__).resolve().parents[1]


def block(document: str, language: str, holding: str) -> str:
    text = (_ROOT / document).read_text(encoding="utf-8")
    return next(code for code in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL) if holding in code)


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    """The files the example of a dataset speaks of."""
    phantom = generate_phantom(records=120, seed=1, rate=500.0)
    (tmp_path / "ward" / "signals").mkdir(parents=True)
    lines = ["record,patient,age,sex,afib"]
    for index, plan in enumerate(phantom.rendering.plans):
        np.save(tmp_path / "ward" / "signals" / f"{plan.record_id}.npy", phantom.signals(index, index + 1)[0])
        age = "" if index == 0 else f"{plan.patient.age:.0f}"
        sex, afib = plan.patient.sex, int(plan.rhythm == "AFIB")
        lines.append(f"{plan.record_id},{plan.patient.patient_id},{age},{sex},{afib}")
    (tmp_path / "ward" / "labels.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "ward"


def test_the_dataset_and_the_encoder_of_contributing_run_a_study(ward, home, tmp_path, monkeypatch) -> None:
    dataset: dict = {"__name__": "my_dataset"}
    exec(block("CONTRIBUTING.md", "python", "DATASET"), dataset)  # noqa: S102  # our own document
    monkeypatch.setitem(DATASETS._things, "mine", dataset["DATASET"])
    encoder: dict = {"__name__": "my_encoder"}
    exec(block("CONTRIBUTING.md", "python", "ENCODER"), encoder)  # noqa: S102  # our own document
    monkeypatch.setitem(ENCODERS._things, "mean-sd", encoder["ENCODER"])

    cohort = prepare("mine", ward)
    assert cohort.name == "mine-500hz"
    assert len(cohort) == 120
    assert set(cohort.split()) == {"train", "val", "test"}
    values = {
        "name": "mine", "cohort": cohort.name, "encoders": ["mean-sd", "age-sex"], "bootstrap": {"draws": 100},
        "probe": {"C": [1.0]}, "support": {"minimum_positives": 1},
    }  # fmt: skip
    plan = plan_representations(parse_spec(values, where="test"))
    for cell in plan.cells:
        assert run_cell(cell, tmp_path / "run").message is None


def test_the_study_of_the_readme_is_valid_and_names_every_key() -> None:
    values = yaml.safe_load(block("README.md", "yaml", "study: representations"))
    spec = parse_spec(values, where="README.md")
    assert set(values) == set(RepresentationsSpec.model_fields)
    for key in ("probe", "bootstrap", "support"):
        model = type(getattr(spec, key))
        assert set(values[key]) == set(model.model_fields)
        # What it shows as values are the defaults.
        assert getattr(spec, key) == model()


@pytest.mark.realdata
def test_the_study_of_one_lead_runs_as_it_stands(real_data: Path, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "training2017").mkdir(parents=True)
    (source / "REFERENCE-v3.csv").symlink_to(real_data / "cinc2017" / "REFERENCE-v3.csv")
    for file in sorted((real_data / "cinc2017" / "training2017").iterdir())[:200]:
        (source / "training2017" / file.name).symlink_to(file)
    prepare("cinc2017", source, options={"window": 10}, name="cinc2017-10s", allow_missing=True)
    values = yaml.safe_load(block("docs/one-lead.md", "yaml", "study: representations"))
    less = {"bootstrap": {"draws": 100}, "probe": {"C": [1.0]}}
    plan = plan_representations(parse_spec({**values, **less}, where="docs/one-lead.md"))
    assert plan.cells
    for cell in plan.cells:
        assert run_cell(cell, tmp_path / "run").message is None


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/one-lead.md"])
def test_files_that_documents_name_exist(document: str) -> None:
    text = (_ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert ((_ROOT / document).parent / target).exists(), target
    for path in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./]+)`", text):
        assert (_ROOT / path).exists(), path
    for path in re.findall(r"`((?:studies|executors|datasets|encoders|signals|statistics)/[\w./]+\.py)`", text):
        rooms = [_ROOT / "src" / "einthoven", _ROOT / "src" / "einthoven" / "studies"]
        assert any((room / path).exists() for room in rooms), path
