"""Long WFDB recordings, of which windows are read: hours of Holter ECG never lie in memory as a whole.

Formats 16 and 212 with all signals in one file, in which the long databases are released, are read here part by part;
anything else is decoded by wfdb as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from einthoven.foundation.errors import DataError

from .file_checks import unreadable
from .wfdb_files import check_signal_files, check_sums, digital_samples, millivolts, read_header
from .wfdb_header import Header

_CHUNK_SAMPLES = 1 << 20


def decode_212(content: bytes | np.ndarray, count: int) -> np.ndarray:
    """The first `count` samples of bytes in format 212, int16: 12-bit two's complement, two samples in three bytes.

    Source: PhysioNet, WFDB Applications Guide, signal(5).
    """
    given = np.frombuffer(content, dtype=np.uint8) if isinstance(content, bytes) else content
    packed = np.zeros((count + 1) // 2 * 3, dtype=np.uint8)
    used = min(len(given), len(packed))  # an odd last sample has two bytes of its own
    packed[:used] = given[:used]
    low, middle, high = packed.reshape(-1, 3).astype(np.int16).T
    samples = np.empty((len(low), 2), dtype=np.int16)
    samples[:, 0] = low | ((middle & 0x0F) << 8)
    samples[:, 1] = high | ((middle & 0xF0) << 4)
    samples[samples >= 2048] -= 4096
    return samples.reshape(-1)[:count]


class PartReader:
    """One recording, opened to read parts of it; its checksums are compared once, when it is opened.

    Args:
        stem: path of the record without `.hea`.
        record_id: for messages.

    Raises:
        DataError: a file is missing, is a git-lfs pointer, is shorter than its header says, or its samples do not add
            up to the header's checksums; or the header cannot be parsed.
    """

    def __init__(self, stem: Path, *, record_id: str) -> None:
        self._where = f"record {record_id} ({stem})"
        self._header = read_header(stem, where=self._where)
        header = self._header
        if not header.signals or not header.samples:
            raise DataError(f"The header of {self._where} describes no signals, or none with samples.")
        first = header.signals[0]
        self._file = stem.parent / first.file
        self._whole: np.ndarray | None = None
        by_parts = first.format in ("16", "212") and all(
            (s.file, s.format, s.frame, s.skew, s.offset) == (first.file, first.format, 1, 0, 0) for s in header.signals
        )
        if by_parts:
            check_signal_files(stem, header, self._where)
            self._check_sums()
        else:
            self._whole = digital_samples(stem, header, self._where)
            check_sums(self._whole.sum(axis=1, dtype=np.int64), header, self._where)

    @property
    def header(self) -> Header:
        """Its header."""
        return self._header

    def part(self, start: int, stop: int, *, signals: Sequence[int] | None = None) -> np.ndarray:
        """Samples from start to stop, float32 mV (signals, samples); invalid samples are NaN.

        Args:
            signals: positions in the header; None is all.

        Raises:
            DataError: the part is not within the recording, or a unit nobody knows.
        """
        if not 0 <= start <= stop <= self._header.samples:
            raise DataError(f"{self._where} has {self._header.samples} samples; {start} to {stop} were asked for.")
        chosen = list(range(len(self._header.signals)) if signals is None else signals)
        header = replace(self._header, signals=tuple(self._header.signals[index] for index in chosen))
        return millivolts(self._digital(start, stop)[chosen], header, self._where)

    def _digital(self, start: int, stop: int) -> np.ndarray:
        if self._whole is not None:
            return self._whole[:, start:stop]
        count = len(self._header.signals)
        begin, end = start * count, stop * count
        if self._header.signals[0].format == "16":
            flat = self._stored("<i2", end - begin, offset=2 * begin)
        else:
            even = begin - begin % 2  # samples are packed in pairs
            raw = self._stored("u1", (end - even + 1) // 2 * 3, offset=even // 2 * 3)
            flat = decode_212(raw, end - even)[begin - even :]
        return flat.reshape(-1, count).T

    def _stored(self, dtype: str, count: int, *, offset: int) -> np.ndarray:
        """Numbers as they lie in the file from a byte on; (count,), or what there is of them."""
        try:
            return np.fromfile(self._file, dtype=dtype, count=count, offset=offset)
        except OSError as error:
            raise unreadable(f"{self._file.name} of {self._where}", error) from error

    def _check_sums(self) -> None:
        sums = np.zeros(len(self._header.signals), dtype=np.int64)
        for start in range(0, self._header.samples, _CHUNK_SAMPLES):
            part = self._digital(start, min(start + _CHUNK_SAMPLES, self._header.samples))
            sums += part.sum(axis=1, dtype=np.int64)
        check_sums(sums, self._header, self._where)
