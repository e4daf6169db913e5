import numpy as np
import pytest
from pydantic import ValidationError
from safetensors.numpy import load_file

from einthoven.foundation.errors import SignalError
from einthoven.foundation.identity import content_key
from einthoven.signals.cropping import fit_length
from einthoven.signals.filtering import bandpass
from einthoven.signals.leads import STANDARD_LEADS, arrange_leads
from einthoven.signals.normalisation import normalise
from einthoven.signals.preprocessing import Bandpass, Preprocessing
from einthoven.signals.resampling import resample

GRID = [
    (rate, band, scale)
    for rate in (100, 250, 500)
    for band in ("nobp", "bp")
    for scale in ("none", "dataset", "sample")
]
NORMALISATION = {
    "none": {"normalisation": "none"},
    "dataset": {"normalisation": "dataset-z", "mean": -0.0008, "sd": 0.2365},
    "sample": {"normalisation": "lead-z"},
}


def grid_cell(rate: int, band: str, scale: str, precision: str = "float32") -> Preprocessing:
    filter_ = {"low": 0.5, "high": 40.0, "order": 5, "precision": precision} if band == "bp" else None
    fields = {"name": "ecgfix", "rate": rate, "resampling": "linear", "filter": filter_} | NORMALISATION[scale]
    return Preprocessing.model_validate(fields)


def noise(records: int, leads: int = 12, samples: int = 1600) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(records, leads, samples)).astype(np.float32)


@pytest.mark.parametrize(("rate", "band", "scale"), GRID)
def test_golden_inputs_of_the_ecgfix_grid(golden, rate, band, scale):
    """Inputs the upstream chain made of two real records; it stores signals as float16."""
    stored = load_file(golden / "encoders" / "random_resnet18.safetensors")
    records = load_file(golden / "encoders" / "records.safetensors")["signal_500"]
    found = grid_cell(rate, band, scale).apply(records.astype(np.float16).astype(np.float32), STANDARD_LEADS, 500)
    key = f"{rate}hz_{band}_{scale}/input"
    # A recursion in float32 amplifies the last bit, hence the wider of the two tolerances the fixtures ask for.
    tolerance = (2e-5 if band == "bp" else 2e-6) * np.abs(found).max()
    assert found.shape == (2, 12, rate * 10)
    if key in stored:
        np.testing.assert_allclose(found, stored[key], atol=tolerance, rtol=0)
        return
    np.testing.assert_allclose(found[..., :64], stored[f"{key}_head"], atol=tolerance, rtol=0)
    statistics = np.stack([found.mean(-1), found.std(-1), found.min(-1), found.max(-1)], axis=-1)
    np.testing.assert_allclose(statistics, stored[f"{key}_stats"], atol=tolerance, rtol=0)


@pytest.mark.parametrize(("rate", "error"), [(100, 1e-4), (250, 2e-4), (500, 4e-3)])
def test_the_float64_filter_differs_from_the_ecgfix_grid_by_its_rounding_only(golden, rate, error):
    stored = load_file(golden / "encoders" / "random_resnet18.safetensors")
    records = load_file(golden / "encoders" / "records.safetensors")["signal_500"]
    chain = grid_cell(rate, "bp", "none", "float64")
    found = chain.apply(records.astype(np.float16).astype(np.float32), STANDARD_LEADS, 500)
    key = f"{rate}hz_bp_none/input"
    expected = stored[key][..., :64] if key in stored else stored[f"{key}_head"]
    np.testing.assert_allclose(found[..., :64], expected, atol=error, rtol=0)


def test_the_declared_order_of_steps():
    names = ["aVL", "II", "I", "V1", "V2", "V3", "V4", "V5", "V6"]
    signal = noise(2, 9)
    made = Preprocessing(
        name="x",
        rate=250,
        seconds=3,
        filter=Bandpass(low=0.5, high=40, order=2),
        normalisation="record-minmax",
        crop="end",
    ).apply(signal, names, 400)
    x = resample(arrange_leads(signal, names), 400, 250)
    x = normalise(bandpass(x, 250, low=0.5, high=40, order=2), "record-minmax")
    np.testing.assert_array_equal(made, fit_length(x, 750, crop="end"))
    assert made.shape == (2, 12, 750)
    assert made.dtype == np.float32
    assert made.flags.c_contiguous


@pytest.mark.parametrize("method", ["polyphase", "fft", "linear"])
@pytest.mark.parametrize("scale", ["lead-z", "record-z", "record-minmax"])
def test_a_record_does_not_depend_on_its_batch_bit_for_bit(method, scale):
    chain = Preprocessing(
        name="x",
        rate=250,
        seconds=5,
        resampling=method,
        filter=Bandpass(low=0.5, high=40, order=3),
        normalisation=scale,
    )
    batch = noise(7)
    before = batch.copy()
    whole = chain.apply(batch, STANDARD_LEADS, 400)
    parts = [chain.apply(part, STANDARD_LEADS, 400) for part in (batch[:1], batch[1:4], batch[4:])]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    np.testing.assert_array_equal(batch, before)
    strided = np.asfortranarray(batch)
    np.testing.assert_array_equal(whole, chain.apply(strided, STANDARD_LEADS, 400))


