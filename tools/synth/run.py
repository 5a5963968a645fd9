"""One synthetic data set from start to end: checks, a staged folder, the note of what it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from medeval import __version__
from medeval.errors import UserError
from synth.files import MARKER, staged_folder
from synth.mimic3 import write_mimic3
from synth.mimic4 import write_mimic4

Generator = Callable[[Path, int, int, int, Callable[[int, int], None]], dict[str, int]]
KINDS: dict[str, Generator] = {"mimic3": write_mimic3, "mimic4": write_mimic4}


def write_synthetic(
    kind: str,
    scale: int,
    seed: int,
    events_per_stay: int,
    out: Path,
    *,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, int]:
    """Write a data set of one kind to the folder `out` and return its tables' row counts.

    Nothing is left at `out` unless all of it could be written.

    Raises:
        UserError: an argument that the generator cannot take, or a folder that is in the way.
    """
    if kind not in KINDS:
        raise UserError(f"Unknown kind {kind!r}. This command makes: {', '.join(KINDS)}.")
    if seed < 0:
        raise UserError(f"--seed {seed} is negative. Give a whole number from 0.")
    if events_per_stay < 1:
        raise UserError(f"--events-per-stay {events_per_stay} is too small. Give 1 or more.")
    with staged_folder(out, replace=replace) as folder:
        rows = KINDS[kind](folder, scale, seed, events_per_stay, progress)
        note = {
            "kind": kind,
            "scale": scale,
            "seed": seed,
            "events_per_stay": events_per_stay,
            "medeval_version": __version__,
            "rows": rows,
        }
        (folder / MARKER).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
    return rows
