"""EchoNext 1.1.0: 12-lead ECGs of 10 s at 250 Hz with what an echocardiogram found; 12 labels.

The waveforms are published standardised, lead by lead. They are brought back to millivolts with the means and standard
deviations that belong to them, in counts of 0.00488 mV (GE MUSE); ecg-fix (Berger et al. 2026) uses those of another
data set and takes counts for millivolts, so that its signals are some 205 times too large. Signals stay at 250 Hz.

What the publisher's preprocessing did to them cannot be undone: baseline wander was taken off by two median filters
(0.2 and 0.6 s), and each lead clipped at its 0.1st and 99.9th percentile (IntroECG, `7-EchoNext Minimodel`).

Row i of a split in the metadata is row i of that split's array. Assumed of the metadata, of which there is no public
copy: columns `split`, `patient_key`, `age_at_ecg` (90 stands for 90 and above), `sex` ("Male", "Female", or 1 and 0 for
these) and the twelve `*_flag`; `ecg_key` and others are kept where they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from einthoven.datasets.dataset import (
    SPLITS,
    Dataset,
    DatasetCard,
    Record,
    Scan,
    Sizes,
    SourceRecord,
    TaskCard,
    TaskTable,
)
from einthoven.datasets.downloading.release import physionet
from einthoven.datasets.person import SEXES, ages_of
from einthoven.foundation.errors import DataError
from einthoven.signals.leads import STANDARD_LEADS

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from einthoven.datasets.table_files import TextTable

METADATA = "echonext_metadata_100k.csv"
NORMALISATION = "waveform_normalization_params.json"
LABELS = (
    "lvef_lte_45",
    "lvwt_gte_13",
    "aortic_stenosis_moderate_or_greater",
    "aortic_regurgitation_moderate_or_greater",
    "mitral_regurgitation_moderate_or_greater",
    "tricuspid_regurgitation_moderate_or_greater",
    "pulmonary_regurgitation_moderate_or_greater",
    "rv_systolic_dysfunction_moderate_or_greater",
    "pericardial_effusion_moderate_large",
    "pasp_gte_45",
    "tr_max_gte_32",
    "shd_moderate_or_greater",
)
MILLIVOLTS_A_COUNT = 0.00488
_RATE = 250.0
_SHAPE = (1, 2500, len(STANDARD_LEADS))
_NO_SPLIT = "no_split"
_PUBLISHED = (
    "github.com/PierreElias/IntroECG, folder '7-EchoNext Minimodel/models/echonext_multilabel_minimodel/'; copy it "
    "into the source folder"
)
_SEXES = {**SEXES, "1": "M", "1.0": "M", "0": "F", "0.0": "F"}
_KEPT = ("ecg_key", "acquisition_year", "location_setting", "race_ethnicity", "most_recent_ecg")


def scan(source: Path, rate: float, options: Mapping[str, int]) -> Scan:
    """Read the metadata, the normalisation and the shapes of the arrays; no sample is touched."""
    import numpy as np
    import polars as pl

    from einthoven.datasets.array_files import read_npy
    from einthoven.datasets.columns import LabelColumns, RecordTable, SplitColumn
    from einthoven.signals.units import to_millivolts

    mean, sd = read_normalisation(source / NORMALISATION)
    table = _metadata(source / METADATA)
    _check_shapes(source, table)
    flags, person = np.column_stack([_flags(table, label) for label in LABELS]), _person(table)
    # Split by split, so that records of one array follow each other and it is read and digested once.
    order = np.argsort([(*SPLITS, _NO_SPLIT).index(split) for split in table["split"]], kind="stable")
    table, flags, person = table.take(order), flags[order], person[order]
    # A record is known by its place in its array, which is all that ties the two together.
    place = pl.int_range(pl.len()).over("split").cast(pl.String).str.zfill(6)
    ids = table.frame.select(record=pl.col("split") + "-" + place)["record"]
    used = pl.col("split") != _NO_SPLIT
    files = table.frame.select(
        file=pl.when(used).then(pl.concat_list(pl.lit("EchoNext_") + pl.col("split") + "_waveforms.npy")).otherwise([])
    )["file"]
    records = RecordTable(
        ids,
        table["patient_key"],
        files=files,
        metadata=person,
        left_out=table.frame.select(why=pl.when(used).then(pl.lit("")).otherwise(pl.lit("in no split")))["why"],
    )
    rows = np.flatnonzero(table["split"] != _NO_SPLIT)

    @cache
    def array(file: str) -> np.ndarray:
        return read_npy(source / file)

    def read(record: SourceRecord) -> Record:
        row = int(record.record_id.rpartition("-")[2])
        standardised = np.asarray(array(record.files[0])[row, 0], dtype=np.float64).T
        counts = standardised * sd[:, None] + mean[:, None]
        signal = to_millivolts(counts, "adc", gain=1 / MILLIVOLTS_A_COUNT)
        return Record(record.record_id, record.patient_id, signal, leads=STANDARD_LEADS, rate=_RATE)

    return Scan(
        records=records,
        tasks={"structural": TaskTable(LABELS, LabelColumns(ids, LABELS, rows, flags[rows]))},
        splits={"official": SplitColumn.named(ids, table["split"].replace(_NO_SPLIT, "").to_numpy())},
        read=read,
        rate=rate,
        samples=_SHAPE[1],
        source_files=(METADATA, NORMALISATION),
        rules={"echonext-labels": "1: the 12 flags", "echonext-units": "1: (z sd + mean) 0.00488 mV, own constants"},
        notes=(
            "The publisher took baseline wander off by median filters and clipped each lead at its 0.1st and 99.9th "
            "percentile, so ST levels and the tallest waves are not those of the recording.",
        ),
    )


def read_normalisation(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each lead, float64 (12,), in counts of `MILLIVOLTS_A_COUNT`.

    Raises:
        DataError: the file does not exist, or does not hold 12 finite means and 12 deviations above 0.
    """
    import numpy as np

    if not file.is_file():
        raise DataError(
            f"{file} does not exist. The waveforms of EchoNext are standardised, and without it they have no unit. It "
            f"is published in {_PUBLISHED}."
        )
    try:
        stated: Any = json.loads(file.read_text(encoding="utf-8"))
        mean, sd = (np.asarray(stated[key], dtype=np.float64) for key in ("mean", "std"))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file} cannot be read ({error!r}): lists 'mean' and 'std' were expected. Take that of "
                        f"{_PUBLISHED}.") from None  # fmt: skip
    expected = (len(STANDARD_LEADS),)
    sound = mean.shape == expected and sd.shape == expected and np.isfinite(mean).all() and np.isfinite(sd).all()
    if not sound or not (sd > 0).all():
        raise DataError(
            f"{file} holds means of shape {mean.shape} and deviations of shape {sd.shape}; 12 finite means and 12 "
            f"deviations above 0 were expected. Take that of {_PUBLISHED}."
        )
    return mean, sd


