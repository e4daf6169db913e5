"""A ledger that version 0.1 wrote stays readable: its results, its digest, its report."""

from __future__ import annotations

import shutil
from pathlib import Path

from einthoven.reports.page import write_report
from einthoven.studies.inspection import study_status, verify_study

_KEPT = Path(__file__).parent / "ledgers" / "0.1"


def test_a_ledger_of_an_earlier_version_is_read_checked_and_reported(tmp_path, home) -> None:
    folder = Path(shutil.copytree(_KEPT, tmp_path / "kept"))
    status = study_status(folder)
    assert status.finished == len(status.cells) == 6
    assert status.digest == "05690c0bc0806df2572e920c4c7379e396af5a0b133677bce017212c46a82c0e"
    checks = list(verify_study(folder))
    assert [check for check in checks if check.problem] == []
    page = write_report(folder).read_text()
    assert "has the highest macro AUROC, 0.978 [0.931, 1.000]" in page
    assert "No single record is shown" in page
