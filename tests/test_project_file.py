"""What pyproject.toml promises holds for the package as it is."""

from __future__ import annotations

import ast
import re
import subprocess
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
    optional = PROJECT["project"]["optional-dependencies"]
    lines = [*PROJECT["project"]["dependencies"], *optional["encoders"], *optional["onnx"]]
    declared = {canonical(re.split(r"[^A-Za-z0-9._-]", line)[0]) for line in lines}
    providers = packages_distributions()
    foreign = imported() - set(sys.stdlib_module_names) - {"einthoven"}
    # What is optional may not be installed here, and is then only known by its own name.
    undeclared = {
        name: providers.get(name)
        for name in foreign
        if not declared & {canonical(name), *map(canonical, providers.get(name, ()))}
    }
    assert undeclared == {}


def test_listing_everything_imports_nothing_optional() -> None:
    """The core works without the extras."""
    code = (
        "import sys; from einthoven.encoders.registry import ENCODERS; "
        "from einthoven.datasets.registry import DATASETS; "
        "ENCODERS.names(); DATASETS.names();"
        "print([m for m in ('transformers', 'huggingface_hub', 'onnxruntime', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("line", PROJECT["tool"]["pytest"]["ini_options"]["filterwarnings"])
def test_warning_filters_name_no_class_that_a_dependency_may_lack(line: str) -> None:
    """Pytest stops before the first test at a class it cannot find."""
    category = [*line.split(":"), "", ""][2]
    assert "." not in category or category.startswith("pytest.")
