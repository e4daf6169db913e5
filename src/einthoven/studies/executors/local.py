"""Cells in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from einthoven.foundation.errors import UsageError
from einthoven.studies.cells import Cell
from einthoven.studies.work import Outcome, run_cell

from .executor import WorkerLost

# Read when a numeric library is first loaded, so they must be in the environment a worker starts with.
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)
_KILLED = -9


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class LocalExecutor:
    """A pool of worker processes; each does one cell at a time with its share of the cores.

    Worker processes end when the process that started them ends, however it ends, so that a run that was killed
    cannot go on writing beside the one that resumes it.

    Args:
        workers: processes; None is one for each core.
    """

    def __init__(self, *, workers: int | None = None) -> None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            # Workers read the script that started them; without a guard it would start the study in each of them.
            raise UsageError(
                "A study was started while a worker process was being started. Put what the script does under "
                "`if __name__ == '__main__':`."
            )
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.workers = workers or cores
        self._threads = max(1, cores // self.workers)
        self._pool: ProcessPoolExecutor | None = None
        self._processes: dict[int, Any] = {}

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def submit(self, cell: Cell, folder: Path) -> Future[Outcome]:
        """Hand a cell to the pool; the future gives its outcome, or raises WorkerLost if a worker died."""
        answer: Future[Outcome] = Future()
        answer.set_running_or_notify_cancel()
        try:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(
                    self.workers,
                    mp_context=multiprocessing.get_context("spawn"),
                    initializer=_start_worker,
                    initargs=(self._threads,),
                )
            with _environment(dict.fromkeys(_THREAD_VARIABLES, str(self._threads))):
                inner = self._pool.submit(run_cell, cell, folder)
        except BrokenProcessPool:
            answer.set_exception(self._lost())
            return answer
        self._processes.update(getattr(self._pool, "_processes", None) or {})
        inner.add_done_callback(lambda done: self._pass_on(done, answer))
        return answer

    def _pass_on(self, inner: Future[Outcome], answer: Future[Outcome]) -> None:
        if inner.cancelled():
            answer.set_exception(self._lost())
            return
        error = inner.exception()
        if error is None:
            answer.set_result(inner.result())
        else:
            answer.set_exception(self._lost() if isinstance(error, BrokenProcessPool) else error)

    def _lost(self) -> WorkerLost:
        """What can be said of the workers that are gone: a signal, or an exit code."""
        for process in self._processes.values():
            process.join(timeout=1)
        codes = [process.exitcode for process in self._processes.values() if process.exitcode]
        # When one worker dies the pool ends the others with SIGTERM; theirs is not the cause.
        codes = [code for code in codes if code != -signal.SIGTERM] or codes
        if not codes:
            return WorkerLost("The process that ran this cell ended without an answer.")
        if codes[0] == _KILLED:
            return WorkerLost(
                "The process that ran this cell was killed by the system. The usual cause is memory: run with fewer "
                "--workers, or on a larger machine."
            )
        how = f"signal {-codes[0]}" if codes[0] < 0 else f"exit code {codes[0]}"
        return WorkerLost(
            f"The process that ran this cell ended while it started or ran ({how}); what it said last is above. A "
            "script that starts a study must do so under `if __name__ == '__main__':`."
        )

    def restart(self) -> None:
        """Give up a pool whose worker died; the next cell starts a new one."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
            self._processes = {}

    def stop(self) -> None:
        """End all workers now; cells they were on are not finished and nothing of them is kept."""
        if self._pool is None:
            return
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        manager: threading.Thread | None = getattr(self._pool, "_executor_manager_thread", None)
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(timeout=5)
        if manager is not None:
            # If Python ended while it closes its pipe, Python's own clean-up would fail on the closed pipe and say so.
            manager.join(timeout=5)
        self._pool = None


def _start_worker(threads: int) -> None:
    # Ctrl-C reaches the whole process group; the parent decides what it means and ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _limit_threads(threads)


def _end_with(parent) -> None:
    parent.join()
    os._exit(1)


def _limit_threads(threads: int) -> None:
    import threadpoolctl
    import torch

    torch.set_num_threads(threads)
    threadpoolctl.threadpool_limits(threads)
