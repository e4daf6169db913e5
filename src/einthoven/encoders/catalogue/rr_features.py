"""`rr-features`: what a label owes to heart rate and rhythm alone, without the shape of any wave."""

from __future__ import annotations

import numpy as np

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.contract import Encoder
from einthoven.encoders.registry import EncoderEntry
from einthoven.encoders.rhythm import FEATURES, MINIMUM_BEATS, rhythm_statistics
from einthoven.signals.preprocessing import Preprocessing

# mV. The least significant bit of common recorders is 1 to 5 uV; a lead that moves less than this holds no QRS.
_FLAT = 0.02

_CARD = EncoderCard(
    name="rr-features",
    title="RR features",
    summary="Heart rate and regularity from R peaks: what can be told about a label without the shape of the waves.",
    paper="none (a control); R peaks: Makowski et al., NeuroKit2 (Behav Res Methods 2021)",
    code_licence="Apache-2.0 (uses neurokit2, MIT)",
    weights_licence="not applicable (nothing is trained)",
    weights="none (fixed features)",
    consumes="signal",
    preprocessings={
        # 250 Hz: at 100 Hz an R peak is only known to 10 ms, which is as large as the variability of a regular rhythm.
        # Band-limited interpolation to 250 Hz adds nothing to the signal but finds its maxima between the samples.
        "native": Preprocessing(name="native", leads=("II", "V5", "I"), rate=250.0, seconds=10.0),
        # For recorders whose channels are no standard leads.
        "channels": Preprocessing(name="channels", leads=None, rate=250.0, seconds=10.0),
    },
    dimension=len(FEATURES),
    pretraining=(),
    floor=True,
    features=tuple(feature.name for feature in FEATURES),
)


class RRFeatures(Encoder):
    """The numbers of `rhythm.FEATURES`, each times its scale.

    R peaks are those of lead II, or of the first channel. Where it is flat or shows fewer than four beats, V5 and then
    I are tried, or the other channels; if none shows four, the lead with the most beats counts. The detector never
    reports two beats within 0.3 s, so rates above 200/min are underestimated.
    """

    def _embed(self, x: np.ndarray) -> np.ndarray:
        preprocessing = self.card.preprocessings["native"]
        seconds = x.shape[-1] / preprocessing.rate
        scale = np.array([feature.scale for feature in FEATURES])
        embedding = np.empty((len(x), self.dimension))
        for row, record in enumerate(x):
            statistics = rhythm_statistics(_best_peaks(record, preprocessing.rate), seconds=seconds)
            embedding[row] = [statistics[feature.name] for feature in FEATURES]
        return embedding * scale

    def _weights_identity(self) -> str:
        from importlib.metadata import version

        # Another release may place R peaks elsewhere.
        return f"neurokit2 {version('neurokit2')}"


def r_peaks(lead: np.ndarray, rate: float) -> np.ndarray:
    """Times of the R peaks of one lead, in seconds, by neurokit2's own method.

    Args:
        lead: (samples,), mV, at least one second.
        rate: sampling rate, Hz, a whole number.

    Returns:
        float64, ascending; empty where the lead is flat.
    """
    import warnings

    import neurokit2

    if np.ptp(lead) < _FLAT:
        return np.zeros(0)
    with warnings.catch_warnings():
        # A lead without any QRS makes neurokit2 take the mean of nothing; it then rightly reports no peaks.
        warnings.simplefilter("ignore", RuntimeWarning)
        cleaned = neurokit2.ecg_clean(lead.astype(np.float64), sampling_rate=int(rate))
        found = neurokit2.ecg_findpeaks(cleaned, sampling_rate=int(rate))["ECG_R_Peaks"]
    return np.asarray(found, dtype=np.float64) / rate


def _best_peaks(record: np.ndarray, rate: float) -> np.ndarray:
    best = np.zeros(0)
    for lead in record:
        peaks = r_peaks(lead, rate)
        if len(peaks) >= MINIMUM_BEATS:
            return peaks
        if len(peaks) > len(best):
            best = peaks
    return best


def build() -> Encoder:
    """The encoder; it has no parameters."""
    return RRFeatures(_CARD, {})


ENCODER = EncoderEntry(card=_CARD, build=build)
