"""Mappings to begin from (`einthoven datasets import --example NAME`)."""

from __future__ import annotations

_HEAD = """\
# How Einthoven reads the table: names on the right are columns of it, unless said otherwise.
# Check it without writing anything: einthoven datasets import TABLE --signals DIR --mapping THIS --dry-run
name: {name}
title: {title}
licence: "none: not to be passed on"
citation: ""
access: private            # no report shows single records or their ids

record: ecg_id             # one row an ECG, each with its own id
patient: patient_id        # all ECGs of a patient stay in one split
age: age                   # years; empty is unknown
sex:
  column: sex
  codes: {{0: M, 1: F}}      # leave out for F, female, M, male
"""

_SIGNALS = """
signals:
  file: "{record}.npy"     # below --signals; {record}, {patient} or {a column}. .hea .edf .mat .npy .h5
  units: mV                # or uV, V; or instead gain: 200 (ADC units per mV). Not for WFDB and EDF, which say it
  rate: 500                # Hz, or a column. WFDB and EDF say it
  leads: standard          # I II III aVR aVL aVF V1 to V6, or a list of names in file order. WFDB and EDF say it
  seconds: 10              # leave out where records differ in length
"""

_WFDB = """
signals:
  file: "{record}.hea"     # below --signals, its .dat beside it; {record}, {patient} or {a column}
  seconds: 10              # leave out where records differ in length. Units, rate and leads stand in the headers;
                           # `leads: standard`, or a list of names in file order, renames the leads
"""

_SPLITS = """
splits:
  patients: {kind: hash, train: 0.7, val: 0.1}   # the first rule is the default
"""

_LABELS = """
tasks:
  findings:
    kind: boolean          # a column a label; an empty cell leaves the record out of the task
    columns: [afib, lbbb]
"""

_HEMODYNAMIC = """
time: ecg_time             # ISO date, or date and time; in val and test the first ECG of a patient counts
tasks:
  pressures:               # gives pressures-mpcwp and pressures-mpa
    kind: hemodynamic
    mpcwp: mpcwp_mmhg      # mean pulmonary capillary wedge pressure, mmHg; an empty cell is not known
    mpa: mpa_mmhg          # mean pulmonary artery pressure, mmHg
    mpcwp_at_least: 15
    mpa_at_least: 20
"""

_FORECASTING = """
time: ecg_time             # ISO date, or date and time
tasks:
  death-1y:
    kind: forecasting
    label: death_within_1y
    horizon_days: 365
    event_time: death_date         # empty: no event known
    followed_until: last_contact   # shorter than the horizon and no event: left out as censored
  # Where the table has a flag and the time from the ECG instead of dates:
  #   event: death, time_to: timey, unit: years
  # Where the event is in a second table (--outcomes), one row a measurement:
  #   rule: "< 40", outcome_patient: patient_id, outcome_time: echo_time, outcome_value: lvef
"""

EXAMPLES = {
    "labels": _HEAD.format(name="ward-7", title="ECGs of ward 7") + _SIGNALS + _LABELS + _SPLITS,
    "wfdb": _HEAD.format(name="ward-7-wfdb", title="ECGs of ward 7") + _WFDB + _LABELS + _SPLITS,
    "hemodynamic": _HEAD.format(name="catheter", title="ECGs beside right heart catheters")
    + _SIGNALS
    + _HEMODYNAMIC
    + _SPLITS,
    "forecasting": _HEAD.format(name="outcomes", title="ECGs and what followed") + _SIGNALS + _FORECASTING + _SPLITS,
}
