"""Identity of code: a digest that changes with what a module does, and not with its comments and docstrings.

Whoever edits an encoder between two runs must not be given what the old code computed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

UNKNOWN = "unknown"


def code_identity(thing: type | object, *, within: str | tuple[str, ...], without: Collection[str] = ()) -> str:
    """sha256 (64 hex digits) over the module that defines a class or function, and the modules it imports.

    Args:
        thing: a class or a function.
        within: dotted names of packages; imports are followed inside them, and inside the top-level package of
            `thing`'s own module if that is another one.
        without: modules that are not followed.

    Returns:
        the digest; "unknown" where there is no source to read, as for what is typed into an interpreter.
    """
    module = sys.modules.get(getattr(thing, "__module__", ""))
    if module is None or module.__name__ == "__main__" or _source_file(module) is None:
        try:
            # What has no source at all, and so is no argument for it, is a TypeError.
            source = inspect.getsource(thing)  # type: ignore[arg-type]  # any object may be asked for its source
            return hashlib.sha256(_essence(source).encode()).hexdigest()
        except (OSError, TypeError, SyntaxError, IndentationError):
            return UNKNOWN
    top = module.__name__.partition(".")[0]
    packages = (within,) if isinstance(within, str) else within
    roots = packages if any(top == package.partition(".")[0] for package in packages) else (*packages, top)
    return _identity_of_modules(module.__name__, roots, tuple(sorted(without)))


def source_identity(source: str) -> str:
    """sha256 (64 hex digits) of what Python source does; comments, docstrings and layout are no part of it.

    Raises:
        SyntaxError: it is no Python.
    """
    return hashlib.sha256(_dump(ast.parse(source)).encode()).hexdigest()


@cache
def _identity_of_modules(name: str, roots: tuple[str, ...], without: tuple[str, ...]) -> str:
    found: dict[str, str] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        file = _file_of(current)
        if current in found or file is None:
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found[current] = _dump(tree)
        waiting += [
            other
            for other in _imports(tree, current, is_package=file.name == "__init__.py")
            if other not in without and any(other == root or other.startswith(f"{root}.") for root in roots)
        ]
    total = hashlib.sha256()
    for module in sorted(found):
        total.update(f"{module}\n{found[module]}\n".encode())
    return total.hexdigest()


def _imports(tree: ast.AST, module: str, *, is_package: bool) -> Iterator[str]:
    """Names of all modules that may be meant by the imports of a module, wherever in it they stand."""
    parts = module.split(".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = node.level - 1 if is_package else node.level
                base = ".".join([*parts[: len(parts) - up], *([base] if base else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _file_of(name: str) -> Path | None:
    module = sys.modules.get(name)
    if module is not None:
        return _source_file(module)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _source_file(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if file and file.endswith(".py") and Path(file).is_file() else None


def _essence(source: str) -> str:
    return _dump(ast.parse(inspect.cleandoc(source)))


def _dump(node: object) -> str:
    """The tree as text that is the same on every Python: fields that are empty are left out, and so are docstrings."""
    if isinstance(node, list):
        return "[" + ",".join(map(_dump, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    shown = []
    for field, value in ast.iter_fields(node):
        if value is None or value == [] or field in ("kind", "type_comment", "ctx"):
            continue
        if field == "body" and isinstance(value, list) and _is_docstring(value[0]):
            value = value[1:]  # the same field without its docstring
        shown.append(f"{field}={_dump(value)}")
    return f"{type(node).__name__}({','.join(shown)})"


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
