"""What is wrong with a mapping, by the keys that stand in its file and not by the parts of its types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from einthoven.foundation.errors import nearest

_LONGEST_SHOWN = 100
# Keys that options of the command stand for.
_OPTION_OF = {
    "name": "--dataset NAME",
    "record": "--record COLUMN",
    "patient": "--patient COLUMN",
    "signals": '--file "{record}.hea"',
    "signals.file": '--file "{record}.hea"',
    "tasks": "--label COLUMN",
}
# Kind of pydantic's error -> what was expected.
_EXPECTED = {
    "string_type": "text",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "list_type": "a list",
    "tuple_type": "a list",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
}


def as_text(value: Any) -> str:
    """A key or cell as a table has it: YAML reads yes, no, on and off as booleans."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def all_said(
    errors: Iterable[Any],
    values: Any,
    *,
    keys_at: Callable[[tuple[str, ...]], Collection[str]],
    kinds: Mapping[str, Collection[str]],
) -> list[str]:
    """A line a key: where a value may be one of several things, each of them has an error of its own.

    Args:
        errors: of pydantic's `ValidationError.errors()`.
        values: what was checked.
        keys_at: path of a key -> the keys that are known where it stands, for "did you mean".
        kinds: group of keys -> the kinds that one of its entries may be of.
    """
    of_key: dict[tuple[str, ...], list[Any]] = {}
    for error in errors:
        of_key.setdefault(_users_path(error, values), []).append(error)
    lines: list[str] = []
    for path, found in of_key.items():
        # What is wrong within a value, or with its size, says more than that it might have been something else.
        mistaken = [error for error in found if error["type"] in _EXPECTED]
        deeper = any(len(other) > len(path) and other[: len(path)] == path for other in of_key)
        others = [error for error in found if error["type"] not in _EXPECTED]
        lines += [_said(path, error, keys_at, kinds) for error in others]
        if mistaken and not others and not deeper:
            lines.append(_wrong_kind(path, mistaken))
    return list(dict.fromkeys(lines))


def _users_path(error: Any, values: Any) -> tuple[str, ...]:
    """The keys as they stand in the file: the parts of a union ("boolean", "dict[str,str]") are none."""
    parts = [str(part) for part in error["loc"] if part != "[key]"]
    if parts[:1] in (["tasks"], ["splits"]):
        del parts[2:3]
    path: list[str] = []
    inside = values
    for at, part in enumerate(parts):
        if isinstance(inside, Mapping):
            named = {str(key): value for key, value in inside.items()} | {as_text(key): inside[key] for key in inside}
        else:
            named = {str(i): item for i, item in enumerate(inside)} if isinstance(inside, list | tuple) else {}
        if part in named:
            inside = named[part]
        elif not (error["type"] == "missing" and at == len(parts) - 1):
            continue
        path.append(part)
    return tuple(path)


def _wrong_kind(path: tuple[str, ...], errors: Iterable[Any]) -> str:
    errors = list(errors)
    kinds = dict.fromkeys(_EXPECTED[error["type"]] for error in errors)
    value = errors[0]["input"]
    hint = ""
    if "text" in kinds and isinstance(value, bool):
        hint = ": YAML reads yes, no, on and off as true and false, so write them in quotes"
    elif "text" in kinds and isinstance(value, Mapping):
        hint = ": write text that begins with a brace in quotes"
    elif "text" in kinds and value is not None and not isinstance(value, str | list):
        hint = ": write it in quotes"
    return f"{'.'.join(path) or 'it'}: {' or '.join(kinds)} was expected (found {_short(value)}){hint}"


def _said(
    path: tuple[str, ...],
    error: Any,
    keys_at: Callable[[tuple[str, ...]], Collection[str]],
    kinds: Mapping[str, Collection[str]],
) -> str:
    key = ".".join(path) or "it"
    if error["type"] == "extra_forbidden":
        close = nearest(path[-1], keys_at(path)) if path else []
        return f"unknown key {key}" + (f", did you mean {' or '.join(close)}?" if close else "")
    if error["type"] == "missing":
        option = _OPTION_OF.get(key)
        return f"{key} is missing" + (f" (write it in the mapping, or say {option})" if option else "")
    if error["type"] == "union_tag_not_found":
        return f"{key}.kind is missing; one of {', '.join(kinds.get(path[0], ()))} was expected"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{key}: {message}" + ("" if isinstance(error["input"], dict) else f" (found {_short(error['input'])})")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
