"""A number names the code it came from, or says that the code was changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from einthoven.studies import provenance


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    module = tmp_path / "src" / "einthoven" / "studies" / "provenance.py"
    module.parent.mkdir(parents=True)
    module.write_text("")
    (tmp_path / "README.md").write_text("")
    git(tmp_path, "init", "--quiet")
    # A user may hide untracked files from `git status`; a number must not.
    git(tmp_path, "config", "status.showUntrackedFiles", "no")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=n", "-c", "user.email=e@x.example", "commit", "--quiet", "--message", "first")
    monkeypatch.setattr(provenance, "__file__", str(module))
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def test_a_clean_checkout_is_its_commit(checkout: Path) -> None:
    (checkout / "notes.txt").write_text("no part of the code")
    assert provenance._commit() == git(checkout, "rev-parse", "HEAD")


@pytest.mark.parametrize("file", ["provenance.py", "new.py", "new/module.py"])
def test_changed_and_new_modules_are_changes(checkout: Path, file: str) -> None:
    path = checkout / "src" / "einthoven" / "studies" / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("x = 1\n")
    assert provenance._commit() == git(checkout, "rev-parse", "HEAD") + "+changes"


def test_outside_a_checkout_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "lib" / "einthoven" / "studies" / "provenance.py"))
    assert provenance._commit() is None
