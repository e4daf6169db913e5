"""What the values of a mapping may be, whatever their key: numbers, texts, lead names, formats of dates."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from einthoven.signals.leads import STANDARD_LEADS

from .mapping_errors import as_text


class Part(BaseModel):
    """A group of keys; unknown ones are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _no_flag(value: Any) -> Any:
    if isinstance(value, bool):
        # Python counts true as 1, so that `rate: yes` would be 1 Hz.
        raise ValueError("a number was expected: YAML reads yes, no, on and off as true and false")  # noqa: TRY004 - pydantic's
    return value


Number = Annotated[float, BeforeValidator(_no_flag)]
WholeNumber = Annotated[int, BeforeValidator(_no_flag)]


def _lead_names(value: Any) -> Any:
    if isinstance(value, str):
        return STANDARD_LEADS if value == "standard" else tuple(part.strip() for part in value.split(","))
    return value


LeadNames = Annotated[tuple[str, ...], BeforeValidator(_lead_names)]


def texts(value: Any) -> Any:
    """Keys or items as the cells of a table have them.

    Raises:
        ValueError: two keys that are one cell, such as 1 and "1".
    """
    # YAML reads 0, 1, true and no as numbers and booleans; the cells of a table are text.
    if isinstance(value, Mapping):
        named = {as_text(key): item for key, item in value.items()}
        if len(named) < len(value):
            raise ValueError(f"two keys stand for one cell: {', '.join(map(repr, value))}")
        return named
    if isinstance(value, list | tuple):
        return [as_text(item) if isinstance(item, bool | int | float) else item for item in value]
    return value


def check_folded(codes: Mapping[str, object] | None) -> None:
    """Refuse codes that differ in case alone and mean different things, since case does not matter there.

    Raises:
        ValueError: with the first two.
    """
    seen: dict[str, str] = {}
    for code, meaning in (codes or {}).items():
        other = seen.setdefault(code.casefold(), code)
        if codes is not None and codes[other] != meaning:
            raise ValueError(f"`codes` names {other!r} and {code!r}, but case does not matter: they are one cell")


def check_date_format(fmt: str | None) -> None:
    """Refuse a format of dates by which a date that is written is not read back.

    Raises:
        ValueError: year, month or day are not in it, or twice.
    """
    if fmt is not None and not _reads_dates(fmt):
        raise ValueError(
            f"`format` is {fmt!r}; year, month and day were expected, each once, as in Python's strptime, such as "
            "'%d/%m/%Y' or '%Y-%m-%d %H:%M'"
        )


def _reads_dates(fmt: str) -> bool:
    """Whether a date that is written by a format is read back by it."""
    for day in (datetime(2024, 5, 31, 12, 34, 56, tzinfo=UTC), datetime(1987, 11, 6, tzinfo=UTC)):
        try:
            with warnings.catch_warnings():
                # Python warns of formats without a year, which are refused below.
                warnings.simplefilter("ignore")
                found = datetime.strptime(day.strftime(fmt), fmt)  # noqa: DTZ007 - only its date counts
        except (ValueError, KeyError, IndexError, OverflowError, re.error):
            return False
        if found.date() != day.date():
            return False
    return True