def test_padding_comes_after_normalisation():
    made = Preprocessing(name="x", rate=100, seconds=20, normalisation="lead-z").apply(
        noise(1) + 50, STANDARD_LEADS, 100
    )
    assert made.shape == (1, 12, 2000)
    np.testing.assert_array_equal(made[..., 1600:], 0)
    assert abs(float(made[0, 0, :1600].mean())) < 1e-5


def test_identity_leaves_out_the_name_and_nothing_else():
    one = Preprocessing(name="native", rate=250, seconds=10)
    assert one.identity() == Preprocessing(name="mine", rate=250.0, seconds=10.0).identity()
    assert set(one.identity()) == set(Preprocessing.model_fields) - {"name"}
    assert Preprocessing.model_validate({"name": "again", **one.identity()}).identity() == one.identity()


def test_every_field_changes_the_key():
    base = {"name": "x", "rate": 250, "seconds": 10.0}
    changes = [
        {},
        {"leads": ("I", "II")},
        {"leads": ("II", "I")},
        {"rate": 100},
        {"seconds": None},
        {"resampling": "fft"},
        {"filter": {"low": 0.5, "high": 40, "order": 5}},
        {"filter": {"low": 0.5, "high": 40, "order": 5, "precision": "float32"}},
        {"filter": {"low": None, "high": 40, "order": 5}},
        {"normalisation": "lead-z"},
        {"normalisation": "lead-z", "ddof": 0},
        {"normalisation": "lead-z", "eps": 1e-6},
        {"normalisation": "dataset-z", "mean": 0, "sd": 1},
        {"normalisation": "dataset-z", "mean": 0, "sd": 2},
        {"crop": "start"},
        {"pad": "edge"},
    ]
    keys = {content_key(Preprocessing.model_validate(base | change).identity()) for change in changes}
    assert len(keys) == len(changes)


def test_leads_are_stored_under_their_standard_names():
    chain = Preprocessing(name="x", rate=100, leads=("lead ii", "AVR"))
    assert chain.leads == ("II", "aVR")
    assert chain.apply(noise(1), STANDARD_LEADS, 100).shape == (1, 2, 1600)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rate": 0}, "above 0 Hz"),
        ({"rate": float("nan")}, "above 0 Hz"),
        ({"seconds": 0}, "greater than 0"),
        ({"seconds": 0.001}, "less than one sample"),
        ({"filter": {"low": 0.5, "high": 50, "order": 5}}, "between 0 and 50 Hz"),
        ({"filter": {"low": 0.5, "high": 40}}, "order"),
        ({"normalisation": "dataset-z"}, "mean and sd"),
        ({"normalisation": "lead-z", "mean": 0.0}, "takes none"),
        ({"normalisation": "lead_z"}, "lead-z"),
        ({"leads": ("I", "Lead I")}, "occurs twice"),
        ({"leads": ("V7",)}, "Unknown lead"),
        ({"leads": ()}, "at least 1"),
        ({"window": 5}, "Extra inputs"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_written(fields, message):
    with pytest.raises(ValidationError, match=message):
        Preprocessing.model_validate({"name": "x", "rate": 100} | fields)


def test_it_cannot_be_changed():
    chain = Preprocessing(name="x", rate=100)
    with pytest.raises(ValidationError, match="frozen"):
        chain.rate = 500  # type: ignore[misc]  # the forbidden assignment is the test


def test_records_that_cannot_be_used():
    chain = Preprocessing(name="x", rate=100, seconds=20, pad="refuse")
    with pytest.raises(SignalError, match=r"\(records, leads, samples\).*signal\[None\]"):
        chain.apply(noise(1)[0], STANDARD_LEADS, 100)
    with pytest.raises(SignalError, match="2000 samples are needed"):
        chain.apply(noise(1), STANDARD_LEADS, 100)
    with pytest.raises(SignalError, match="Missing leads: V6"):
        chain.apply(noise(1, 11), STANDARD_LEADS[:11], 100)
    broken = noise(1)
    broken[0, 3, 5] = np.nan
    with pytest.raises(SignalError, match=r"index \(0, 3, 5\)"):
        Preprocessing(name="x", rate=100).apply(broken, STANDARD_LEADS, 100)


def test_leads_of_none_takes_every_channel_as_it_is() -> None:
    signal = np.random.default_rng(0).normal(size=(2, 3, 500)).astype(np.float32)
    same = Preprocessing(name="same", leads=None, rate=250)
    np.testing.assert_array_equal(same.apply(signal, ("ECG1", "ECG2", "x"), 250), signal)
    assert same.takes(("ECG",))
    assert same.identity()["leads"] is None
    limb = Preprocessing(name="limb", leads=("I", "aVF"), rate=250)
    assert limb.takes(("II", "III"))
    assert not limb.takes(("II", "V1"))
    assert not limb.takes(("MLII",))
