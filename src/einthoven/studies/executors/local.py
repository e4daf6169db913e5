"""Cells in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from types import TracebackType

from einthoven.studies.cells import Cell
from einthoven.studies.work import Outcome, run_cell

# Read when a numeric library is first loaded, so they must be set before the worker imports one.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class LocalExecutor:
    """A pool of worker processes; each does one cell at a time with its share of the cores.

    Worker processes end when the process that started them ends, however it ends, so that a run that was killed
    cannot go on writing beside the one that resumes it.

    Args:
        workers: processes; None is one for each core.
    """

    def __init__(self, *, workers: int | None = None) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.workers = workers or cores
        self._threads = max(1, cores // self.workers)
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def submit(self, cell: Cell, folder: Path) -> Future[Outcome]:
        """Hand a cell to the pool; the future gives its outcome, or raises BrokenProcessPool if a worker died."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_start_worker,
                initargs=(self._threads,),
            )
        return self._pool.submit(run_cell, cell, folder)

    def restart(self) -> None:
        """Give up a pool whose worker died; the next cell starts a new one."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def stop(self) -> None:
        """End all workers now; cells they were on are not finished and nothing of them is kept."""
        if self._pool is None:
            return
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(timeout=5)
        self._pool = None


def _start_worker(threads: int) -> None:
    for variable in _THREAD_VARIABLES:
        os.environ[variable] = str(threads)
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
