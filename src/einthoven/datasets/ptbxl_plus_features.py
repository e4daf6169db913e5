"""The tables of PTB-XL+ 1.0.1, and the 49 concepts that ECG-InterpBench makes of them.

Measurements come from three programs: GE Marquette 12SL (`12sl`), ECGdeli (`ecgdeli`) and Uni-G (`unig`). Published
values are in mV, ms, bpm, degrees and mV ms.

Source: ECG-InterpBench, `configs/concepts.csv` and `benchmark_v1/build_manifest.py`, which prints values with ten
digits; here they are as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from einthoven.foundation.errors import DataError
from einthoven.signals.leads import STANDARD_LEADS

if TYPE_CHECKING:
    from .table_files import TextTable

ID = "ecg_id"
FEATURES = {name: f"features/{name}_features.csv" for name in ("12sl", "ecgdeli", "unig")}
STATEMENTS = "labels/ptbxl_statements.csv"
LEAD_GROUPS = {
    "global": STANDARD_LEADS,
    "limb": STANDARD_LEADS[:6],
    "precordial": STANDARD_LEADS[6:],
    "inferior": ("II", "III", "aVF"),
    "lateral": ("I", "aVL", "V5", "V6"),
    "anterior": ("V1", "V2", "V3", "V4"),
}

ConceptFamily = Literal["RATE_RHYTHM", "INTERVAL", "AXIS", "AMPLITUDE", "ST_T"]
Rule = Literal["global", "lead_absmax", "wrapped_difference"]


@dataclass(frozen=True)
class Concept:
    """How one concept is made from the columns of one table.

    Attributes:
        table: a key of `FEATURES`.
        rule: "global" is the column itself; "lead_absmax" the value, with its sign, of largest magnitude over the leads
            that have one, the first of equals; "wrapped_difference" |a - b| of two angles, 0 to 180 degrees.
    """

    name: str
    family: ConceptFamily
    table: str
    columns: tuple[str, ...]
    rule: Rule = "global"


def _by_group(name: str, family: ConceptFamily, table: str, column: str, groups: tuple[str, ...]) -> list[Concept]:
    return [
        Concept(
            f"{name}_{group}",
            family,
            table,
            tuple(f"{column}_{lead}" for lead in LEAD_GROUPS[group]),
            "lead_absmax",
        )
        for group in groups
    ]


_ALL, _HALVES = ("global",), ("global", "limb", "precordial")
_WALLS = ("global", "inferior", "lateral", "anterior")
INTERPBENCH_49: tuple[Concept, ...] = (
    Concept("hr_ventricular", "RATE_RHYTHM", "12sl", ("HR_Ventr_Global",)),
    Concept("hr_atrial", "RATE_RHYTHM", "12sl", ("HR_Atrial_Global",)),
    Concept("rr_mean", "RATE_RHYTHM", "12sl", ("RR_Mean_Global",)),
    Concept("rr_iqr", "RATE_RHYTHM", "ecgdeli", ("RR_Mean_Global_iqr",)),
    Concept("p_found", "RATE_RHYTHM", "12sl", ("P_Found_Global",)),
    Concept("pr_interval", "INTERVAL", "12sl", ("PR_Int_Global",)),
    Concept("pq_interval", "INTERVAL", "ecgdeli", ("PQ_Int_Global",)),
    Concept("p_duration_global", "INTERVAL", "12sl", ("P_Dur_Global",)),
    Concept("qrs_duration", "INTERVAL", "12sl", ("QRS_Dur_Global",)),
    Concept("qt_interval", "INTERVAL", "12sl", ("QT_Int_Global",)),
    Concept("qtc_bazett", "INTERVAL", "12sl", ("QT_IntBazett_Global",)),
    Concept("qtc_fridericia", "INTERVAL", "12sl", ("QT_IntFridericia_Global",)),
    Concept("qtc_framingham", "INTERVAL", "12sl", ("QT_IntFramingham_Global",)),
    Concept("p_axis_front", "AXIS", "12sl", ("P_AxisFront_Global",)),
    Concept("qrs_axis_front", "AXIS", "12sl", ("R_AxisFrontal_Global",)),
    Concept("t_axis_front", "AXIS", "12sl", ("T_AxisFront_Global",)),
    Concept("qrst_angle", "AXIS", "12sl", ("R_AxisFrontal_Global", "T_AxisFront_Global"), "wrapped_difference"),
    *_by_group("p_amp", "AMPLITUDE", "12sl", "P_Amp", _HALVES),
    *_by_group("q_amp", "AMPLITUDE", "12sl", "Q_Amp", _HALVES),
    *_by_group("r_amp", "AMPLITUDE", "12sl", "R_Amp", _HALVES),
    *_by_group("s_amp", "AMPLITUDE", "12sl", "S_Amp", _HALVES),
    *_by_group("t_amp", "ST_T", "12sl", "T_Amp", _HALVES),
    *_by_group("t_area", "ST_T", "12sl", "T_AreaFull", _HALVES),
    *_by_group("st_elev", "ST_T", "ecgdeli", "ST_Elev", _WALLS),
    *_by_group("st_amp", "ST_T", "12sl", "ST_Amp", _WALLS),
    *_by_group("qrs_balance", "AMPLITUDE", "12sl", "QRS_Balance", _ALL),
    *_by_group("qrs_area", "AMPLITUDE", "12sl", "QRS_Area", _ALL),
    *_by_group("p_area", "AMPLITUDE", "12sl", "P_AreaFull", _HALVES),
    Concept("t_duration_global", "ST_T", "ecgdeli", ("T_Dur_Global",)),
)
FAMILIES: Mapping[str, ConceptFamily] = {concept.name: concept.family for concept in INTERPBENCH_49}


@dataclass(frozen=True)
class FeatureTable:
    """The measurements of one program.

    Attributes:
        ids: int64 (rows,), ECG ids, each once.
        columns: name -> float64 (rows,), NaN where nothing was measured.
        unreadable: columns that are left out because a cell is no number.
    """

    ids: np.ndarray
    columns: Mapping[str, np.ndarray]
    unreadable: tuple[str, ...]

    def take(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """The columns for ECGs in the order of `ids`; NaN for those that the table does not have."""
        order = np.argsort(self.ids)
        place = np.searchsorted(self.ids, ids, sorter=order).clip(max=len(self.ids) - 1)
        rows = order[place]
        there = self.ids[rows] == ids
        return {name: np.where(there, values[rows], np.nan) for name, values in self.columns.items()}


def needed_columns(table: str) -> tuple[str, ...]:
    """The columns of a table that the 49 concepts are made of."""
    return tuple(
        dict.fromkeys(name for concept in INTERPBENCH_49 if concept.table == table for name in concept.columns)
    )


def read_ids(file: Path) -> np.ndarray:
    """The ECG ids of a table of PTB-XL+, int64, in its order.

    Raises:
        DataError: the file does not exist or has no ids, or an id is no whole number or stands twice.
    """
    return _ids(_read(file))


def read_features(file: Path, *, needed: tuple[str, ...] = ()) -> FeatureTable:
    """The measurements of one program; true and false are 1 and 0, and "", "nan" and what is not finite are no value.

    Args:
        needed: columns that must be there and hold numbers.

    Raises:
        DataError: a needed column is missing or has a cell that is no number, or as `read_ids`.
    """
    from .table_files import numbers_in

    table = _read(file, needed)
    ids = _ids(table)
    columns: dict[str, np.ndarray] = {}
    unreadable = []
    for name in (column for column in table.frame.columns if column != ID):
        numbers = numbers_in(table[name].str.to_lowercase().replace({"true": "1", "false": "0"}))
        bad = numbers.is_null() & table[name].is_not_null()
        if name in needed:
            table.refuse(name, bad, "a number or nothing")
        elif bad.any():
            unreadable.append(name)
            continue
        values = numbers.fill_null(np.nan).to_numpy()
        columns[name] = np.where(np.isfinite(values), values, np.nan)
    return FeatureTable(ids, columns, tuple(unreadable))


def interpbench_concepts(tables: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The 49 concepts, float64 (records,), NaN where no value they are made of was measured.

    Args:
        tables: a key of `FEATURES` -> column -> float64 (records,).
    """
    return {
        concept.name: _aggregated(concept.rule, [tables[concept.table][name] for name in concept.columns])
        for concept in INTERPBENCH_49
    }


