"""The header of a WFDB record, parsed as its definition says: PhysioNet, WFDB Applications Guide, header(5).

The wfdb package parses headers through pandas, which takes most of the time of reading a short record, and refuses
headers that write the date before the time, as some released ones do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from einthoven.foundation.errors import DataError

_DEFAULT_GAIN = 200.0
_DEFAULT_RATE = 250.0
# Digits are bounded by what 64 bits hold; what is that large is refused where it does not fit the signal file.
_FORMAT = re.compile(
    r"(?P<format>\d{1,9})(?:x(?P<frame>\d{1,9}))?(?::(?P<skew>\d{1,18}))?(?:\+(?P<offset>\d{1,18}))?", re.ASCII
)
_REAL = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_GAIN = re.compile(rf"(?P<gain>[-+]?{_REAL})(?:\((?P<baseline>-?\d{{1,18}})\))?(?:/(?P<unit>\S+))?", re.ASCII)
# Nobody stores a unit in fewer or more steps; beyond them samples would be infinite or 0.
_GAINS = (1e-12, 1e12)
_RATE = re.compile(rf"(?P<rate>{_REAL})(?:[/(].*)?", re.ASCII)
_COUNT = re.compile(r"\d{1,18}", re.ASCII)
_WHOLE = re.compile(r"[-+]?\d{1,18}", re.ASCII)
_TWO_WHOLE = re.compile(rf"{_WHOLE.pattern} {_WHOLE.pattern}", re.ASCII)


class SignalLine(NamedTuple):
    """What a header says of one signal.

    Attributes:
        frame: samples of it in each frame.
        skew: frames it is late by.
        offset: bytes of the file before the first sample.
        gain: units of the samples for one `unit`; never 0.
        baseline: sample value at 0 `unit`.
        checksum: sum of its samples, modulo 65536, or None.
        name: its description; "" if there is none.
    """

    file: str
    format: str
    frame: int
    skew: int
    offset: int
    gain: float
    baseline: int
    unit: str
    checksum: int | None
    name: str


@dataclass(frozen=True)
class Header:
    """A single-segment record.

    Attributes:
        rate: frames a second, Hz.
        samples: frames, or 0 where the header does not say.
        comments: lines after "#", without it, in order.
    """

    name: str
    rate: float
    samples: int
    signals: tuple[SignalLine, ...]
    comments: tuple[str, ...]

    def comment(self, key: str) -> str | None:
        r"""The value of a comment "key: value", case ignored; None if there is none, "" if it is empty.

        Example:
            >>> parse_header("r 0 1\n# Dx: 1,2", where="r").comment("dx")
            '1,2'
        """
        for line in self.comments:
            name, separator, value = line.partition(":")
            if separator and name.strip().casefold() == key.casefold():
                return value.strip()
        return None


def parse_header(text: str, *, where: str) -> Header:
    """Parse the text of a .hea file.

    Args:
        where: the record, for messages.

    Raises:
        DataError: it is no header of a single-segment record; the message names the line.
    """
    stripped = [line.strip() for line in text.splitlines()]
    comments = tuple(line[1:].strip() for line in stripped if line.startswith("#"))
    lines = [line.split() for line in stripped if line and not line.startswith("#")]
    if not lines or len(lines[0]) < 2:
        raise DataError(f"The header of {where} has no record line such as `name 12 500 5000`.")
    record = lines[0]
    if "/" in record[0] and _COUNT.fullmatch(record[0].rsplit("/", 1)[1]):
        raise DataError(f"The header of {where} is of a multi-segment record, which is not supported.")
    count = _number(record, 1, where, "number of signals", default=0)
    rate = _rate(record[2], where) if len(record) > 2 else _DEFAULT_RATE
    samples = _number(record, 3, where, "number of samples", default=0)
    # What follows is time and date; released headers have them in both orders, and nothing here depends on them.
    if len(lines) - 1 != count:
        raise DataError(f"The header of {where} announces {count} signals and describes {len(lines) - 1}.")
    return Header(
        name=record[0],
        rate=rate,
        samples=samples,
        signals=tuple(_signal(line, where) for line in lines[1:]),
        comments=comments,
    )


def _number(fields: list[str], index: int, where: str, what: str, *, default: int) -> int:
    if len(fields) <= index:
        return default
    if not _COUNT.fullmatch(fields[index]):
        raise DataError(f"The header of {where} gives the {what} as {fields[index]!r}; a whole number was expected.")
    return int(fields[index])


def _rate(text: str, where: str) -> float:
    found = _RATE.fullmatch(text)
    rate = float(found["rate"]) if found else 0.0
    if not 0 < rate < 1e6:
        raise DataError(f"The header of {where} gives the sampling rate as {text!r}; a number of Hz was expected.")
    return rate


def _signal(fields: list[str], where: str) -> SignalLine:
    if len(fields) == 9:
        # All fields and a name of one word, as nearly every line is: the same without looking at each for an error.
        kind, calibration = _format(fields[1]), _calibration(fields[2])
        if kind and calibration and _in_folder(fields[0]) and _TWO_WHOLE.fullmatch(f"{fields[4]} {fields[6]}"):
            gain, baseline, unit = calibration
            offset = int(fields[4]) if baseline is None else baseline
            return SignalLine(fields[0], *kind, gain, offset, unit, int(fields[6]), fields[8])
    return _any_signal(fields, where)


def _any_signal(fields: list[str], where: str) -> SignalLine:
    line = " ".join(fields)
    if len(fields) < 2:
        raise DataError(f"The header of {where} has a signal line without file and format: {line!r}.")
    kind = _format(fields[1])
    if kind is None:
        raise DataError(
            f"The header of {where} gives a format as {fields[1]!r}; 212 or 16x2:3+24, with one sample a frame or "
            f"more, was expected: {line!r}."
        )
    if not _in_folder(fields[0]):
        raise DataError(
            f"The header of {where} names the signal file {fields[0]!r}; one in its own folder was expected: {line!r}."
        )
    calibration = _calibration(fields[2]) if len(fields) > 2 else (_DEFAULT_GAIN, None, "mV")
    if calibration is None:
        raise DataError(f"The header of {where} gives a gain as {fields[2]!r}; 1000(0)/mV was expected: {line!r}.")
    gain, baseline, unit = calibration
    zero = _integer(fields, 4, where, line) or 0
    return SignalLine(
        file=fields[0],
        format=kind[0],
        frame=kind[1],
        skew=kind[2],
        offset=kind[3],
        gain=gain,
        baseline=zero if baseline is None else baseline,
        unit=unit,
        checksum=_integer(fields, 6, where, line),
        name=" ".join(fields[8:]),
    )


def _in_folder(file: str) -> bool:
    return "/" not in file and "\\" not in file and file not in (".", "..")


# The signals of a dataset have the same few formats and gains.
@lru_cache(maxsize=256)
def _format(text: str) -> tuple[str, int, int, int] | None:
    found = _FORMAT.fullmatch(text)
    if found is None or (frame := int(found["frame"] or 1)) < 1:
        return None
    return found["format"], frame, int(found["skew"] or 0), int(found["offset"] or 0)


@lru_cache(maxsize=256)
def _calibration(text: str) -> tuple[float, int | None, str] | None:
    found = _GAIN.fullmatch(text)
    if found is None:
        return None
    gain = float(found["gain"])
    if not gain and not re.search("[1-9]", re.split("[eE]", found["gain"])[0]):
        # A gain of 0 says that the signal is not calibrated; WFDB then takes its default.
        gain = _DEFAULT_GAIN
    if not _GAINS[0] <= abs(gain) <= _GAINS[1]:
        return None
    return gain, int(found["baseline"]) if found["baseline"] else None, found["unit"] or "mV"


def _integer(fields: list[str], index: int, where: str, line: str) -> int | None:
    if len(fields) <= index:
        return None
    if not _WHOLE.fullmatch(fields[index]):
        raise DataError(f"The header of {where} has {fields[index]!r} where a whole number was expected: {line!r}.")
    return int(fields[index])
