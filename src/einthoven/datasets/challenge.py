"""The layout of the PhysioNet/CinC challenges of 2020 and 2021: WFDB headers that hold age, sex and SNOMED codes.

Several datasets are released in it; each names its records, codes and rules, and this module reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.foundation.errors import DataError

from .dataset import Record, SourceRecord
from .person import age_of, sex_of

if TYPE_CHECKING:
    from .wfdb_header import Header

NO_PATIENTS = "The release does not say whose record is whose: every record counts as a patient of its own."


@dataclass(frozen=True)
class ChallengeRecord:
    """One record of a folder in this layout.

    Attributes:
        name: its record id.
        stem: path below the source folder, without suffix, "/" between folders.
        codes: SNOMED codes of its `Dx` comment, in its order; empty if there are none.
    """

    name: str
    stem: str
    header: Header
    codes: tuple[str, ...]

    def source_record(self, *, left_out: str = "") -> SourceRecord:
        """What a cohort keeps of it; these releases do not say who is whose, so every record is its own patient."""
        signals = tuple(dict.fromkeys(signal.file for signal in self.header.signals))
        folder = self.stem.rpartition("/")[0]
        return SourceRecord(
            record_id=self.name,
            patient_id=self.name,
            files=(f"{self.stem}.hea", *(f"{folder}/{file}" if folder else file for file in signals)),
            metadata={
                "age": age_of(self.header.comment("Age")),
                "sex": sex_of(self.header.comment("Sex")),
                "dx": ",".join(self.codes),
            },
            left_out=left_out,
        )


def read_challenge_folder(source: Path, *, names: str, such_as: str, dataset: str) -> list[ChallengeRecord]:
    """All records below a folder whose name fits, sorted by their path.

    Args:
        names: regular expression that a record's name must match as a whole.
        such_as: one of them, for messages.

    Raises:
        DataError: there is none, a header cannot be read, or two records have one name.
    """
    from .wfdb_files import read_header

    pattern = re.compile(names)
    found: dict[str, ChallengeRecord] = {}
    for file in sorted(source.rglob("*.hea"), key=lambda path: path.relative_to(source).as_posix()):
        if not pattern.fullmatch(file.stem):
            continue
        stem = file.relative_to(source).as_posix().removesuffix(".hea")
        if file.stem in found:
            raise DataError(
                f"Two records of {dataset} are called {file.stem}: {found[file.stem].stem} and {stem}. Remove one."
            )
        header = read_header(source / stem, where=f"record {file.stem}")
        codes = tuple(code.strip() for code in (header.comment("Dx") or "").split(",") if code.strip())
        found[file.stem] = ChallengeRecord(name=file.stem, stem=stem, header=header, codes=codes)
    if not found:
        raise DataError(
            f"There is no header of {dataset} (files such as {such_as}.hea) below {source}. Name the folder it was "
            "unpacked to."
        )
    return list(found.values())


def source_records(
    found: Sequence[ChallengeRecord], *, keep: Callable[[ChallengeRecord], bool], reason: str
) -> list[SourceRecord]:
    """All records for a scan; those that are not kept are left out for the reason."""
    return [record.source_record(left_out="" if keep(record) else reason) for record in found]


def reader(
    source: Path, found: Sequence[ChallengeRecord], *, change: Callable[[Record], Record] | None = None
) -> Callable[[SourceRecord], Record]:
    """What reads a record of a scan, with the header that was read already.

    Args:
        change: done to every record, such as a crop.
    """
    of = {record.name: record for record in found}

    def read(record: SourceRecord) -> Record:
        from .wfdb_files import read_wfdb

        known, name = of[record.record_id], record.record_id
        whole = read_wfdb(source / known.stem, record_id=name, patient_id=name, header=known.header)
        return whole if change is None else change(whole)

    return read


def labels_of(codes: tuple[str, ...], label_of: Mapping[str, str]) -> frozenset[str]:
    """The labels that a record's codes stand for."""
    return frozenset(label_of[code] for code in codes if code in label_of)


def centre_crop(samples: int) -> Callable[[Record], Record]:
    """A change of a record to its middle `samples`; the first of two equally good starts."""
    from dataclasses import replace

    def crop(record: Record) -> Record:
        start = (record.signal.shape[-1] - samples) // 2
        return replace(record, signal=record.signal[:, start : start + samples])

    return crop
