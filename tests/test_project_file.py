"""What pyproject.toml promises holds for the package as it is."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported() -> set[str]:
    """First parts of all names the package imports, at its top or inside functions."""
    names: set[str] = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module or "")
    return {name.partition(".")[0] for name in names}


def test_every_imported_package_is_a_dependency() -> None:
    """Not left to be brought in by another dependency, which may drop it."""
    declared = {canonical(re.split(r"[^A-Za-z0-9._-]", line)[0]) for line in PROJECT["project"]["dependencies"]}
    providers = packages_distributions()
    foreign = imported() - set(sys.stdlib_module_names) - {"einthoven"}
    undeclared = {
        name: providers.get(name) for name in foreign if not declared & {canonical(d) for d in providers.get(name, ())}
    }
    assert undeclared == {}


@pytest.mark.parametrize("line", PROJECT["tool"]["pytest"]["ini_options"]["filterwarnings"])
def test_warning_filters_name_no_class_that_a_dependency_may_lack(line: str) -> None:
    """Pytest stops before the first test at a class it cannot find."""
    category = [*line.split(":"), "", ""][2]
    assert "." not in category or category.startswith("pytest.")
