"""One signal gives one cohort, in whatever format it comes."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from einthoven.datasets.importing.mapping import parse_plan
from einthoven.datasets.importing.preparing import import_table, preview
from einthoven.foundation.errors import DataError, UsageError

from .ward import COUNT, LEADS, RATE, Ward, digital, millivolts

SELF_DESCRIBED: dict[str, Any] = {"units": None, "rate": None, "leads": None}
FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    "npy": ("npy", {}),
    "wfdb": ("wfdb", {"file": "{record}.hea", **SELF_DESCRIBED}),
    "wfdb stem": ("wfdb", {"file": "{ecg}", "format": "wfdb", **SELF_DESCRIBED}),
    "edf": ("edf", {"file": "{record}.edf", **SELF_DESCRIBED}),
    "mat": ("mat", {"file": "{record}.mat", "key": "ECG.data", "axes": "leads-first"}),
    "h5 in uV": ("h5", {"file": "{record}.h5", "units": "uV"}),
    "rows of npy in ADC units": ("stack-npy", {"file": "all.npy", "row": "place", "units": None, "gain": 1000}),
    "rows of h5 by id in V": (
        "stack-h5",
        {"file": "part{half}.hdf5", "key": "tracings", "row_ids": "exam_id", "units": "V"},
    ),
}


@pytest.mark.parametrize("case", FORMATS)
def test_every_format_gives_the_same_signals(case: str, ward: Ward, home: Path) -> None:
    kind, signals = FORMATS[case]
    ward.write(kind)
    for index, row in enumerate(ward.rows):
        row["half"] = index % 2
    plan = parse_plan(ward.plan(signals=signals), where="plan")
    cohort = import_table(ward.table(), ward.signals, plan)
    assert list(cohort.record_ids) == ward.ids()
    assert (cohort.leads, cohort.rate, cohort.samples) == (LEADS, RATE, 500)
    stored = np.rint(cohort.signals(slice(None)) * 1000)
    assert np.array_equal(stored, np.stack([digital(index) for index in range(COUNT)]))
    cohort.verify()
    assert cohort.manifest.access == "private"


def test_a_file_of_many_records_is_digested_once_and_changes_the_request(ward: Ward, home: Path) -> None:
    ward.write("stack-npy")
    plan = parse_plan(ward.plan(signals={"file": "all.npy", "row": "place", "units": None, "gain": 1000}), where="plan")
    manifest = import_table(ward.table(), ward.signals, plan).manifest
    assert list(manifest.request["metadata"]) == ["all.npy"]


def test_a_missing_part_takes_its_records_with_it(ward: Ward, home: Path) -> None:
    ward.write("stack-h5")
    for index, row in enumerate(ward.rows):
        row["half"] = index % 2
    (ward.signals / "part1.hdf5").unlink()
    signals = FORMATS["rows of h5 by id in V"][1]
    plan = parse_plan(ward.plan(signals=signals), where="plan")
    with pytest.raises(DataError, match=r"12 of 24 records have no signal file.*part1\.hdf5"):
        import_table(ward.table(), ward.signals, plan)
    assert len(preview(ward.table(), ward.signals, plan).missing) == 12
    cohort = import_table(ward.table(), ward.signals, plan, allow_missing=True)
    assert list(cohort.record_ids) == ward.ids()[::2]
    assert cohort.manifest.excluded.counts == {"missing file": 12}


def test_an_array_per_record_in_one_hdf5_file(ward: Ward, home: Path) -> None:
    import h5py

    with h5py.File(ward.signals / "all.h5", "w") as file:
        for index, name in enumerate(ward.ids()):
            file[f"{name}/ecg"] = millivolts(index)
    signals = {"file": "all.h5", "key": "{record}/ecg"}
    cohort = import_table(ward.table(), ward.signals, parse_plan(ward.plan(signals=signals), where="plan"))
    assert np.array_equal(np.rint(cohort.signal(5) * 1000), digital(5))


def test_fewer_leads_other_orders_and_own_channels(ward: Ward, home: Path) -> None:
    for index, name in enumerate(ward.ids()):
        np.save(ward.signals / f"{name}.npy", millivolts(index)[[1, 0, 6]])
    table = ward.table()

    def leads(**signals: Any) -> tuple[str, ...]:
        return import_table(
            table, ward.signals, parse_plan(ward.plan(signals=signals), where="plan"), replace=True
        ).leads

    assert leads(leads="II, I, V1") == ("II", "I", "V1")
    assert leads(leads=["II", "I", "V1"], keep=["III", "V1"]) == ("III", "V1")
    assert leads(leads=["A", "B", "C"]) == ("A", "B", "C")
    assert leads(leads=["A", "II", "C"], keep=["C"]) == ("C",)
    with pytest.raises(UsageError, match="of which not all"):
        leads(leads=["II", "I", "V1"], keep=["V2"])


def test_eight_leads_are_twelve(ward: Ward, home: Path) -> None:
    for index, name in enumerate(ward.ids()):
        np.save(ward.signals / f"{name}.npy", millivolts(index)[[0, 1, 6, 7, 8, 9, 10, 11]])
    plan = parse_plan(ward.plan(signals={"leads": "I,II,V1,V2,V3,V4,V5,V6"}), where="plan")
    cohort = import_table(ward.table(), ward.signals, plan)
    assert cohort.leads == LEADS
    assert np.abs(cohort.signal(3) * 1000 - digital(3)).max() <= 1.5  # derived leads round twice


@pytest.mark.parametrize(("longer", "start"), [("start", 0), ("centre", 125)])
def test_longer_records_are_cut_as_stated(longer: str, start: int, ward: Ward, home: Path) -> None:
    ward.write("npy")
    plan = parse_plan(ward.plan(signals={"seconds": 1, "longer": longer}), where="plan")
    cohort = import_table(ward.table(), ward.signals, plan)
    assert np.array_equal(np.rint(cohort.signal(2) * 1000), digital(2)[:, start : start + RATE])
    with pytest.raises(DataError, match="500 samples per lead; 250 were expected"):
        import_table(ward.table(), ward.signals, parse_plan(ward.plan(signals={"seconds": 1}), where="x"), name="o")


def test_records_of_any_length_without_seconds(ward: Ward, home: Path) -> None:
    ward.write("npy")
    np.save(ward.signals / "e01.npy", millivolts(1)[:, :400])
    cohort = import_table(ward.table(), ward.signals, parse_plan(ward.plan(signals={"seconds": None}), where="plan"))
    assert cohort.samples is None
    assert cohort.lengths[:3].tolist() == [500, 400, 500]


class TestRefused:
    """What a mapping must say, and what signals must not be."""

    @pytest.fixture(autouse=True)
    def _in_home(self, home: Path, ward: Ward) -> None:
        self.home = home
        self.ward = ward

    def refused(self, *formats: str, words: str, error: type[Exception] = DataError, **signals: Any) -> None:
        self.ward.write(*formats)
        with pytest.raises(error, match=words):
            import_table(
                self.ward.table(), self.ward.signals, parse_plan(self.ward.plan(signals=signals), where="plan")
            )
        assert not any(path.is_file() and path.suffix != ".lock" for path in self.home.rglob("*"))

    @pytest.mark.parametrize("key", ["units", "rate", "leads"])
    def test_an_array_without_what_only_the_mapping_can_say(self, key: str) -> None:
        self.refused("npy", words=f"signals.{key} missing", error=UsageError, **{key: None})

    def test_units_of_files_that_have_their_own(self) -> None:
        self.refused("wfdb", words=r"leave signals\.units out", error=UsageError, file="{record}.hea")

    def test_an_unknown_unit(self) -> None:
        self.refused("npy", words="Unknown unit 'mmHg'", units="mmHg")

    def test_the_wrong_unit(self) -> None:
        self.refused("npy", words="These are not millivolts", units="V")

    def test_the_wrong_number_of_leads(self) -> None:
        self.refused("npy", words="8 leads were expected", leads="I,II,V1,V2,V3,V4,V5,V6")

    def test_an_unknown_format(self) -> None:
        self.refused("npy", words="cannot be told from their suffixes", error=UsageError, file="{record}.xyz")

    def test_the_wrong_axes(self) -> None:
        self.refused("npy", words="leads-last", axes="leads-last")

    def test_a_square_array(self) -> None:
        self.ward.write("npy")
        np.save(self.ward.signals / "e00.npy", millivolts(0)[:, :12])
        self.refused(words="both axes could be the 12 leads", seconds=None)

    def test_an_array_of_objects(self) -> None:
        self.ward.write("npy")
        np.save(self.ward.signals / "e00.npy", np.array([{}]), allow_pickle=True)
        self.refused(words="cannot be read as a .npy file of numbers")

    def test_a_name_that_no_mat_file_has(self) -> None:
        self.refused(
            "mat", words="Unknown field 'dat' in ECG of .*Did you mean 'data'", file="{record}.mat", key="ECG.dat"
        )

    def test_a_mat_file_with_several_arrays(self) -> None:
        self.refused("mat", words="Name the one to take with `key`|12 leads were expected", file="{record}.mat")

    def test_a_row_that_the_array_does_not_have(self) -> None:
        self.ward.rows[3]["place"] = 24
        self.refused("stack-npy", words=r"'24' \(row 4\)", file="all.npy", row="place")

    def test_an_id_that_the_array_does_not_have(self) -> None:
        self.ward.rows[0]["ecg"] = "e99"
        for row in self.ward.rows:
            row["half"] = int(row["place"]) % 2
        signals = FORMATS["rows of h5 by id in V"][1]
        self.refused("stack-h5", words=r"'e99' \(part0.hdf5, row 1\)", **signals)

    def test_one_signal_for_two_rows(self) -> None:
        self.refused("npy", words="24 rows of table.csv naming a signal that another row names too", file="e00.npy")

    @pytest.mark.parametrize(
        "file", ["../{record}.npy", "/x/{record}.npy", "a\\..\\..\\{record}.npy", "C:/{record}.npy"]
    )
    def test_files_out_of_the_folder(self, file: str) -> None:
        self.refused("npy", words="24 signal files of table.csv outside the folder", file=file)

    def test_two_rates(self) -> None:
        self.ward.rows[3]["fs"] = 500
        self.refused("npy", words=r"2 rates: 250 Hz \(23 rows\), 500 Hz", rate="fs")

    def test_a_rate_of_nothing(self) -> None:
        self.ward.rows[3]["fs"] = 0
        self.refused("npy", words=r"a rate from 50 to 1000000 Hz was expected.*'0' \(row 4\)", rate="fs")

    def test_a_rate_of_everything(self) -> None:
        self.ward.rows[3]["fs"] = "1e308"
        self.refused("npy", words=r"50 to 1000000 Hz was expected.*'1e308' \(row 4\)", rate="fs")

    @pytest.mark.parametrize("spelling", ["./e00.npy", ".//e00.npy", "././/e00.npy"])
    def test_one_file_by_two_spellings(self, spelling: str) -> None:
        self.ward.rows[0]["path"], self.ward.rows[1]["path"] = "e00.npy", spelling
        for row in self.ward.rows[2:]:
            row["path"] = f"{row['ecg']}.npy"
        self.refused("npy", words=r"2 rows of table.csv naming a signal.*e00.npy \(row 2\)", file="{path}")

    @pytest.mark.parametrize("cell", ["a\0b", "x" * 256, "ü" * 128, "d/" * 2100 + "a"])
    @pytest.mark.parametrize("kind", ["npy", "wfdb"])
    def test_what_no_file_can_be_called(self, cell: str, kind: str) -> None:
        for row in self.ward.rows:
            row["path"] = row["ecg"]
        self.ward.rows[4]["path"] = cell
        said: dict[str, Any] = {"file": "{path}.npy"} if kind == "npy" else {"file": "{path}.hea", **SELF_DESCRIBED}
        self.refused(kind, words=r"1 signal file of table.csv \(column path\) that no file can .*\(row 5\)", **said)

    def test_a_rate_that_the_files_contradict(self) -> None:
        self.refused("wfdb", words="Sampled at 250 Hz; 500 Hz was expected", file="{record}.hea", units=None, rate=500)

    def test_a_wfdb_file_cut_short(self) -> None:
        self.ward.write("wfdb")
        file = self.ward.signals / "e02.dat"
        file.write_bytes(file.read_bytes()[:-10])
        self.refused(words="truncated", file="{record}.hea", **SELF_DESCRIBED)

    def test_a_header_that_points_outside(self) -> None:
        self.ward.write("wfdb")
        header = self.ward.signals / "e00.hea"
        header.write_text(header.read_text().replace("e00.dat", "../e00.dat"))
        self.refused(words="one in its own folder was expected", file="{record}.hea", **SELF_DESCRIBED)

    def test_signals_that_are_not_there(self) -> None:
        self.refused(words="24 of 24 records have no signal file")


@pytest.mark.parametrize("rate", [501, 5000, 100_000])
def test_a_rate_that_gives_a_length_no_ecg_has(rate: float, ward: Ward, home: Path) -> None:
    ward.write("npy")
    signals = {"rate": rate, "seconds": None}
    plan = parse_plan(ward.plan(signals=signals), where="plan")
    with pytest.raises(DataError, match=rf"500 samples per lead, {500 / rate:g} s at .*Correct signals.rate"):
        import_table(ward.table(), ward.signals, plan)
    assert "Correct signals.rate" in preview(ward.table(), ward.signals, plan).first
    stated = parse_plan(ward.plan(signals={"rate": rate, "seconds": 500 / rate}), where="plan")
    assert import_table(ward.table(), ward.signals, stated).samples == 500


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        ({"rate": 50, "seconds": None}, "the first record has 500 samples, 10 s at 50 Hz"),
        (
            {"rate": 50, "seconds": 2, "longer": "start"},
            "cut to 2 s, .* record has 500 samples, 10 s at 50 Hz",
        ),
        ({"rate": 250, "seconds": 2}, ""),
    ],
)
def test_the_length_that_nothing_is_held_against_is_noted(
    signals: dict[str, Any], words: str, ward: Ward, home: Path
) -> None:
    ward.write("npy")
    (ward.signals / "e00.npy").unlink()
    plan = parse_plan(ward.plan(signals=signals), where="plan")
    cohort = import_table(ward.table(), ward.signals, plan, allow_missing=True)
    assert bool(cohort.manifest.notes) == bool(words)
    if words:
        assert re.search(words, cohort.manifest.notes[0])
    assert preview(ward.table(), ward.signals, plan).notes == cohort.manifest.notes


@pytest.mark.parametrize(
    ("kind", "signals", "words"),
    [
        ("npy", {"units": "V"}, r"signals.units: V of the mapping .*621.5 mV.*`units: mV` would make it 0.622 mV\."),
        ("npy", {"units": None, "gain": 200}, r"signals.gain: 200 .*0.003108 mV.*`units: mV` would make it 0.622 mV"),
        (
            "stack-npy",
            {"file": "all.npy", "row": "place"},
            r"signals.units: mV .*`units: uV` would .*`gain: 1000` would",
        ),
        ("npy", {"units": "nV"}, "`units: mV` would"),
        ("npy", {"units": None, "gain": 1e9}, "`units: mV` would"),
    ],
)
def test_a_wrong_unit_is_told_in_the_words_of_the_mapping(
    kind: str, signals: dict[str, Any], words: str, ward: Ward, home: Path
) -> None:
    ward.write(kind)
    with pytest.raises(DataError, match="These are not millivolts in record e00") as caught:
        import_table(ward.table(), ward.signals, parse_plan(ward.plan(signals=signals), where="plan"))
    assert caught.match(words)
    assert "to_millivolts" not in str(caught.value)


def test_numbers_that_no_unit_makes_an_ecg_of(ward: Ward, home: Path) -> None:
    for index, name in enumerate(ward.ids()):
        np.save(ward.signals / f"{name}.npy", millivolts(index) * 1e12)
    with pytest.raises(DataError, match=r"No usual unit or gain .*signals.key"):
        import_table(ward.table(), ward.signals, parse_plan(ward.plan(), where="plan"))


def test_numbers_that_float32_does_not_hold_are_not_finite(ward: Ward, home: Path) -> None:
    for index, name in enumerate(ward.ids()):
        np.save(ward.signals / f"{name}.npy", millivolts(index) * 1e300)
    with warnings.catch_warnings(), pytest.raises(DataError, match="samples are not finite"):
        warnings.simplefilter("error")
        import_table(ward.table(), ward.signals, parse_plan(ward.plan(), where="plan"))


def test_a_rate_and_a_length_that_files_contradict_name_their_keys(ward: Ward, home: Path) -> None:
    ward.write("wfdb")
    for signals, words in (
        ({"rate": 500}, r"500 Hz was expected \(signals.rate: 500.*Leave signals.rate out"),
        ({"rate": None, "seconds": 10}, r"signals.seconds: 10 at 250 Hz; these are 2 s\). Correct signals.seconds"),
        ({"rate": None, "seconds": 1}, "signals.longer: start or centre"),
    ):
        plan = ward.plan(signals={"file": "{record}.hea", **SELF_DESCRIBED, "seconds": None, **signals})
        with pytest.raises(DataError, match=words):
            import_table(ward.table(), ward.signals, parse_plan(plan, where="plan"))


def test_a_preview_survives_what_no_reader_foresaw(ward: Ward, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ward.write("npy")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("what is this")

    monkeypatch.setattr("einthoven.datasets.importing.reading.read_npy", broken)
    found = preview(ward.table(), ward.signals, parse_plan(ward.plan(), where="plan"))
    assert "RuntimeError: what is this" in found.first


def test_one_bad_record_can_be_left_out(ward: Ward, home: Path) -> None:
    ward.write("npy")
    np.save(ward.signals / "e03.npy", millivolts(3) * np.nan)
    plan = parse_plan(ward.plan(), where="plan")
    cohort = import_table(ward.table(), ward.signals, plan, bad_records="exclude")
    assert "e03" not in set(cohort.record_ids)
    assert sum(cohort.manifest.excluded.counts.values()) == 1
