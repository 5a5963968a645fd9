"""`load mtsamples`: the procedure notes, fetched into the cache or loaded into PostgreSQL."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from medeval.errors import UserError
from medeval.load import LoadRequest
from medeval.sources import Source

NOTES_VARIABLE = "MEDEVAL_MTSAMPLES"
SOURCE = Source(
    "mtsamples", "mtsamples", "mtsamples_schema", {"notes": ("filename", "text", "data_class")}
)


@dataclass(frozen=True)
class Options:
    """Where the public notes are."""

    download: Annotated[
        bool,
        typer.Option(
            "--download",
            help="mtsamples: get the public notes into the cache folder, and load nothing.",
        ),
    ] = False
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            help="mtsamples: the cache folder to load from, or to fill. Default with --download:"
            " MTSAMPLES_PROCEDURES_CACHE_DIR, else ~/.cache/mtsamples_procedures."
        ),
    ] = None

    @property
    def instead(self) -> str:
        """The flag by which nothing is loaded."""
        return "--download" if self.download else ""


def load(request: LoadRequest, options: Options) -> None:
    """Make the cache folder hold the public notes, or load notes into PostgreSQL.

    Raises:
        UserError: two places are named, notes that cannot be read, a database that refuses, or a
            download that fails; what was fetched stays.
    """
    if options.download:
        _download(request, options.cache_dir)
        return
    from medeval.load import load_rows
    from medeval.tasks.mtsamples.notes import read_notes

    place = _place_of_notes(request, options.cache_dir)
    rows = ((note.filename, note.text, note.data_class) for note in read_notes(place).notes)
    loaded = load_rows(rows, SOURCE, request)
    print(f"{place}: {loaded.rows:,} notes.")
    print(f"{loaded.schema}.notes: `dbt build --select mtsamples --target {request.target}`.")


def _download(request: LoadRequest, cache_dir: Path | None) -> None:
    from rich.console import Console
    from rich.progress import Progress

    from medeval.tasks.mtsamples.download import CACHE_VARIABLE, cache_folder, download
    from medeval.tasks.mtsamples.notes import NOTES_FOLDER

    if request.place is not None:
        raise UserError("--download fills the cache folder: name it with --cache-dir, not as DIR.")
    cache = cache_folder(cache_dir)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("notes", total=None)
        files, fetched = download(
            cache,
            watch=lambda count, total: progress.update(bar, completed=count, total=total),
        )
    print(f"{cache / NOTES_FOLDER}: {files:,} notes, {fetched:,} of them fetched now.")
    print(f"Name {cache} in {CACHE_VARIABLE}, then `dbt build --select mtsamples`.")
    if os.environ.get(NOTES_VARIABLE):
        request.say(
            f"medeval: {NOTES_VARIABLE} is set and is read first; unset it to use the download."
        )


def _place_of_notes(request: LoadRequest, cache_dir: Path | None) -> Path:
    """Return where the notes are: as the models find them, else the demo's."""
    from medeval.tasks.mtsamples.download import CACHE_VARIABLE

    if request.place is not None and cache_dir is not None:
        raise UserError("Name DIR or --cache-dir, not both.")
    variables = (NOTES_VARIABLE, CACHE_VARIABLE)
    for place in (request.place, cache_dir, *(os.environ.get(name) for name in variables)):
        if place:
            return Path(place).expanduser()
    demo = request.root / "demo" / "mtsamples"
    request.say(f"No DIR and none of {', '.join(variables)}: loading the synthetic demo, {demo}.")
    return demo
