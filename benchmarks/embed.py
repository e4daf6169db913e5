"""How much of the bare forward pass's speed is left when a cohort is streamed through an encoder; and its memory.

    python benchmarks/embed.py                   # two encoders, and the preprocessing of every preset; minutes
    python benchmarks/embed.py --device cuda     # the same on a GPU
    python benchmarks/embed.py --memory          # peak memory for 2,000 and 20,000 records

Streaming is `embed_cohort`: reading int16, preprocessing, the pass, digests, writing. Bare is the same network on the
same batches, prepared and in memory, in the same run, one after the other. Weights are random: time does not depend on
them. The last line is JSON; `ratio` is the smaller of the two encoders' streaming / bare.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

# A ResNet18 at the rate it is used with here, and one of the size of ViT-B.
ENCODERS: dict[str, tuple[dict[str, Any], int]] = {
    "random-resnet18": ({}, 1024),
    "merl-vit-base": ({"weights": "random"}, 64),
}
BATCH = 32
ROUNDS = 3


def measure(name: str, parameters: dict[str, Any], records: int, device: str) -> dict[str, float]:
    """Records a second of streaming, of the bare pass, and of the pass that also pools every hidden state."""
    import torch

    from einthoven.datasets.cohort import Cohort
    from einthoven.embeddings.store import embed_cohort
    from einthoven.encoders.registry import build_encoder
    from einthoven.encoders.torch_encoder import TorchEncoder

    encoder = build_encoder(name, **parameters)
    assert isinstance(encoder, TorchEncoder)
    encoder.to(device)
    cohort: Cohort = phantom(records)
    preparation = encoder.card.preprocessings["native"]
    batches = [
        preparation.apply(cohort.signals(slice(i, i + BATCH)), cohort.leads, cohort.rate)
        for i in range(0, records, BATCH)
    ]
    on_device = [torch.from_numpy(x).to(device) for x in batches]

    def bare() -> None:
        with torch.inference_mode():
            for x in on_device:
                encoder.module(x)
        if device.startswith("cuda"):
            torch.cuda.synchronize()

    def streaming() -> None:
        embed_cohort(encoder, cohort, preparation, batch_size=BATCH, rebuild=True)

    def with_states() -> None:
        for x in batches:
            encoder.embed_with_states(x)

    seconds: dict[str, list[float]] = {"bare": [], "streaming": [], "with_states": []}
    bare()
    for _ in range(ROUNDS):
        for what, run in (("bare", bare), ("streaming", streaming), ("with_states", with_states)):
            seconds[what].append(timed(run))
    found = {what: records / statistics.median(taken) for what, taken in seconds.items()}
    # Rounds are paired, so that a slow spell of the machine falls on both.
    found["ratio"] = statistics.median(b / s for b, s in zip(seconds["bare"], seconds["streaming"], strict=True))
    found["ratio_with_states"] = statistics.median(
        b / s for b, s in zip(seconds["bare"], seconds["with_states"], strict=True)
    )
    return found


def phantom(records: int) -> Any:
    """A prepared phantom cohort: 12 leads, 10 s, at its own rate."""
    from einthoven.datasets.building import prepare

    return prepare("phantom", name=f"phantom-{records}", options={"records": records})


def preprocessing_speed() -> dict[str, float]:
    """Records a second of every preset of every registered encoder, on 32 records of 10 s at 500 Hz, one thread."""
    from einthoven.encoders.registry import ENCODERS as REGISTERED
    from einthoven.signals.leads import STANDARD_LEADS
    from einthoven.signals.resampling import resample

    cohort = phantom(BATCH)
    x = resample(cohort.signals(slice(0, BATCH)), cohort.rate, 500)
    found: dict[str, float] = {}
    done: dict[str, float] = {}
    for entry in REGISTERED:
        for preset, preparation in entry.card.preprocessings.items():
            key = json.dumps(preparation.identity(), sort_keys=True)
            if key not in done:
                preparation.apply(x[:1], STANDARD_LEADS, 500.0)
                preparation_of = preparation
                done[key] = BATCH / timed(lambda: preparation_of.apply(x, STANDARD_LEADS, 500.0))  # noqa: B023
            found[f"{entry.name} {preset}"] = done[key]
    return found


def timed(run: Callable[[], object]) -> float:
    """Seconds of one call."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def memory_of(records: int) -> None:
    """Embed a phantom and print the peak of this process in MiB, and what it was before."""
    from einthoven.embeddings.store import embed_cohort
    from einthoven.encoders.registry import build_encoder

    encoder: Any = build_encoder("random-resnet18")
    small, large = phantom(64), phantom(records)
    preparation = encoder.card.preprocessings["native"]
    embed_cohort(encoder, small, preparation)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    embed_cohort(encoder, large, preparation)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"records": records, "peak_mib": round(peak), "before": round(before)}))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--memory-of", type=int)
    parser.add_argument("--records", type=int, help="instead of each encoder's own number")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["EINTHOVEN_HOME"] = home
        if given.memory_of:
            memory_of(given.memory_of)
            return
        if given.memory:
            found = []
            for records in (2_000, 20_000):
                command = [sys.executable, __file__, "--memory-of", str(records)]
                found.append(
                    json.loads(subprocess.run(command, check=True, capture_output=True).stdout.splitlines()[-1])
                )
                print(found[-1])
            print(json.dumps({"ratio": round(found[1]["peak_mib"] / found[0]["peak_mib"], 3), "memory": found}))
            return
        results = {
            name: measure(name, parameters, given.records or records, given.device)
            for name, (parameters, records) in ENCODERS.items()
        }
        for name, result in results.items():
            print(
                f"{name:20} bare {result['bare']:8.1f}/s  streaming {result['streaming']:8.1f}/s "
                f"({result['ratio']:.1%})  with all pooled states {result['ratio_with_states']:.1%} of bare"
            )
        speeds = preprocessing_speed()
        for preset, speed in sorted(speeds.items(), key=lambda item: item[1]):
            print(f"preprocessing {preset:40} {speed:10.1f} records/s")
        summary: dict[str, Any] = {
            name: {k: round(v, 3) for k, v in result.items()} for name, result in results.items()
        }
        summary["preprocessing_slowest"] = {k: round(v, 1) for k, v in sorted(speeds.items(), key=lambda i: i[1])[:3]}
        print(json.dumps({"ratio": round(min(r["ratio"] for r in results.values()), 3), **summary}))


if __name__ == "__main__":
    main()
