"""Reading WFDB records, and refusing those that are not what their header says.

The wfdb package decodes; it checks neither the size of a signal file nor the header's checksums, and it reads a git-lfs
pointer as a broken header. Those three are checked here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

from einthoven.foundation.errors import DataError
from einthoven.signals.leads import canonical_leads
from einthoven.signals.units import to_millivolts

from .dataset import Record

_LFS = b"version https://git-lfs.github.com/spec/"
# Bytes for two samples, so that the packed formats are whole numbers (WFDB signal(5)).
_BYTES_FOR_TWO = {"8": 2, "16": 4, "24": 6, "32": 8, "61": 4, "80": 2, "160": 4, "212": 3}
# The value each format reserves for "no valid sample" (WFDB signal(5)).
_INVALID = {"16": -(2**15), "24": -(2**23), "32": -(2**31), "61": -(2**15), "80": -(2**7), "212": -(2**11)}


def read_wfdb(stem: Path, *, record_id: str, patient_id: str) -> Record:
    """One single-segment WFDB record as float32 mV.

    Args:
        stem: path of the record without `.hea`.

    Returns:
        the record, leads under their standard names in file order; invalid samples are NaN.

    Raises:
        DataError: a file is missing, is a git-lfs pointer, is shorter than its header says, or its samples do not add
            up to the header's checksum; or the header cannot be parsed, or gives a unit or lead nobody knows.
    """
    import wfdb
    from wfdb.io._header import HeaderSyntaxError

    where = f"record {record_id} ({stem})"
    _refuse_pointer(stem.with_name(stem.name + ".hea"), where)
    try:
        header = wfdb.rdrecord(str(stem), physical=False)
    except (HeaderSyntaxError, ValueError, IndexError, TypeError, KeyError, OSError) as error:
        # wfdb says how it stumbled; the files say why, if they can.
        _explain(stem, where)
        raise DataError(f"The files of {where} cannot be decoded: {error}") from error
    if not isinstance(header, wfdb.Record) or not header.n_sig or not header.sig_len:
        raise DataError(
            f"The header of {where} describes no single-segment record with signals; "
            "multi-segment and empty records are not supported."
        )
    # A success is checked as well: wfdb pads some files that are too short.
    header = cast("Any", header)  # wfdb types every field as optional; a record that was read has them
    _check_signal_files(stem, header, where)
    digital = np.asarray(header.d_signal).T
    _check_sums(digital, header, where)

    units = header.units or []
    signal = np.empty(digital.shape, dtype=np.float32)
    for index, samples in enumerate(digital):
        gain = float(header.adc_gain[index] or 200.0)  # WFDB: a gain of 0 means the default of 200 units a mV
        physical = (samples - float(header.baseline[index])) / gain
        physical[samples == _INVALID.get(str(header.fmt[index]), np.iinfo(np.int64).min)] = np.nan
        try:
            signal[index] = to_millivolts(physical, units[index])
        except DataError as error:
            error.add_note(f"lead {header.sig_name[index]} of {where}")
            raise
    try:
        leads = canonical_leads(header.sig_name or [])
    except ValueError as error:
        error.add_note(where)
        raise
    return Record(record_id=record_id, patient_id=patient_id, signal=signal, leads=leads, rate=float(header.fs))


def _refuse_pointer(file: Path, where: str) -> None:
    try:
        with file.open("rb") as stream:
            head = stream.read(len(_LFS))
    except FileNotFoundError:
        raise DataError(f"{where} has no file {file.name}.") from None
    if head == _LFS:
        raise DataError(
            f"{file.name} of {where} is a git-lfs pointer ({file.stat().st_size} bytes of text), not the file itself. "
            "Run `git lfs pull` in the folder it was cloned to, or download the file from its source."
        )


def _explain(stem: Path, where: str) -> None:
    """Raise the cause of a record that wfdb could not read, if its header can be read and a signal file is at fault."""
    import wfdb
    from wfdb.io._header import HeaderSyntaxError

    try:
        header: Any = wfdb.rdheader(str(stem))
    except (HeaderSyntaxError, ValueError, IndexError, TypeError, KeyError) as error:
        raise DataError(f"The header of {where} cannot be parsed: {error}") from error
    if isinstance(header, wfdb.Record) and header.n_sig and header.sig_len:
        _check_signal_files(stem, header, where)


def _check_signal_files(stem: Path, header: Any, where: str) -> None:
    for name in dict.fromkeys(header.file_name or []):
        file = stem.parent / name
        _refuse_pointer(file, where)
        signals = [i for i, other in enumerate(header.file_name) if other == name]
        fmt = str(header.fmt[signals[0]])
        if fmt not in _BYTES_FOR_TWO:
            continue
        frames = sum((header.samps_per_frame or [1] * header.n_sig)[i] for i in signals) * header.sig_len
        expected = (frames * _BYTES_FOR_TWO[fmt] + 1) // 2 + int((header.byte_offset or [0])[signals[0]] or 0)
        found = file.stat().st_size
        if found < expected:
            raise DataError(
                f"{name} of {where} is truncated: its header promises {header.sig_len} samples of {len(signals)} "
                f"signals in format {fmt}, {expected} bytes, and the file has {found}. Download it again."
            )


def _check_sums(digital: np.ndarray, header: Any, where: str) -> None:
    stated = header.checksum or []
    sums = digital.astype(np.int64).sum(axis=1) % 65536
    wrong = [
        f"{header.sig_name[i]} (header {int(stated[i]) % 65536}, samples {sums[i]})"
        for i in range(len(stated))
        if stated[i] is not None and int(stated[i]) % 65536 != sums[i]
    ]
    if wrong:
        raise DataError(
            f"The samples of {where} do not add up to the checksums of its header: {', '.join(wrong)}. "
            "The signal file was changed or mixed up after the header was written; download both again."
        )
