"""What `datasets prepare` and `datasets import` have in common: counting, bad records, and what is told at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from .output import counting, say

if TYPE_CHECKING:
    from einthoven.datasets.cohort import Cohort

BAD_RECORDS = "Corrupt or impossible records: 'refuse' stops, 'exclude' leaves them out and says so."
"""Help of --bad-records."""


class RecordCounter:
    """Tells how many records are done.

    Attributes:
        made: whether there was any; a cohort that was made before is kept, and none is read.
    """

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self.made = False
        self._progress = progress

    def __call__(self, done: int, total: int) -> None:
        """So many records are done."""
        self.made = True
        self._progress(done, total)


@contextmanager
def counting_records(what: str) -> Iterator[RecordCounter]:
    """A counter of the records of a cohort that is made."""
    with counting(what) as progress:
        yield RecordCounter(progress)


def bad_records_of(text: str) -> Literal["refuse", "exclude"]:
    """The value of --bad-records.

    Raises:
        UsageError: it is neither.
    """
    from einthoven.foundation.errors import UsageError

    if text == "refuse":
        return "refuse"
    if text == "exclude":
        return "exclude"
    raise UsageError(f"--bad-records {text!r}: expected 'refuse' or 'exclude'.")


def say_what_lacks(cohort: Cohort) -> None:
    """Warn of records that were left out, and of split rules by which nothing can be trained, chosen and tested."""
    from einthoven.datasets.coverage import empty_splits

    excluded = cohort.manifest.excluded
    for reason, count in excluded.counts.items():
        first = ", ".join(excluded.first.get(reason, ()))
        of = f"{count:,} of {cohort.manifest.promised_records:,} records left out ({reason})"
        say(f"warning: {of}" + (f"; first: {first}" if first else ""))
    lacking = empty_splits(cohort)
    shown = "; ".join(f"{rule}: none in {' and '.join(splits)}" for rule, splits in lacking.items())
    usable = [rule for rule in cohort.manifest.split_rules if rule not in lacking]
    if lacking and usable:
        take = f"a study has to take another rule than these, such as `--set split={usable[0]}`"
        say(f"warning: not every split rule has records in train, val and test ({shown}); {take}.")
    elif lacking:
        say(
            f"warning: no split rule has records in train, val and test ({shown}), so no study can be run on the "
            f"{cohort.manifest.patients:,} patients that are here. Add records of others and prepare it again; or, to "
            "split the ones that are here, import them as a table of your own with `kind: folds` (docs/own-data.md)."
        )
