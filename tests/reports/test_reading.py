from __future__ import annotations

import pytest

from einthoven.foundation.errors import DataError
from einthoven.reports.reading import read_study
from einthoven.studies.ledger import Ledger


def test_a_whole_study_is_read_by_task_and_encoder(make_study):
    study = read_study(make_study())
    assert study.complete
    assert study.counts == {"finished": 12, "failed": 0, "not run": 0}
    assert set(study.probes) == {(t, e) for t in ("super", "rhythm") for e in study.encoders}
    assert all(probe.encoder == encoder for (_, encoder), probe in study.probes.items())
    assert study.floors == set(study.encoders)
    assert study.example is not None
    assert study.example.shape == (12, 1000)


def test_what_waits_for_a_failed_cell_says_so_through_other_cells(make_study):
    folder = make_study(
        failed={"embed with age-sex": "OSError: /home/ada/weights/a.pt is gone"},
        missing=("probe age-sex on super", "compare on super", "probe rr-features on rhythm"),
    )
    study = read_study(folder)
    assert study.counts == {"finished": 8, "failed": 1, "not run": 3}
    failed = study.in_state("failed")[0]
    assert failed.message == "OSError: …/a.pt is gone"
    by_title = {reading.cell.title: reading for reading in study.cells}
    assert by_title["compare on super"].message == "it needs 'embed with age-sex', which failed"
    assert by_title["probe rr-features on rhythm"].message == ""
    assert study.why_no_comparison("rhythm") == ""
    assert ("super", "age-sex") not in study.probes
    probe = study.cell("probe", task="super", encoder="age-sex")
    assert probe is not None
    assert probe.cell.title == "probe age-sex on super"


def test_the_digest_is_the_ledgers(make_study):
    folder = make_study()
    study = read_study(folder)
    assert study.digest == Ledger(folder).digest([reading.cell.key for reading in study.cells])


def test_a_result_of_another_schema_is_refused_by_name(make_study, vouch):
    folder = make_study()
    key = next(reading.cell.key for reading in read_study(folder).cells if reading.cell.kind == "comparison")
    (folder / "cells" / key / "result.json").write_text('{"schema_version": 99}')
    vouch(folder / "cells" / key)
    with pytest.raises(DataError, match=r"cannot be read as ComparisonResult .*: Input should be 1 at schema_version"):
        read_study(folder)


def test_a_folder_without_a_study_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds no study"):
        read_study(tmp_path)


def test_a_damaged_cell_is_named_and_not_shown(make_study):
    """Whatever of it was changed, and however that would have been read."""
    folder = make_study()
    for cell in (folder / "cells").glob("[0-9a-f]*"):
        for file in cell.iterdir():
            if file.name in ("files.json", "draws.npz", "predictions.parquet", "probe.npz"):
                continue  # no report reads these
            content = file.read_bytes()
            file.write_bytes(content[: len(content) // 2] + b"?" + content[len(content) // 2 + 1 :])
            with pytest.raises(DataError, match=f"changed after it was stored: {file.name}"):
                read_study(folder)
            file.write_bytes(content)
