import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from einthoven.foundation.errors import SignalError
from einthoven.signals.leads import STANDARD_LEADS, arrange_leads, canonical_lead, canonical_leads

MIMIC = ("I", "II", "III", "aVR", "aVF", "aVL", "V1", "V2", "V3", "V4", "V5", "V6")
LIMB = STANDARD_LEADS[:6]


def twelve(samples: int = 50) -> np.ndarray:
    """A 12-lead record whose limb leads obey the definitions, written out lead by lead."""
    rng = np.random.default_rng(3)
    one, two = rng.normal(size=(2, samples))
    limb = [one, two, two - one, -(one + two) / 2, (one - (two - one)) / 2, (two + (two - one)) / 2]
    return np.stack([*limb, *rng.normal(size=(6, samples))])


@pytest.mark.parametrize(
    ("name", "lead"),
    [
        ("I", "I"),
        ("AVR", "aVR"),
        ("avr", "aVR"),
        ("aVR", "aVR"),
        ("LEAD I", "I"),
        ("Lead II", "II"),
        ("lead_iii", "III"),
        ("MDC_ECG_LEAD_V1", "V1"),
        ("MDC_ECG_LEAD_aVR", "aVR"),
        ("MDC_ECG_LEAD_AVF", "aVF"),
        ("ECG I", "I"),
        ("ECG Lead V6", "V6"),
        ("V-1", "V1"),
        ("v 3", "V3"),
        (" aVL\t", "aVL"),
        ("Lead I (Einthoven)", "I"),
        ("DII", "II"),
    ],
)
def test_aliases_of_the_formats(name, lead):
    assert canonical_lead(name) == lead


@pytest.mark.parametrize("lead", STANDARD_LEADS)
def test_every_standard_lead_is_known_in_any_case(lead):
    assert {canonical_lead(lead), canonical_lead(lead.upper()), canonical_lead(lead.lower())} == {lead}


@pytest.mark.parametrize("name", ["-aVR", "MLII", "V7", "V3R", "", "lead", "ECG", "IIII", "V10", "X"])
def test_what_is_not_a_standard_lead_is_refused(name):
    with pytest.raises(SignalError, match="Unknown lead"):
        canonical_lead(name)


def test_an_unknown_lead_names_the_nearest():
    with pytest.raises(SignalError, match=r"'V11'.*Nearest: V1"):
        canonical_lead("V11")


def test_duplicates_after_aliasing_are_refused_with_both_names():
    with pytest.raises(SignalError, match="aVR occurs twice, as 'aVR' and 'AVR'"):
        canonical_leads(["I", "aVR", "AVR"])


def test_mimic_order_is_brought_to_standard_order():
    signal = twelve()
    mimic = signal[[STANDARD_LEADS.index(lead) for lead in MIMIC]]
    arranged = arrange_leads(mimic, [lead.upper() for lead in MIMIC])
    np.testing.assert_array_equal(arranged, signal.astype(np.float32))
    assert not np.array_equal(arranged, mimic.astype(np.float32))


def test_target_order_is_kept():
    signal = twelve()
    np.testing.assert_array_equal(
        arrange_leads(signal, STANDARD_LEADS, target=MIMIC)[[4, 5]], signal[[5, 4]].astype("f4")
    )


def test_eight_leads_give_twelve():
    signal = twelve()
    kept = [0, 1, *range(6, 12)]
    arranged = arrange_leads(signal[kept], [STANDARD_LEADS[i] for i in kept])
    np.testing.assert_allclose(arranged, signal, atol=1e-6)


@pytest.mark.parametrize("first", LIMB)
@pytest.mark.parametrize("second", LIMB)
def test_any_two_limb_leads_give_the_others(first, second):
    if first == second:
        return
    signal = twelve()
    pair = signal[[LIMB.index(first), LIMB.index(second)]]
    np.testing.assert_allclose(arrange_leads(pair, [first, second], target=LIMB), signal[:6], atol=2e-6)


def test_a_lead_that_is_present_is_not_recomputed():
    signal = np.array([[1.0], [2.0], [99.0]])
    assert arrange_leads(signal, ["I", "II", "III"], target=["III"])[0, 0] == 99.0


@settings(max_examples=60, deadline=None)
@given(arrays(np.float32, (2, 2, 7), elements=st.floats(-20, 20, width=32)))
def test_derived_leads_obey_einthoven_and_goldberger(signal):
    one, two, three, avr, avl, avf = np.moveaxis(arrange_leads(signal, ["I", "II"], target=LIMB), 1, 0)
    np.testing.assert_allclose(one + three, two, atol=1e-5)
    np.testing.assert_allclose(avr + avl + avf, 0, atol=1e-5)
    np.testing.assert_array_equal(one, signal[:, 0])


def test_precordial_leads_are_never_derived():
    with pytest.raises(SignalError, match=r"Missing leads: V2, V6.*recordial leads \(V2, V6\) cannot be derived"):
        arrange_leads(np.zeros((2, 5)), ["I", "II"], target=["I", "aVF", "V2", "V6"])


def test_one_limb_lead_is_not_enough():
    with pytest.raises(SignalError, match=r"Missing leads: III; present: I, V1.*two limb leads"):
        arrange_leads(np.zeros((2, 5)), ["I", "V1"], target=["I", "III"])


def test_a_shape_that_does_not_fit_is_refused_with_a_hint():
    with pytest.raises(SignalError, match=r"\(\.\.\., 12 leads, samples\).*\(1000, 12\).*transpose"):
        arrange_leads(np.zeros((1000, 12)), STANDARD_LEADS)
    with pytest.raises(SignalError, match=r"found shape \(12,\)"):
        arrange_leads(np.zeros(12), STANDARD_LEADS)


def test_input_is_untouched_and_may_have_any_strides():
    signal = twelve()
    strided = np.repeat(signal, 2, axis=1)[:, ::2].T.copy(order="F").T
    before = strided.copy()
    arranged = arrange_leads(strided, STANDARD_LEADS)
    arranged += 1
    np.testing.assert_array_equal(strided, before)
    assert arranged.dtype == np.float32


def test_missing_samples_stay_missing():
    signal = np.array([[np.nan, 1.0], [2.0, 2.0]])
    np.testing.assert_array_equal(arrange_leads(signal, ["I", "II"], target=["II", "III"]), [[2, 2], [np.nan, 1]])
