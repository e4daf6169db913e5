"""Windows of long recordings: cut without overlap, labelled by most of their samples."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import wfdb
from hypothesis import given
from hypothesis import strategies as st

from einthoven.datasets.windows import NO_RHYTHM, AnnotatedRecording, cut, majority, read_marks
from einthoven.foundation.errors import DataError

from .rhythm_layouts import write_holter


def by_counting(starts: list[int], codes: list[int], samples: int, length: int) -> list[int]:
    """The same by writing down the rhythm of each sample."""
    of_sample = np.full(samples, NO_RHYTHM)
    for start, code in zip(starts, codes, strict=True):
        of_sample[start:] = code
    found = []
    for window in range(samples // length):
        part = of_sample[window * length : (window + 1) * length]
        counts = [int((part == code).sum()) for code in range(max(codes, default=0) + 1)]
        found.append(int(np.argmax(counts)) if max(counts) else NO_RHYTHM)
    return found


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3)), max_size=12),
    st.integers(1, 380),
    st.integers(1, 50),
)
def test_most_samples_decide(marks: list[tuple[int, int]], samples: int, length: int) -> None:
    marks = sorted(marks, key=lambda mark: mark[0])
    starts, codes = [at for at, _ in marks], [code for _, code in marks]
    found = majority(np.array(starts, dtype=np.int64), np.array(codes, dtype=np.int64), samples=samples, length=length)
    assert found.tolist() == by_counting(starts, codes, samples, length)


def test_of_equally_long_rhythms_the_one_that_was_declared_first_wins() -> None:
    found = majority(np.array([0, 5]), np.array([1, 0]), samples=10, length=10)
    assert found.tolist() == [0]


def test_windows_say_whose_they_are_and_where_they_begin() -> None:
    first = AnnotatedRecording("a", "p", ("a.hea",), 25, np.array([0, 12]), ("N", "AFIB"), {"age": 50.0})
    absent = AnnotatedRecording("b", "q", ("b.hea",), None)
    refused = AnnotatedRecording("c", "q", ("c.hea",), None, left_out="no lead MLII")
    windows = cut([first, absent, refused], length=10, declared=("AFIB", "N"))
    assert [record.record_id for record in windows.records] == ["a-00000", "a-00001", "b", "c"]
    assert [record.patient_id for record in windows.records] == ["p", "p", "q", "q"]
    assert [record.left_out for record in windows.records] == ["", "", "", "no lead MLII"]
    assert [record.metadata["age"] for record in windows.records] == [50.0, 50.0, None, None]
    assert windows.start.tolist() == [0, 10, -1, -1]
    assert windows.names == ("AFIB", "N")
    assert windows.rhythm.tolist() == [1, 0, NO_RHYTHM, NO_RHYTHM]


def test_a_recording_that_fills_no_window_is_left_out_and_counted() -> None:
    windows = cut([AnnotatedRecording("a", "p", ("a.hea",), 9, np.array([0]), ("N",))], length=10, declared=("N",))
    assert [(r.record_id, r.left_out) for r in windows.records] == [("a", "shorter than one window")]
    assert windows.rhythm.tolist() == [NO_RHYTHM]


def test_marks_are_read_in_order_and_without_their_bracket(tmp_path: Path) -> None:
    stem = write_holter(tmp_path, "x", rate=250, samples=5000, marks=[(30, "N"), (2000, "AFIB")])
    starts, rhythms = read_marks(stem, where="record x")
    assert (starts.tolist(), rhythms) == ([30, 2000], ("N", "AFIB"))


def test_a_missing_or_damaged_annotation_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"x\.atr of record x does not exist"):
        read_marks(tmp_path / "x", where="record x")
    (tmp_path / "x.atr").write_bytes(b"\xff" * 6 + b"\0\0")
    with pytest.raises(DataError, match=r"annotations x\.atr of record x cannot be decoded"):
        read_marks(tmp_path / "x", where="record x")
    back = SimpleNamespace(sample=np.array([20, 10]), aux_note=["(N", "(AFIB"])
    monkeypatch.setattr(wfdb, "rdann", lambda *arguments: back)
    with pytest.raises(DataError, match="not in order of time"):
        read_marks(tmp_path / "x", where="record x")
