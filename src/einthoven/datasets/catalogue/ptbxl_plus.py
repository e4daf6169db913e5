"""PTB-XL+ 1.0.1: measurements of three programs for the ECGs of PTB-XL 1.0.3, as concept tables.

Records, labels and splits are those of PTB-XL. The source folder holds both releases: one folder with
`ptbxl_database.csv` and one with `features/` and `labels/`, each the source itself or one or two levels below it, such
as `ptb-xl/` and `ptb-xl-plus/`, or `ptb-xl/1.0.3/` and `ptb-xl-plus/1.0.1/`.

Record rule: a record of PTB-XL without a row in `ptbxl_statements.csv`, `12sl_features.csv` or `ecgdeli_features.csv`
is left out and counted; a row of these without a record is refused, since then one of the two is another release.
ECG-InterpBench, whose 49 concepts these are, splits by record instead of by patient in both cases, and says so only in
a report.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.datasets.catalogue import ptbxl
from einthoven.datasets.dataset import Dataset, DatasetCard, Record, Scan, Sizes, SourceRecord, TaskTable
from einthoven.foundation.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from einthoven.datasets.ptbxl_plus_features import FeatureTable

_LEVELS = ("*", "*/*")


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read the metadata of PTB-XL and the tables of PTB-XL+; no waveform is touched."""
    from dataclasses import replace

    import numpy as np

    from einthoven.datasets import ptbxl_plus_features as features

    waves = _folder(source, ptbxl.METADATA, "PTB-XL 1.0.3")
    plus = _folder(source, features.FEATURES["12sl"], "PTB-XL+ 1.0.1")
    base = ptbxl.scan(source / waves, rate, {})
    ids = np.array([int(record.record_id) for record in base.records], dtype=np.int64)
    tables = {
        name: features.read_features(source / plus / file, needed=features.needed_columns(name))
        for name, file in features.FEATURES.items()
    }
    rows = {
        features.STATEMENTS: features.read_ids(source / plus / features.STATEMENTS),
        features.FEATURES["12sl"]: tables["12sl"].ids,
        features.FEATURES["ecgdeli"]: tables["ecgdeli"].ids,
    }
    left_out = _left_out(ids, rows)
    whole = {record.record_id for record, why in zip(base.records, left_out, strict=True) if not why}
    taken = {name: table.take(ids) for name, table in tables.items()}
    concepts = {"interpbench-49": features.interpbench_concepts(taken), **taken}
    labels = frozenset(label for table in base.tasks.values() for label in table.labels)
    features.check_no_label_names(concepts, labels)

    def moved(record: SourceRecord, why: str) -> SourceRecord:
        return replace(record, files=tuple(f"{waves}{file}" for file in record.files), left_out=why)

    def read(record: SourceRecord) -> Record:
        return base.read(replace(record, files=tuple(file.removeprefix(waves) for file in record.files)))

    is_kept = np.array([not why for why in left_out])
    return replace(
        base,
        records=[moved(record, why) for record, why in zip(base.records, left_out, strict=True)],
        tasks={
            task: TaskTable(table.labels, {r: found for r, found in table.positives.items() if r in whole})
            for task, table in base.tasks.items()
        },
        splits={
            rule: {record: part for record, part in split.items() if record in whole}
            for rule, split in base.splits.items()
        },
        read=read,
        source_files=(
            *(f"{waves}{file}" for file in base.source_files),
            *(f"{plus}{file}" for file in (*features.FEATURES.values(), features.STATEMENTS)),
        ),
        rules={**base.rules, "interpbench-49": "1: 17 global, 31 signed largest over leads, 1 wrapped difference"},
        concepts=concepts,
        notes=(*base.notes, *_notes(concepts["interpbench-49"], tables, ids[is_kept], is_kept)),
    )


