"""From a preset's name or a YAML file, and what the command line changes, to a checked specification."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError

from einthoven.encoders.own.reference import OwnReference, is_own
from einthoven.foundation.errors import UsageError, unknown_name

from .spec import RepresentationsSpec, parse_spec


def preset_names() -> list[str]:
    """Names of the studies that come with the package."""
    folder = resources.files("einthoven.studies.presets")
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml"))


def load_spec(study: str | Path, *, changes: dict[str, Any] | None = None) -> RepresentationsSpec:
    """Read and check a study.

    Args:
        study: a preset's name, or a path ending in .yaml or .yml.
        changes: dotted key -> value, put over what the file says ("bootstrap.draws": 200).

    Raises:
        UsageError: no such preset or file, broken YAML, or an invalid study; the message names the key.
    """
    values, where = _read(study)
    if isinstance(values, dict) and Path(study).suffix in (".yaml", ".yml") and "encoders" in values:
        values["encoders"] = _found_beside(values["encoders"], Path(study).parent)
    for key, value in (changes or {}).items():
        _put(values, key, value)
    return parse_spec(values, where=where)


def parse_setting(text: str) -> tuple[str, Any]:
    """One `key=value` of the command line; the value is read as YAML.

    Example:
        >>> parse_setting("bootstrap.draws=200")
        ('bootstrap.draws', 200)
    """
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise UsageError(f"--set {text!r}: expected key=value, such as bootstrap.draws=200.")
    try:
        return key.strip(), _load_yaml(value)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"--set {text[:80]!r}: the value is not valid YAML ({error}).") from None


def _read(study: str | Path) -> tuple[Any, str]:
    path = Path(study)
    if path.suffix in (".yaml", ".yml"):
        if not path.is_file():
            raise UsageError(f"There is no study file {path}. Presets: {', '.join(preset_names())}.")
        try:
            text, where = path.read_text(encoding="utf-8"), str(path)
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}).") from None
    else:
        if str(study) not in preset_names():
            error = unknown_name("study", str(study), preset_names())
            error.add_note("A study is a preset's name or a file ending in .yaml.")
            raise error
        text = (resources.files("einthoven.studies.presets") / f"{study}.yaml").read_text(encoding="utf-8")
        where = f"preset {study}"
    try:
        values = _load_yaml(text)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"{where}{line} is not valid YAML: {error.problem}.") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"{where} is not valid YAML: {error}") from None
    if values is None:
        raise UsageError(f"{where} is empty. A study needs at least name, cohort and encoders; README.md shows one.")
    return values, where


def _found_beside(encoders: Any, folder: Path) -> Any:
    """Files of encoders that a study names, looked for beside the study before the current folder."""

    def found(text: Any) -> Any:
        if not isinstance(text, str) or not is_own(text):
            return text
        return str(OwnReference.parse(text).absolute(beside=folder))

    def of(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: found(value) if key in ("name", "file") else value for key, value in item.items()}
        return found(item)

    return [of(item) for item in encoders] if isinstance(encoders, list) else encoders


def _load_yaml(text: str) -> Any:
    loader = _StrictLoader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


class _StrictLoader(yaml.SafeLoader):
    """Of two keys of one name YAML keeps the last without a word; a study must not lose half of what it says."""

    # While composing: later, a merge ("<<: *other") has put the keys of the other mapping among a mapping's own.
    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise ComposerError(
                    None, None, f"the key {key.value!r} stands here for the second time", key.start_mark
                )
            seen.add(key.value)
        return node


def _put(values: Any, key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for parent in parents:
        if not isinstance(values, dict):
            break
        values = values.setdefault(parent, {})
    if not isinstance(values, dict):
        raise UsageError(f"Cannot set {key!r}: {'.'.join(parents)} is not a group of keys.")
    values[last] = value
