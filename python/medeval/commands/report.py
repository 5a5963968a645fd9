"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medeval.commands.leaderboard import read_reports, write_leaderboard
from medeval.commands.options import command_flags
from medeval.errors import UserError
from medeval.tasks.run_record import RUNS
from medeval.terminal import Terminal, print_json, shown, table_of


@command_flags("report")
def report(**given: Any) -> None:
    """Write a report of a run, or a leaderboard of several.

    It is one file that works offline. Runs have to be scored first.
    """
    runs: list[Path] = given["runs"] or []
    if given["list"]:
        _show_runs(runs[0] if runs else RUNS, as_json=given["json"])
        return
    if not runs:
        raise UserError("Name a run, or list them: `report --list`.")
    if len(runs) > 1:
        print(write_leaderboard(runs, given["out"]))
        return
    from medeval.reporting import write_report

    (one,) = read_reports(runs)
    place = given["out"] or (runs[0] if runs[0].is_dir() else runs[0].parent) / "report.html"
    write_report(one, place, show_text=given["show_text"])
    print(place)


def _show_runs(folder: Path, *, as_json: bool) -> None:
    """List the runs of a folder, with the headline metric of those that are scored."""
    from medeval.api import runs

    found = runs(folder).astype(object)
    rows = found.where(found.notna(), None).to_dict("records")
    if as_json:
        print_json(rows)
        return
    columns = ("run", "asked", "answered", "headline", "value")
    cells = [
        (
            row["run"],
            *("" if row[name] is None else f"{row[name]:,.0f}" for name in columns[1:3]),
            row["headline"] or "",
            "" if row["headline"] is None else shown(row["value"]),
        )
        for row in rows
    ]
    Terminal().print(table_of(f"runs in {folder}", columns, cells))
