"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medeval.errors import UserError

if TYPE_CHECKING:
    from medeval.models.benchmark_report import BenchmarkReport

SCORES = "scores.json"


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Folders of scored runs, or BenchmarkReport files (JSON, YAML)."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file, by its suffix .html, .md, .csv, .json or .yaml. Default: report.html in"
            " the run's folder; of several, leaderboard.html here."
        ),
    ] = None,
    show_text: Annotated[
        bool,
        typer.Option("--show-text", help="Also show what was asked and answered."),
    ] = False,
) -> None:
    """Write a report of a scored run, or a leaderboard of several: one file that works offline."""
    from medeval.reporting import leaderboard, write_report

    reports = [_read(path) for path in runs]
    if len(reports) == 1:
        place = out or (runs[0] if runs[0].is_dir() else runs[0].parent) / "report.html"
        write_report(reports[0], place, show_text=show_text)
    else:
        for path, one in zip(runs, reports, strict=True):
            for result in one.detailed_results:
                if missing := result.metadata.get("not_asked", 0):
                    raise UserError(
                        f"{missing:,} items of {path} were never asked: it has no place beside"
                        " others before it is whole."
                        f" `python -m medeval run --resume {path}`."
                    )
        place = out or Path("leaderboard.html")
        leaderboard(reports).write(place)
    print(place)


def _read(path: Path) -> BenchmarkReport:
    from medeval.models.benchmark_report import BenchmarkReport

    place = path / SCORES if path.is_dir() else path
    if not place.is_file():
        raise UserError(
            f"There is no {place}. Score the run first: `python -m medeval score --task TASK"
            f" {path}`."
        )
    try:
        return BenchmarkReport.from_file(place)
    except ValueError as error:
        raise UserError(f"{place} is no report of a benchmark: {error}") from None
