"""Processes of this machine: what is said when one is lost, and what a careless script is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from einthoven.studies.cells import Cell
from einthoven.studies.executors.executor import WorkerLost
from einthoven.studies.executors.local import LocalExecutor

_NOTHING = Cell(kind="nothing", title="nothing", spec={}, inputs={}, version=1)


def _workers(executor: LocalExecutor) -> list[int]:
    return [pid for pid, process in executor._processes.items() if process.is_alive()]


@pytest.mark.parametrize(
    ("how", "says"), [(signal.SIGKILL, "killed by the system.*memory"), (signal.SIGSEGV, "signal 11")]
)
def test_a_lost_worker_is_told_from_a_failed_cell_and_the_executor_goes_on(tmp_path: Path, how, says) -> None:
    with LocalExecutor(workers=2) as executor:
        outcome = executor.submit(_NOTHING, tmp_path).result(timeout=120)
        assert "Unknown kind of cell 'nothing'" in str(outcome.message)
        os.kill(_workers(executor)[0], how)
        deadline = time.monotonic() + 60
        lost: BaseException | None = None
        while lost is None and time.monotonic() < deadline:
            # The pool notices in its own time; a cell handed in meanwhile is either done or lost.
            lost = executor.submit(_NOTHING, tmp_path).exception(timeout=60)
        with pytest.raises(WorkerLost, match=says):
            raise lost or AssertionError("the pool never noticed")
        with pytest.raises(WorkerLost, match=says):
            executor.submit(_NOTHING, tmp_path).result(timeout=60)
        executor.restart()
        assert executor.submit(_NOTHING, tmp_path).result(timeout=120).message


def test_workers_start_with_their_share_of_the_cores_and_this_process_keeps_its_own(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "7")
    with LocalExecutor(workers=1) as executor:
        executor.submit(_NOTHING, tmp_path).result(timeout=120)
        environment = Path(f"/proc/{_workers(executor)[0]}/environ").read_bytes()
        assert f"POLARS_MAX_THREADS={executor._threads}".encode() in environment
    assert os.environ["POLARS_MAX_THREADS"] == "7"


_CARELESS = """
from pathlib import Path
from einthoven.studies.cells import Cell
from einthoven.studies.executors.local import LocalExecutor
cell = Cell(kind="nothing", title="nothing", spec={}, inputs={}, version=1)
with LocalExecutor(workers=1) as executor:
    print(executor.submit(cell, Path("run")).exception())
"""


def test_a_script_without_a_main_guard_is_told_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "careless.py").write_text(textwrap.dedent(_CARELESS))
    ended = subprocess.run(
        [sys.executable, "careless.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0
    assert "Put what the script does under `if __name__ == '__main__':`" in ended.stderr
    assert "exit code 1" in ended.stdout
    assert "if __name__ == '__main__':" in ended.stdout
