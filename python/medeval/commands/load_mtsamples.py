"""The procedure notes of `load mtsamples`: fetched into the cache, or loaded into PostgreSQL."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from medeval.commands.load import say
from medeval.errors import UserError

NOTES_VARIABLE = "MEDEVAL_MTSAMPLES"


def download_notes(named: Path | None, cache_dir: Path | None) -> None:
    """Make the cache folder hold the public notes.

    Raises:
        UserError: DIR is named, or the download fails; what was fetched stays.
    """
    from rich.console import Console
    from rich.progress import Progress

    from medeval.mtsamples.download import CACHE_VARIABLE, cache_folder, download

    if named is not None:
        raise UserError("--download fills the cache folder: name it with --cache-dir, not as DIR.")
    cache = cache_folder(cache_dir)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("notes", total=None)
        done = download(
            cache,
            watch=lambda count, total: progress.update(bar, completed=count, total=total),
        )
    print(f"{done.notes}: {done.files:,} notes, {done.fetched:,} of them fetched now.")
    print(f"Name {cache} in {CACHE_VARIABLE}, then `dbt build --select mtsamples`.")
    if os.environ.get(NOTES_VARIABLE):
        say(f"medeval: {NOTES_VARIABLE} is set and is read first; unset it to use the download.")


def load_notes(
    named: Path | None,
    cache_dir: Path | None,
    schema: str | None,
    replace: bool,
    target: str,
    root: Path,
) -> None:
    """Load the notes of a folder or file into PostgreSQL.

    Raises:
        UserError: two places are named, notes that cannot be read, or a database that refuses.
    """
    from medeval.mtsamples.notes import SOURCE, note_rows, read_notes
    from medeval.profile import load_target, project_variable
    from medeval.row_loading import load_rows

    place = _place_of_notes(named, cache_dir, root)
    rows = note_rows(read_notes(place))
    chosen = schema or str(project_variable(SOURCE.schema_variable, root))
    loaded = load_rows(rows, SOURCE, load_target(target, root), chosen, replace=replace, say=say)
    print(f"{place}: {loaded.rows:,} notes.")
    print(f"{chosen}.notes: `dbt build --select mtsamples --target {target}`.")


def _place_of_notes(named: Path | None, cache_dir: Path | None, root: Path) -> Path:
    """Return where the notes are: as the models find them, else the demo's."""
    from medeval.mtsamples.download import CACHE_VARIABLE

    if named is not None and cache_dir is not None:
        raise UserError("Name DIR or --cache-dir, not both.")
    variables = (NOTES_VARIABLE, CACHE_VARIABLE)
    for place in (named, cache_dir, *(os.environ.get(name) for name in variables)):
        if place:
            return Path(place).expanduser()
    demo = root / "demo" / "mtsamples"
    say(f"No DIR and none of {', '.join(variables)}: loading the synthetic demo, {demo}.")
    return demo
