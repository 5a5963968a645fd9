"""One synthetic data set from start to end: checks, a staged folder, the note of what it is."""

from __future__ import annotations

import json
from pathlib import Path

from medeval import __version__
from medeval.errors import UserError
from synth import mimic3, mimic4
from synth.files import MARKER, Progress, staged_folder

# What writes a kind, the scales that it takes, and what they count.
KINDS = {
    "mimic3": (mimic3.write, mimic3.SCALES, "patients", " (MIMIC-III's subject ids end there)"),
    "mimic4": (mimic4.write, mimic4.SCALES, "admissions of interest", ""),
}


def write_synthetic(
    kind: str,
    scale: int,
    seed: int,
    events_per_stay: int,
    out: Path,
    *,
    replace: bool = False,
    progress: Progress = lambda done, total: None,
) -> dict[str, int]:
    """Write a data set of one kind to the folder `out` and return its tables' row counts.

    The same arguments give the same bytes. Nothing is left at `out` unless all of it could be
    written.

    Args:
        kind: ``mimic3`` or ``mimic4``.
        scale: the number of patients, for ``mimic4`` of admissions of interest.
        seed: any number from 0.
        events_per_stay: about how many chart events an ICU stay has on average, for ``mimic4``
            laboratory results an admission.
        out: a folder that is not there yet, or empty.
        replace: a folder that this function wrote is replaced.
        progress: called now and then with what is done and in all.

    Raises:
        UserError: an argument that the generator cannot take, or a folder that is in the way.
    """
    if kind not in KINDS:
        raise UserError(f"Unknown kind {kind!r}. This command makes: {', '.join(KINDS)}.")
    write, scales, counted, why = KINDS[kind]
    if scale not in scales:
        raise UserError(
            f"--scale {scale} is not possible. Give a number of {counted} from {scales[0]} to "
            f"{scales[-1]}{why}."
        )
    if seed < 0:
        raise UserError(f"--seed {seed} is negative. Give a whole number from 0.")
    if events_per_stay < 1:
        raise UserError(f"--events-per-stay {events_per_stay} is too small. Give 1 or more.")
    note = {"kind": kind, "scale": scale, "seed": seed, "events_per_stay": events_per_stay}
    with staged_folder(out, replace=replace) as folder:
        rows = write(folder, scale, seed, events_per_stay, progress)
        text = json.dumps({**note, "medeval_version": __version__, "rows": rows}, indent=2)
        (folder / MARKER).write_text(text + "\n", encoding="utf-8")
    return rows
