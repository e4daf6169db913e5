"""The phantom: a synthetic 12-lead cohort with planted truth, for demonstrations and for testing statistics."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from einthoven.datasets.dataset import Dataset, DatasetCard, Record, Scan, Sizes, SourceRecord, TaskCard, TaskTable
from einthoven.foundation.errors import UsageError

# Signals are made a block at a time, since making one record costs nearly as much as making many.
_BLOCK = 128


def scan(source: Path | None, rate: float, options: Mapping[str, int]) -> Scan:
    """Plant the population; the signals are made when they are read."""
    import numpy as np
    import polars as pl

    from einthoven.datasets.columns import LabelColumns, RecordTable, SplitColumn
    from einthoven.datasets.concepts import ConceptColumns
    from einthoven.datasets.phantom.generator import generate_phantom
    from einthoven.datasets.phantom.truth import UNITS

    if source is not None:
        raise UsageError("The phantom is made, not read: leave --source out.")
    phantom = generate_phantom(records=options["records"], seed=options["seed"], rate=rate)
    ids = pl.Series(phantom.record_ids)
    every = np.arange(len(ids))
    rendering = phantom.rendering  # alone, so that what is columns by now is not held a second time
    held: dict[int, object] = {}

    def read(record: SourceRecord) -> Record:
        index = int(record.record_id.removeprefix("E"))
        block = index // _BLOCK
        if block not in held:
            held.clear()
            held[block] = rendering.signals(block * _BLOCK, min((block + 1) * _BLOCK, len(every)))
        signals = held[block]
        return Record(
            record_id=record.record_id,
            patient_id=record.patient_id,
            signal=signals[index - block * _BLOCK],  # type: ignore[index]  # an array; its type would import numpy
            leads=rendering.leads,
            rate=rendering.rate,
        )

    return Scan(
        records=RecordTable(
            ids, pl.Series(phantom.patient_ids), metadata=pl.DataFrame({"age": phantom.age, "sex": phantom.sex})
        ),
        tasks={
            task: TaskTable(labels, LabelColumns(ids, labels, every, targets))
            for task, (labels, targets) in phantom.tasks.items()
        },
        splits={"patients": SplitColumn.named(ids, phantom.split)},
        read=read,
        rate=rate,
        samples=rendering.samples,
        rules={"phantom": "2"},
        concepts={"truth": ConceptColumns(tuple(UNITS), len(ids), rendering.truth)},
        notes=("Synthetic ECGs: scores on them show that the machinery works, not how good a model is.",),
    )


DATASET = Dataset(
    card=DatasetCard(
        name="phantom",
        title="Einthoven phantom",
        version="1",
        summary="Synthetic 12-lead ECGs of 10 s from a moving-dipole model, with the true measurements.",
        licence="Apache-2.0 (made by this package)",
        access="synthetic",
        sharing="Everything.",
        sizes=Sizes(),
        url="",
        citation="McSharry et al. A dynamical model for generating synthetic ECG signals. IEEE TBME 50(3), 289 (2003).",
        rates=(100.0, 500.0),
        tasks={
            "rhythm": TaskCard("4 rhythms, one a record: AFIB, SBRAD, SR, STACH", "rhythm+waveform"),
            "form": TaskCard(
                "10 labels of conduction, hypertrophy, ST, T and premature beats; WPW is rare on purpose",
                "rhythm+waveform",
            ),
        },
        concepts={"truth": "what was planted: heart rate, intervals, axis, R and ST of each lead"},
        split_rules={"patients": "70 / 10 / 20 by patient"},
        needs_source=False,
    ),
    scan=scan,
    options={"records": 2000, "seed": 0},
)
