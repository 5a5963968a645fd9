"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from medeval.commands.graceful_exit import command_of
from medeval.commands.options import flags_in, with_options
from medeval.errors import UserError
from medeval.tasks import registry


def _report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Folders of scored runs, or BenchmarkReport files (JSON, YAML)."
        ),
    ],
    **given: Any,
) -> None:
    """Write a report of a scored run, or a leaderboard of several: one file that works offline."""
    from medeval.models.benchmark_report import BenchmarkReport
    from medeval.reporting import leaderboard, write_report

    reports = []
    for path in runs:
        place = path / registry.SCORES if path.is_dir() else path
        if not place.is_file():
            score = command_of("score", "--task", "TASK", path)
            raise UserError(f"There is no {place}. Score the run first: `{score}`.")
        try:
            reports.append(BenchmarkReport.from_file(place))
        except ValueError as error:
            raise UserError(f"{place} is no report of a benchmark: {error}") from None
    if len(reports) == 1:
        place = given["out"] or (runs[0] if runs[0].is_dir() else runs[0].parent) / "report.html"
        write_report(reports[0], place, show_text=given["show_text"])
    else:
        for path, one in zip(runs, reports, strict=True):
            for result in one.detailed_results:
                if missing := result.metadata.get("not_asked", 0):
                    raise UserError(
                        f"{missing:,} items of {path} were never asked: it has no place beside"
                        f" others before it is whole. `{command_of('run', '--resume', path)}`."
                    )
        place = given["out"] or Path("leaderboard.html")
        leaderboard(reports).write(place)
    print(place)


report = with_options(_report, flags_in("report_flags.toml"))
