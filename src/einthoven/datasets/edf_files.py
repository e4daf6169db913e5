"""Reading EDF and EDF+ files (Kemp et al. 1992, 2003), and refusing those that are not what their header says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from einthoven.foundation.errors import DataError
from einthoven.signals.leads import canonical_leads
from einthoven.signals.units import to_millivolts

from .dataset import Record
from .file_checks import check_file, unreadable

_FIXED = 256
_PER_SIGNAL = 256
_ANNOTATIONS = ("EDF Annotations", "BDF Annotations")
# Widths of the fields that each signal has, in the order of the file; all signals' first fields come first.
_WIDTHS = (("label", 16), ("transducer", 80), ("unit", 8), ("low", 8), ("high", 8), ("digital_low", 8))
_WIDTHS += (("digital_high", 8), ("filter", 80), ("samples", 8), ("reserved", 32))
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LARGEST = 1e12  # of a physical range: a million volts in uV
_FASTEST = 1_000_000  # Hz


@dataclass(frozen=True)
class EdfChannel:
    """One signal of an EDF file.

    Attributes:
        unit: of `low` and `high`, as the file spells it.
        low, high: physical values that `digital_low` and `digital_high` stand for.
        samples: in each data record.
        start: of its samples in a data record.
    """

    label: str
    unit: str
    low: float
    high: float
    digital_low: int
    digital_high: int
    samples: int
    start: int


@dataclass(frozen=True)
class EdfHeader:
    """What an EDF file says of its signals.

    Attributes:
        channels: without annotations.
        size: bytes of the header.
        records: data records.
        width: samples of all signals in a data record, annotations among them.
        seconds: of a data record.
        plus: "EDF+C", "EDF+D", or "" for plain EDF.
    """

    channels: tuple[EdfChannel, ...]
    size: int
    records: int
    width: int
    seconds: float
    plus: str

    @property
    def rates(self) -> tuple[float, ...]:
        """Sampling rate of each channel, Hz."""
        return tuple(channel.samples / self.seconds for channel in self.channels)


def read_edf_header(file: Path, *, where: str | None = None) -> EdfHeader:
    """The header of an EDF file.

    Args:
        where: the record, for messages; default its path.

    Raises:
        DataError: no EDF file, or a header whose numbers are none or contradict each other.
    """
    where = where or str(file)
    check_file(file, where=where)
    with file.open("rb") as stream:
        fixed = stream.read(_FIXED)
        if fixed[:8] != b"0       " or len(fixed) < _FIXED:
            kind = "a BDF file (24 bits)" if fixed[:1] == b"\xff" else "no EDF file: it does not start as one"
            raise DataError(f"{file.name} of {where} is {kind}. Export it as EDF.")
        count = _integer(fixed[252:256], "number of signals", where)
        if count < 1:
            raise DataError(f"{file.name} of {where} has {count} signals.")
        # Four digits, so 2.5 MB at most.
        variable = stream.read(count * _PER_SIGNAL)
    if len(variable) < count * _PER_SIGNAL:
        raise DataError(f"{file.name} of {where} is truncated within its header. Download it again.")
    channels, width = _channels(variable, count, where)
    header = EdfHeader(
        channels=channels,
        size=_integer(fixed[184:192], "size of the header", where),
        records=_integer(fixed[236:244], "number of data records", where),
        width=width,
        seconds=_number(fixed[244:252], "duration of a data record", where),
        plus=_text(fixed[192:197]) if fixed[192:196] == b"EDF+" else "",
    )
    if not channels:
        raise DataError(f"{file.name} of {where} holds annotations only.")
    if header.size != _FIXED + count * _PER_SIGNAL:
        expected = _FIXED + count * _PER_SIGNAL
        raise DataError(f"The header of {where} says it has {header.size} bytes; {count} signals need {expected}.")
    if header.seconds <= 0:
        raise DataError(f"A data record of {where} lasts {header.seconds:g} s; a time above 0 was expected.")
    if max(header.rates) > _FASTEST:
        raise DataError(f"The channels of {where} have {max(header.rates):g} Hz; {_FASTEST} Hz at most was expected.")
    if header.records < 1:
        raise DataError(f"The header of {where} says {header.records} data records: its recording was never closed.")
    return header


def read_edf(file: Path, *, record_id: str, patient_id: str, leads: Sequence[str] | None = None) -> Record:
    """One EDF recording as float32 mV; annotation channels are skipped.

    Args:
        leads: names of its channels, for files whose own labels say nothing; None takes those of the header.

    Returns:
        the record, leads under their standard names in file order.

    Raises:
        DataError: the file is cut short or too long for its header, is interrupted (EDF+D), has channels of different
            rates, or a unit or lead nobody knows.
    """
    where = f"record {record_id} ({file})"
    header = read_edf_header(file, where=where)
    rate = _rate(header, where)
    digital = _samples(file, header, where)
    try:
        names = tuple(leads) if leads is not None else canonical_leads(channel.label for channel in header.channels)
    except ValueError as error:
        error.add_note(where)
        raise
    if len(names) != len(header.channels):
        raise DataError(f"{where} has {len(header.channels)} signals; {len(names)} were expected ({', '.join(names)}).")
    signal = np.empty((len(names), digital[0].size), dtype=np.float32)
    for row, (channel, samples) in enumerate(zip(header.channels, digital, strict=True)):
        step = (channel.high - channel.low) / (channel.digital_high - channel.digital_low)
        physical = (samples.astype(np.float64) - channel.digital_low) * step + channel.low
        try:
            signal[row] = to_millivolts(physical, channel.unit)
        except DataError as error:
            error.add_note(f"channel {channel.label} of {where}")
            raise
    return Record(record_id=record_id, patient_id=patient_id, signal=signal, leads=names, rate=rate)


def _rate(header: EdfHeader, where: str) -> float:
    if header.plus == "EDF+D":
        raise DataError(
            f"{where} is interrupted (EDF+D): its data records do not follow each other in time. Export it as "
            "continuous EDF."
        )
    if len(set(header.rates)) > 1:
        pairs = ", ".join(f"{c.label} {rate:g}" for c, rate in zip(header.channels, header.rates, strict=True))
        raise DataError(f"The channels of {where} have different rates ({pairs} Hz). Export the ECG leads alone.")
    return header.rates[0]


def _samples(file: Path, header: EdfHeader, where: str) -> list[np.ndarray]:
    """Of each channel, as they are stored: int16 (samples,)."""
    expected = header.size + 2 * header.records * header.width
    found = file.stat().st_size
    if found != expected:
        word = "truncated" if found < expected else "longer than its header says"
        raise DataError(
            f"{file.name} of {where} is {word}: its header promises {header.records} data records, {expected} bytes, "
            f"and the file has {found}. Download it again."
        )
    try:
        stored = np.fromfile(file, dtype="<i2", offset=header.size)
    except OSError as error:
        raise unreadable(f"{file.name} of {where}", error) from error
    stored = stored.reshape(header.records, header.width)
    return [stored[:, c.start : c.start + c.samples].ravel() for c in header.channels]


def _channels(variable: bytes, count: int, where: str) -> tuple[tuple[EdfChannel, ...], int]:
    fields: dict[str, list[bytes]] = {}
    position = 0
    for name, width in _WIDTHS:
        fields[name] = [variable[position + width * i : position + width * (i + 1)] for i in range(count)]
        position += width * count
    channels: list[EdfChannel] = []
    start = 0
    for index in range(count):
        label = _text(fields["label"][index])
        of = f"{label or index + 1} of {where}"
        samples = _integer(fields["samples"][index], f"number of samples of {label}", where)
        if samples < 1:
            raise DataError(f"Channel {of} has {samples} samples in a data record.")
        if label not in _ANNOTATIONS:
            low, high = (_number(fields[name][index], f"physical range of {label}", where) for name in ("low", "high"))
            digital_low, digital_high = (
                _integer(fields[name][index], f"digital range of {label}", where)
                for name in ("digital_low", "digital_high")
            )
            if low == high or digital_low >= digital_high or max(abs(low), abs(high)) > _LARGEST:
                raise DataError(
                    f"Channel {of} has the physical range {low:g} to {high:g} and the digital range {digital_low} to "
                    f"{digital_high}, so its samples have no voltage."
                )
            unit = _text(fields["unit"][index])
            channels.append(EdfChannel(label, unit, low, high, digital_low, digital_high, samples, start))
        start += samples
    return tuple(channels), start


def _text(field: bytes) -> str:
    # The standard allows ASCII only; devices write the micro sign all the same.
    return field.decode("latin-1").strip(" \x00")


def _number(field: bytes, what: str, where: str) -> float:
    text = _text(field)
    if not _NUMBER.fullmatch(text) or not np.isfinite(float(text)):
        raise DataError(f"The {what} in the header of {where} is {text!r}; a number was expected.")
    return float(text)


def _integer(field: bytes, what: str, where: str) -> int:
    text = _text(field)
    if not _INTEGER.fullmatch(text):
        raise DataError(f"The {what} in the header of {where} is {text!r}; a whole number was expected.")
    return int(text)