def _metadata(file: Path) -> TextTable:
    from einthoven.datasets.table_files import read_table

    needed = ("split", "patient_key", *(f"{label}_flag" for label in LABELS))
    table = read_table(file, needed, where="the folder of EchoNext 1.1.0 that holds it")
    known = (*SPLITS, _NO_SPLIT)
    table.refuse("split", ~table["split"].is_in(known).fill_null(False), f"one of {', '.join(known)}")
    table.require("patient_key")
    return table


def _check_shapes(source: Path, table: TextTable) -> None:
    """Refuse an array whose rows are not those of the metadata; one that does not exist is missed later."""
    from einthoven.datasets.array_files import read_npy

    for split in SPLITS:
        file = source / f"EchoNext_{split}_waveforms.npy"
        expected = (int((table["split"] == split).sum()), *_SHAPE)
        if file.is_file() and (found := read_npy(file).shape) != expected:
            raise DataError(
                f"{file.name} has shape {found}; {METADATA} promises {expected} (records, 1, samples, leads). Rows "
                "are matched by their place alone, so both must be of one release; download both again."
            )


def _flags(table: TextTable, label: str) -> np.ndarray:
    """A flag of every row, uint8; of a row that is in no split it does not matter."""
    import polars as pl

    from einthoven.datasets.table_files import numbers_in

    column = f"{label}_flag"
    numbers = numbers_in(table[column])
    known = numbers.is_in([0.0, 1.0]).fill_null(False)
    table.refuse(column, ~known & (table["split"] != _NO_SPLIT), "0 or 1")
    return (numbers == 1.0).fill_null(False).cast(pl.UInt8).to_numpy()


def _person(table: TextTable) -> pl.DataFrame:
    import polars as pl

    kept: dict[str, pl.Series] = {}
    if "age_at_ecg" in table:
        kept["age"] = ages_of(table.numbers("age_at_ecg"))
    if "sex" in table:
        kept["sex"] = table.coded("sex", _SEXES, dtype=pl.String, expected="Male, Female, 1 or 0, or nothing")
    return pl.DataFrame({**kept, **{name: table[name] for name in _KEPT if name in table}})


DATASET = Dataset(
    card=DatasetCard(
        name="echonext",
        title="EchoNext",
        version="1.1.0",
        summary="100,000 12-lead ECGs of 10 s with echocardiographic findings; 82,543 are in a split.",
        licence="PhysioNet Restricted Health Data License 1.5.0",
        access="credentialed",
        how=(
            "Sign the data use agreement on PhysioNet, and copy "
            f"{NORMALISATION} from github.com/PierreElias/IntroECG (7-EchoNext Minimodel) beside what is downloaded."
        ),
        sharing="Neither records nor anything they could be told from; the licence forbids passing them on.",
        sizes=Sizes(records=100_000, patients=36_286),
        url="https://physionet.org/content/echonext/1.1.0/",
        citation=(
            "Elias and Finer. EchoNext: a dataset for detecting echocardiogram-confirmed structural heart disease from "
            "ECGs. PhysioNet (2025)."
        ),
        rates=(_RATE,),
        tasks={"structural": TaskCard("12 findings of an echocardiogram", "structural")},
        split_rules={"official": "the release's train, val and test; rows in no split are left out"},
    ),
    scan=scan,
    release=physionet("echonext", "1.1.0", include=(METADATA, "EchoNext_*_waveforms.npy"), login=True),
)
