"""How fast a cohort is built, against reading the same records with wfdb in a loop; and that memory does not grow.

    python benchmarks/prepare.py ../shared/data/ptbxl            # the ratio; a few tens of seconds
    python benchmarks/prepare.py ../shared/data/ptbxl --memory   # 2,000, 20,000 and 100,000 phantom records; minutes

Building includes what the loop does not do: metadata, digests, checks, flags, fingerprints. It is measured twice: with
the metadata cut down to the records whose files are here, as a whole dataset would be, and with those of all 21,799
records, nine of ten of which are only looked for. The last line is JSON; `ratio` is of the first.
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


def only_present(source: Path, folder: Path) -> Path:
    """A source folder with the same files and with metadata of those records only that have any."""
    import polars as pl

    table = pl.read_csv(source / "ptbxl_database.csv", infer_schema_length=None)
    here = {file.stem for file in (source / "records100").rglob("*.hea")}
    table.filter(pl.col("filename_lr").str.split("/").list.last().is_in(list(here))).write_csv(
        folder / "ptbxl_database.csv"
    )
    for name in ("scp_statements.csv", "records100"):
        (folder / name).symlink_to((source / name).resolve())
    return folder


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
    with tempfile.TemporaryDirectory() as folder:
        present = only_present(options.source, Path(folder))
        build(present)  # imports and the page cache, for both
        ratios: list[tuple[float, float]] = []
        records = 0
        for _ in range(options.repeats):
            records, loop = wfdb_loop(options.source)
            built, seconds = build(present)
            _, with_all = build(options.source)
            assert records == built
            ratios.append((loop / seconds, loop / with_all))
            print(
                f"wfdb loop {records / loop:,.0f} records/s; prepare {built / seconds:,.0f} records/s "
                f"({ratios[-1][0]:.1f}x), with all metadata {built / with_all:,.0f} ({ratios[-1][1]:.1f}x)"
            )
    middle = len(ratios) // 2
    found = {"records": records, "ratio": round(sorted(r[0] for r in ratios)[middle], 2)}
    print(json.dumps({**found, "ratio_with_all_metadata": round(sorted(r[1] for r in ratios)[middle], 2)}))


if __name__ == "__main__":
    main()
