"""CPSC2018 in the layout of its own challenge: one MATLAB struct `ECG` a record, and the labels in REFERENCE.csv.

The struct has `sex`, `age` and `data`, (12, samples) in mV at 500 Hz, leads in standard order: in released files III is
II - I to the last bit, the augmented leads are what I and II say they are to 1 uV, and amplitudes are those of other
ECGs in mV. The PhysioNet challenges release the same records rounded to 1 uV.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.foundation.errors import DataError
from einthoven.signals.leads import STANDARD_LEADS

from .dataset import Record, SourceRecord
from .person import age_of, sex_of
from .table_files import read_table

if TYPE_CHECKING:
    import numpy as np

REFERENCE = "REFERENCE.csv"
RATE = 500.0
_NAME = re.compile(r"A\d{4}", re.ASCII)
_LABEL_COLUMNS = ("First_label", "Second_label", "Third_label")


@dataclass(frozen=True)
class NativeRecord:
    """One record of a folder in this layout.

    Attributes:
        name: its record id.
        file: path below the source folder, "/" between folders.
        codes: SNOMED codes of its labels, in the order of the reference.
        samples: per lead; None for a record whose file does not exist.
        age: years, or None.
        sex: "F", "M" or None.
    """

    name: str
    file: str
    codes: tuple[str, ...]
    samples: int | None = None
    age: float | None = None
    sex: str | None = None

    def source_record(self, *, left_out: str = "") -> SourceRecord:
        """What a cohort keeps of it; the release does not say who is whose, so every record is its own patient."""
        return SourceRecord(
            record_id=self.name,
            patient_id=self.name,
            files=(self.file,),
            metadata={"age": self.age, "sex": self.sex, "dx": ",".join(self.codes)},
            left_out=left_out,
        )


def is_native(source: Path) -> bool:
    """Whether a folder holds this layout rather than that of the PhysioNet challenges, which has a header a record.

    Raises:
        DataError: it holds some of both.
    """
    headers = {path.stem for path in source.rglob("A*.hea") if _NAME.fullmatch(path.stem)}
    signals = {path.stem for path in source.rglob("A*.mat") if _NAME.fullmatch(path.stem)}
    bare = sorted(signals - headers)
    references = _references(source)
    if headers and (references or bare):
        found = f"a {references[0]}" if references else f"{len(bare)} .mat files without one, first {bare[0]}.mat"
        raise DataError(
            f"{source} holds {len(headers)} headers of CPSC2018 as the PhysioNet challenges release it, and {found}, "
            "as the challenge of 2018 does. Name a folder that holds one of the two releases, and all of it."
        )
    return not headers and bool(references or bare)


def read_native_folder(source: Path, *, snomed_of: Mapping[str, str]) -> list[NativeRecord]:
    """All records that the reference names, sorted by name; every file is opened, since it alone says how long it is.

    Args:
        snomed_of: label of the reference ("1" to "9") -> SNOMED code.

    Raises:
        DataError: the reference is missing or is not what it should be, a file is no such struct, two files have one
            name, or a file is not in the reference.
    """
    reference = _reference(source, snomed_of)
    where: dict[str, Path] = {}
    for path in sorted(source.rglob("A*.mat")):
        if not _NAME.fullmatch(path.stem):
            continue
        if path.stem in where:
            raise DataError(f"Two records are called {path.stem}: {where[path.stem]} and {path}. Remove one.")
        if path.stem not in reference:
            raise DataError(
                f"{path} is not in {REFERENCE}, so it has no label. Remove it, or take the whole reference."
            )
        where[path.stem] = path
    folder = Path(_references(source)[0]).parent
    found = []
    for name in sorted(reference):
        if name not in where:
            found.append(NativeRecord(name=name, file=(folder / f"{name}.mat").as_posix(), codes=reference[name]))
            continue
        signal, age, sex = _read_struct(where[name])
        file = where[name].relative_to(source).as_posix()
        found.append(NativeRecord(name, file, reference[name], signal.shape[1], age, sex))
    return found


def reference_file(source: Path) -> str:
    """The reference of a folder in this layout, relative to it."""
    return _references(source)[0]


def reader(
    source: Path, found: Sequence[NativeRecord], *, change: Callable[[Record], Record]
) -> Callable[[SourceRecord], Record]:
    """What reads a record of a scan.

    Args:
        change: done to every record, such as a crop.
    """
    file_of = {record.name: record.file for record in found}

    def read(record: SourceRecord) -> Record:
        import numpy as np

        signal, _, _ = _read_struct(source / file_of[record.record_id])
        return change(
            Record(record.record_id, record.patient_id, signal.astype(np.float32), leads=STANDARD_LEADS, rate=RATE)
        )

    return read


def _references(source: Path) -> list[str]:
    return sorted(path.relative_to(source).as_posix() for path in source.rglob(REFERENCE))


def _reference(source: Path, snomed_of: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Record name -> SNOMED codes."""
    files = _references(source)
    if len(files) != 1:
        raise DataError(
            f"{source} holds {len(files)} files called {REFERENCE}{': ' if files else ''}{', '.join(files)}; one was "
            "expected, with the labels of all records. Name the folder that holds the .mat files and their reference."
        )
    file = source / files[0]
    codes: dict[str, tuple[str, ...]] = {}
    table = read_table(file, ("Recording", *_LABEL_COLUMNS), where="the folder that holds it")
    table.require("Recording")
    for row in table.frame.iter_rows(named=True):
        name = row["Recording"]
        labels = [label for column in _LABEL_COLUMNS if (label := row[column])]
        unknown = [label for label in labels if label not in snomed_of]
        if unknown or not labels:
            found = f"has the label {unknown[0]!r}; 1 to 9" if unknown else "has no label; at least one of 1 to 9"
            raise DataError(f"{file}: record {name} {found} was expected. Correct its row or download the file again.")
        if not _NAME.fullmatch(name) or name in codes:
            raise DataError(f"{file}: the record {name!r} is repeated, or no name like A0001. Correct its row.")
        codes[name] = tuple(snomed_of[label] for label in labels)
    return codes


def _read_struct(file: Path) -> tuple[np.ndarray, float | None, str | None]:
    """Signal in mV, float64 (12, samples); age; sex."""
    from .mat_files import read_struct

    struct = read_struct(file, "ECG", ("sex", "age", "data"))
    signal = struct["data"]
    if signal.ndim != 2 or signal.shape[0] != len(STANDARD_LEADS) or signal.dtype.kind not in "iuf":
        raise DataError(f"ECG.data of {file} is {signal.dtype} of shape {signal.shape}; (12, samples) was expected.")
    return signal, age_of(_single(struct["age"])), sex_of(_single(struct["sex"]))


def _single(values: np.ndarray) -> object:
    return values.ravel()[0] if values.size else None
