"""Numbers and messages as a reader sees them. Undefined is a dash with its reason, never a zero."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from einthoven.studies.results import Estimate

DASH = "–"
_MINUS = "−"

# An absolute path that starts a word: its folders say where it lay on one machine, which no reader needs.
_POSIX_PATH = re.compile(r"(?<![\w/:.<>~-])(?:~/|/)(?:[^\s/'\"<>,;:()]+/)+([^\s/'\"<>,;:()]*)")
_WINDOWS_PATH = re.compile(r"(?<!\w)[A-Za-z]:\\(?:[^\s\\'\"<>,;:]+\\)*([^\s\\'\"<>,;:]*)")


@dataclass(frozen=True)
class Shown:
    """A value of a table.

    Attributes:
        text: what is seen.
        note: why it is undefined, or what else is to be known; shown when pointed at.
        order: what a table sorts it by; empty sorts last.
        interval: the interval in brackets, if there is one.
        mark: "best", "undecided" (no difference from the best can be shown) or "".
    """

    text: str
    note: str = ""
    order: str = ""
    interval: str = ""
    mark: str = ""


def number(value: float | None, *, digits: int = 3, signed: bool = False) -> str:
    """A number with a true minus sign; None and NaN are a dash.

    Example:
        >>> number(-0.1234), number(0.5, signed=True), number(None)
        ('−0.123', '+0.500', '–')
    """
    if value is None or math.isnan(value):
        return DASH
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", _MINUS)


def interval(estimate: Estimate, *, digits: int = 3) -> str:
    """`[low, high]`, or nothing if there is no interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{number(estimate.low, digits=digits)}, {number(estimate.high, digits=digits)}]"


def with_interval(estimate: Estimate, *, digits: int = 3) -> str:
    """`point [low, high]`, as in running text."""
    return f"{number(estimate.point, digits=digits)} {interval(estimate, digits=digits)}".rstrip()


def shown(estimate: Estimate | None, *, reason: str = "", mark: str = "", signed: bool = False) -> Shown:
    """An estimate as a value of a table; `reason` says why there is none, where its own does not."""
    if estimate is None or estimate.point is None:
        why = (estimate.reason if estimate else None) or reason or "undefined; no reason was given"
        return Shown(DASH, note=why)
    notes = [estimate.reason or ""]
    if estimate.undefined_draws:
        notes.append(f"undefined in {estimate.undefined_draws} of {estimate.draws} draws, which are left out")
    return Shown(
        number(estimate.point, signed=signed),
        note="; ".join(note for note in notes if note),
        order=f"{estimate.point:.6g}",
        interval=interval(estimate),
        mark=mark,
    )


def percent(confidence: float) -> str:
    """A confidence as a percentage.

    Example:
        >>> percent(0.95), percent(0.995)
        ('95 %', '99.5 %')
    """
    return f"{100 * confidence:.6g} %"


def count(value: int) -> str:
    """A whole number with thin thousands.

    Example:
        >>> count(21799).replace(chr(0x202F), "_")
        '21_799'
    """
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def plural(value: int, one: str, many: str | None = None) -> str:
    """A count and its noun.

    Example:
        >>> plural(1, "record"), plural(3, "record"), plural(2, "patient's", "patients'")
        ('1 record', '3 records', "2 patients'")
    """
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Seconds as a person would say them.

    Example:
        >>> duration(0.42), duration(75), duration(7260)
        ('0.42 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def without_folders(text: str) -> str:
    """A message with the folders of absolute paths left out: a report goes to people with other machines.

    Example:
        >>> without_folders("Cannot read /home/ada/ptbxl/00001_lr.dat: 3/4 of https://physionet.org/a/b is there")
        'Cannot read …/00001_lr.dat: 3/4 of https://physionet.org/a/b is there'
    """
    return _WINDOWS_PATH.sub(r"…\\\1", _POSIX_PATH.sub(r"…/\1", text))
