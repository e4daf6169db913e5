"""Reading the signal of a record: its rate, its leads, its length, and its numbers as mV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from einthoven.datasets.array_files import Rows, read_h5, read_mat, read_npy
from einthoven.datasets.dataset import Record, SourceRecord
from einthoven.datasets.edf_files import read_edf, read_edf_header
from einthoven.datasets.wfdb_files import read_header, read_wfdb
from einthoven.foundation.errors import DataError, SignalError, UsageError
from einthoven.signals.leads import STANDARD_LEADS, arrange_leads
from einthoven.signals.units import to_millivolts

from .amplitudes import check_amplitude
from .locating import Located, Place
from .mapping import ImportPlan
from .signal_mapping import FASTEST, LONGEST, SELF_DESCRIBING, SLOWEST, Signals, standard_lead
from .table import Table

_OPEN_FILES = 32
_SHORTEST = 1.0  # seconds: about one beat
_RATES = f"a rate from {SLOWEST} to {FASTEST} Hz"


def sampling_rate(plan: ImportPlan, table: Table, located: Located, folder: Path) -> float:
    """The one rate of all records, Hz: as the mapping says, or else as the first file that is there says.

    Raises:
        DataError: a column of rates with empty cells, rates of 0, or more than one rate; or no file to ask.
    """
    rate = plan.signals.rate
    if isinstance(rate, str):
        rates = table.numbers(rate)
        bad = (row for row, value in enumerate(rates) if value is None or not SLOWEST <= value <= FASTEST)
        table.refuse(rate, bad, _RATES)
        counted = Counter(rates)
        if len(counted) > 1:
            found = ", ".join(f"{value:g} Hz ({count} rows)" for value, count in counted.most_common() if value)
            raise DataError(
                f"Column {rate} of {table.name} has {len(counted)} rates: {found}. A cohort has one; split the table, "
                "or resample the files before."
            )
        return float(rates[0] or 0)
    if rate is not None:
        return float(rate)
    broken: DataError | None = None
    for file in (folder / place.file for place in located.places):
        if file.is_file():
            try:
                edf = located.format == "edf"
                found = read_edf_header(file).rates[0] if edf else read_header(file.with_suffix("")).rate
            except DataError as error:
                # Bad records may be left out, which is decided when they are read.
                broken = broken or error
                continue
            if SLOWEST <= found <= FASTEST:
                return found
            broken = broken or DataError(f"{file} says {found:g} Hz; {_RATES} was expected. Export it again.")
    raise broken or DataError(
        f"None of the {len(located.places)} signal files is in {folder}; first: {located.places[0].file}."
    )


def stored_leads(signals: Signals) -> tuple[str, ...] | None:
    """The leads a cohort stores; None is the standard twelve.

    Raises:
        UsageError: leads to keep that the files do not have and that cannot be derived.
    """
    known = [standard_lead(name) for name in signals.leads or ()]
    if signals.keep is None:
        if signals.leads is None:
            return None
        if None in known:
            return signals.leads
        return None if _derivable(known, STANDARD_LEADS) else tuple(lead for lead in known if lead)
    if signals.leads is not None and set(signals.keep) <= set(signals.leads):
        standard = [standard_lead(name) for name in signals.keep]
        return signals.keep if None in standard else tuple(lead for lead in standard if lead)
    wanted = [standard_lead(name) for name in signals.keep]
    if None in wanted or (signals.leads is not None and not _derivable(known, [lead for lead in wanted if lead])):
        raise UsageError(
            f"signals.keep asks for {', '.join(signals.keep)}; the files have "
            f"{', '.join(signals.leads or ['standard leads'])}, of which not all of these can be had."
        )
    return tuple(lead for lead in wanted if lead)


def whole_reader(
    plan: ImportPlan, located: Located, place_of: Callable[[str], Place], folder: Path, *, rate: float
) -> Callable[[SourceRecord], Record]:
    """What reads a record as its file has it, with all leads and samples, in mV.

    Args:
        place_of: record id -> where it lies.
        rate: Hz, of arrays, which do not say it.
    """
    signals = plan.signals
    many = lru_cache(_OPEN_FILES)(lambda file, key: Rows(folder / file, key))

    def read(record: SourceRecord) -> Record:
        place = place_of(record.record_id)
        file, record_id, patient_id = folder / place.file, record.record_id, record.patient_id
        if located.format == "wfdb":
            return read_wfdb(file.with_suffix(""), record_id=record_id, patient_id=patient_id, leads=signals.leads)
        if located.format == "edf":
            return read_edf(file, record_id=record_id, patient_id=patient_id, leads=signals.leads)
        where = f"record {record_id}"
        if place.row is not None:
            array = many(place.file, place.key)[place.row]
        elif located.format == "npy":
            array = np.array(read_npy(file, where=where))
        else:
            array = (read_mat if located.format == "mat" else read_h5)(file, place.key, where=where)
        where, names = f"{where} ({place})", signals.leads or ()
        numbers = oriented(array, len(names), axes=signals.axes, where=where)
        unit = "adc" if signals.gain is not None else signals.units or ""
        with np.errstate(over="ignore"):  # what float32 does not hold is not finite, and refused as such
            signal = to_millivolts(numbers, unit, gain=signals.gain, baseline=signals.baseline)
        check_amplitude(signal, numbers, signals, where=where)
        return Record(record_id, patient_id, signal=signal, leads=names, rate=rate)

    return read


def reader(
    plan: ImportPlan, located: Located, place_of: Callable[[str], Place], folder: Path, *, rate: float
) -> Callable[[SourceRecord], Record]:
    """What reads a record as the cohort stores it: rate and length checked, cut and with the leads to keep.

    Args:
        place_of: record id -> where it lies.
        rate: Hz, of the cohort.
    """
    signals = plan.signals
    whole = whole_reader(plan, located, place_of, folder, rate=rate)

    def read(record: SourceRecord) -> Record:
        found = whole(record)
        _check_rate(found, signals, rate)
        _check_length(found, signals)
        return _in_length(_kept(found, signals), signals)

    return read


def length_note(
    plan: ImportPlan, located: Located, whole: Callable[[SourceRecord], Record], first: SourceRecord | None
) -> str:
    """What to know of a rate that nothing is held against: the length that it gives to the first record; "" otherwise.

    A wrong rate shows where every record must have a stated length; where none is stated, or longer records are cut,
    only people can tell.

    Args:
        first: the first record whose files are there.
    """
    signals = plan.signals
    stated = signals.seconds is not None and signals.longer == "refuse"
    if first is None or stated or located.format in SELF_DESCRIBING:
        return ""
    try:
        record = whole(first)
    except (DataError, OSError):
        return ""  # said when it is read
    samples = record.signal.shape[1]
    length = samples / record.rate
    found = f"the first record has {samples} samples, {length:g} s at {record.rate:g} Hz"
    if signals.seconds is None:
        return (
            f"No length was stated (signals.seconds), so none is checked, nor the rate by it: {found}. Is that how "
            "long it was recorded?"
        )
    return f"Longer records are cut to {signals.seconds:g} s, so no rate is checked by their length: {found}."


def oriented(array: np.ndarray, leads: int, *, axes: str | None, where: str) -> np.ndarray:
    """An array as (leads, samples).

    Args:
        axes: "leads-first" or "leads-last"; None takes the axis that is as long as there are leads.

    Raises:
        SignalError: the stated axis has another length, neither axis or both could be the leads, or it has no two axes.
    """
    shape = array.shape
    if array.ndim == 1 and leads == 1:
        return array[None, :]
    if array.ndim != 2:
        raise SignalError(f"{where} has shape {shape}; two axes, leads and samples, were expected.")
    if axes is None:
        if shape[0] == shape[1] == leads:
            raise SignalError(f"{where} has shape {shape}: both axes could be the {leads} leads. Say it with `axes`.")
        axes = "leads-last" if shape[1] == leads else "leads-first"
    placed = array if axes == "leads-first" else array.T
    if placed.shape[0] != leads:
        raise SignalError(
            f"{where} has shape {shape}; {leads} leads were expected ({axes}). Correct `leads` or `axes` of the "
            "mapping."
        )
    return placed


def _check_rate(record: Record, signals: Signals, rate: float) -> None:
    if record.rate == rate:
        return
    why, advice = f"signals.rate: {signals.rate}", "Leave signals.rate out: the files say it"
    if signals.rate is None:
        why, advice = "as the first file says", "Import each rate as a cohort of its own"
    raise DataError(f"Sampled at {record.rate:g} Hz; {rate:g} Hz was expected ({why}). {advice}.")


def _check_length(record: Record, signals: Signals) -> None:
    """Refuse a length that was not stated, or if none was a length that no ECG has."""
    samples, rate = record.signal.shape[1], record.rate
    if signals.seconds is None:
        if samples and not _SHORTEST <= samples / rate <= LONGEST:
            raise DataError(
                f"{samples} samples per lead, {samples / rate:g} s at {rate:g} Hz; from {_SHORTEST:g} s to a week were "
                "expected. Correct signals.rate, or signals.leads and signals.axes; or, if all records have this "
                "length, say it with signals.seconds."
            )
        return
    wanted = round(signals.seconds * rate)
    if samples == wanted or (samples > wanted and signals.longer != "refuse"):
        return
    cut = "; or cut longer ones with signals.longer: start or centre" if samples > wanted else ""
    raise DataError(
        f"{samples} samples per lead; {wanted} were expected (signals.seconds: {signals.seconds:g} at {rate:g} Hz; "
        f"these are {samples / rate:g} s). Correct signals.seconds or signals.rate{cut}."
    )


def _kept(record: Record, signals: Signals) -> Record:
    """The record with the leads to keep alone, where its files have more."""
    if signals.keep is None:
        return record
    if set(signals.keep) <= set(record.leads):
        rows = [record.leads.index(name) for name in signals.keep]
        return replace(record, signal=record.signal[rows], leads=signals.keep)
    return replace(record, signal=arrange_leads(record.signal, record.leads, target=signals.keep), leads=signals.keep)


def _in_length(record: Record, signals: Signals) -> Record:
    if signals.seconds is None or signals.longer == "refuse":
        return record
    wanted = round(signals.seconds * record.rate)
    over = record.signal.shape[1] - wanted
    if over <= 0:
        return record
    start = over // 2 if signals.longer == "centre" else 0
    return replace(record, signal=record.signal[:, start : start + wanted])


def _derivable(known: Sequence[str | None], wanted: Sequence[str]) -> bool:
    limbs = set(known) & set(STANDARD_LEADS[:6])
    return all(lead in known or (lead in STANDARD_LEADS[:6] and len(limbs) >= 2) for lead in wanted)