def check_no_label_names(concepts: Mapping[str, Mapping[str, object]], labels: frozenset[str]) -> None:
    """Refuse a concept that is called like a label: it would be the answer, not a measurement.

    Raises:
        DataError: with the table, the concept and what to do.
    """
    folded = {label.strip("_").casefold() for label in labels}
    for table, columns in concepts.items():
        clash = [name for name in columns if name.strip("_").casefold() in folded]
        if clash:
            raise DataError(
                f"Concept table {table} has the concept {clash[0]!r}, which is the name of a label. Concepts are "
                "measurements; is a file of statements in the place of one of features?"
            )


def _aggregated(rule: Rule, values: list[np.ndarray]) -> np.ndarray:
    if rule == "global":
        return values[0]
    if rule == "wrapped_difference":
        one, two = values
        return np.abs((one - two + 180.0) % 360.0 - 180.0)
    stacked = np.stack(values)
    largest = np.where(np.isnan(stacked), -1.0, np.abs(stacked)).argmax(axis=0)
    return np.take_along_axis(stacked, largest[None], axis=0)[0]


def _read(file: Path, needed: tuple[str, ...] = ()) -> TextTable:
    from .table_files import read_table

    table = read_table(file, (ID, *needed), where="the folder of PTB-XL+ 1.0.1 that holds `features` and `labels`")
    if not len(table):
        raise DataError(f"{file} has no rows. Download it again.")
    return table


def _ids(table: TextTable) -> np.ndarray:
    numbers = table.numbers(ID, finite=True)
    table.refuse(ID, (numbers != numbers.round()).fill_null(True), "a whole number")
    ids = numbers.to_numpy().astype(np.int64)
    twice = [value for value, count in Counter(ids.tolist()).items() if count > 1]
    if twice:
        raise DataError(f"{table.file} has {ID} {twice[0]} more than once ({len(twice)} such ids). Download it again.")
    return ids