def _folder(source: Path, file: str, what: str) -> str:
    """Where a release lies below the source, with "/" at its end; "" for the source itself."""
    places = [source] if (source / file).is_file() else []
    for level in _LEVELS:
        places += sorted(path for path in source.glob(level) if (path / file).is_file())
    if len(places) != 1:
        found = ", ".join(path.relative_to(source).as_posix() for path in places) or "none"
        raise DataError(
            f"One folder with {file} of {what} was expected in {source} or up to two levels below it; found: {found}. "
            "--source must name a folder that holds PTB-XL 1.0.3 and PTB-XL+ 1.0.1, each once, such as ptb-xl/ and "
            "ptb-xl-plus/."
        )
    below = places[0].relative_to(source).as_posix()
    return "" if below == "." else f"{below}/"


def _left_out(ids: np.ndarray, rows: Mapping[str, np.ndarray]) -> list[str]:
    """For each record why it is left out, or "".

    Raises:
        DataError: a table has rows of ECGs that PTB-XL does not have.
    """
    import numpy as np

    reasons = [""] * len(ids)
    for file, present in rows.items():
        strange = np.setdiff1d(present, ids)
        if len(strange):
            raise DataError(
                f"{file} has {len(strange)} ECGs that {ptbxl.METADATA} does not have; first ecg_id: "
                f"{', '.join(map(str, strange[:10]))}. PTB-XL+ 1.0.1 belongs to PTB-XL 1.0.3, and they have the same "
                "ECGs; take these two."
            )
        for index in np.flatnonzero(~np.isin(ids, present)):
            reasons[index] = reasons[index] or f"no row in {file}"
    return reasons


def _notes(
    concepts: Mapping[str, np.ndarray], tables: Mapping[str, FeatureTable], ids: np.ndarray, is_kept: np.ndarray
) -> list[str]:
    """What is missing: of each concept, of Uni-G, which need not have every ECG, and columns that hold text."""
    import numpy as np

    counts = {name: int(np.isnan(values[is_kept]).sum()) for name, values in concepts.items()}
    shown = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    notes = [f"interpbench-49: records of {len(ids)} without a value: {shown or 'none'}."]
    lost = int((~np.isin(ids, tables["unig"].ids)).sum())
    if lost:
        notes.append(f"Table unig has no row for {lost} of {len(ids)} records.")
    for name, table in tables.items():
        if table.unreadable:
            notes.append(f"Columns of table {name} that hold text are left out: {', '.join(table.unreadable)}.")
    return notes


DATASET = Dataset(
    card=DatasetCard(
        name="ptbxl-plus",
        title="PTB-XL+",
        version="1.0.1, with PTB-XL 1.0.3",
        summary="PTB-XL with measurements of 12SL, ECGdeli and Uni-G, and the 49 concepts of ECG-InterpBench.",
        licence="CC BY 4.0",
        access="open",
        how=(
            "Fetch PTB-XL with `einthoven datasets download ptbxl --to FOLDER/ptb-xl`, and PTB-XL+ 1.0.1 from "
            "PhysioNet by other means into FOLDER/ptb-xl-plus."
        ),
        sharing="Records and what is computed from them, with attribution.",
        sizes=Sizes(records=21_799, patients=18_869),
        url="https://physionet.org/content/ptb-xl-plus/1.0.1/",
        citation=(
            "Strodthoff et al. PTB-XL+, a comprehensive electrocardiographic feature dataset. "
            "Scientific Data 10, 279 (2023). doi:10.1038/s41597-023-02153-8"
        ),
        rates=ptbxl.DATASET.card.rates,
        tasks=ptbxl.DATASET.card.tasks,
        concepts={
            "interpbench-49": "the 49 concepts of ECG-InterpBench in five families",
            "12sl": "all columns of 12SL",
            "ecgdeli": "all columns of ECGdeli",
            "unig": "all columns of the Uni-G program",
        },
        split_rules=ptbxl.DATASET.card.split_rules,
    ),
    scan=scan,
)
