"""`einthoven datasets download` and `einthoven datasets verify`."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import output
from .output import counting, fail

if TYPE_CHECKING:
    from einthoven.datasets.downloading.tally import Tally
    from einthoven.datasets.downloading.verifying import Verification

# Of a long list of names, how many are shown; with --json all are.
_SHOWN = 20
_SAY_SECONDS = 5.0


def register(app: typer.Typer) -> None:
    """Add the commands to `einthoven datasets`."""
    app.command()(download)
    app.command()(verify)


def download(
    name: Annotated[str, typer.Argument(help="A registered dataset; see `einthoven datasets list`.")],
    to: Annotated[Path | None, typer.Option(help="Folder; default $EINTHOVEN_HOME/sources/NAME.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Take files that fit, such as 'records100/*'; repeatable.")
    ] = None,
    mirror: Annotated[
        list[str] | None,
        typer.Option(
            "--mirror",
            help="URL of a folder with the same files and their list of sums, asked before the publisher; repeatable.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Files fetched at the same time; default what one server bears.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Download a dataset, check each file's sha256, and name every file that could not be had (exit code 1).

    What is there and right is kept; after an interrupt the same command goes on. Datasets that need a login read it
    from EINTHOVEN_PHYSIONET_USER and EINTHOVEN_PHYSIONET_PASSWORD, or from ~/.netrc. A mirror of your own, such as
    `--mirror https://HOST/ptb-xl/1.0.3/`, is believed where its list of sums is what it says; it is sent no password.
    """
    from einthoven.datasets.downloading.disk_space import in_bytes
    from einthoven.datasets.downloading.download import WORKERS
    from einthoven.datasets.downloading.download import download as fetch
    from einthoven.datasets.registry import DATASETS
    from einthoven.foundation.errors import DataError
    from einthoven.foundation.home import sources_folder

    dataset = DATASETS.get(name)
    folder = to if to is not None else sources_folder() / name
    try:
        with _transfer_progress() as progress, counting("checking what is here") as checking:
            done = fetch(
                dataset,
                folder,
                only=only or (),
                mirrors=mirror or (),
                workers=WORKERS if workers is None else workers,
                progress=progress,
                checking=checking,
                say=say,
            )
    except KeyboardInterrupt:
        say(f"Interrupted. What came is kept in {folder}; the same command goes on from there.")
        raise typer.Exit(130) from None
    if json:
        _show_json(
            {
                "folder": str(done.folder),
                "ok": done.ok,
                "files": done.files,
                "kept": done.kept,
                "fetched": len(done.fetched),
                "bytes": done.size,
                "seconds": round(done.seconds, 3),
                "left_aside": done.left_aside,
                "set_aside": list(done.set_aside),
                "failures": dict(done.failures),
                "notes": list(done.notes),
            }
        )
    else:
        aside = f"; {done.left_aside:,} of the release left aside" if done.left_aside else ""
        _echo(
            f"{name}: {len(done.fetched):,} files fetched ({in_bytes(done.size)} in {done.seconds:.0f} s), "
            f"{done.kept:,} kept, {len(done.failures):,} failed, {done.files:,} in all{aside}; {done.folder}"
        )
    for note in done.notes:
        say(f"warning: {note}")
    for path, reason in list(done.failures.items())[: None if json else _SHOWN]:
        say(f"FAILED {path}: {reason}")
    if not done.ok:
        if len(done.failures) > _SHOWN and not json:
            say(f"... and {len(done.failures) - _SHOWN:,} more; --json names all")
        fail(DataError(f"{len(done.failures):,} files could not be had. The same command tries those again."))
        raise typer.Exit(1)


