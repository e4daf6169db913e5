"""How fast a cohort is built, against reading the same records with wfdb in a loop; and that memory does not grow.

    python benchmarks/prepare.py ../shared/data/ptbxl            # the ratio; a few tens of seconds
    python benchmarks/prepare.py ../shared/data/ptbxl --memory   # 2,000, 20,000 and 100,000 phantom records; minutes

Building includes what the loop does not do: the metadata of all 21,799 records, digests, checks, flags, fingerprints.
The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path


def wfdb_loop(source: Path) -> tuple[int, float]:
    """Records and seconds of a serial loop over all records with 100 Hz files."""
    import wfdb

    stems = sorted(str(file.with_suffix("")) for file in (source / "records100").rglob("*.hea"))
    started = time.perf_counter()
    for stem in stems:
        wfdb.rdrecord(stem)
    return len(stems), time.perf_counter() - started


def build(source: Path) -> tuple[int, float]:
    """Records and seconds of preparing the cohort, everything included."""
    from einthoven.datasets.building import prepare

    with tempfile.TemporaryDirectory() as home:
        os.environ["EINTHOVEN_HOME"] = home
        started = time.perf_counter()
        cohort = prepare("ptbxl", source, rate=100, allow_missing=True)
        return len(cohort), time.perf_counter() - started


def memory_of(records: int) -> None:
    """Prepare a phantom and print the peak of this process in MiB, and what the modules alone take."""
    from einthoven.datasets.building import prepare

    with tempfile.TemporaryDirectory() as home:
        os.environ["EINTHOVEN_HOME"] = home
        prepare("phantom", name="small", options={"records": 50})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        started = time.perf_counter()
        prepare("phantom", name="large", options={"records": records})
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"records": records, "seconds": round(seconds, 1), "peak_mib": round(peak), "before": round(before)})
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path, help="folder of PTB-XL")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--memory-of", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.memory_of:
        memory_of(options.memory_of)
        return
    if options.memory:
        for records in (2_000, 20_000, 100_000):
            command = [sys.executable, __file__, str(options.source), "--memory-of", str(records)]
            print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip(), flush=True)
        return
    build(options.source)  # imports and the page cache, for both
    ratios, records = [], 0
    for _ in range(options.repeats):
        records, loop = wfdb_loop(options.source)
        built, seconds = build(options.source)
        assert records == built
        ratios.append(loop / seconds)
        print(f"wfdb loop {records / loop:,.0f} records/s; prepare {built / seconds:,.0f} records/s; {ratios[-1]:.1f}x")
    print(json.dumps({"records": records, "ratio": round(sorted(ratios)[len(ratios) // 2], 2)}))


if __name__ == "__main__":
    main()
