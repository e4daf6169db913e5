"""Studies with encoders from files: planned, run, gone on with, and never given what an older file computed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from einthoven.datasets.cohort import Cohort
from einthoven.encoders.checking import Specimens, check_encoder, worst
from einthoven.encoders.registry import find_encoder
from einthoven.foundation.errors import DataError, UsageError
from einthoven.studies.loading import load_spec
from einthoven.studies.plan import plan_representations
from einthoven.studies.results import EmbeddingResult
from einthoven.studies.running import read_plan, run_plan

_DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "own-encoder.md").read_text(encoding="utf-8")
PYTHON = _DOCUMENT.split("```python\n")[1].split("```")[0]
YAML = _DOCUMENT.split("```yaml\n")[1].split("```")[0]


@pytest.fixture
def files(spec, tmp_path: Path) -> Path:
    """The three files of the document, for the small cohort."""
    import warnings

    import torch

    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "mine.py").write_text(PYTHON)
    (folder / "model.yaml").write_text(YAML)
    namespace: dict = {"__name__": "document"}
    exec(PYTHON, namespace)  # noqa: S102  # our own document
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced: Any = torch.jit.trace(namespace["MyEncoder"](), torch.zeros(2, 12, 1000))
        traced.save(str(folder / "model.pt"))
    ids = [*Cohort.open("ptbxl-100hz").record_ids, "another"]
    values = np.random.default_rng(0).normal(size=(len(ids), 3))
    pl.DataFrame({"record_id": ids, "embedding": values.tolist()}).write_parquet(folder / "embeddings.parquet")
    study = spec.model_dump(mode="json") | {
        "encoders": ["mine.py:MyEncoder", "model.yaml", "embeddings.parquet", "age-sex"]
    }
    study |= {"baseline": None, "tasks": ["super"]}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    return folder


def test_a_study_of_files_runs_resumes_and_knows_an_edited_file(files: Path, tmp_path: Path, inline) -> None:
    plan = plan_representations(load_spec(files / "study.yaml"))
    assert [choice.id for choice in plan.spec.encoders] == ["my-net", "my-export", "embeddings", "age-sex"]
    summary = run_plan(plan, tmp_path / "run", inline())
    assert not summary.failed
    # What a folder gives back is planned without the files being run, and a run goes on from it.
    assert read_plan(tmp_path / "run").keys == plan.keys
    assert read_plan(tmp_path / "run").spec == plan.spec
    again = run_plan(plan_representations(load_spec(tmp_path / "run" / "study.yaml")), tmp_path / "run", inline())
    assert (again.done, again.reused) == (0, len(plan.cells))
    # Moved, they are the same.
    moved = files.rename(tmp_path / "moved")
    assert plan_representations(load_spec(moved / "study.yaml")).keys == plan.keys
    (moved / "mine.py").write_text(PYTHON.replace("torch.relu(", "torch.tanh("))
    edited = plan_representations(load_spec(moved / "study.yaml"))
    changed = [cell.title for cell in edited.cells if cell.key not in plan.keys]
    assert changed == ["embed with my-net", "probe my-net on super", "compare 4 encoders on super"]
    # Edited between plan and run: refused, not computed under the old key.
    (moved / "mine.py").write_text(PYTHON.replace("torch.relu(", "torch.abs("))
    broken = run_plan(edited, tmp_path / "run2", inline())
    assert "embed with my-net" in broken.failed
    assert "mine.py" in broken.failed["embed with my-net"]


def test_embeddings_by_record_id_must_cover_the_cohort(files: Path, tmp_path: Path, inline) -> None:
    file = files / "embeddings.parquet"
    spec = load_spec(files / "study.yaml", changes={"encoders": [str(file)]})
    plan = plan_representations(spec)
    run_plan(plan, tmp_path / "run", inline())
    from einthoven.studies.ledger import Ledger

    cell = plan.of_kind("embedding")[0]
    ledger = Ledger(tmp_path / "run")
    assert ledger.result(cell.key, EmbeddingResult).pretraining == "unknown"
    assert ledger.provenance(cell.key)["embeddings_of_other_records"] == 1
    pl.read_parquet(file).head(30).write_parquet(file)
    with pytest.raises(DataError, match=r"no embedding for 10 of the 40 records of cohort ptbxl-100hz, such as 31"):
        plan_representations(spec)


def test_names_must_differ_and_may_be_given(files: Path) -> None:
    mine = str(files / "mine.py")
    with pytest.raises(UsageError, match="Two encoders of the study are called my-net"):
        plan_representations(load_spec(files / "study.yaml", changes={"encoders": [mine, f"{mine}:MyEncoder"]}))
    named = [{"name": "age-sex", "file": mine}]
    with pytest.raises(UsageError, match="is a registered encoder"):
        plan_representations(load_spec(files / "study.yaml", changes={"encoders": named}))
    named = [{"name": "other", "file": mine}, "age-sex"]
    spec = load_spec(files / "study.yaml", changes={"encoders": named, "baseline": "other"})
    assert plan_representations(spec).spec.encoders[0].id == "other"


@pytest.mark.parametrize("name", ["mine.py:MyEncoder", "model.yaml"])
def test_the_documents_encoders_pass_the_gate_on_a_cohort(files: Path, name: str) -> None:
    cohort = Cohort.open("ptbxl-100hz")
    specimens = Specimens(cohort.signals(slice(0, 40, 5)), cohort.leads, cohort.rate)
    findings = check_encoder(find_encoder(str(files / name)), specimens)
    assert worst(findings) in ("pass", "warn"), findings


def test_the_command_line_checks_files_and_says_so_in_its_exit_code(files: Path, home: Path) -> None:
    def check(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = "from einthoven.cli.main import main; main()"
        return subprocess.run(
            [sys.executable, "-c", program, "encoders", "check", *arguments],
            capture_output=True, text=True, check=False, cwd=files,
            env={**os.environ, "EINTHOVEN_HOME": str(home), "COLUMNS": "200"},
        )  # fmt: skip

    done = check("mine.py:MyEncoder", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["encoder"] == "my-net"
    table = check("embeddings.parquet", "--cohort", "ptbxl-100hz")
    assert "40 records, 1 of no record of it (not used)" in table.stdout
    (files / "mine.py").write_text(PYTHON.replace(", generator=generator", ""))
    done = check("mine.py")
    assert done.returncode == 1
    assert "differ between two builds" in done.stdout
