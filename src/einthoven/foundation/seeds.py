"""Named seed streams, so that split, initialisation, data order and resampling vary independently.

The seeds of two streams share nothing, and adding a stream changes no other. `np.random.default_rng(seed_for(...))`
is the usual use.
"""

from __future__ import annotations

import hashlib

from .identity import canonical_json


def seed_for(stream: str, *axes: str | int) -> int:
    """A seed in [0, 2**63) that is a pure function of the stream's name and the axes it may depend on.

    Args:
        stream: what the randomness is for: "split", "init", "order", "bootstrap", ...
        axes: what may change it, outermost first: a study's seed, a repetition, a label.

    Example:
        >>> seed_for("init", 0) == seed_for("init", 0), seed_for("init", 0) == seed_for("order", 0)
        (True, False)
    """
    digest = hashlib.sha256(canonical_json([stream, *axes]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
