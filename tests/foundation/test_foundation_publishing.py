"""Nothing half-written is ever seen."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys

import pytest

from einthoven.foundation import publishing
from einthoven.foundation.publishing import (
    BusyError,
    exclusive,
    publish_folder,
    read_json,
    write_json,
    write_text,
)


def test_a_folder_appears_whole(tmp_path) -> None:
    with publish_folder(tmp_path / "a" / "b") as work:
        (work / "x").write_text("1")
        assert not (tmp_path / "a" / "b").exists()
    assert (tmp_path / "a" / "b" / "x").read_text() == "1"
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["b"]


def test_an_error_leaves_nothing(tmp_path) -> None:
    with pytest.raises(RuntimeError), publish_folder(tmp_path / "b") as work:
        (work / "x").write_text("1")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_kept_unless_replaced_and_survives_a_failed_replacement(tmp_path) -> None:
    with publish_folder(tmp_path / "b") as work:
        (work / "x").write_text("old")
    with pytest.raises(FileExistsError), publish_folder(tmp_path / "b"):
        pass
    with pytest.raises(RuntimeError), publish_folder(tmp_path / "b", replace=True):
        raise RuntimeError
    assert (tmp_path / "b" / "x").read_text() == "old"
    with publish_folder(tmp_path / "b", replace=True) as work:
        (work / "y").write_text("new")
    assert [p.name for p in (tmp_path / "b").iterdir()] == ["y"]
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_a_kill_in_the_middle_of_a_replacement_loses_nothing(tmp_path) -> None:
    aside = tmp_path / ".unfinished-b-0123456789ab-old"
    aside.mkdir()
    (aside / "x").write_text("old")
    with pytest.raises(RuntimeError), publish_folder(tmp_path / "b", replace=True):
        raise RuntimeError
    assert (tmp_path / "b" / "x").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_a_json_file_is_replaced_whole_and_a_bad_value_changes_nothing(tmp_path) -> None:
    file = tmp_path / "r.json"
    write_json(file, {"a": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(file, {"a": float("nan")})
    assert read_json(file) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_text_has_the_same_bytes_on_every_platform(tmp_path, monkeypatch) -> None:
    real = io.open

    def as_on_windows(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *rest):
        if "w" in mode and "b" not in mode and newline is None:
            newline = "\r\n"
        return real(file, mode, buffering, encoding, errors, newline, *rest)

    monkeypatch.setattr(io, "open", as_on_windows)
    write_text(tmp_path / "t", "one\ntwo\n")
    write_json(tmp_path / "j", ["\u00e9"])
    monkeypatch.undo()
    assert (tmp_path / "t").read_bytes() == b"one\ntwo\n"
    assert (tmp_path / "j").read_bytes() == '[\n  "\u00e9"\n]\n'.encode()


@pytest.mark.parametrize(("system", "way"), [("posix", os.O_RDONLY), ("nt", os.O_RDWR)])
def test_files_are_flushed_the_way_the_system_wants(tmp_path, monkeypatch, system, way) -> None:
    flushed: dict[str, int] = {}
    real = os.open

    def noting(path, flags, *rest, **more):
        flushed[path.name] = flags
        return real(path, flags, *rest, **more)

    file = tmp_path / "x"
    file.write_text("1")
    # `os.name` is patched around two calls only: pathlib reads it too.
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", noting)
        patch.setattr(os, "name", system)
        publishing._flush(file)
        publishing._flush(tmp_path)
    # POSIX puts the names in a folder on disk as well; Windows opens no folder.
    assert flushed == {"x": way} | ({tmp_path.name: way} if system == "posix" else {})


def test_a_lock_is_exclusive_and_a_dead_holder_does_not_hold_it(tmp_path) -> None:
    script = (
        "import sys, time, pathlib\n"
        "from einthoven.foundation.publishing import exclusive\n"
        "with exclusive(pathlib.Path(sys.argv[1]), doing='filling'):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(60)\n"
    )
    target = tmp_path / "thing"
    process = subprocess.Popen([sys.executable, "-c", script, str(target)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(BusyError, match=r"Another process is filling .*thing"), exclusive(target, doing="filling"):
            pass
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with exclusive(target):
        pass
