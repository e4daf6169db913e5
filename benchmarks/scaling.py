"""How time and memory of preparing and embedding grow with records.

Each size runs in a process of its own, so that peak memory is that of the size alone. Time should grow in proportion to
records, memory not with them (metadata do, signals do not). Usage: python benchmarks/scaling.py [largest]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

_STEP = """
import json, resource, sys, time
from einthoven.datasets.building import prepare
from einthoven.embeddings.store import embed_cohort
from einthoven.encoders.registry import build_encoder
records = int(sys.argv[1])
started = time.perf_counter()
cohort = prepare("phantom", rate=100.0, options={"records": records})
prepared = time.perf_counter()
after_prepare = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
encoder = build_encoder("rr-features")
embed_cohort(encoder, cohort, encoder.card.preprocessing())
print(json.dumps({
    "records": records,
    "prepare_seconds": prepared - started,
    "embed_seconds": time.perf_counter() - prepared,
    "prepare_peak_mib": after_prepare / 1024,
    "embed_peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def main() -> None:
    """Measure three sizes and print a table, then one JSON line."""
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    rows = []
    for records in (largest // 16, largest // 4, largest):
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                [sys.executable, "-c", _STEP, str(records)],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "EINTHOVEN_HOME": home, "OMP_NUM_THREADS": "1"},
            )
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    print("records  prepare s  embed s  prepare peak MiB  embed peak MiB")
    for row in rows:
        print(
            f"{row['records']:7d}  {row['prepare_seconds']:9.2f}  {row['embed_seconds']:7.2f}"
            f"  {row['prepare_peak_mib']:16.0f}  {row['embed_peak_mib']:14.0f}"
        )
    small, large = rows[1], rows[2]
    ratio = (large["prepare_seconds"] + large["embed_seconds"]) / (small["prepare_seconds"] + small["embed_seconds"])
    growth = large["embed_peak_mib"] / small["embed_peak_mib"]
    print(json.dumps({"time_ratio_for_4x_records": ratio, "memory_ratio_for_4x_records": growth, "rows": rows}))


if __name__ == "__main__":
    main()
