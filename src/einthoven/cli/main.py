"""`einthoven`: the entry point, its exit codes, and what every command shares.

Exit codes: 0 ok, 1 the work failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import errno
import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from einthoven.foundation.errors import EinthovenError
from einthoven.version import VERSION

from . import compare, datasets, encoders, power, pretraining, studies
from .output import fail

app = typer.Typer(
    name="einthoven",
    help="A benchmark for ECG models: exact, nothing lost, every number re-computable.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(datasets.app, name="datasets")
app.add_typer(encoders.app, name="encoders")
app.add_typer(pretraining.app, name="pretrain")
studies.register(app)
compare.register(app)
power.register(app)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"einthoven {VERSION}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _of_the_system(error: OSError) -> OSError:
    """A full disk, a folder that may not be written: the system's words, and what to do."""
    from einthoven.foundation.home import home

    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        error.add_note(
            f"Nothing half-written is kept. Make room for what is written, or let $EINTHOVEN_HOME (now {home()}) name "
            "a folder on a larger disk."
        )
    elif error.errno in (errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.ENOENT, errno.EEXIST):
        error.add_note(f"$EINTHOVEN_HOME is {home()}: is it a folder that may be written?")
    return error


def main() -> None:
    """Run the command line; turns expected errors into a message and an exit code."""
    # A scheduler that ends a job says so with SIGTERM; it means what Ctrl-C means.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except EinthovenError as error:
        fail(error)
        sys.exit(error.exit_code)
    except OSError as error:
        fail(_of_the_system(error))
        sys.exit(1)