def verify(
    what: Annotated[str, typer.Argument(metavar="NAME_OR_FOLDER", help="A downloaded dataset, or a folder.")],
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Read every downloaded file again and compare its sha256 with the list that lies in its folder, offline.

    Files that came by other means are checked alike; place SHA256SUMS.txt, which is published beside them, there too.

    Exit code 1 if a file is missing, corrupt or cannot be checked; files that are not listed are named and do no harm.
    """
    from einthoven.datasets.downloading.verifying import verify as read_again
    from einthoven.datasets.registry import DATASETS
    from einthoven.foundation.errors import unknown_name
    from einthoven.foundation.home import sources_folder

    is_name = what in DATASETS.names()
    if not is_name and not Path(what).is_dir():
        raise unknown_name("dataset or folder", what, DATASETS.names())
    release = DATASETS.get(what).release if is_name else None
    folder = sources_folder() / what if is_name else Path(what)
    try:
        with counting("reading") as progress:
            found = read_again(folder, release, progress=progress)
    except KeyboardInterrupt:
        say("Interrupted. Nothing was changed.")
        raise typer.Exit(130) from None
    if json:
        _show_json(
            {
                "folder": str(found.folder),
                "ok": found.ok,
                "files": found.files,
                "missing": list(found.missing),
                "corrupt": list(found.corrupt),
                "extra": list(found.extra),
                "failures": dict(found.failures),
                "left_aside": found.left_aside,
            }
        )
    else:
        _show(found)
    if not found.ok:
        to = "" if is_name else f" --to {shlex.quote(what)}"
        say(
            f"`einthoven datasets download {what if is_name else 'NAME'}{to}` fetches what is missing or corrupt, and "
            "keeps the rest. Files may be put there by other means too; then verify again."
        )
        raise typer.Exit(1)


def say(text: str) -> None:
    """One line on standard error, whatever names of files and words of servers it holds."""
    output.say(_plain(text, sys.stderr.encoding))


def _echo(text: str) -> None:
    typer.echo(_plain(text, sys.stdout.encoding))


def _plain(text: str, encoding: str | None) -> str:
    from einthoven.datasets.downloading.names import printable

    encoding = encoding or "utf-8"
    return printable(text).encode(encoding, "backslashreplace").decode(encoding)


def _show_json(value: Mapping[str, object]) -> None:
    # ASCII: names of files need not be Unicode.
    typer.echo(dumps(value, indent=2, allow_nan=False))


def _show(found: Verification) -> None:
    for word, paths in (
        ("missing", found.missing),
        ("corrupt", found.corrupt),
        ("FAILED", tuple(f"{path}: {reason}" for path, reason in found.failures.items())),
        ("not listed", found.extra),
    ):
        for path in paths[:_SHOWN]:
            _echo(f"{word}: {path}")
        if len(paths) > _SHOWN:
            _echo(f"{word}: ... and {len(paths) - _SHOWN:,} more; --json names all")
    failed = f", {len(found.failures):,} failed" if found.failures else ""
    aside = f", {found.left_aside:,} of the release left aside" if found.left_aside else ""
    _echo(
        f"{found.folder}: {found.files:,} files expected, {len(found.missing):,} missing, "
        f"{len(found.corrupt):,} corrupt{failed}, {len(found.extra):,} not listed{aside}"
    )


@contextmanager
def _transfer_progress() -> Iterator[Callable[[Tally], None]]:
    """One line that is written over on a terminal; a line every few seconds elsewhere."""
    terminal = sys.stderr.isatty()
    last = [time.monotonic()]

    def tell(tally: Tally) -> None:
        if terminal:
            sys.stderr.write(f"\r\x1b[K{_line(tally)}")
            sys.stderr.flush()
        elif time.monotonic() - last[0] >= _SAY_SECONDS:
            last[0] = time.monotonic()
            say(_line(tally))

    yield tell
    if terminal:
        sys.stderr.write("\n")


def _line(tally: Tally) -> str:
    from einthoven.datasets.downloading.disk_space import in_bytes

    total = f" of {in_bytes(tally.all_bytes)}" if tally.all_bytes else ""
    left = f", about {_duration(tally.left)} left" if tally.left else ""
    size = f"{in_bytes(tally.size)}{total}, {in_bytes(tally.rate)}/s"
    return f"{tally.files:,} of {tally.all_files:,} files, {size}{left}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
