"""A block holds its records' signals side by side, whatever is put into it, and is used again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from einthoven.datasets.block import Block
from einthoven.datasets.dataset import Record

SHAPES = [(2, 3), (2, 4), (3, 2)]


def record(number: int, shape: tuple[int, ...], kind: type = np.float32) -> Record:
    signal = np.full(shape, number, dtype=kind)
    return Record(f"r{number}", "p", signal, ("x",) * shape[0], 100.0)


@given(
    st.integers(1, 4),
    st.lists(st.lists(st.tuples(st.sampled_from(SHAPES), st.sampled_from([np.float32, np.float64])), max_size=6)),
)
def test_what_is_put_in_is_what_comes_out(count: int, rounds: list[list[tuple[tuple[int, int], type]]]) -> None:
    block = Block(count)
    for kinds in rounds:
        given_records = [record(number, *kind) for number, kind in enumerate(kinds)]
        for one in given_records:
            block.add(one)
        assert [one.record_id for one in block] == [one.record_id for one in given_records]
        for shape in SHAPES:
            rows = [row for row, one in enumerate(given_records) if one.signal.shape == shape]
            if rows:
                np.testing.assert_array_equal(block.together(rows), np.stack([given_records[r].signal for r in rows]))
        block.clear()
        assert len(block) == 0


def test_signals_side_by_side_are_not_copied_and_the_readers_memory_is_not_kept() -> None:
    block = Block(3)
    mine = record(1, (2, 3))
    for one in (record(0, (2, 3)), mine, record(2, (2, 3))):
        block.add(one)
    mine.signal[...] = 99  # what its reader does with its memory afterwards
    together = block.together([1, 2])
    np.testing.assert_array_equal(together[:, 0, 0], [1, 2])
    assert np.shares_memory(together, block[1].signal)
    assert [r.record_id for r in block[1:]] == ["r1", "r2"]


def test_the_readers_memory_is_not_kept_where_shapes_differ_either() -> None:
    block, mine = Block(3), record(1, (2, 4))
    block.add(record(0, (2, 3)))
    block.add(mine)
    mine.signal[...] = 99
    assert block[1].signal[0, 0] == 1


def test_a_signal_of_one_axis_is_kept_for_others_to_refuse() -> None:
    block = Block(2)
    block.add(Record("r", "p", np.zeros(5, dtype=np.float32), ("I",), 100.0))
    assert block[0].signal.shape == (5,)


def test_an_odd_first_record_takes_no_room_from_those_that_come_later() -> None:
    block = Block(3)
    for one in (record(0, (3, 2)), record(1, (2, 3)), record(2, (2, 3))):
        block.add(one)
    block.clear()
    later = [record(number, (2, 3)) for number in range(3)]
    for one in later:
        block.add(one)
    assert np.shares_memory(block.together([0, 1, 2]), block[0].signal)


def test_no_room_is_made_for_many_records_as_long_as_one_that_is_very_long() -> None:
    block = Block(64)
    hours = np.zeros((2, 1_000_000), dtype=np.float32)
    block.add(Record("r", "p", hours, ("I", "II"), 100.0))
    np.testing.assert_array_equal(block[0].signal, hours)
    block.add(record(1, (2, 3)))
    block.add(record(2, (2, 3)))
    np.testing.assert_array_equal(block.together([0]), hours[None])
    np.testing.assert_array_equal(block.together([1, 2])[:, 0, 0], [1, 2])
    assert np.shares_memory(block.together([1, 2]), block[1].signal)
