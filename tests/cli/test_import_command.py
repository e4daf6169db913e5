"""`einthoven datasets import`, and that the page about it tells the truth."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import wfdb
import yaml
from typer.testing import CliRunner

from einthoven.cli.main import app
from einthoven.datasets.cohort import Cohort
from einthoven.datasets.importing.examples import EXAMPLES
from einthoven.datasets.importing.loading import load_plan, parse_setting
from einthoven.foundation.errors import DataError, UsageError
from einthoven.signals.leads import STANDARD_LEADS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own-data.md"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["datasets", "import", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with the columns of all examples, and .npy files of 10 s at 500 Hz."""
    time = np.arange(5000) / 500
    beat = np.exp(-(((time % 0.8) - 0.4) ** 2) / 0.0008) + 0.02 * np.sin(time)
    (tmp_path / "signals").mkdir()
    names = ["ecg_id", "patient_id", "age", "sex", "afib", "lbbb", "ecg_time", "mpcwp_mmhg", "mpa_mmhg"]
    names += ["death_date", "last_contact"]
    lines = [",".join(names)]
    for number in range(30):
        one, two = 0.7 * beat, (1 + number / 100) * beat
        limbs = [one, two, two - one, -(one + two) / 2, one - two / 2, two - one / 2]
        signal = np.array([*limbs, *((0.3 + lead / 10) * beat for lead in range(6))], dtype=np.float32)
        np.save(tmp_path / "signals" / f"{number}.npy", signal)
        wfdb.wrsamp(
            str(number),
            fs=500,
            units=["mV"] * 12,
            sig_name=list(STANDARD_LEADS),
            p_signal=signal.T.astype(np.float64),
            fmt=["16"] * 12,
            adc_gain=[1000.0] * 12,
            baseline=[0] * 12,
            write_dir=str(tmp_path / "signals"),
        )
        dead = "2021-03-01" if number % 5 == 0 else ""
        cells = [number, number // 2, 50 + number, number // 2 % 2, number % 2, number % 3 == 0, "2021-01-01"]
        cells += [10 + number, 15 + number, dead, "2023-01-01"]
        lines.append(",".join(str(cell) for cell in cells))
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_can_be_imported_as_it_stands(name: str, folder: Path) -> None:
    Path("mapping.yaml").write_text(run("--example", name))
    arguments = ("table.csv", "--signals", "signals", "--mapping", "mapping.yaml")
    found = json.loads(run(*arguments, "--dry-run", "--json"))
    assert found["records"] == 30
    assert found["first"] == ""
    assert "positive records" in run(*arguments, "--dry-run").casefold()
    plan = load_plan(Path("mapping.yaml"))
    assert f"{plan.name}-500hz: 30 of 30 records of 15 patients" in run(*arguments)
    Cohort.open(f"{plan.name}-500hz").verify()


def test_the_command_line_alone(folder: Path) -> None:
    options = [
        "--dataset",
        "w",
        "--record",
        "ecg_id",
        "--patient",
        "patient_id",
        "--file",
        "{record}.npy",
        "--label",
        "afib",
    ]
    options += ["--units", "mV", "--rate", "500", "--leads", "standard", "--set", "signals.seconds=10", "--json"]
    manifest = json.loads(run("table.csv", "--signals", "signals", *options))
    assert manifest["tasks"]["labels"]["labels"] == ["afib"]
    assert manifest["samples"] == 5000


def test_what_is_missing_or_unknown(folder: Path) -> None:
    for arguments, words in (
        ([], "Name a table and the folder"),
        (["--example", "hemodynamik"], "Did you mean 'hemodynamic'"),
        (["table.csv", "--signals", "signals", "--mapping", "no.yaml"], "--example labels"),
        (["table.csv", "--signals", "signals"], "name is missing (write it in the mapping, or say --dataset NAME)"),
        (["table.csv", "--signals", "signals"], "patient is missing (write it in the mapping, or say --patient"),
        (["table.csv", "--signals", "signals", "--set", "x"], "expected KEY=VALUE"),
        (["table.csv", "--signals", "signals", "--bad-records", "keep"], "'refuse' or 'exclude'"),
    ):
        result = CliRunner().invoke(app, ["datasets", "import", *arguments])
        assert isinstance(result.exception, UsageError)
        assert words in str(result.exception)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_as_json_says_the_same_and_is_a_mapping_too(name: str, folder: Path) -> None:
    assert json.loads(run("--example", name, "--json")) == json.loads(
        json.dumps(yaml.safe_load(EXAMPLES[name]), default=str)
    )
    Path("mapping.json").write_text(run("--example", name, "--json"))
    Path("mapping.yaml").write_text(EXAMPLES[name])
    assert load_plan(Path("mapping.json")) == load_plan(Path("mapping.yaml"))


@pytest.mark.parametrize("settings", [("kind=folds", "folds=4"), ("folds=4", "kind=folds")])
def test_the_kind_of_a_split_can_be_changed_key_by_key(settings: tuple[str, str], tmp_path: Path) -> None:
    file = tmp_path / "mapping.yaml"
    file.write_text(EXAMPLES["labels"])
    changes = dict(parse_setting(f"splits.patients.{setting}") for setting in settings)
    split = load_plan(file, changes).splits["patients"]
    assert split.model_dump() == {"kind": "folds", "folds": 4, "seed": 0}
    with pytest.raises(UsageError, match=r"splits\.other\.kind is missing; one of hash, column, folds was expected"):
        load_plan(file, {"splits.other.train": 0.5})
    with pytest.raises(UsageError, match="'fold' found using 'kind'"):
        load_plan(file, {"splits.patients.kind": "fold"})


def test_a_missing_file_of_ones_own_is_not_to_be_downloaded(folder: Path) -> None:
    Path("mapping.yaml").write_text(EXAMPLES["labels"])
    Path("signals/3.npy").unlink()
    result = CliRunner().invoke(
        app, ["datasets", "import", "table.csv", "--signals", "signals", "--mapping", "mapping.yaml"]
    )
    assert isinstance(result.exception, DataError)
    assert "3.npy. Put them there, or correct `signals.file`" in str(result.exception)
    assert "ownload" not in str(result.exception)


@pytest.mark.parametrize("moment", ["preview", "import_table"])
def test_an_interrupted_import_says_that_nothing_was_stored(
    moment: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"einthoven.datasets.importing.preparing.{moment}", interrupted)
    Path("mapping.yaml").write_text(EXAMPLES["labels"])
    arguments = ["datasets", "import", "table.csv", "--signals", "signals", "--mapping", "mapping.yaml"]
    result = CliRunner().invoke(app, [*arguments, *(["--dry-run"] if moment == "preview" else [])])
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, "Interrupted; nothing was stored.")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("signals.file={record}.npy", "{record}.npy"),
        ("signals.file={record}", "{record}"),
        ('signals.file="{record}.npy"', "{record}.npy"),
        ("signals.key={record}/ecg", "{record}/ecg"),
        ("time.format=%d/%m/%Y", "%d/%m/%Y"),
        ("tasks.x.rule=>= 40", ">= 40"),
        ("tasks.x.delimiter=|", "|"),
        ("separator=;", ";"),
        ("age=on", "on"),
        ("version=1", "1"),
        ("age=", None),
        ("signals.rate=500", 500),
        ("signals.rate=fs", "fs"),
        ("metadata=[a, b]", ["a", "b"]),
        ("signals.leads=I, II", "I, II"),
    ],
)
def test_settings_that_are_text(text: str, value: object) -> None:
    assert parse_setting(text)[1] == value


