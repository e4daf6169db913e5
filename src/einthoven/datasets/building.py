"""Preparing a cohort: one pass over the source, constant memory, published whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einthoven.foundation.code_identity import UNKNOWN, code_identity
from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.home import cohorts_folder, sources_folder
from einthoven.foundation.names import RULE, is_name
from einthoven.foundation.publishing import exclusive, publish_folder

from .cohort import MANIFEST, Cohort
from .dataset import Dataset
from .registry import DATASETS
from .signal_file import SignalWriter
from .source import check_complete, open_source
from .writing import BadRecords, Progress, write_cohort


def prepare(
    dataset: str,
    source: Path | str | None = None,
    *,
    rate: float | None = None,
    name: str | None = None,
    options: Mapping[str, int] | None = None,
    allow_missing: bool = False,
    bad_records: BadRecords = "refuse",
    replace: bool = False,
    progress: Progress | None = None,
) -> Cohort:
    """Read a dataset once and store it as a cohort under `$EINTHOVEN_HOME/cohorts`.

    Args:
        dataset: a registered dataset.
        source: the folder its files lie in; None for one that is made, not read, or was downloaded to where
            `einthoven datasets download` puts it.
        rate: sampling rate of the files to take, Hz; None is the dataset's first.
        name: of the cohort; default `<dataset>-<rate>hz`.
        options: of the dataset's scan, such as the phantom's `records` and `seed`.
        allow_missing: go on without the records whose files do not exist; they are counted in the manifest and in
            every report.
        bad_records: what to do with a record that is corrupt, not finite or in the wrong unit: "refuse" stops at the
            first; "exclude" leaves it out, with its reason in `excluded.parquet`.
        replace: read everything again, and put the new cohort in the place of one of the same name.
        progress: called with (records done, records in all).

    Returns:
        the cohort. If one of this name was made from the same request it is returned as it is; signal files count by
        their names and sizes there, so after an edit that keeps the size say `replace`.

    Raises:
        DataError: files are missing, records are bad, ids occur twice, or a patient is in two splits.
        UsageError: an unknown dataset or option, or a cohort of this name with another content.
        BusyError: another process is preparing the same cohort.
    """
    return prepare_dataset(
        DATASETS.get(dataset),
        source,
        rate=rate,
        name=name,
        options=options,
        allow_missing=allow_missing,
        bad_records=bad_records,
        replace=replace,
        progress=progress,
    )


def prepare_dataset(
    entry: Dataset,
    source: Path | str | None = None,
    *,
    rate: float | None = None,
    name: str | None = None,
    options: Mapping[str, int] | None = None,
    made_from: Mapping[str, Any] | None = None,
    allow_missing: bool = False,
    bad_records: BadRecords = "refuse",
    replace: bool = False,
    progress: Progress | None = None,
) -> Cohort:
    """`prepare` for a dataset that need not be registered.

    Args:
        made_from: what else decides the content, such as digests of a table outside the source folder; JSON values, by
            names that `Source.request` does not have.
    """
    rate = float(rate if rate is not None else entry.card.rates[0])
    name = name or f"{entry.name}-{rate:g}hz"
    if not is_name(name):
        raise UsageError(f"{name!r} cannot be a cohort's name: {RULE}.")
    if source is None and entry.card.needs_source and _holds_files(downloaded := sources_folder() / entry.name):
        source = downloaded
    folder = Path(source).expanduser().resolve() if source is not None else None
    opened = open_source(entry, folder, rate=rate, options=options or {})
    check_complete(opened, allow_missing=allow_missing)
    request = {
        **opened.request(),
        "writing": [code_identity(part, within=part.__module__) for part in (write_cohort, SignalWriter)],
        "options": {**entry.options, **(options or {})},
        "bad_records": bad_records,
        **(made_from or {}),
    }

    final = cohorts_folder() / name
    with exclusive(final, doing="preparing"):
        if (final / MANIFEST).is_file():
            existing = _existing(final, replace=replace)
            if existing is not None and _is_same(existing.manifest.request, request) and not replace:
                return existing
            if existing is not None and not replace:
                raise UsageError(
                    f"A cohort named {name} exists ({final}) and was prepared from something else: "
                    f"{_difference(existing.manifest.request, request)}. Give this one another name with --name, "
                    "or replace the old one with --replace; what was computed from the same signals stays valid."
                )
        elif final.exists() and not replace:
            raise DataError(
                f"{final} holds no whole cohort: it has no {MANIFEST}. `prepare` puts a cohort in its place at "
                "once, so this is none of its work; perhaps copying it was interrupted. Remove it, or put the cohort "
                "in its place with --replace."
            )
        with publish_folder(final, replace=replace) as work:
            write_cohort(work, opened, name=name, request=request, bad_records=bad_records, progress=progress)
        return Cohort(final)


def _holds_files(folder: Path) -> bool:
    return folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir())


def _existing(folder: Path, *, replace: bool) -> Cohort | None:
    """The cohort in a folder; None for a damaged one that is to be replaced anyway."""
    try:
        return Cohort(folder)
    except DataError:
        if replace:
            return None
        raise


def _is_same(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    # Of code that cannot be read nobody can say that it is the same.
    return old == new and new["code"] != UNKNOWN


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    keys = [key for key in new if old.get(key) != new[key]]
    code = {"code", "intake", "writing"}
    if new["code"] == UNKNOWN:
        return "the code of its dataset cannot be read, as of what is typed into an interpreter"
    if keys and set(keys) <= code:
        return "the code that reads it was changed since"
    keys = [key for key in keys if key not in code]
    digests = {"files": "signal files differ in name, size or number", "metadata": "its tables were changed"}
    told = [digests[key] for key in keys if key in digests]
    keys = [key for key in keys if key not in digests]
    words = [*told, *(f"{key} ({_short(old.get(key))} then, {_short(new[key])} now)" for key in keys)]
    return ", ".join(words) or "another schema"


def _short(value: Any) -> str:
    """A value for a message: of a digest the beginning tells enough."""
    text = repr(value)
    return f"{text[:13]}..." if len(text) == 66 else text
