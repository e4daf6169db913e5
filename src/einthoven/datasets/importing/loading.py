"""From a YAML file and what the command line puts over it to a checked mapping."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError

from einthoven.foundation.errors import UsageError

from .mapping import ImportPlan, keys_of_kind, parse_plan, text_keys

_NOTHING = ("", "null", "~")


def load_plan(file: Path | None, changes: Mapping[str, Any] | None = None) -> ImportPlan:
    """Read and check a mapping.

    Args:
        file: YAML; None takes all from `changes`.
        changes: dotted key -> value, put over what the file says ("signals.units": "mV"). Another `kind` of a task or
            split takes the keys away that this kind does not have.

    Raises:
        UsageError: no such file, broken YAML, or an invalid mapping; the message names the keys.
    """
    values = {} if file is None else _read(file)
    for key, value in (changes or {}).items():
        _put(values, key, value)
    return parse_plan(values, where="the command line" if file is None else str(file))


def parse_setting(text: str) -> tuple[str, Any]:
    """One KEY=VALUE of the command line; the value is read as YAML, but for keys that take text alone.

    Example:
        >>> parse_setting("signals.rate=500")
        ('signals.rate', 500)
        >>> parse_setting("signals.file={record}.npy")
        ('signals.file', '{record}.npy')
    """
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise UsageError(f"--set {text!r}: expected KEY=VALUE, such as signals.rate=500.")
    key, bare = key.strip(), value.strip()
    # "{", "%", ">" and others mean something to YAML, and belong to paths, dates and rules.
    if key.rpartition(".")[2] in text_keys() and bare.lower() not in _NOTHING and bare[:1] not in ("'", '"'):
        return key, bare or value
    try:
        return key, _load(value)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problem = getattr(error, "problem", None) or str(error)
        raise UsageError(
            f"--set {text[:80]!r}: the value is not valid YAML ({problem}). Put text that YAML would read otherwise in "
            f"quotes within those of the shell: --set '{key}=\"TEXT\"'."
        ) from None


class _EveryKeyOnce(yaml.SafeLoader):
    """Of two keys of one name YAML keeps the last without a word; a mapping must not lose half of its tasks."""

    # While composing: later, a merge ("<<: *other") has put the keys of the other mapping among a mapping's own.
    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"the key {key.value!r} stands here for the second time"
                    raise ComposerError(None, None, problem, key.start_mark)
                seen.add(key.value)
        return node


def _load(text: str) -> Any:
    return yaml.load(text, Loader=_EveryKeyOnce)  # noqa: S506 - a SafeLoader


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise UsageError(
            f"There is no mapping file {file}. To begin one: einthoven datasets import --example labels > {file.name}"
        )
    try:
        values = _load(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text ({error.reason} at byte {error.start}).") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror or error}). May you read it?") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"{file} is not valid YAML: {error}") from None
    if not isinstance(values, dict):
        raise UsageError(f"{file} holds {type(values).__name__}; keys such as `record:` and `signals:` were expected.")
    return values


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    *parents, last = key.split(".")
    group: Any = values
    for parent in parents:
        group = group.setdefault(parent, {}) if isinstance(group, dict) else None
    if not isinstance(group, dict):
        raise UsageError(f"Cannot set {key!r}: {'.'.join(parents)} is not a group of keys.")
    if last == "kind" and len(parents) == 2 and group.get("kind") != value:
        # What only the other kind has would be refused, and cannot be taken out on the command line.
        known = keys_of_kind(parents[0], value)
        for other in [other for other in group if known and other not in known]:
            del group[other]
    group[last] = value
