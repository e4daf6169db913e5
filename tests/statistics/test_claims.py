"""Claim re-tests: deepecgkit's verdicts, and that what could not be tested hides nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from einthoven.foundation.errors import UnknownNameError, UsageError
from einthoven.statistics.claims import retest_claim
from einthoven.statistics.flips import FlipTests, FlipVerdict, flip_tests
from einthoven.statistics.repeated_runs import run_grid


def test_golden_claims(golden: Path, golden_runs: pl.DataFrame):
    claims = json.loads((golden / "statistics" / "repeated_runs.json").read_text())["rank_claims"]
    flips = flip_tests(run_grid(golden_runs, metric="f1", seeds=range(42, 47)))
    for name, expected in claims.items():
        opponents = None
        if " opponents=" in name:
            opponents = [one for one in name.split("=")[1].split(",") if one]
        found = retest_claim(
            flips,
            network=expected["model"],
            best_task=expected["dataset_best"],
            worst_task=expected["dataset_worst"],
            better="higher",
            opponents=opponents,
        )
        assert found.verdict == expected["verdict"], name
        assert found.p == pytest.approx(float(expected["p_claim"]), rel=1e-10, nan_ok=True)
        parts = {part.opponent: [part.verdict, part.as_claimed] for part in found.parts}
        assert parts == expected["component_verdicts"]
        assert len(found.parts) == expected["n_components"]
        supported = [part for part in found.parts if part.verdict in ("supported", "suggestive")]
        assert len([part for part in found.parts if part.verdict == "supported"]) == expected["n_supported"]
        assert len([p for p in supported if p.as_claimed]) == expected["n_supported_in_direction"]
        # deepecgkit counts the bimodal ones among the untestable.
        untested = [part for part in found.parts if part.verdict in ("untestable", "bimodal")]
        assert len(untested) == expected["n_untestable"]
    assert len(claims) >= 13


def flips_of(verdicts: dict[str, str], *, ahead: tuple[float, float] = (0.1, -0.1), p: float = 0.01) -> FlipTests:
    """Flip tests of network "m" against each opponent; m is ahead by so much on tasks t and u."""
    rows = []
    for opponent, verdict in verdicts.items():
        a, b = sorted(("m", opponent))
        sign = 1 if a == "m" else -1
        tested = verdict not in ("untestable", "bimodal")
        rows.append(
            {
                "task_1": "t",
                "task_2": "u",
                "network_a": a,
                "network_b": b,
                "mean_1": sign * ahead[0],
                "mean_2": sign * ahead[1],
                "verdict": verdict,
                "p": p if tested else math.nan,
                "reason": None if verdict == "supported" else f"it is {verdict}",
            }
        )
    texts = ("task_1", "task_2", "network_a", "network_b", "verdict", "reason")
    return FlipTests(
        table=pl.DataFrame(rows, schema_overrides=dict.fromkeys(texts, pl.String)),
        metric="f1",
        tasks=("t", "u"),
        networks=("m", *sorted(verdicts), "z"),
        method="by",
        tested=0,
        undefined=0,
    )


def claim(flips: FlipTests, **options):
    asked = {"network": "m", "best_task": "t", "worst_task": "u", "better": "higher", **options}
    return retest_claim(flips, **asked)


VERDICTS = st.dictionaries(st.sampled_from("abcdnopq"), st.sampled_from(get_args(FlipVerdict)), min_size=1)


@settings(deadline=None)
@given(VERDICTS)
def test_what_could_not_be_tested_hides_nothing_and_supports_nothing(verdicts: dict[str, str]):
    found = claim(flips_of(verdicts))
    words = set(verdicts.values())
    if "contradicted" in words:
        assert found.verdict == "contradicted"
    if found.verdict == "supported":
        assert words == {"supported"}
    tested = {name: word for name, word in verdicts.items() if word not in ("untestable", "bimodal")}
    if tested and set(tested.values()) & {"contradicted", "not_reproduced", "unresolved"}:
        # The verdict is that on the tested opponents alone.
        assert found.verdict == claim(flips_of(tested)).verdict
    assert (found.reason is None) == (found.verdict == "supported")
    assert found.without_runs == ("z",)


@settings(deadline=None)
@given(VERDICTS, st.sampled_from("abcdnopq"))
def test_another_opponent_never_improves_a_claim(verdicts: dict[str, str], extra: str):
    order = ["contradicted", "not_reproduced", "unresolved", "untestable", "bimodal", "suggestive", "supported"]
    fewer = {name: word for name, word in verdicts.items() if name != extra}
    if fewer:
        assert order.index(claim(flips_of(verdicts)).verdict) <= order.index(claim(flips_of(fewer)).verdict)


def test_too_few_units_is_said_before_two_groups_of_seeds():
    found = claim(flips_of({"a": "bimodal", "b": "untestable", "c": "supported"}))
    assert found.verdict == "untestable"
    assert found.reason == "untestable for 1 of 3 opponents (b): it is untestable"


def test_a_flip_the_other_way_round_contradicts():
    flips = flips_of({"a": "supported", "x": "suggestive"})
    assert [part.as_claimed for part in claim(flips).parts] == [True, True]
    assert claim(flips).verdict == "suggestive"
    turned = claim(flips, best_task="u", worst_task="t")
    assert turned.verdict == "contradicted"
    assert turned.reason == "contradicted for 2 of 2 opponents (a, x): the order reverses the other way round"
    # Where lower is better, the same means claim the opposite.
    assert claim(flips, better="lower").verdict == "contradicted"
    assert claim(flips, better="lower", best_task="u", worst_task="t").verdict == "suggestive"


def test_named_opponents_without_runs_are_untestable():
    flips = flips_of({"a": "supported"})
    found = claim(flips, opponents=["a", "z"])
    assert found.verdict == "untestable"
    assert found.reason == "untestable for 1 of 2 opponents (z): no runs on both tasks"
    assert found.p == 0.01
    assert found.without_runs == ()
    nobody = claim(flips, opponents=[])
    assert (nobody.verdict, nobody.reason) == ("untestable", "there is no opponent to compare with")
    assert math.isnan(nobody.p)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"network": "mm"}, UnknownNameError, "Unknown network 'mm' in the flip tests"),
        ({"opponents": ["b"]}, UnknownNameError, "Unknown network 'b'"),
        ({"best_task": "v"}, UnknownNameError, "Unknown task 'v'"),
        ({"best_task": "u"}, UsageError, "expected two tasks, found 'u' twice"),
        ({"opponents": ["m"]}, UsageError, "other networks than 'm', each once"),
        ({"opponents": ["a", "a"]}, UsageError, "each once"),
        ({"better": "more"}, UsageError, "'higher' or 'lower'"),
    ],
)
def test_bad_claims_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        claim(flips_of({"a": "supported"}), **options)
