"""The commands `report` and `view`: what came of runs, as files and in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.commands.leaderboard import boards, read_reports
from medeval.commands.options import command_flags
from medeval.commands.progress import graceful_exit
from medeval.errors import UserError, os_error_as
from medeval.inference.run import RESPONSES
from medeval.tasks import registry
from medeval.tasks.run_record import RUNS, options_of, read_record
from medeval.tasks.task import Method
from medeval.terminal import show_results, shown, table_of, warn

if TYPE_CHECKING:
    from medeval.models.benchmark_report import BenchmarkReport


@command_flags("report")
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


@command_flags("view")
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
