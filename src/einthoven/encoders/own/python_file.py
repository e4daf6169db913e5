"""An encoder from a Python file: a class, a function, a torch network, or a whole entry as catalogues hold it."""

from __future__ import annotations

import ast
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.contract import Encoder, MetadataEncoder
from einthoven.encoders.registry import EncoderEntry
from einthoven.foundation.code_identity import source_identity
from einthoven.foundation.errors import EinthovenError, UsageError, nearest
from einthoven.foundation.identity import content_key

from .reference import OwnReference
from .state import state_of, state_of_globals

_WANTED = (
    "A class that extends Encoder, a function without arguments that gives one, a torch nn.Module, or an EncoderEntry "
    "was expected (docs/own-encoder.md shows each)."
)
_NO_CARD = (
    "has no card, so neither what it takes nor where it was trained is known. Define CARD in the file, for example "
    "CARD = own_card(name=..., dimension=..., preprocessing=Preprocessing(name='native', rate=250, seconds=10)) with "
    "own_card from einthoven.encoders.own.description."
)


def entry_from_python(reference: OwnReference) -> EncoderEntry:
    """Run a Python file and make an entry of one thing in it.

    The file, and the files beside it that it imports, are part of the identity of what comes of it, and so is
    everything the encoder holds when it has been built. They are imported anew each time.

    Raises:
        UsageError: the file is not there, fails while it is run (the message says the line), holds no such thing, or
            the thing has no card.
    """
    path = reference.path.resolve()
    sources = _sources(path)
    identity = content_key({name: source_identity(text) for name, (_, text) in sources.items()})
    module = _run(path, sources, f"einthoven_own_{identity[:16]}")
    thing = _thing(module, reference.thing, path)
    label = f"{path.name}:{getattr(thing, '__name__', reference.thing or 'ENCODER')}"

    def build(**parameters: object) -> Encoder | MetadataEncoder:
        with _imports_beside(path, sources), _told(path, f"building {label}"):
            made = thing.build(**parameters) if isinstance(thing, EncoderEntry) else _make(thing, card(), parameters)
        encoder = _as_encoder(made, card(), parameters, path, label)
        state = state_of(encoder)
        if state.unseen and not _says_its_identity(encoder):
            place, kind = next(iter(state.unseen.items()))
            raise UsageError(
                f"{label} holds a {kind} (as `{place}`), and Einthoven cannot look into it to see whether it changed. "
                "Give the class a method `_weights_identity` that returns a digest of what decides the embeddings."
            )
        encoder.origin = content_key(
            {"file": identity, "holds": state.digest(), "globals": state_of_globals(module).digest()}
        )
        return encoder

    def card() -> EncoderCard:
        return found

    found = thing.card if isinstance(thing, EncoderEntry) else _card(thing, module, path, sources, label)
    return EncoderEntry(card=found, build=build)


def _sources(path: Path) -> dict[str, tuple[Path, str]]:
    """The file and the files beside it that it imports: module name -> path and text."""
    found: dict[str, tuple[Path, str]] = {}
    waiting = [("", path)]
    while waiting:
        name, file = waiting.pop()
        if name in found:
            continue
        try:
            text = file.read_text(encoding="utf-8")
            tree = ast.parse(text)
        except OSError as error:
            raise UsageError(f"{file} cannot be read ({error.strerror}). Give the path of a Python file.") from None
        except UnicodeDecodeError:
            raise UsageError(f"{file} is not UTF-8 text.") from None
        except SyntaxError as error:
            raise UsageError(f"{file}, line {error.lineno}: {error.msg}. Mend it and try again.") from None
        found[name] = (file, text)
        waiting += [(other, beside) for other in _imported(tree, name, file) for beside in _beside(path.parent, other)]
    return dict(sorted(found.items()))


def _imported(tree: ast.AST, name: str, file: Path) -> Iterator[str]:
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            modules = [base, *(f"{base}.{alias.name}" if base else alias.name for alias in node.names)]
        for module in modules:
            # Importing a.b.c runs a and a.b first.
            parts = module.split(".")
            yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1) if parts[0])


