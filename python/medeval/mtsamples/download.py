"""The public notes, fetched from GitHub at a pinned commit into a cache folder.

Every file is checked against the size and the hash that git has of it, written beside its place and
renamed; what is there and right is not fetched again. A complete cache needs no network.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from medeval.errors import UserError
from medeval.models.text_files import write_bytes, write_text
from medeval.mtsamples.notes import (
    LISTING_FILE,
    NOTES_FOLDER,
    PINNED,
    ListedFile,
    check_complete,
    listing_from_answer,
    note_paths,
    read_listing,
)

if TYPE_CHECKING:
    import httpx2

CACHE_VARIABLE = "MTSAMPLES_PROCEDURES_CACHE_DIR"
DEFAULT_CACHE = "~/.cache/mtsamples_procedures"

_OK = 200
_FORBIDDEN = 403
_TOO_MANY_REQUESTS = 429
_SERVER_ERRORS = 500

Read = TypeVar("Read")


@dataclass(frozen=True)
class Origin:
    """Where the notes are, and of which commit.

    Attributes:
        api: the base address of the API that lists a folder.
        raw: the base address of the files.
        repository: owner and name.
        folder: the folder of the notes.
        commit: the commit; lists and files are of it, whatever the default branch holds.
    """

    api: str = "https://api.github.com"
    raw: str = "https://raw.githubusercontent.com"
    repository: str = PINNED[0]
    folder: str = PINNED[1]
    commit: str = PINNED[2]

    @property
    def listing_url(self) -> str:
        """The address of the list of names."""
        return f"{self.api}/repos/{self.repository}/contents/{self.folder}?ref={self.commit}"

    def file_url(self, name: str) -> str:
        """Return the address of a file. Names hold `#`, which would end the path of an address."""
        quoted = quote(name, safe="")
        return f"{self.raw}/{self.repository}/{self.commit}/{self.folder}/{quoted}"


@dataclass(frozen=True)
class Patience:
    """How long a request is tried.

    Attributes:
        attempts: tries, the first one counted.
        first_wait: seconds before the second try; doubled each time.
        timeout: seconds without an answer after which a try has failed.
    """

    attempts: int = 4
    first_wait: float = 1.0
    timeout: float = 30.0


def cache_folder(named: Path | None = None) -> Path:
    """Return the cache folder: the one named, else that of the variable, else the default."""
    return (named or Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE)).expanduser()


def download(
    cache: Path,
    origin: Origin | None = None,
    *,
    patience: Patience | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[int, int]:
    """Make a cache folder hold all notes of a commit.

    Args:
        cache: the folder; its `txt_files/` gets the notes, `listing.json` their names and hashes.
        origin: where they come from; by default the repository that the benchmark's authors pin.
        patience: how often and how long a request is tried.
        watch: told how many files are done, and of how many.

    Returns:
        How many notes there are, and how many of them this call fetched.

    Raises:
        UserError: a file or the list cannot be fetched, has other bytes than git has, or cannot be
            written; naming it. What was fetched before stays, and the next call goes on from there.
    """
    import httpx2

    origin, patience = origin or Origin(), patience or Patience()
    place = origin.repository, origin.folder, origin.commit
    notes = cache / NOTES_FOLDER
    fetched = 0
    try:
        with httpx2.Client(timeout=patience.timeout, follow_redirects=True) as client:
            listing = read_listing(cache)
            if listing is None or not listing.is_of(*place):
                url = origin.listing_url
                answer = _fetch(client, url, patience, json.loads)
                listing = listing_from_answer(answer, *place, url)
                # Before the first note: a download that stops is known to be incomplete.
                write_text(cache / LISTING_FILE, listing.as_json())
            for done, file in enumerate(listing.files):
                watch(done, len(listing.files))
                path = notes / file.name
                if path.exists() and file.is_content(path.read_bytes()):
                    continue
                url = origin.file_url(file.name)
                write_bytes(path, _fetch(client, url, patience, partial(_checked, file)))
                fetched += 1
    except OSError as error:
        raise UserError(f"{error.filename or cache} cannot be used: {error.strerror}.") from error
    watch(len(listing.files), len(listing.files))
    check_complete(notes, {path.name for path in note_paths(notes)})
    return len(listing.files), fetched


def _checked(file: ListedFile, content: bytes) -> bytes:
    if not file.is_content(content):
        raise ValueError("other bytes than those of the commit")
    return content


def _fetch(
    client: httpx2.Client,
    url: str,
    patience: Patience,
    read: Callable[[bytes], Read],
) -> Read:
    """Get what an address holds; a fault that may pass is waited out.

    Raises:
        UserError: naming the address and what the last try met.
    """
    import httpx2

    wait = patience.first_wait
    for attempt in range(1, patience.attempts + 1):
        try:
            response = client.get(url)
            if response.status_code == _OK:
                return read(response.content)
            status = response.status_code
            met = f"HTTP status {status}"
            if status == _FORBIDDEN and response.headers.get("x-ratelimit-remaining") == "0":
                met += ", GitHub's limit of requests an hour is used up"
            passes = status == _TOO_MANY_REQUESTS or status >= _SERVER_ERRORS
        except (httpx2.HTTPError, ValueError) as error:
            met, passes = str(error) or type(error).__name__, True
        if not passes:
            break
        if attempt < patience.attempts:
            time.sleep(wait)
            wait *= 2
    raise UserError(
        f"{url} cannot be fetched: {met}. What is in the cache stays; the same command goes on from"
        " there. Notes that you have otherwise can be named in MEDEVAL_MTSAMPLES."
    )
