"""What every registered dataset promises; a new dataset is tested here without a line of code.

A dataset that is read from files is read from the real ones; where there are none of it the test says so by being
skipped, and on CI by failing. One of whose release no part can be had is read from files made in its layout.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from einthoven.datasets.checking import check_scan
from einthoven.datasets.dataset import Dataset, Scan
from einthoven.datasets.registry import DATASETS
from einthoven.datasets.source import open_source
from einthoven.foundation.errors import UsageError
from einthoven.signals.leads import STANDARD_LEADS, arrange_leads

from .conftest import MADE

_COLLECTED = {
    "cpsc2018": "cinc2021_tuijalei/CPSC_CPSC-Extra",
    "csn": "cinc2021_tuijalei/ChapmanShaoxing_Ningbo",
    "georgia": "cinc2021_tuijalei/G12EC",
    "sph": "cinc2021_tuijalei/SPH",
}

every = pytest.mark.parametrize(
    "dataset",
    # One that is made, or whose files are, needs no real files, so it is tested everywhere.
    [
        pytest.param(d, id=d.name, marks=[pytest.mark.realdata] if d.card.needs_source and d.name not in MADE else [])
        for d in DATASETS
    ],
)


@pytest.fixture
def folder(dataset: Dataset, request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    if not dataset.card.needs_source:
        return None
    if dataset.name in MADE:
        return MADE[dataset.name](tmp_path / "made")
    # Below the folder of real ECGs, a dataset's files lie under its name, but for those of one collection.
    return request.getfixturevalue("real_data") / _COLLECTED.get(dataset.name, dataset.name)


def scanned(dataset: Dataset, folder: Path | None, **options: int) -> Scan:
    small = {name: min(value, 60) for name, value in dataset.options.items()}
    return dataset.scan(folder, dataset.card.rates[0], {**small, **options})


@every
def test_its_card_and_its_scan_agree(dataset: Dataset, folder: Path | None) -> None:
    scan = scanned(dataset, folder)
    check_scan(scan, where=dataset.name)
    assert list(scan.tasks) == list(dataset.card.tasks)
    assert list(scan.splits) == list(dataset.card.split_rules)
    assert list(scan.concepts) == list(dataset.card.concepts)
    assert scan.rate == dataset.card.rates[0]
    assert scan.rules


@every
def test_it_can_be_scanned_twice_with_the_same_outcome(dataset: Dataset, folder: Path | None) -> None:
    one, two = scanned(dataset, folder), scanned(dataset, folder)
    assert one.records == two.records
    assert (one.tasks, one.splits) == (two.tasks, two.splits)


@every
def test_its_first_records_can_be_read_and_are_as_promised(dataset: Dataset, folder: Path | None) -> None:
    source = open_source(dataset, folder, rate=dataset.card.rates[0], options={})
    scan = source.scan
    for index in source.present[:5]:
        record = scan.read(scan.records[index])
        assert (record.record_id, record.patient_id) == (
            scan.records[index].record_id,
            scan.records[index].patient_id,
        )
        assert record.rate == scan.rate
        assert record.signal.dtype == np.float32
        assert record.signal.shape == (len(record.leads), scan.samples or record.signal.shape[1])
        # An invalid sample is NaN; `prepare` refuses it, reading does not.
        assert not np.isinf(record.signal).any()
        assert np.nanmax(np.abs(record.signal)) < 30
        if scan.leads is None:
            arrange_leads(record.signal, record.leads, target=STANDARD_LEADS)
        else:
            assert record.leads == scan.leads


@every
def test_options_and_sources_it_does_not_have_are_refused(
    dataset: Dataset, folder: Path | None, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="Unknown option 'nonsense'"):
        open_source(dataset, folder, rate=dataset.card.rates[0], options={"nonsense": 1})
    other = None if dataset.card.needs_source else tmp_path
    with pytest.raises(UsageError, match="--source"):
        open_source(dataset, other, rate=dataset.card.rates[0], options={})
