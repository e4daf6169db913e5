"""Released weights from where their authors put them: fetched, checked, converted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from einthoven.encoders.card import EncoderCard
from einthoven.encoders.checkpoint_source import CheckpointSource
from einthoven.foundation.errors import DataError, UsageError
from einthoven.foundation.home import checkpoints_folder
from einthoven.foundation.identity import content_key, sha256_file
from einthoven.foundation.publishing import exclusive

from .converting import checkpoint_of, convert, refuse_unaccepted
from .resuming import Progress, RefusedError, download, forget
from .store import RELEASED, StoredWeights, open_weights, refuse_taken_name

if TYPE_CHECKING:
    from torch import nn

_SHA256 = re.compile(r"[0-9a-f]{64}")
_YES = ("1", "true", "yes", "on")


@dataclass(frozen=True)
class FetchedWeights:
    """Weights after they were asked for.

    Attributes:
        stored: the converted weights.
        fetched: whether they came now; False where they were here.
    """

    stored: StoredWeights
    fetched: bool


@dataclass(frozen=True)
class _Address:
    """Where a file is right now.

    Attributes:
        source: for the provenance.
        revision: the commit, on Hugging Face.
        headers: may hold a token; never shown.
        sha256: what the file must have, as far as anybody says.
        pinned: the address always gives the same bytes.
    """

    url: str
    source: str
    revision: str | None = None
    headers: Mapping[str, str] | None = None
    size: int | None = None
    sha256: str | None = None
    pinned: bool = False


def fetch(
    card: EncoderCard,
    network: Callable[[], nn.Module],
    *,
    tag: str = RELEASED,
    revision: str | None = None,
    accept_licence: bool = False,
    replace: bool = False,
    progress: Progress = lambda _done, _total: None,
) -> FetchedWeights:
    """Fetch the released file of an encoder, check it, and convert it; where it is here already, nothing is asked.

    An interrupted fetch goes on where it was. The file that came is deleted once it is converted.

    Args:
        card: with `checkpoint`.
        network: makes the encoder's network.
        tag: what the weights are called here.
        revision: on Hugging Face, a commit, branch or tag; by default the one on the card, else "main".
        accept_licence: that a non-commercial licence was read and is kept to.
        replace: weights of the same tag.
        progress: told how many bytes came.

    Raises:
        UsageError: no weights, a licence that was not accepted, a revision where there are none, a tag that is taken.
        DataError: it cannot be fetched by a program, or not now; what to do is said. A wrong or unreadable file.
    """
    source = checkpoint_of(card)
    if not source.fetchable:
        raise DataError(by_hand(card))
    if revision is not None and source.where != "huggingface":
        raise UsageError(f"The weights of {card.name} have one address and no revisions; leave out --revision.")
    refuse_unaccepted(card, accept_licence=accept_licence)
    if not replace and (here := open_weights(card.name, tag)) is not None:
        if revision in (None, here.provenance.revision):
            return FetchedWeights(here, fetched=False)
        refuse_taken_name(card.name, tag, replace=False)
    refuse_taken_name(card.name, tag, replace=replace)
    _refuse_offline(card)
    if source.where == "huggingface":
        address = _on_the_hub(card, source, revision)
    else:
        digest = source.sha256
        address = _Address(
            str(source.url), str(source.url), size=source.bytes, sha256=digest, pinned=digest is not None
        )
    folder = checkpoints_folder() / card.name / ".fetching"
    part = folder / f"{content_key([address.source, address.sha256])[:16]}-{Path(source.file).name}"
    with exclusive(part, doing="fetching"):
        digest = _bring(card, address, part, progress)
        if source.sha256 and tag == RELEASED and digest != source.sha256:
            # `convert` would say so too, and the file would lie here for ever.
            forget(part)
            raise DataError(
                f"The file of {address.source} has sha256 {digest}; {card.name} was released with {source.sha256}. It "
                "was thrown away. If another version is wanted on purpose, give it a name of its own (--as NAME)."
            )
        stored = convert(
            card,
            network,
            part,
            tag=tag,
            source=address.source,
            revision=address.revision,
            accept_licence=accept_licence,
            replace=replace,
        )
        forget(part)
    return FetchedWeights(stored, fetched=True)


def by_hand(card: EncoderCard) -> str:
    """What to do for weights that no program can fetch."""
    source = checkpoint_of(card)
    accept = " --accept-licence" if source.non_commercial else ""
    convert_line = f"`einthoven encoders convert {card.name} FILE{accept}`"
    if source.where == "unreleased":
        return (
            f"The weights of {card.name} were never released: {source.access}. Its architecture without any training "
            f"is `weights: random`. With a file of your own: `einthoven encoders convert {card.name} FILE --as own`."
        )
    way = "need an agreement with their authors" if source.where == "on-request" else "must be fetched in a browser"
    return (
        f"The weights of {card.name} {way}: {source.access}. Page: {source.page}. File: {source.file}. Licence: "
        f"{card.weights_licence}. With the file at hand: {convert_line}."
    )


def _bring(card: EncoderCard, address: _Address, part: Path, progress: Progress) -> str:
    """The digest of the whole file, which lies at `part`."""
    went_on = part.is_file()
    while True:
        try:
            download(
                address.url,
                part,
                headers=address.headers,
                size=address.size,
                unchanging=address.pinned,
                progress=progress,
            )
        except RefusedError as error:
            raise DataError(_refused(card, error.status, str(error))) from error
        except DataError as error:
            error.add_note(_from_elsewhere(card))
            raise
        digest = sha256_file(part)
        if address.sha256 is None or digest == address.sha256:
            return digest
        forget(part)
        if not went_on:
            raise DataError(
                f"{address.source} came with sha256 {digest} instead of {address.sha256}: it was damaged on the way, "
                "or is another file now. It was thrown away."
            )
        # What lay here before may have been the damage.
        went_on = False


def _on_the_hub(card: EncoderCard, source: CheckpointSource, revision: str | None) -> _Address:
    try:
        import huggingface_hub as hub
        from huggingface_hub import errors
        from huggingface_hub.utils import build_hf_headers
    except ImportError:
        raise DataError(
            f"The weights of {card.name} lie on Hugging Face, and what reaches it is not installed. Run this line:\n"
            "pip install 'einthoven[encoders]'"
        ) from None
    repository, wanted = str(source.repository), revision or source.revision or "main"
    try:
        found = hub.get_hf_file_metadata(hub.hf_hub_url(repository, source.file, revision=wanted), timeout=20)
        headers = build_hf_headers()
    except errors.GatedRepoError:
        raise DataError(_refused(card, 403, f"{repository} on Hugging Face is gated.")) from None
    except errors.RevisionNotFoundError:
        raise DataError(f"{repository} on Hugging Face has no revision {wanted!r}. Leave out --revision.") from None
    except errors.EntryNotFoundError:
        raise DataError(
            f"{repository} on Hugging Face has no file {source.file} at {wanted}. See {source.page} for where it is "
            "now."
        ) from None
    except errors.RepositoryNotFoundError:
        raise DataError(
            _refused(card, 401, f"{repository} on Hugging Face is not there, or not for everybody.")
        ) from None
    except errors.HFValidationError as error:
        raise UsageError(f"{wanted!r} cannot be a revision: {str(error).splitlines()[0]}") from None
    except errors.OfflineModeIsEnabled:
        raise DataError(_offline(card)) from None
    except errors.HfHubHTTPError as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        raise DataError(_refused(card, status or 0, f"Hugging Face answered {status} for {repository}.")) from None
    except Exception as error:  # of requests, httpx or the system, by the version of the hub
        if isinstance(error, TypeError | AttributeError | NameError):
            raise
        # The words of `download`, so that no network is the same message wherever the file is.
        unreachable = DataError(
            "Hugging Face could not be had: no connection. Is there a network, and may it be reached?"
        )
        unreachable.add_note(_from_elsewhere(card))
        raise unreachable from None
    if not found.commit_hash:
        raise DataError(f"The server did not say at which commit {repository} is; it is no Hugging Face.")
    etag = found.etag or ""
    return _Address(
        url=hub.hf_hub_url(repository, source.file, revision=found.commit_hash),
        source=f"hf://{repository}@{found.commit_hash}/{source.file}",
        revision=found.commit_hash,
        headers={name: value for name, value in headers.items() if name.lower() in ("authorization", "user-agent")},
        size=found.size,
        # Of a large file the tag is its sha256.
        sha256=etag if _SHA256.fullmatch(etag) else None,
        pinned=True,
    )


def _refused(card: EncoderCard, status: int, what: str) -> str:
    source = checkpoint_of(card)
    if status in (401, 403):
        return (
            f"{what} The weights of {card.name} are given to those who ask: open {source.page}, log in and agree to "
            "their terms; then log in here (`hf auth login`, or the environment variable HF_TOKEN) and run this again."
            if source.where == "huggingface"
            else f"{what} The weights of {card.name} are not given to everybody: {source.access}. Page: {source.page}."
        )
    if status == 404:
        return f"{what} The file is not there any more; see {source.page} for where it is now."
    return f"{what} Try again later, or see {source.page}."


def _refuse_offline(card: EncoderCard) -> None:
    if any(os.environ.get(name, "").lower() in _YES for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")):
        raise DataError(_offline(card))


def _offline(card: EncoderCard) -> str:
    return (
        f"HF_HUB_OFFLINE is set, so nothing is fetched, and the weights of {card.name} are not on this machine. Unset "
        f"it. {_from_elsewhere(card)}"
    )


def _from_elsewhere(card: EncoderCard) -> str:
    accept = " --accept-licence" if checkpoint_of(card).non_commercial else ""
    return f"A file brought from elsewhere is taken by `einthoven encoders convert {card.name} FILE{accept}`."