@pytest.mark.parametrize("value", ["{a", "[1", "%d", "9" * 5000, "[" * 1200])
def test_settings_that_are_no_yaml_say_what_to_quote(value: str) -> None:
    with pytest.raises(UsageError, match="quotes within those of the shell: --set 'metadata="):
        parse_setting(f"metadata={value}")


def test_settings_and_files(tmp_path: Path) -> None:
    assert parse_setting("splits.a={kind: folds, folds: 4}") == ("splits.a", {"kind": "folds", "folds": 4})
    (tmp_path / "m.yaml").write_text("- a\n")
    with pytest.raises(UsageError, match="keys such as `record:`"):
        load_plan(tmp_path / "m.yaml")
    (tmp_path / "m.yaml").write_text("a: [\n")
    with pytest.raises(UsageError, match="is not valid YAML"):
        load_plan(tmp_path / "m.yaml")
    (tmp_path / "m.yaml").write_text("signals: here\n")
    with pytest.raises(UsageError, match="signals is not a group of keys"):
        load_plan(tmp_path / "m.yaml", {"signals.rate": 1})


def test_the_page_about_own_data(folder: Path) -> None:
    """Its mapping is valid, and its commands run."""
    text = PAGE.read_text(encoding="utf-8")
    mappings = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    Path("mapping.yaml").write_text(yaml.safe_dump(mappings[0]))
    commands = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(commands) >= 3
    for command in commands:
        words, _, into = command.removeprefix("einthoven datasets import ").partition(" > ")
        output = run(*words.split())
        if into:
            assert output.startswith("#")


def test_a_dry_run_that_would_end_badly_fails_and_a_second_import_says_what_is_kept(folder: Path) -> None:
    Path("mapping.yaml").write_text(run("--example", "labels"))
    arguments = ["datasets", "import", "table.csv", "--mapping", "mapping.yaml", "--signals"]
    for more in (["signals", "--set", "signals.rate=250"], ["."]):
        result = CliRunner().invoke(app, [*arguments, *more, "--dry-run"])
        assert result.exit_code == 1, result.output
        assert "can be stored" not in result.output
    first, again = (CliRunner().invoke(app, [*arguments, "signals"]) for _ in range(2))
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert "imported before" not in first.stderr
    assert "It was imported before" in again.stderr
