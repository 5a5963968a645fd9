"""The scored runs that a command is given, and their reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from medeval.commands.graceful_exit import command_of
from medeval.errors import UserError
from medeval.tasks import registry
from medeval.terminal import warn

if TYPE_CHECKING:
    from medeval.models.benchmark_report import BenchmarkReport


def scored_runs(paths: Sequence[Path]) -> list[Path]:
    """Return the runs that are named; of a folder of runs those that are scored.

    Raises:
        UserError: a folder that holds none.
    """
    found: list[Path] = []
    for path in paths:
        below = sorted(each.parent for each in path.glob("*/run.json")) if path.is_dir() else []
        if not below or (path / registry.SCORES).is_file():
            found.append(path)
            continue
        scored = [run for run in below if (run / registry.SCORES).is_file()]
        if not scored:
            raise UserError(f"No run in {path} is scored. `{command_of('score', below[0])}`.")
        if left := len(below) - len(scored):
            warn(f"{left:,} runs of {path} are not scored and left out")
        found += scored
    return found


def read_reports(runs: Sequence[Path]) -> list[BenchmarkReport]:
    """Return the reports of scored runs, or of report files.

    Raises:
        UserError: a run that is not scored, or a file that is no report.
    """
    from medeval.api import read_report

    reports = []
    for path in runs:
        place = path / registry.SCORES if path.is_dir() else path
        if not place.is_file():
            again = command_of("score", "--task", "TASK", path)
            raise UserError(f"There is no {place}. Score the run first: `{again}`.")
        reports.append(read_report(place))
    return reports


def whole_reports(paths: Sequence[Path]) -> list[tuple[Path, BenchmarkReport]]:
    """Return the runs that are named, as `scored_runs` has them, each with its report.

    Raises:
        UserError: items of a run were never asked, so that it has no place beside others; naming
            the run, and how it goes on.
    """
    runs = scored_runs(paths)
    found = list(zip(runs, read_reports(runs), strict=True))
    for path, one in found:
        missing = sum(each.metadata.get("not_asked", 0) for each in one.detailed_results)
        if missing:
            raise UserError(
                f"{missing:,} items of {path} were never asked: it has no place beside others"
                f" before it is whole. `{command_of('run', '--resume', path)}`."
            )
    return found