def _beside(folder: Path, name: str) -> list[Path]:
    stem = folder.joinpath(*name.split("."))
    return [file for file in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")) if file.is_file()][:1]


@contextmanager
def _imports_beside(path: Path, sources: Mapping[str, tuple[Path, str]]) -> Iterator[None]:
    """The file's folder is where its imports are looked for; what came from there is forgotten afterwards.

    Two encoders may each have a `model.py` beside them, and one must not be given the other's.
    """
    own = {name for name in sources if name}
    kept = {name: sys.modules.pop(name) for name in own if name in sys.modules}
    sys.path.insert(0, str(path.parent))
    try:
        yield
    finally:
        sys.path.remove(str(path.parent))
        for name in own:
            sys.modules.pop(name, None)
        sys.modules.update(kept)


@contextmanager
def _told(path: Path, doing: str) -> Iterator[None]:
    """Errors of somebody's file, with the line of it that they come from."""
    try:
        yield
    except (EinthovenError, KeyboardInterrupt):
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{where(path, error)}: {type(error).__name__}: {error} (while {doing}).") from error


def where(path: Path, error: BaseException) -> str:
    """The innermost line of a file, or of one beside it, in an error's traceback: "mine.py, line 7"."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(path.parent) and "site-packages" not in frame.filename:
            return f"{frame.filename}, line {frame.lineno}"
    return str(path)


def _run(path: Path, sources: Mapping[str, tuple[Path, str]], name: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(path)
    # Found by its name: dataclasses look there, and so does the identity of code. The name is one of the content.
    sys.modules[name] = module
    with _imports_beside(path, sources), _told(path, "importing it"):
        exec(compile(sources[""][1], str(path), "exec"), module.__dict__)  # noqa: S102  # what the user asked for
    return module


def _thing(module: ModuleType, name: str, path: Path) -> Any:
    if name:
        if not hasattr(module, name):
            there = list(_candidates(module)) or [key for key in vars(module) if not key.startswith("_")]
            close = nearest(name, there)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise UsageError(f"{path} defines no {name!r}.{hint} It defines {', '.join(there) or 'nothing'}.")
        thing = getattr(module, name)
    else:
        found = _candidates(module)
        thing = found.get("ENCODER") or found.get("build")
        if thing is None and len(found) != 1:
            listed = ", ".join(f"{path.name}:{key}" for key in found)
            raise UsageError(
                f"Which encoder of {path}? " + (f"Name one: {listed}." if found else f"It defines none. {_WANTED}")
            )
        thing = thing or next(iter(found.values()))
    if not (isinstance(thing, EncoderEntry) or callable(thing)):
        raise UsageError(f"{name or 'ENCODER'} of {path} is a {type(thing).__name__}. {_WANTED}")
    return thing


def _candidates(module: ModuleType) -> dict[str, Any]:
    """What a file defines itself that can be an encoder."""
    torch = sys.modules.get("torch")
    kinds: tuple[type, ...] = (Encoder, MetadataEncoder, *((torch.nn.Module,) if torch else ()))
    return {
        name: thing
        for name, thing in vars(module).items()
        if isinstance(thing, EncoderEntry)
        or (isinstance(thing, type) and issubclass(thing, kinds) and thing.__module__ == module.__name__)
        or (name == "build" and callable(thing))
    }


def _card(
    thing: Any, module: ModuleType, path: Path, sources: Mapping[str, tuple[Path, str]], label: str
) -> EncoderCard:
    for holder in (thing, module):
        card = getattr(holder, "CARD", None)
        if isinstance(card, EncoderCard):
            return card
        if card is not None:
            raise UsageError(f"CARD of {path} is a {type(card).__name__}; an EncoderCard was expected.")
    if not isinstance(thing, type):
        with _imports_beside(path, sources), _told(path, f"building {label}"):
            made = thing()
        if isinstance(made, Encoder | MetadataEncoder):
            return made.card
    raise UsageError(f"{label} {_NO_CARD}")


def _make(thing: Any, card: EncoderCard, parameters: Mapping[str, Any]) -> Any:
    if isinstance(thing, type) and issubclass(thing, Encoder | MetadataEncoder):
        needed = [
            name
            for name, parameter in inspect.signature(thing).parameters.items()
            if parameter.default is parameter.empty and parameter.kind not in (2, 4)
        ]
        return thing(card, parameters) if needed[:2] == ["card", "parameters"] else thing(**parameters)
    return thing(**parameters)


def _as_encoder(
    made: Any, card: EncoderCard, parameters: Mapping[str, Any], path: Path, label: str
) -> Encoder | MetadataEncoder:
    if isinstance(made, Encoder | MetadataEncoder):
        if not isinstance(getattr(made, "card", None), EncoderCard):
            raise UsageError(f"{label} was built without a card: call super().__init__(CARD, {{}}) in its __init__.")
        if made.card != card:
            raise UsageError(f"{label} was built with another card than CARD of {path}. Use one.")
        return made
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(made, torch.nn.Module):
        from .module import ModuleEncoder

        return ModuleEncoder(card, parameters, network=type(made), make=lambda: made)
    raise UsageError(f"{label} gave a {type(made).__name__}. {_WANTED}")


def _says_its_identity(encoder: Encoder | MetadataEncoder) -> bool:
    own = type(encoder)._weights_identity
    return own not in (Encoder._weights_identity, MetadataEncoder._weights_identity)
