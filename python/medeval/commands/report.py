"""What came of scored runs: `report`, `leaderboard`, `view` and `publish`.

As files, side by side, in a browser, and in the warehouse.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from medeval.commands.options import command_of
from medeval.commands.progress import graceful_exit
from medeval.errors import UserError, os_error_as
from medeval.inference.journal import read_journal
from medeval.inference.run import RESPONSES
from medeval.tasks import registry
from medeval.tasks.run_record import RUNS, options_of, read_record
from medeval.tasks.task import Method
from medeval.terminal import require_writable, show_results, shown, table_of, warn

if TYPE_CHECKING:
    from medeval.models.benchmark_report import BenchmarkReport
    from medeval.scoring.compare import Difference

_PAGE = Path("leaderboard")
_OUTPUT = Path("-")


def report(**given: Any) -> None:
    """Write a report of a run, or a leaderboard of several.

    It is one file that works offline. Runs have to be scored first.

    `--format tex` writes tables for a paper, and `--figures DIR` its figures.
    """
    runs: list[Path] = given["runs"] or []
    if given["list"]:
        _show_runs(runs[0] if runs else RUNS, as_json=given["json"])
        return
    if not runs:
        raise UserError("Name a run, or list them: `report --list`.")
    from medeval.reporting import write_report
    from medeval.reporting.report import format_named

    is_one, form = len(runs) == 1, given["format"] and format_named(given["format"])
    if given["figures"] is not None:
        from medeval.reporting.figures import require_matplotlib, write_figures

        require_matplotlib()
        if given["figures"].exists() and not given["figures"].is_dir():
            raise UserError(f"--figures {given['figures']} is a file; name a folder.")
    reports = read_reports(runs)
    if is_one:
        folder = runs[0] if runs[0].is_dir() else runs[0].parent
        place = given["out"] or folder / f"report.{form or 'html'}"
        shown = _shown(reports[0], folder, show_text=given["show_text"])
        write_report(path=place, format=form, **shown)
    else:
        place = given["out"] or Path(f"leaderboard.{form or 'html'}")
        boards(runs).write(place, form)
    print(place)
    if given["figures"] is not None:
        names = [""] if is_one else [path.resolve().stem for path in runs]
        if len(set(names)) < len(names):
            names = [f"{place}_{name}" for place, name in enumerate(names, start=1)]
        for name, one in zip(names, reports, strict=True):
            files = write_figures(one, given["figures"], name)
            if not files:
                warn(f"{name or one.model_id}: there is nothing to draw, as no score has a value.")
            print(*files, sep="\n", end="\n" * bool(files))


def view(**given: Any) -> None:
    """Show the runs of a folder in a browser on this machine.

    No other machine is answered, and nothing is written. End it with Ctrl-C.
    """
    from medeval.commands.page_server import Viewer  # no other command waits for the server

    folder = given["folder"]
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}. Name the folder of runs.")
    with os_error_as(f"Port {given['port']} cannot be used: {{why}}."):
        server = Viewer(folder, given["port"], show_text=given["show_text"])
    with server, graceful_exit(lambda: "stopped"):
        print(server.address, flush=True)
        server.serve_forever()


def page_of(report: BenchmarkReport, folder: Path, *, show_text: bool = False) -> str:
    """Return the page of a run's report."""
    from medeval.reporting.report import rendered

    return rendered(format="html", **_shown(report, folder, show_text=show_text))


def _shown(report: BenchmarkReport, folder: Path, *, show_text: bool) -> dict[str, Any]:
    """Return a report with what it does not say: its benchmarks, its run's options, closed texts.

    These texts, which the file of a run leaves out, are in its folder and its data; another report
    stays as it is.

    Raises:
        UserError: the data are not there any more, or are others.
    """
    from medeval.models.benchmark_report import GOLD, VERDICTS
    from medeval.reporting.report import may_show_text

    abouts = {task: registry.about(task) for task in report.results_by_task()}
    told = {"show_text": show_text, "abouts": abouts, "asked_with": options_of(folder)}
    results = report.detailed_results
    is_whole = not show_text or all(map(may_show_text, results))
    is_alone = is_whole or len(results) != 1 or not (folder / RESPONSES).is_file()
    # Code in a file is run only where that is named.
    if is_alone or (record := read_record(folder)).asked_task:
        return {"report": report, **told}
    method = Method(n_iters=0, show_text=True)
    scored = registry.resume(record).score(folder, method).result
    kept = {name: scored.metadata[name] for name in (GOLD, VERDICTS) if name in scored.metadata}
    texts = {"inputs": scored.inputs, "model_outputs": scored.model_outputs}
    whole = results[0].model_copy(update={**texts, "metadata": {**results[0].metadata, **kept}})
    return {"report": report.model_copy(update={"detailed_results": [whole]}), **told}


def _show_runs(folder: Path, *, as_json: bool) -> None:
    """List the runs of a folder, with the headline metric of those that are scored."""
    from medeval.api import run_rows

    rows = run_rows(folder)
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
    table = table_of(f"runs in {folder}", columns, cells)
    show_results([table], [], content=rows, as_json=as_json)
    warn(*(row["fault"] for row in rows if "fault" in row and not as_json))


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
