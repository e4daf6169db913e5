"""Reading WFDB records, and refusing those that are not what their header says.

Plain records (every signal in one file, format 16) are read here, which is many times faster than the wfdb package and
gives the same samples; the others are decoded by wfdb. Neither is believed: sizes and checksums are compared with the
header, and a git-lfs pointer is called one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from einthoven.foundation.errors import DataError
from einthoven.signals.leads import canonical_leads
from einthoven.signals.units import to_millivolts

from .dataset import Record
from .file_checks import LFS_POINTER
from .file_content import read_content
from .wfdb_header import Header, parse_header

# Bytes for two samples, so that the packed formats are whole numbers (WFDB signal(5)).
_BYTES_FOR_TWO = {"8": 2, "16": 4, "24": 6, "32": 8, "61": 4, "80": 2, "160": 4, "212": 3}
# Three samples in four bytes; and FLAC, of which a block of 65,535 samples has more than one byte.
_THIRDS, _FLAC = ("310", "311"), ("508", "516", "524")
# The value each format reserves for "no valid sample" (WFDB signal(5)).
_INVALID = {"16": -(2**15), "24": -(2**23), "32": -(2**31), "61": -(2**15), "80": -(2**7), "212": -(2**11)}


def read_header(stem: Path, *, where: str | None = None) -> Header:
    """The parsed header of a record.

    Args:
        stem: path of the record without `.hea`.
        where: the record, for messages; default its path.

    Raises:
        DataError: there is no header, it is a git-lfs pointer, or it cannot be parsed.
    """
    where = where or f"record {stem}"
    file = stem.with_name(stem.name + ".hea")
    content = _content(file, where)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        # Names of people and places in comments; the fields themselves are ASCII.
        text = content.decode("latin-1")
    if "\x00" in text:
        raise DataError(f"The header of {where} is not text.")
    return parse_header(text, where=where)


def read_wfdb(
    stem: Path, *, record_id: str, patient_id: str, leads: Sequence[str] | None = None, header: Header | None = None
) -> Record:
    """One single-segment WFDB record as float32 mV.

    Args:
        stem: path of the record without `.hea`.
        leads: names of its signals, for records whose own names say nothing; None takes those of the header.
        header: as `read_header` gave it, if it has been read.

    Returns:
        the record, leads under their standard names in file order; invalid samples are NaN.

    Raises:
        DataError: a file is missing, is a git-lfs pointer, is shorter than its header says, or its samples do not add
            up to the header's checksum; or the header cannot be parsed, or gives a unit or lead nobody knows.
    """
    where = f"record {record_id} ({stem})"
    header = header or read_header(stem, where=where)
    if not header.signals or not header.samples:
        raise DataError(f"The header of {where} describes no signals, or none with samples.")
    digital = digital_samples(stem, header, where)
    check_sums(digital.sum(axis=1, dtype=np.int64), header, where)
    try:
        names = tuple(leads) if leads is not None else canonical_leads(signal.name for signal in header.signals)
    except ValueError as error:
        error.add_note(where)
        raise
    if len(names) != len(header.signals):
        raise DataError(f"{where} has {len(header.signals)} signals; {len(names)} were expected ({', '.join(names)}).")
    signal = millivolts(digital, header, where)
    return Record(record_id=record_id, patient_id=patient_id, signal=signal, leads=names, rate=header.rate)


def _content(file: Path, where: str) -> bytes:
    try:
        content = read_content(file)
    except (OSError, UnicodeEncodeError) as error:
        raise _unreadable(file, where, error) from None
    _refuse_pointer(content, file, where, len(content))
    return content


def _unreadable(file: Path, where: str, error: OSError | UnicodeEncodeError) -> DataError:
    if isinstance(error, FileNotFoundError):
        return DataError(f"{where} has no file {file.name}.")
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DataError(
        f"{file.name} of {where} cannot be read ({words}). Check that it is a file, that you may read it, and that its "
        "disk is well."
    )


def _refuse_pointer(content: bytes, file: Path, where: str, size: int) -> None:
    if content.startswith(LFS_POINTER):
        raise DataError(
            f"{file.name} of {where} is a git-lfs pointer ({size} bytes of text), not the file itself. "
            "Run `git lfs pull` in the folder it was cloned to, or download the file from its source."
        )


def digital_samples(stem: Path, header: Header, where: str) -> np.ndarray:
    """All samples of a record as they are stored, integers (signals, samples); checksums are not looked at.

    Raises:
        DataError: a file is missing, is a git-lfs pointer, has another size than its header says, or cannot be decoded.
    """
    first = header.signals[0]
    files, formats, frames, skews, offsets, *_ = (set(column) for column in zip(*header.signals, strict=True))
    if not (formats == {"16"} and frames == {1} and skews == {0} and len(files) == len(offsets) == 1):
        return _decoded_by_wfdb(stem, header, where)
    file = stem.parent / first.file
    content = _content(file, where)
    count = header.samples * len(header.signals)
    if len(content) < first.offset + 2 * count:
        raise _truncated(file, header, len(header.signals), "16", first.offset + 2 * count, len(content), where)
    if len(content) > first.offset + 2 * count:
        raise DataError(
            f"{file.name} of {where} is longer than its header says: {len(content)} bytes, {first.offset + 2 * count} "
            "were expected. Header and samples are of different recordings, or one was cut; download both again."
        )
    samples = np.frombuffer(content, dtype="<i2", count=count, offset=first.offset)
    return np.ascontiguousarray(samples.reshape(header.samples, len(header.signals)).T)


def _decoded_by_wfdb(stem: Path, header: Header, where: str) -> np.ndarray:
    import wfdb

    check_signal_files(stem, header, where)
    files = ", ".join(dict.fromkeys(signal.file for signal in header.signals))
    try:
        record: Any = wfdb.rdrecord(str(stem), physical=False)
    # Header and samples that do not fit each other fail in as many ways as wfdb has steps.
    except Exception as error:
        raise DataError(
            f"The files of {where} ({files}) cannot be decoded: {str(error) or type(error).__name__}. Download them "
            "again, with their header."
        ) from error
    samples = np.asarray(record.d_signal).T
    if samples.shape != (len(header.signals), header.samples):
        raise DataError(
            f"The files of {where} ({files}) decode to the shape {samples.shape}; its header promises "
            f"{(len(header.signals), header.samples)} (signals, samples). Download them again, with their header."
        )
    return samples


def check_signal_files(stem: Path, header: Header, where: str) -> None:
    """Refuse signal files that are missing, git-lfs pointers, shorter than the header says, or in no known format.

    Raises:
        DataError: the first that is.
    """
    # A success of wfdb would not do: it pads some files that are too short.
    for name in dict.fromkeys(signal.file for signal in header.signals):
        file = stem.parent / name
        size = _size(file, where)
        signals = [signal for signal in header.signals if signal.file == name]
        fmt, offset = signals[0].format, signals[0].offset
        samples = sum(signal.frame for signal in signals) * header.samples
        if (late := max(signal.skew for signal in signals)) > header.samples:
            raise DataError(
                f"The header of {where} says that a signal of {name} is {late} samples late; it has {header.samples}. "
                "Download it again."
            )
        if fmt in _BYTES_FOR_TWO:
            expected = (samples * _BYTES_FOR_TWO[fmt] + 1) // 2 + offset
        elif fmt in _THIRDS:
            expected = (samples * 4 + 2) // 3 + offset
        elif fmt in _FLAC:
            expected = (samples + offset) // 65_535  # its offset is of samples
        else:
            raise DataError(
                f"The header of {where} says that {name} is in format {fmt}; known are "
                f"{', '.join(sorted((*_BYTES_FOR_TWO, *_THIRDS, *_FLAC), key=int))}. Download it again, or convert it."
            )
        if size < expected:
            raise _truncated(file, header, len(signals), fmt, expected, size, where)


def _size(file: Path, where: str) -> int:
    try:
        with file.open("rb") as stream:
            _refuse_pointer(stream.read(len(LFS_POINTER)), file, where, size := file.stat().st_size)
    except (OSError, UnicodeEncodeError) as error:
        raise _unreadable(file, where, error) from None
    return size


def _truncated(file: Path, header: Header, signals: int, fmt: str, expected: int, found: int, where: str) -> DataError:
    return DataError(
        f"{file.name} of {where} is truncated: its header promises {header.samples} samples of {signals} "
        f"signals in format {fmt}, {expected} bytes, and the file has {found}. Download it again."
    )


def check_sums(sums: np.ndarray, header: Header, where: str) -> None:
    """Compare the sum of each signal's samples, int64 (signals,), with the header's checksums.

    Raises:
        DataError: one differs.
    """
    if not any(signal.checksum for signal in header.signals):
        return  # none is stated; CinC 2017 writes 0 for every record
    wrong = [
        f"{signal.name} (header {signal.checksum % 65536}, samples {found})"
        for signal, found in zip(header.signals, (sums % 65536).tolist(), strict=True)
        if signal.checksum is not None and signal.checksum % 65536 != found
    ]
    if wrong:
        raise DataError(
            f"The samples of {where} do not add up to the checksums of its header: {', '.join(wrong)}. "
            "The signal file was changed or mixed up after the header was written; download both again."
        )


def millivolts(digital: np.ndarray, header: Header, where: str) -> np.ndarray:
    """Samples as they are stored, integers (signals, samples), as float32 mV; invalid samples are NaN.

    Raises:
        DataError: a unit nobody knows.
    """
    _, formats, _, _, _, gain, baseline, units, *_ = zip(*header.signals, strict=True)
    gains, baselines = np.array(gain), np.array(baseline, dtype=np.float64)
    physical: np.ndarray
    if digital.dtype == np.int16 and not baselines.any() and all(g == int(g) and 0 < abs(g) < 2**24 for g in gain):
        # In float32 at once: both are exact in it, and a quotient of such small numbers is rounded to the same float32
        # whether or not it is rounded to float64 first, since it is never that close to the middle of two.
        physical = np.divide(digital, gains[:, None], dtype=np.float32)
    else:
        physical = digital - baselines[:, None]
        physical /= gains[:, None]
    lowest = digital.min(axis=1, initial=0).tolist()
    for row, (low, kind) in enumerate(zip(lowest, formats, strict=True)):
        # The mark is the smallest value of its format.
        if low < 0 and low == (mark := _INVALID.get(kind)):
            physical[row, digital[row] == mark] = np.nan
    if set(units) == {"mV"}:
        return physical.astype(np.float32, copy=False)
    millivolts = np.empty(physical.shape, dtype=np.float32)
    for unit in dict.fromkeys(signal.unit for signal in header.signals):
        rows = [index for index, signal in enumerate(header.signals) if signal.unit == unit]
        try:
            millivolts[rows] = to_millivolts(physical[rows], unit)
        except DataError as error:
            error.add_note(f"lead {header.signals[rows[0]].name} of {where}")
            raise
    return millivolts
