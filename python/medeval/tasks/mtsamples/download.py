"""The public notes: fetched from GitHub at a pinned commit into a cache folder, and `load`.

Every file is checked against the size and the hash that git has of it, written beside its place and
renamed; what is there and right is not fetched again. A complete cache needs no network.

It is imported whenever a command starts, so what is slow to load is imported where it is used.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar
from urllib.parse import quote

from medeval.errors import UserError, os_error_as
from medeval.files import make_folder, replace_file, toml_beside
from medeval.sources import LoadRequest, sources
from medeval.tasks.mtsamples import notes
from medeval.tasks.options import TaskOptions
from medeval.terminal import progress, say, warn

if TYPE_CHECKING:
    import httpx2

# The option of `load` by which nothing is loaded.
INSTEAD = "download"
NOTES_VARIABLE = "MEDEVAL_MTSAMPLES"
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
# The most entries of a folder that GitHub lists; it says nothing of the others.
_LONGEST_LIST = 1000

Read = TypeVar("Read")


class Options(TaskOptions):
    """Where the public notes are that `load mtsamples` reads or gets."""

    WORDS: ClassVar[Mapping[str, str]] = toml_beside(__file__, "texts.toml")["load_options"]

    download: bool = False
    cache_dir: Path | None = None


def load(request: LoadRequest, options: Options) -> None:
    """Make the cache folder hold the public notes, or load notes into PostgreSQL.

    Raises:
        UserError: two places are named, notes that cannot be read, a database that refuses, or a
            download that fails; what was fetched stays.
    """
    from medeval.load import load_rows

    cache = options.cache_dir and options.cache_dir.expanduser()
    if request.place is not None and (cache or options.download):
        raise UserError("Name no DIR beside --cache-dir or --download: that goes into --cache-dir.")
    if options.download:
        cache = cache or Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE).expanduser()
        print(download(cache))
        print(f"Name {cache} in {CACHE_VARIABLE}, then `dbt build --select mtsamples`.")
        if os.environ.get(NOTES_VARIABLE):
            warn(f"{NOTES_VARIABLE} is set and is read first; unset it to use the download.")
        return
    if cache:
        fill_cache(cache)
    variables = (NOTES_VARIABLE, CACHE_VARIABLE)
    places = [request.place, cache, *map(os.environ.get, variables)]
    place = next((Path(one).expanduser() for one in places if one), None)
    if place is None:
        place = request.root / "demo" / "mtsamples"
        named = ", ".join(variables)
        say(f"No DIR and none of {named}: loading the synthetic demo, {place}.")
    rows = ((one.filename, one.text, one.data_class) for one in notes.read_notes(place).notes)
    source = sources(request.root, are_records=True)["mtsamples"]
    loaded = load_rows(rows, source, request)
    print(f"{place}: {loaded.rows:,} notes.")
    print(request.then(source, "notes", loaded.schema))


def fill_cache(cache: Path) -> None:
    """Download the notes into a folder that is named as a cache and holds none, or not all of them.

    A folder of notes without a list of a download, as other programs leave it, stays as it is.

    Raises:
        UserError: see `download`.
    """
    folder = notes.folder_of_notes(cache)
    names = {path.name for path in notes.note_paths(folder)} if folder.exists() else set()
    listing = notes.listing_of(cache / notes.NOTES_FOLDER)
    if not names or (listing and any(one.name not in names for one in listing.files)):
        warn(download(cache))


def download(cache: Path) -> str:
    """Make a cache folder hold all notes of the pinned commit; show how far it has come.

    Args:
        cache: the folder; its `txt_files/` gets the notes, `listing.json` their names and hashes.

    Returns:
        A sentence with how many notes there are, and how many of them this call fetched.

    Raises:
        UserError: a file or the list cannot be fetched, has other bytes than git has, or cannot be
            written; naming it. What was fetched before stays, and the next call goes on from there.
    """
    import httpx2

    folder, fetched = cache / notes.NOTES_FOLDER, 0
    repository, below, commit = notes.PINNED
    unusable = os_error_as("{file} cannot be used: {why}.", cache)
    with unusable, httpx2.Client(timeout=_TIMEOUT, follow_redirects=True) as client:
        listing = notes.listing_of(folder)
        if listing is None or listing.origin != notes.PINNED:
            url = f"{API}/repos/{repository}/contents/{below}?ref={commit}"
            listing = _fetch(client, url, _listing)
            # Before the first note: a download that stops is known to be incomplete.
            make_folder(cache)
            text = listing.model_dump_json(indent=1) + "\n"
            replace_file(cache / notes.LISTING_FILE, text.encode())
        files = listing.files
        with progress("notes", lambda: len(files)) as advance:
            for file in files:
                path = folder / file.name
                if not (path.exists() and file.is_content(path.read_bytes())):
                    # Names hold `#`, which would end the path of an address.
                    url = f"{RAW}/{repository}/{commit}/{below}/{quote(file.name, safe='')}"
                    content = _fetch(client, url, file.checked)
                    make_folder(folder)
                    replace_file(path, content)
                    fetched += 1
                advance(1)
    listing.check_complete(folder, {path.name for path in notes.note_paths(folder)})
    return f"{folder}: {len(listing.files):,} notes, {fetched:,} of them fetched now."


def _listing(content: bytes) -> notes.Listing:
    """Read what GitHub's contents API says of a folder; what is no `.txt` is no note."""
    answer = json.loads(content)
    if not isinstance(answer, list) or len(answer) >= _LONGEST_LIST:
        raise ValueError(f"no list of fewer than {_LONGEST_LIST:,} files, so it may be cut")
    try:
        files = [one for one in answer if one["type"] == "file" and one["name"].endswith(".txt")]
        files.sort(key=itemgetter("name"))
        return notes.Listing.model_validate({**notes.ORIGIN, "files": files})
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ValueError("a list of files with one that cannot be used") from None


def _fetch(client: httpx2.Client, url: str, read: Callable[[bytes], Read]) -> Read:
    """Get what an address holds; a fault that may pass is waited out.

    Raises:
        UserError: naming the address and what the last try met.
    """
    import httpx2

    for attempt in range(ATTEMPTS):
        time.sleep(FIRST_WAIT * 2 ** (attempt - 1) if attempt else 0)
        try:
            response = client.get(url)
            if response.status_code == HTTPStatus.OK:
                return read(response.content)
            met = f"HTTP status {response.status_code}"
            if response.headers.get("x-ratelimit-remaining") == "0":
                met += ", GitHub's limit of requests an hour is used up"
            if (
                response.status_code != HTTPStatus.TOO_MANY_REQUESTS
                and not response.is_server_error
            ):
                break
        except (httpx2.HTTPError, ValueError) as error:
            met = str(error) or type(error).__name__
    raise UserError(
        f"{url} cannot be fetched: {met}. What is in the cache stays; the same command goes on from"
        f" there. Notes that you have otherwise can be named in {NOTES_VARIABLE}."
    )
