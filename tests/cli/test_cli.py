"""The command line: light, honest exit codes, JSON where asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import einthoven as einthoven_package

HEAVY = (
    "numpy",
    "scipy",
    "torch",
    "sklearn",
    "polars",
    "pandas",
    "numba",
    "matplotlib",
    "altair",
    "wfdb",
    "neurokit2",
    "pydantic",
    "yaml",
    "jinja2",
)


CATALOGUE = Path(einthoven_package.__file__).parent / "datasets" / "catalogue"


def einthoven(*arguments: str, home: Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from einthoven.cli.main import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "EINTHOVEN_HOME": str(home), "COLUMNS": "200"},
    )


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from einthoven.cli.main import app\n"
        "try:\n"
        "    app(['--help'])\n"
        "except SystemExit:\n"
        "    pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "representations" not in done.stderr
    assert done.stderr.strip() == "[]"
    assert all(
        command in done.stdout for command in ("demo", "plan", "run", "status", "report", "datasets", "encoders")
    )


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = f"import einthoven, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("run", "representatoins"), 2, "Did you mean 'representations'"),
        (("run", "demo", "--set", "bootstrap.drws=1"), 2, "unknown key 'bootstrap.drws'. Did you mean 'draws'?"),
        (("run", "demo"), 2, "Prepare one with `einthoven datasets prepare`"),
        (("datasets", "show", "ptb-xl"), 2, "Did you mean 'ptbxl'"),
        (("datasets", "prepare", "ptbxl"), 2, "--source"),
        (("datasets", "prepare", "ptbxl", "--source", "nowhere"), 2, "is not a folder"),
        (("datasets", "prepare", "phantom", "--option", "records"), 2, "expected KEY=INTEGER"),
        (("datasets", "prepare", "phantom", "--option", "size=3"), 2, "Unknown option 'size'"),
        (("encoders", "show", "resnet"), 2, "or 'random-resnet18'?"),
        (("status", "nowhere"), 1, "holds no study"),
        (("nonsense",), 2, "No such command"),
    ],
)
def test_wrong_use_says_what_to_do_and_exits_with_its_code(tmp_path, arguments, code, message) -> None:
    done = einthoven(*arguments, home=tmp_path / "home", cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_listings_are_json_on_request(tmp_path) -> None:
    listing = json.loads(einthoven("datasets", "list", "--json", home=tmp_path).stdout)
    names = sorted(path.stem.replace("_", "-") for path in CATALOGUE.glob("[!_]*.py"))
    assert len(names) > 15
    assert [d["name"] for d in listing["datasets"]] == names
    assert listing["cohorts"] == []
    encoders = json.loads(einthoven("encoders", "list", "--json", home=tmp_path).stdout)
    listed = [e["name"] for e in encoders]
    assert listed == sorted(listed)
    assert {"age-sex", "random-resnet18", "rr-features", "ecg-fm", "merl-resnet18"} <= set(listed)
    assert json.loads(einthoven("encoders", "show", "age-sex", "--json", home=tmp_path).stdout)["floor"] is True
    assert "random-resnet18" in einthoven("encoders", "list", home=tmp_path).stdout


@pytest.mark.slow
def test_from_files_to_a_report(ptbxl, tmp_path) -> None:
    home = tmp_path / "home"
    prepared = einthoven("datasets", "prepare", "ptbxl", "--source", str(ptbxl.path), home=home)
    assert prepared.returncode == 0, prepared.stderr
    assert "ptbxl-100hz: 40 records of 20 patients" in prepared.stdout
    assert einthoven("datasets", "check", "ptbxl-100hz", home=home).returncode == 0
    shown = json.loads(einthoven("datasets", "show", "ptbxl-100hz", "--json", home=home).stdout)
    assert shown["records"] == 40

    arguments = ("representations", "--encoders", "age-sex,rr-features", "--set", "baseline=null", "--tasks", "super")
    planned = json.loads(einthoven("plan", *arguments, "--json", home=home, cwd=tmp_path).stdout)
    assert [cell["finished"] for cell in planned] == [False] * 6
    ran = einthoven("run", *arguments, "--set", "bootstrap.draws=100", home=home, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "6 cells done, 0 kept from before, 0 failed" in ran.stderr
    page = tmp_path / "runs" / "representations" / "report" / "index.html"
    assert f"report: {page.relative_to(tmp_path)}" in ran.stdout
    assert "age-sex" in page.read_text()
    status = json.loads(einthoven("status", "runs/representations", "--json", home=home, cwd=tmp_path).stdout)
    assert (status["finished"], len(status["cells"])) == (6, 6)
    assert all(cell["state"] == "finished" for cell in status["cells"])

    picture = tmp_path / "ecg.png"
    assert einthoven("datasets", "draw", "ptbxl-100hz", "3", "--out", str(picture), home=home).returncode == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_a_scheduler_keep_what_is_finished_and_say_so(ptbxl, tmp_path, ending) -> None:
    home = tmp_path / "home"
    assert einthoven("datasets", "prepare", "ptbxl", "--source", str(ptbxl.path), home=home).returncode == 0
    arguments = ("run", "representations", "--encoders", "age-sex,rr-features", "--set", "baseline=null")
    process = subprocess.Popen(
        [sys.executable, "-c", "from einthoven.cli.main import main; main()", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "EINTHOVEN_HOME": str(home)},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    while "done" not in (line := process.stderr.readline()):
        assert line, "it ended before its first cell"
    # Ctrl-C reaches the whole group, a scheduler's signal often the first process alone.
    os.killpg(process.pid, ending) if ending == signal.SIGINT else os.kill(process.pid, ending)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted. Finished cells are kept in runs/representations" in rest
    assert "Traceback" not in rest
    again = einthoven(*arguments, home=home, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "kept from before" in again.stderr
    assert "0 kept from before" not in again.stderr


@pytest.mark.realdata
def test_show_counts_the_labels_of_a_dataset_from_its_metadata(real_data: Path, tmp_path: Path) -> None:
    source = str(real_data / "ptbxl")
    shown = json.loads(einthoven("datasets", "show", "ptbxl", "--source", source, "--json", home=tmp_path).stdout)
    assert shown["tasks"]["super"]["family"] == "rhythm+waveform"
    assert shown["sizes"]["records"] == 21_799
    assert shown["support"]["super"]["records"] == {"train": 17_084, "val": 2_146, "test": 2_158}
    assert shown["support"]["super"]["positives"]["test"]["MI"] == 550
    text = einthoven("datasets", "show", "ptbxl", home=tmp_path).stdout
    assert "rhythm+waveform" in text
    assert "5 diagnostic superclasses" in text
