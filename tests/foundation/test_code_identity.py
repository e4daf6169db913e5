"""Code that does something else has another identity; code that says something else has not."""

from __future__ import annotations

import importlib
import sys

import pytest

from einthoven.foundation import code_identity as room
from einthoven.foundation.code_identity import UNKNOWN, code_identity

_MODULE = """
\"\"\"Words.\"\"\"
from theirs.numbers import scale
from . import other
import numpy as np

class Encoder:
    \"\"\"More words.\"\"\"

    def embed(self, x):
        # a comment
        return np.mean(x) * scale(2)
"""


@pytest.fixture
def identity(tmp_path, monkeypatch):
    """Write a package of two modules and give the identity of its class."""
    package = tmp_path / "theirs"
    package.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(main: str = _MODULE, numbers: str = "def scale(x):\n    return x\n", other: str = "A = 1\n") -> str:
        for name, text in (("__init__", ""), ("main", main), ("numbers", numbers), ("other", other)):
            (package / f"{name}.py").write_text(text)
        for name in [name for name in sys.modules if name.split(".")[0] == "theirs"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        room._identity_of_modules.cache_clear()
        module = importlib.import_module("theirs.main")
        return code_identity(module.Encoder, within="einthoven.encoders")

    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    yield write
    sys.dont_write_bytecode = before
    for name in [name for name in sys.modules if name.split(".")[0] == "theirs"]:
        del sys.modules[name]


def test_words_do_not_count(identity) -> None:
    before = identity()
    said = _MODULE.replace("Words", "Other words").replace("More", "Fewer").replace("# a comment", "# another")
    assert identity(said) == before
    assert identity(_MODULE.replace("np.mean(x) * scale(2)", "(np.mean(x)  *  scale(2))")) == before


@pytest.mark.parametrize(
    "change",
    [
        {"main": _MODULE.replace("scale(2)", "scale(3)")},
        {"main": _MODULE.replace("np.mean", "np.median")},
        {"numbers": "def scale(x):\n    return -x\n"},
        {"other": "A = 2\n"},
    ],
)
def test_what_it_does_counts_in_it_and_in_what_it_imports(identity, change) -> None:
    assert identity() != identity(**change)


def test_what_has_no_source_is_unknown_and_not_an_error() -> None:
    namespace: dict[str, type] = {}
    exec("class Typed: pass", {"__name__": "nowhere"}, namespace)  # noqa: S102  # as an interpreter would
    assert code_identity(namespace["Typed"], within="einthoven.encoders") == UNKNOWN


def test_the_tree_is_written_the_same_on_every_python() -> None:
    """Written down, since the standard dump of a tree differs between versions."""
    import ast

    tree = ast.parse('"""d"""\ndef f(a, *, b=1):\n    "d"\n    return [a, f"{b:>3}"]\n')
    assert room._dump(tree) == (
        "Module(body=[FunctionDef(name='f',args=arguments(args=[arg(arg='a')],kwonlyargs=[arg(arg='b')],"
        "kw_defaults=[Constant(value=1)]),body=[Return(value=List(elts=[Name(id='a'),JoinedStr(values=["
        "FormattedValue(value=Name(id='b'),conversion=-1,format_spec=JoinedStr(values=[Constant(value='>3')]))"
        "])]))])])"
    )


def test_a_package_whose_name_only_begins_alike_is_followed_as_its_own(identity) -> None:
    """`theirs` is not inside `the.encoders`, so what it imports from itself counts."""

    def of(numbers: str) -> str:
        identity(numbers=numbers)
        return code_identity(sys.modules["theirs.main"].Encoder, within="the.encoders")

    assert of("def scale(x):\n    return x\n") != of("def scale(x):\n    return -x\n")
