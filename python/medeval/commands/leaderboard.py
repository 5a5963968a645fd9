"""The commands `leaderboard` and `publish`: scored runs side by side, as a page or as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from medeval.commands.options import command_flags, command_of
from medeval.errors import UserError
from medeval.inference.journal import read_journal
from medeval.inference.run import RESPONSES
from medeval.tasks import registry
from medeval.tasks.task import Method
from medeval.terminal import require_writable, warn

if TYPE_CHECKING:
    from medeval.models.benchmark_report import BenchmarkReport
    from medeval.scoring.compare import Difference

_PAGE = Path("leaderboard")
_OUTPUT = Path("-")


@command_flags("leaderboard")
def leaderboard(**given: Any) -> None:
    """Set scored runs side by side: HTML, Markdown or CSV.

    Models that no test tells apart share a letter. Runs on other data get a table of their own.
    """
    out, form = given["out"], given["format"]
    if out not in (None, _OUTPUT):
        require_writable(out)
    made = boards(given["runs"], by=given["by"], seed=given["seed"])
    if out == _OUTPUT:
        # A carriage return would be written out.
        print(made.rendered(form or "md").replace("\r\n", "\n"), end="")
        return
    place = out or _PAGE.with_suffix(f".{form or 'html'}")
    made.write(place, form)
    print(place)


def boards(runs: Sequence[Path], **how: Any) -> Any:
    """Return the tables of several runs.

    Raises:
        UserError: a run is not scored or not whole, or cannot be ranked.
    """
    from medeval.reporting.leaderboard import leaderboards

    by_report: dict[int, Path] = {}
    reports: list[BenchmarkReport] = []
    for place, report in whole_reports(runs):
        report.metadata.setdefault("median_seconds", _median_seconds(place))
        by_report[id(report)] = place
        reports.append(report)

    def compare(some: Sequence[BenchmarkReport], task: str, metric: str) -> Sequence[Difference]:
        # A report may come from others, who may not decide what code is run.
        if task not in registry.names():
            return ()
        kind, runs = registry.task_class(task), [by_report[id(one)] for one in some]
        method = Method(kind.N_ITERS, how.get("seed") or 0)
        found = kind.compare_files(runs, task, [metric], method)
        return found.differences if found else ()

    return leaderboards(reports, **how, compare=compare)


@command_flags("publish")
def publish(**given: Any) -> None:
    """Put the scores of runs into the warehouse.

    They become rows of results.published_scores; `dbt build --select results` ranks them.
    """
    from medeval.published import replace_runs
    from medeval.reporting.entries import published_rows

    rows = published_rows(whole_reports(given["runs"]))
    for run_id, before in replace_runs(rows, given["target"]).items():
        instead = f", in place of {before:,}" if before else ""
        print(f"published {run_id}: {len(rows[run_id]):,} rows{instead}")


def _median_seconds(run: Path) -> float | None:
    """Return how long an item of a run took; None where that was not measured."""
    journal = run / RESPONSES
    if not journal.is_file():
        return None
    measured = {
        (line["item"], line["sample"]): line["measured"].get("seconds")
        for line in read_journal(journal)
    }
    known = [seconds for seconds in measured.values() if seconds is not None]
    return round(median(known), 3) if known else None


def whole_reports(paths: Sequence[Path]) -> list[tuple[Path, BenchmarkReport]]:
    """Return the runs that are named, of folders of runs those that are scored, and their reports.

    Raises:
        UserError: a folder in which no run is scored, or items of a run were never asked, so that
            it has no place beside others; naming the run, and how it goes on.
    """
    runs: list[Path] = []
    for path in paths:
        below = sorted(each.parent for each in path.glob("*/run.json")) if path.is_dir() else []
        if not below or (path / registry.SCORES).is_file():
            runs.append(path)
            continue
        scored = [run for run in below if (run / registry.SCORES).is_file()]
        if not scored:
            raise UserError(f"No run in {path} is scored. `{command_of('score', below[0])}`.")
        if left := len(below) - len(scored):
            warn(f"not scored and left out: {left:,} of {len(below):,} runs in {path}")
        runs += scored
    found = list(zip(runs, read_reports(runs), strict=True))
    for path, one in found:
        missing = sum(each.metadata.get("not_asked", 0) for each in one.detailed_results)
        if missing:
            raise UserError(
                f"{missing:,} items of {path} were never asked: it has no place beside others"
                f" before it is whole. `{command_of('run', '--resume', path)}`."
            )
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
        if not path.exists():
            known = command_of("report", "--list")
            raise UserError(f"There is no {path}. Name a run; `{known}` lists them.")
        if not place.is_file():
            again = command_of("score", path)
            raise UserError(f"There is no {place}. Score the run first: `{again}`.")
        reports.append(read_report(place))
    return reports
