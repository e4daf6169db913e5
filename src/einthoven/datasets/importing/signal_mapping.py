"""`signals:` of a mapping: where the signal of a record lies, and what its numbers are."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from pydantic import Field, model_validator

from einthoven.foundation.errors import SignalError
from einthoven.signals.leads import canonical_lead

from .mapping_values import LeadNames, Number, Part

Format = Literal["wfdb", "edf", "mat", "npy", "h5"]
# Formats whose files say rate, unit and leads themselves.
SELF_DESCRIBING: tuple[Format, ...] = ("wfdb", "edf")
SLOWEST = 50  # Hz: a QRS complex has frequencies of 25 Hz and more, which a slower rate does not hold
FASTEST = 1_000_000  # Hz
LONGEST = 7 * 86400  # seconds: a week, as no recorder runs longer


class Signals(Part):
    """Where the signal of a record lies, and what its numbers are.

    Attributes:
        file: path below the folder of signals, with columns of the table in braces: "{record}.hea", "{filename}".
            `{record}` and `{patient}` are the ids, whatever their columns are called.
        format: default by the file's suffix.
        key: array in a .mat or HDF5 file ("ECG.data"), braces as in `file`; default its only one.
        row: column that holds the record's row (from 0) in an array of many records (records, a, b).
        row_ids: array of record ids beside it in an HDF5 file, looked up instead of `row`.
        row_id: column that is looked up in `row_ids`; default the record id.
        axes: order of a record's axes; default the axis as long as there are leads, refused if both or neither is.
        units: of .mat, .npy and HDF5 numbers: "mV", "uV", "V" or "nV".
        gain, baseline: instead of `units`, for ADC values: units per mV, and the value of 0 mV.
        rate: Hz, or a column that holds it; default what WFDB and EDF files say.
        leads: names in file order, or "standard" for the twelve in standard order; default what WFDB and EDF files say.
        keep: the leads that the cohort stores; default the standard twelve where `leads` has or yields them, else
            `leads`.
        seconds: length of every record; default records may differ.
        longer: what to do with longer ones: "refuse" them, or take their "start" or "centre".
    """

    file: str
    format: Format | None = None
    key: str | None = None
    row: str | None = None
    row_ids: str | None = None
    row_id: str | None = None
    axes: Literal["leads-first", "leads-last"] | None = None
    units: str | None = None
    gain: Annotated[Number, Field(gt=0, allow_inf_nan=False)] | None = None
    baseline: Annotated[Number, Field(allow_inf_nan=False)] | None = None
    rate: Annotated[Number, Field(ge=SLOWEST, le=FASTEST, allow_inf_nan=False)] | str | None = None
    leads: LeadNames | None = None
    keep: LeadNames | None = None
    seconds: Annotated[Number, Field(gt=0, le=LONGEST, allow_inf_nan=False)] | None = None
    longer: Literal["refuse", "start", "centre"] = "refuse"

    @property
    def in_one_array(self) -> bool:
        """Whether a file holds one array of many records."""
        return self.row is not None or self.row_ids is not None

    @model_validator(mode="after")
    def _fits(self) -> Signals:
        if self.units is not None and self.gain is not None:
            raise ValueError("give `units` for voltages or `gain` for ADC values, not both")
        if self.baseline is not None and self.gain is None:
            raise ValueError("`baseline` needs `gain`")
        if self.row is not None and self.row_ids is not None:
            raise ValueError("give `row` or `row_ids`, not both")
        if self.row_id is not None and self.row_ids is None:
            raise ValueError("`row_id` needs `row_ids`, the array it is looked up in")
        if self.longer != "refuse" and self.seconds is None:
            raise ValueError("`longer` needs `seconds`")
        for name in ("leads", "keep"):
            leads = getattr(self, name)
            if leads is None:
                continue
            if not leads or "" in leads:
                raise ValueError(f"`{name}` has an empty name: {', '.join(leads) or 'it is empty'}")
            if len(leads) == 1 and len(words := leads[0].split()) > 1 and all(map(standard_lead, words)):
                raise ValueError(f"`{name}` is one name, {leads[0]!r}: write commas between the leads")
            known = Counter(standard_lead(lead) or lead for lead in leads)
            twice = [lead for lead, count in known.items() if count > 1]
            if twice:
                raise ValueError(f"`{name}` must name each lead once, and has {twice[0]} twice: {', '.join(leads)}")
        return self


def standard_lead(name: str) -> str | None:
    """The standard name of a lead, None for a channel that is none."""
    try:
        return canonical_lead(name)
    except SignalError:
        return None
