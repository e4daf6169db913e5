"""Imports that are killed, and two of one name at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from einthoven.datasets.importing.mapping import parse_plan
from einthoven.datasets.importing.preparing import import_table
from einthoven.foundation.errors import EinthovenError

from .ward import COUNT, Ward, digital

# Imports, and at the first record writes that it has begun, and waits to be killed.
_SLOW = """
import json, sys, time
from pathlib import Path
from einthoven.datasets.importing import reading
from einthoven.datasets.importing.mapping import parse_plan
from einthoven.datasets.importing.preparing import import_table
table, signals, plan, begun = sys.argv[1:]
def wait(*_, **__):
    Path(begun).touch()
    time.sleep(120)
reading.read_npy = wait
import_table(Path(table), Path(signals), parse_plan(json.loads(plan), where="plan"))
"""


def test_a_killed_import_leaves_no_cohort_and_another_goes_on(ward: Ward, home: Path, tmp_path: Path) -> None:
    ward.write("npy")
    begun = tmp_path / "begun"
    table, plan = ward.table(), parse_plan(ward.plan(), where="plan")
    words = [str(table), str(ward.signals), json.dumps(ward.plan()), str(begun)]
    other = subprocess.Popen([sys.executable, "-c", _SLOW, *words])
    try:
        deadline = time.monotonic() + 60
        while not begun.exists():
            assert other.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(EinthovenError, match="preparing"):
            import_table(table, ward.signals, plan)  # two at once
    finally:
        other.kill()
        other.wait()
    assert not list(home.rglob("manifest.json"))
    cohort = import_table(table, ward.signals, plan)
    cohort.verify()
    assert np.array_equal(np.rint(cohort.signals(slice(None)) * 1000), np.stack([digital(i) for i in range(COUNT)]))
