"""`einthoven encoders check`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import say, show_json, show_table

if TYPE_CHECKING:
    from einthoven.encoders.card import EncoderCard
    from einthoven.encoders.checking import Reference, Specimens


def check(
    encoder: Annotated[
        str, typer.Argument(help="A registered encoder, or a file: mine.py:MyEncoder, model.yaml, embeddings.parquet.")
    ],
    cohort: Annotated[str | None, typer.Option(help="Prepared cohort to try it on; default synthetic ECGs.")] = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="What its author's program gives: .npz with signals, rate, embeddings; docs/own-encoder.md."),
    ] = None,
    records: Annotated[int, typer.Option(min=3, help="How many records it is tried on.")] = 10,
    preset: Annotated[str, typer.Option(help="Of its preprocessings.")] = "native",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="PARAMETER=VALUE of the encoder, such as seed=1; repeatable.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Is this encoder fit for a benchmark, and would a mistake in its input be seen? Seconds, before a study."""
    from einthoven.encoders.checking import check_encoder, worst
    from einthoven.encoders.registry import find_encoder
    from einthoven.studies.loading import parse_setting

    entry = find_encoder(encoder)
    tried = _of_cohort(cohort, records) if cohort else _synthetic(entry.card, records)
    compared = _reference(reference, cohort) if reference else None
    parameters = dict(parse_setting(text) for text in settings or [])
    findings = check_encoder(entry, tried, preset=preset, parameters=parameters, reference=compared)
    verdict = worst(findings)
    if json:
        show_json({"encoder": entry.name, "verdict": verdict, "findings": [_plain(asdict(f)) for f in findings]})
    else:
        rows = [
            (f.verdict.upper() if f.verdict == "fail" else f.verdict, f.check, f.figure, f.advice) for f in findings
        ]
        show_table(("", "check", "found", "what to do"), rows, title=f"{entry.name} on {cohort or 'synthetic ECGs'}")
        say("Movements are in distances between two different records: 1 is as far as another record.")
        typer.echo(f"{entry.name}: {verdict}")
    if verdict == "fail":
        raise typer.Exit(1)


def _synthetic(card: EncoderCard, records: int) -> Specimens:
    import numpy as np

    from einthoven.datasets.phantom.generator import generate_phantom
    from einthoven.encoders.checking import Specimens, rate_for

    phantom = generate_phantom(records=records, rate=min(max(rate_for(card), 100.0), 500.0))
    return Specimens(
        signals=phantom.signals(0, records),
        leads=phantom.rendering.leads,
        rate=phantom.rendering.rate,
        columns={"age": np.asarray(phantom.age), "sex": np.asarray(phantom.sex, dtype=object)},
    )


def _of_cohort(name: str, records: int) -> Specimens:
    import numpy as np

    from einthoven.datasets.cohort import Cohort
    from einthoven.encoders.checking import Specimens
    from einthoven.foundation.errors import UsageError

    cohort = Cohort.open(name)
    rows = np.unique(np.linspace(0, len(cohort) - 1, min(records, len(cohort))).astype(int))
    if len(rows) < 3:
        raise UsageError(f"Cohort {cohort.name} has {len(rows)} records; at least 3 are needed to compare some.")
    shortest = int(cohort.lengths[rows].min())
    signals = np.stack([cohort.signal(int(row))[:, :shortest] for row in rows])
    columns = {column: cohort.records[column].to_numpy()[rows] for column in cohort.records.columns}
    return Specimens(signals, cohort.leads, cohort.rate, columns, record_ids=[str(i) for i in cohort.record_ids])


def _reference(path: Path, cohort: str | None) -> Reference:
    import numpy as np

    from einthoven.datasets.cohort import Cohort
    from einthoven.encoders.checking import Reference, Specimens
    from einthoven.encoders.own.precomputed import read_embeddings
    from einthoven.foundation.errors import DataError, UsageError
    from einthoven.signals.leads import STANDARD_LEADS

    if path.suffix == ".npz":
        try:
            with np.load(path, allow_pickle=False) as file:
                held = {name: file[name] for name in file.files}
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read as .npz ({error}).") from error
        missing = [name for name in ("signals", "rate", "embeddings") if name not in held]
        if missing:
            raise UsageError(f"{path} has no {' and no '.join(missing)}; it holds {', '.join(held) or 'nothing'}.")
        leads = tuple(map(str, held["leads"])) if "leads" in held else STANDARD_LEADS
        specimens = Specimens(held["signals"].astype(np.float32), leads, float(held["rate"]))
        return Reference(held["embeddings"].astype(np.float32), specimens)
    if cohort is None:
        raise UsageError(f"{path} holds embeddings by record id: say which cohort the records are of (--cohort).")
    table, opened = read_embeddings(path), Cohort.open(cohort)
    rows = [row for row, record in enumerate(opened.record_ids) if str(record) in table.row_of][:20]
    if len(rows) < 2:
        raise DataError(f"{path} has embeddings of {len(rows)} records of cohort {opened.name}; at least 2 are needed.")
    ids = [str(opened.record_ids[row]) for row in rows]
    signals = np.stack([opened.signal(row) for row in rows])
    return Reference(
        table.values[[table.row_of[record] for record in ids]], Specimens(signals, opened.leads, opened.rate)
    )


def _plain(finding: dict[str, Any]) -> dict[str, Any]:
    value = finding["value"]
    # Infinity is no JSON.
    return {**finding, "value": value if value is None or value < float("inf") else None}
