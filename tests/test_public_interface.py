"""Every public name is there, and costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import einthoven


@pytest.mark.parametrize("name", einthoven.__all__)
def test_every_public_name_resolves_and_is_documented(name: str) -> None:
    thing = getattr(einthoven, name)
    if name != "__version__":
        assert thing.__doc__
        assert thing.__name__ == name


def test_the_names_are_one_list() -> None:
    assert einthoven.__all__ == sorted(["__version__", *einthoven._HOMES])


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        getattr(einthoven, "nonsense")  # noqa: B009  # a plain access would be a type error


def test_the_example_of_the_package_runs_as_a_script(ptbxl, home, tmp_path) -> None:
    """Copied from the docstring, as a user would; only the folder and the size are changed."""
    example = textwrap.dedent((einthoven.__doc__ or "").split("report:\n", 1)[1].split("They are imported")[0])
    changes = {
        '"ptb-xl-1.0.3"': repr(str(ptbxl.path)),
        '"cohort": cohort.name': '"cohort": cohort.name, "tasks": ["super"], "encoders": ["age-sex"], "baseline": None,'
        ' "probe.C": [1.0], "bootstrap.draws": 100',
    }
    for before, after in changes.items():
        assert before in example
        example = example.replace(before, after)
    script = tmp_path / "example.py"
    script.write_text(example)
    subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=True, timeout=300)
    assert (tmp_path / "runs" / "representations" / "report" / "index.html").is_file()
