"""What a user writes is checked key by key, and messages help."""

from __future__ import annotations

import pytest

from einthoven.foundation.errors import UnknownNameError, UsageError
from einthoven.studies.loading import load_spec, parse_setting, preset_names
from einthoven.studies.spec import EncoderChoice, parse_spec

GOOD = {"name": "s", "cohort": "c", "encoders": ["age-sex", {"name": "random-resnet18", "parameters": {"seed": 3}}]}


def test_a_name_alone_is_an_encoder_with_its_defaults() -> None:
    spec = parse_spec(GOOD, where="here")
    assert spec.encoders[0] == EncoderChoice(name="age-sex")
    assert [choice.id for choice in spec.encoders] == ["age-sex", "random-resnet18 (seed=3)"]
    assert len(spec.probe) == 16
    assert (spec.bootstrap.draws, spec.bootstrap.unit, spec.support.minimum_positives) == (1000, "patient", 10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder": 1}, "unknown key 'encoder'. Did you mean 'encoders'?"),
        ({"bootstrap": {"drawz": 5}}, "unknown key 'bootstrap.drawz'. Did you mean 'draws'?"),
        ({"probe": {"c": [1.0]}}, "unknown key 'probe.c'. Did you mean 'C'?"),
        ({"encoders": [{"name": "a", "seed": 1}]}, "unknown key 'encoders.0.seed'"),
        ({"bootstrap": {"draws": "many"}}, "bootstrap.draws: Input should be a valid integer"),
        ({"bootstrap": {"draws": 3}}, "bootstrap.draws: Input should be greater than or equal to 100 (found 3)"),
        ({"bootstrap": {"unit": "beat"}}, "bootstrap.unit: Input should be 'patient' or 'record'"),
        ({"name": "../out"}, "name: String should match pattern"),
        ({"encoders": []}, "encoders: "),
        ({"encoders": ["age-sex", "age-sex"]}, "the encoder age-sex is named more than once"),
        ({"tasks": ["a", "a"]}, "a task is named more than once"),
        ({"study": "atlas"}, "study is 'atlas'; this version runs 'representations'"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(change: dict, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_spec({**GOOD, **change}, where="my.yaml")
    assert message in str(caught.value)
    assert "my.yaml" in str(caught.value)


def test_all_problems_come_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse_spec({"name": "s", "cohrt": "c"}, where="x")
    text = str(caught.value)
    assert all(
        part in text for part in ("'cohrt'. Did you mean 'cohort'", "'cohort' is missing", "'encoders' is missing")
    )


def test_presets_are_valid_and_unknown_ones_have_suggestions() -> None:
    assert preset_names() == ["demo", "representations"]
    for name in preset_names():
        assert load_spec(name).name == name
    with pytest.raises(UnknownNameError, match="Did you mean 'representations'"):
        load_spec("representation")


def test_a_file_and_changes_over_it(tmp_path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\ncohort: c\nencoders: [age-sex]\nbootstrap: {draws: 300}\n")
    spec = load_spec(file, changes={"bootstrap.unit": "record", "tasks": ["super"]})
    assert (spec.bootstrap.draws, spec.bootstrap.unit, spec.tasks) == (300, "record", ("super",))
    with pytest.raises(UsageError, match=r"Cannot set 'name\.x'"):
        load_spec(file, changes={"name.x": 1})
    with pytest.raises(UsageError, match="There is no study file"):
        load_spec(tmp_path / "none.yaml")


def test_yaml_cannot_make_objects(tmp_path) -> None:
    file = tmp_path / "evil.yaml"
    file.write_text("name: !!python/object/apply:os.getcwd []\n")
    with pytest.raises(UsageError, match="not valid YAML"):
        load_spec(file)


def test_settings_of_the_command_line_are_yaml_values() -> None:
    assert parse_setting("probe.C=[0.1, 1]") == ("probe.C", [0.1, 1])
    assert parse_setting("baseline=null") == ("baseline", None)
    with pytest.raises(UsageError, match="expected key=value"):
        parse_setting("draws")
    with pytest.raises(UsageError, match="the key 'C' stands here for the second time"):
        parse_setting("probe={C: [1.0], C: [2.0]}")


def test_a_merged_mapping_may_be_written_over() -> None:
    # `other` is resolved before `inner`, and by then puts the 1 beside the 2 in the mapping they share.
    text = "{outer: {inner: &shared {<<: {draws: 1}, draws: 2}}, other: {<<: *shared}}"
    _, value = parse_setting(f"x={text}")
    assert value["outer"]["inner"] == {"draws": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", r"is empty\. A study needs at least name, cohort and encoders"),
        (b"# only a comment\n", "is empty"),
        (b"name: a\ncohort: b\nname: c\n", r"line 3 is not valid YAML: the key 'name' stands here for the second"),
        (b"name: a\nbootstrap:\n  draws: 1\n  draws: 2\n", r"line 4 .*'draws' stands here for the second time"),
        (b"probe: {C: [1.0], C: [2.0]}\n", r"line 1 .*'C' stands here for the second time"),
        (b"name: {{mine}}\n", r"line 1 is not valid YAML: found unhashable key"),
        (b"? [name]\n: a\n", r"line 1 is not valid YAML: found unhashable key"),
        (b"tasks: [[super\n", r"mine\.yaml, line 2 is not valid YAML"),
        (b"name: \xff\n", r"is not UTF-8 text .* at byte 6"),
        (b"- a\n", "must hold a mapping of keys to values; found list"),
        (b"!!python/object/apply:os.system [true]\n", "is not valid YAML"),
    ],
)
def test_files_that_are_no_study_say_what_is_wrong_and_where(tmp_path, text, message) -> None:
    file = tmp_path / "mine.yaml"
    file.write_bytes(text)
    with pytest.raises(UsageError, match=message):
        load_spec(file)


@pytest.mark.parametrize(
    "change",
    [
        {"probe": {"C": [float("inf")]}},
        {"probe": {"C": [float("nan")]}},
        {"support": {"minimum_positives": 10**22}},
        {"support": {"minimum_positives": True}},
        {"seed": True},
        {"seed": 1.0},
        {"seed": 2**63},
        {"bootstrap": {"draws": True}},
        {"bootstrap": {"confidence": float("nan")}},
    ],
)
def test_values_that_cannot_be_meant_are_refused(change) -> None:
    with pytest.raises(UsageError, match="is not a valid study"):
        parse_spec({"name": "s", "cohort": "c", "encoders": ["age-sex"], **change}, where="t")


@pytest.mark.parametrize("text", ["[" * 3000, "a: " + "9" * 5000])
def test_yaml_that_python_cannot_hold_is_refused(tmp_path, text) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(UsageError, match="is not valid YAML"):
        load_spec(tmp_path / "mine.yaml")
