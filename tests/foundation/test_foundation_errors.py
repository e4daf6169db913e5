"""Messages carry the nearest valid names."""

from __future__ import annotations

from einthoven.foundation.errors import EinthovenError, nearest, unknown_name


def test_the_nearest_names_come_first_whatever_the_case() -> None:
    assert nearest("ENCODER", ["encoders", "encoder", "decoder", "cohort"])[0] == "encoder"
    assert nearest("zzz", ["encoders"]) == []


def test_an_unknown_name_says_what_where_and_what_is_known() -> None:
    error = unknown_name("lead", "V7", ["V1", "V2"], where="record 4")
    # Callers of a mapping expect KeyError, callers of a function ValueError; the command line expects EinthovenError.
    assert [kind for kind in (KeyError, ValueError, EinthovenError) if not isinstance(error, kind)] == []
    assert str(error) == "Unknown lead 'V7' in record 4. Did you mean 'V2' or 'V1'? Known: V1, V2."
    assert error.exit_code == 2


def test_with_nothing_known_it_says_so() -> None:
    assert str(unknown_name("cohort", "x", [])) == "Unknown cohort 'x'. Known: (none)."
