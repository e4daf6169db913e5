"""Tables that come with a release are read cell by cell, or refused with their row."""

from __future__ import annotations

from pathlib import Path

import pytest

from einthoven.datasets.text_files import read_table
from einthoven.foundation.errors import DataError


def test_a_row_may_lack_cells_and_not_have_more_than_there_are_columns(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n3\n4,5,\n")
    rows = read_table(file, ("a",), where="its folder")
    assert rows == [{"a": "1", "b": "2"}, {"a": "3", "b": ""}, {"a": "4", "b": "5"}]
    file.write_text("a,b\n1,2\n3,4,5\n")
    with pytest.raises(DataError, match=r"t\.csv, row 2: 3 cells; 2 were expected"):
        read_table(file, ("a",), where="its folder")
    file.write_text('a,b\n1,"2,3"\n')
    assert read_table(file, ("a",), where="its folder") == [{"a": "1", "b": "2,3"}]
