"""The public notes, fetched from GitHub at a pinned commit into a cache folder.

Every file is checked against the size and the hash that git has of it, written beside its place and
renamed; what is there and right is not fetched again. A complete cache needs no network.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from medeval.errors import UserError
from medeval.models.text_files import write_text
from medeval.tasks.mtsamples.notes import (
    LISTING_FILE,
    NOTES_FOLDER,
    PINNED,
    ListedFile,
    listing_from_answer,
    listing_of,
    note_paths,
)

if TYPE_CHECKING:
    import httpx2

CACHE_VARIABLE = "MTSAMPLES_PROCEDURES_CACHE_DIR"
DEFAULT_CACHE = "~/.cache/mtsamples_procedures"

# The address of the API that lists a folder, and that of the files.
API = "https://api.github.com"
RAW = "https://raw.githubusercontent.com"
# How often a request is tried, seconds before the second try (doubled each time), and seconds
# without an answer after which a try has failed.
ATTEMPTS = 4
FIRST_WAIT = 1.0
_TIMEOUT = 30.0

Read = TypeVar("Read")


def cache_folder(named: Path | None = None) -> Path:
    """Return the cache folder: the one named, else that of the variable, else the default."""
    return (named or Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE)).expanduser()


def download(
    cache: Path,
    origin: tuple[str, str, str] = PINNED,
    *,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[int, int]:
    """Make a cache folder hold all notes of a commit.

    Args:
        cache: the folder; its `txt_files/` gets the notes, `listing.json` their names and hashes.
        origin: owner and name of a repository, a folder in it and a commit: lists and files are of
            that, whatever the default branch holds.
        watch: told how many files are done, and of how many.

    Returns:
        How many notes there are, and how many of them this call fetched.

    Raises:
        UserError: a file or the list cannot be fetched, has other bytes than git has, or cannot be
            written; naming it. What was fetched before stays, and the next call goes on from there.
    """
    import httpx2

    repository, folder, commit = origin
    notes = cache / NOTES_FOLDER
    fetched = 0
    try:
        with httpx2.Client(timeout=_TIMEOUT, follow_redirects=True) as client:
            listing = listing_of(notes)
            if listing is None or not listing.is_of(*origin):
                url = f"{API}/repos/{repository}/contents/{folder}?ref={commit}"
                listing = listing_from_answer(_fetch(client, url, json.loads), *origin, url)
                # Before the first note: a download that stops is known to be incomplete.
                write_text(cache / LISTING_FILE, listing.model_dump_json(indent=1) + "\n")
            for done, file in enumerate(listing.files):
                watch(done, len(listing.files))
                path = notes / file.name
                if path.exists() and file.is_content(path.read_bytes()):
                    continue
                # Names hold `#`, which would end the path of an address.
                url = f"{RAW}/{repository}/{commit}/{folder}/{quote(file.name, safe='')}"
                write_text(path, _fetch(client, url, partial(_checked, file)))
                fetched += 1
    except OSError as error:
        raise UserError(f"{error.filename or cache} cannot be used: {error.strerror}.") from error
    watch(len(listing.files), len(listing.files))
    listing.check_complete(notes, {path.name for path in note_paths(notes)})
    return len(listing.files), fetched


def _checked(file: ListedFile, content: bytes) -> bytes:
    if not file.is_content(content):
        raise ValueError("other bytes than those of the commit")
    return content


def _fetch(client: httpx2.Client, url: str, read: Callable[[bytes], Read]) -> Read:
    """Get what an address holds; a fault that may pass is waited out.

    Raises:
        UserError: naming the address and what the last try met.
    """
    import httpx2

    wait = FIRST_WAIT
    for attempt in range(1, ATTEMPTS + 1):
        try:
            response = client.get(url)
            if response.status_code == HTTPStatus.OK:
                return read(response.content)
            status = response.status_code
            met = f"HTTP status {status}"
            if (
                status == HTTPStatus.FORBIDDEN
                and response.headers.get("x-ratelimit-remaining") == "0"
            ):
                met += ", GitHub's limit of requests an hour is used up"
            passes = status == HTTPStatus.TOO_MANY_REQUESTS or response.is_server_error
        except (httpx2.HTTPError, ValueError) as error:
            met, passes = str(error) or type(error).__name__, True
        if not passes:
            break
        if attempt < ATTEMPTS:
            time.sleep(wait)
            wait *= 2
    raise UserError(
        f"{url} cannot be fetched: {met}. What is in the cache stays; the same command goes on from"
        " there. Notes that you have otherwise can be named in MEDEVAL_MTSAMPLES."
    )
