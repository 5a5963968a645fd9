"""The commands `score` and `compare`: one run, prediction file or submission, and several by pairs.

Both find the task and how it is scored by the same flags; see `meant`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from medeval.commands.options import command_of, flag, given_options
from medeval.errors import UserError
from medeval.inference.journal import read_journal
from medeval.inference.run import RESPONSES, RUN
from medeval.tasks import registry
from medeval.tasks.options import read_options
from medeval.tasks.run_record import facts_of_run, read_record, warning_of_cut_prompts
from medeval.tasks.task import AskedTask, Comparison, Method, Task, TaskScore
from medeval.terminal import interval, require_writable, show_results, shown, table_of, warn

if TYPE_CHECKING:
    from medeval.scoring.compare import Difference

NOT_EQUAL = "What cannot be told apart need not be equal: these data do not say."


def score(context: typer.Context, **given: Any) -> None:
    """Score predictions or a model's answers, with intervals.

    The values come as a table and as JSON.

    `score --task NAME --help` also shows what can be chosen about that task.

    python -m medeval score runs/20260102T030405Z-yier-demo

    python -m medeval score --task phenotyping predictions.csv --by sex
    """
    # Here, not above: every other command starts without these.
    from medeval.tasks.for_reports import group_tables, report_of

    given |= context.obj["options"]
    path: Path | None = given["path"]
    name, kind, method = meant(given, path, "the folder of a run")
    if path is None:
        path = kind.newest(name, method)
        warn(f"scoring {path}")
    folder = path if path.is_dir() else None
    if folder is not None and issubclass(kind, AskedTask):
        record = read_record(folder, name)
        task = registry.resume(record, given["moved"], given["task"])
        scored = task.score(folder, method)
        warning = warning_of_cut_prompts(task.items(record.limit), read_journal(folder / RESPONSES))
        scored = replace(scored, warnings=[*scored.warnings, *filter(None, [warning])])
    else:
        scored = kind.score_file(path, name, method)
    report = f"{report_of(scored).to_json(indent=2)}\n"
    missing, left = scored.result.metadata.get("not_asked", 0), ""
    if missing:
        again = resume_again(path, given["moved"])
        left = f"{missing:,} items were never asked and count as not answered; go on with `{again}`"
    more = [*group_tables(scored, method.groupings, scored.tables), *scored.tables]
    table, ends = _values_of(scored)
    show_results(
        [table, *(table_of(one.title, one.columns, one.rows) for one in more)],
        [*scored.notes, *ends],
        warnings=scored.warnings,
        files={} if folder is None else {folder / registry.SCORES: report},
        out=None if given["json"] else given["out"] or scored.place,
        left=left,
        content=json.loads(report) if scored.file is None else scored.file,
        bare_nan=scored.bare_nan,
        as_json=given["json"],
    )
    if missing:
        raise typer.Exit(1)


def resume_again(folder: Path, moved: Mapping[str, Any]) -> str:
    """Return the command that asks what a run was never asked, with its data where they are now."""
    named = {flag(name): str(value) for name, value in moved.items()}
    return command_of("run", "--resume", folder, named=named)


def meant(
    given: dict[str, Any], path: Path | None, otherwise: str
) -> tuple[str, type[Task], Method]:
    """Return the task that is meant, as it is recorded, its class, and how it is scored.

    Args:
        given: the flags; where JSON is wanted `out` becomes None, and `moved` are the options
            for data that are elsewhere now.
        path: a run, if one is named.
        otherwise: what can be named in place of a task.

    Raises:
        UserError: no task, an option that cannot be meant, or no place for the results.
    """
    given["json"] = given["json"] or str(given["out"]) == "-"
    if given["json"]:
        given["out"] = None
    elif given["out"] is not None:
        require_writable(given["out"])
    named = given["task"] or (path and registry.task_of(path))
    if not named and path and (path / RUN).is_file():
        read_record(path)  # says what is wrong with it
    if not named:
        raise UserError(f"Name a task with --task, or {otherwise}.")
    name = registry.recorded_name(named) if given["task"] else named
    kind = registry.task_class(registry.canonical_name(named))
    given["moved"] = {one: given[one] for one in kind.MOVED if given.get(one) is not None}
    groupings = [one.strip() for entry in given.get("by") or [] for one in entry.split(",")]
    method = Method(
        kind.N_ITERS if given["n_iters"] is None else given["n_iters"],
        given["seed"],
        tuple(dict.fromkeys(filter(None, groupings))),
        given["cluster"],
        kind.MIN_CELL if given.get("min_cell") is None else given["min_cell"],
        read_options(kind.ScoreOptions, given_options(kind.ScoreOptions, given), name),
    )
    return name, kind, method


def _values_of(scored: TaskScore) -> tuple[Table, list[str]]:
    """Return the values of a score that has been made a report, the headline first.

    Below them what became of the items, and of the verdicts.
    """
    result, told, said = scored.result, scored.result.metadata, []
    has_undefined = bool(told.get("undefined"))
    has_coverage = any("coverage" in about for about in told["metrics"].values())
    bold, rows = None, list[list[str]]()
    for name, about in told["metrics"].items():
        value, one = result.metrics_results.get(name), (result.intervals or {}).get(name)
        if value is not None and name in scored.said_again:
            continue
        bold = len(rows) if name == scored.headline else bold
        cells = [about.get("label", name), shown(value), interval(one.low, one.high) if one else ""]
        cells.append(f"{about['n']:,}" if "n" in about else "")
        cells += [f"{about['n_undefined']:,}"] * has_undefined
        cells += [f"{about['coverage']:.2f}" if "coverage" in about else ""] * has_coverage
        rows.append(cells)
    columns = ["metric", "value", "95 % interval", "n", *["missing"] * has_undefined]
    columns += ["coverage"] * has_coverage
    table = table_of(f"{result.task_id}: {result.model_id}", columns, rows, names=1)
    if bold is not None:
        table.rows[bold].style = "bold"
    if ledger := told.get("ledger"):
        ends = ", ".join(f"{name} {count:,}" for name, count in ledger.items() if count)
        said.append(f"items: {ends}")
    if judging := told.get("judging"):
        blank = ", ".join(f"{count:,} {why}" for why, count in judging["not_judged"].items())
        said.append(
            f"verdicts: {judging['ok']:,} complete, {judging['partial']:,} partial,"
            f" {judging['failed']:,} failed{f'; not judged, earn 0: {blank}' if blank else ''}"
        )
    return table, said


def compare(context: typer.Context, **given: Any) -> None:
    """Compare runs or predictions: which is better?

    Or can they not be told apart?

    All are scored on the same resamples. p values are corrected for the number of comparisons
    (Holm: all pairs, all metrics).
    """
    # Here, not above: every other command starts without these.
    from medeval.scoring.compare import pair_sentences, sentence

    given |= context.obj["options"]
    runs: list[Path] = given["runs"]
    name, kind, method = meant(given, runs[0], "folders of runs")
    found = kind.compare_files(runs, name, given["metric"] or [], method)
    found = found or _of_runs(name, runs, method, given)
    # A letter for each run, in the order in which they were named; after Z R27 and so on.
    named = dict.fromkeys(run for one in found.differences for run in (one.first, one.second))
    letters = {run: chr(65 + at) if at < 26 else f"R{at + 1}" for at, run in enumerate(named)}
    tables, said, comparisons = [], [], []
    for pair in dict.fromkeys((one.first, one.second) for one in found.differences):
        of_pair = [one for one in found.differences if (one.first, one.second) == pair]
        first, second = (letters[run] for run in pair)
        tables.append(_pair_table((first, second), of_pair, found))
        short = [replace(one, first=first, second=second) for one in of_pair]
        said += pair_sentences(short, found.names)
    for one in found.differences:
        about = {**asdict(one), "sentence": sentence(one)}
        # Predictions have the same rows for all metrics.
        comparisons.append({key: about[key] for key in about if (key, about[key]) != ("n", None)})
    content = {**found.content, "comparisons": comparisons}
    legend = [f"{letter}: {run}" for run, letter in letters.items()]
    show_results(
        tables,
        [*legend, *said, *found.sentences, NOT_EQUAL],
        warnings=found.warnings,
        out=given["out"],
        content=content,
        as_json=given["json"],
    )


def _of_runs(
    name: str, folders: Sequence[Path], method: Method, given: Mapping[str, Any]
) -> Comparison:
    """Compare runs of models on what both of a pair were asked.

    Raises:
        UserError: fewer than two runs, runs of other tasks or data, one that is not whole, or a
            metric that there is not.
    """
    from medeval.scoring.compare import corrected

    if len(folders) < 2:
        raise UserError("Name two runs or more to compare.")
    metrics, moved = given["metric"] or [], given["moved"]
    records = [read_record(folder, name) for folder in folders]
    runs = [(record, registry.resume(record, moved, given["task"])) for record in records]
    for record, asked in runs:
        if missing := facts_of_run(record, asked.items(record.limit))["not_asked"]:
            raise UserError(
                f"{missing:,} items of {record.folder} were never asked: it cannot be compared"
                f" before it is whole. `{resume_again(record.folder, moved)}`."
            )
    found = corrected(
        [
            replace(difference, first=str(one.folder), second=str(two.folder))
            for (one, asked), (two, other) in combinations(runs, 2)
            for difference in asked.compare(one.folder, other, two.folder, method)
            if not metrics or difference.metric in metrics
        ]
    )
    if unknown := [one for one in metrics if one not in {each.metric for each in found}]:
        raise UserError(f"--metric {unknown[0]}: the runs cannot be compared by it.")
    said = (
        f"{method.n_iters:,} paired resamples of the items, seed {method.seed}; p values by random"
        f" exchanges, corrected for {len(found):,} comparisons (Holm)"
    )
    content = {"task": name, "comparisons": [], "n_iters": method.n_iters, "seed": method.seed}
    content["correction"] = "Holm over all pairs and metrics"
    return Comparison(found, [said], content)


def _pair_table(
    letters: tuple[str, str], of_pair: Sequence[Difference], found: Comparison
) -> Table:
    """Return a table of one pair: a row a metric, runs by their letters."""
    from medeval.scoring.compare import shown_p

    pair = of_pair[0].first, of_pair[0].second
    areas = {metric: p for (*names, metric), p in found.areas.items() if (*names,) == pair}
    has_n = any(one.n is not None for one in of_pair)
    rows = []
    for one in of_pair:
        p_values = [one.adjusted_p, *[areas.get(one.metric)] * bool(areas)]
        cells = [
            found.names.get(one.metric, one.metric),
            *map(shown, (one.first_value, one.second_value, one.difference)),
            interval(one.low, one.high),
            *("" if p is None else shown_p(p).replace("below ", "<") for p in p_values),
        ]
        rows.append(cells + ["" if one.n is None else f"{one.n:,}"] * has_n)
    # Broken by hand, so that all fits a terminal of 80 columns.
    columns = ["metric", *letters, " - ".join(letters), "95 % interval", "p\n(Holm)"]
    columns += [*["DeLong\n(Holm)"] * bool(areas), *["n"] * has_n]
    table = table_of(" and ".join(letters), columns, rows, names=1)
    table.title_justify = "left"
    return table
