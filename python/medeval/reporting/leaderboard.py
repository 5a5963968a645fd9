"""Reports set side by side: on the same tasks with the same content, or in tables of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.text_files import table_for_spreadsheets, write_text
from medeval.reporting import entries
from medeval.reporting.report import LINE_CELLS, Line, format_named, page, said

FORMATS = ("md", "csv", "html")

_HEADER = (
    *("rank", "model", "score", *LINE_CELLS, "n_tasks", "direction", "tasks", "letters"),
    *("content_sha256", "data_sha256", "run", "made_at", "cost", "median_seconds"),
)


@dataclass(frozen=True)
class Row:
    """One model.

    Attributes:
        rank: its place by the ranking score; equal values share one.
        model: its name, with the run where one name comes twice.
        cells: score to its mean over the tasks of its column.
        by_task: task to the ranking score of that task alone.
        model_id: its name.
        run_id: of its run; None if the report does not say.
        made_at: when the report was made, in UTC.
        failed: ids of its tasks that failed.
        cost: of its answers; None if a part of it is not known.
        median_seconds: of an item; None where the run does not know.
        letters: which it shares with those that no test tells apart from it.
    """

    rank: int
    model: str
    cells: Mapping[str, Line]
    by_task: Mapping[str, Line]
    model_id: str
    run_id: str | None
    made_at: datetime
    failed: Sequence[str]
    cost: str | None
    median_seconds: float | None
    letters: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """Models by rank, over the tasks that all of them have scores for.

    Attributes:
        by: the score that ranks.
        columns: score to the tasks that it is a mean over, the ranking score first.
        rows: the models, the best first.
        notes: what a reader has to know: tasks left out, and why.
        directions: score to which way is better, where that is known.
        hashes: task to what it is by its hashes, shortened.
    """

    by: str
    columns: Mapping[str, Sequence[str]]
    rows: Sequence[Row]
    notes: Sequence[str]
    directions: Mapping[str, str]
    hashes: Mapping[str, Mapping[str, str]]

    @property
    def tasks(self) -> Sequence[str]:
        """Those that the ranking score is a mean over."""
        return self.columns[self.by]

    @property
    def newest(self) -> Mapping[str, Row]:
        """By model the run that was scored last."""
        rows = sorted(self.rows, key=lambda row: (row.made_at, row.run_id or ""))
        return {row.model_id: row for row in rows}

    def write(self, path: str | Path) -> None:
        """Write the board to a file: .md, .html, or .csv with one line for each model and score.

        Raises:
            UserError: another suffix.
        """
        Boards([self], []).write(path)


@dataclass(frozen=True)
class Boards:
    """One table or several: what cannot be compared stands in tables of its own.

    Attributes:
        boards: the tables.
        reasons: why what looks alike stands apart, in sentences.
    """

    boards: Sequence[Leaderboard]
    reasons: Sequence[str]

    def title(self, place: int, *tasks: str) -> str:
        """Return what the table at a place is of, with its number if a task has more than one.

        Args:
            place: of the table, from 0.
            tasks: some of its tasks; without any all of them.
        """
        named = tasks or self.boards[place].tasks
        alike = [at for at, one in enumerate(self.boards) if not {*one.tasks}.isdisjoint(named)]
        number = f" ({alike.index(place) + 1} of {len(alike)})" if len(alike) > 1 else ""
        return ", ".join(named) + number

    def write(self, path: str | Path, form: str | None = None) -> None:
        """Write the tables to a file, in the format that is named or that its suffix is.

        Raises:
            UserError: there is no such format.
        """
        place = Path(path)
        write_text(place, self.rendered(form or place.suffix, str(place)))

    def rendered(self, form: str, called: str = "") -> str:
        """Return the tables as text.

        Args:
            form: md, csv or html.
            called: the file, for messages.

        Raises:
            UserError: there is no such format.
        """
        listed = ", ".join(FORMATS)
        otherwise = f"{called or form}: a leaderboard is written as {listed}: name such a format."
        kind = format_named(form, FORMATS, otherwise)
        if kind != "csv":
            return page(f"board.{kind}", of=self)
        return table_for_spreadsheets(
            _HEADER,
            [
                _csv_row(board, row, name, cell)
                for board in self.boards
                for row in board.rows
                for name, cell in row.cells.items()
            ],
        )


def leaderboards(
    reports: Sequence[BenchmarkReport], *, by: str | None = None, **how: Any
) -> Boards:
    """Set reports side by side: each in the first table that it can be compared with.

    There it shares a task, and the content of every task and how it was scored are the same.

    Args:
        reports: as `leaderboard` takes them.
        by: the score that ranks, in each table that has it.
        how: `seed` and `compare`, as `leaderboard` takes them.

    Raises:
        UserError: as `leaderboard`, but for content that differs; or no table has `by`.
    """
    groups: list[list[BenchmarkReport]] = []
    for report in reports:
        home = next((group for group in groups if _fits(group, report)), [])
        if not home:
            groups.append(home)
        home.append(report)
    has_it = [
        by is None or all(by in scores for one in group for scores in one.task_scores.values())
        for group in groups
    ]
    # Where no table has it, the first one says so.
    boards = [
        leaderboard(group, by=by if has or not any(has_it) else None, **how)
        for group, has in zip(groups, has_it, strict=True)
    ]
    reasons = [
        entries.NOTES["apart"].format(task_id=task_id, what=what, ways=" and ".join(ways))
        for (task_id, what), ways in entries.ways_of(chain(*groups)).items()
        if len(ways) > 1
    ]
    return Boards(boards or [leaderboard([])], reasons)


def leaderboard(
    reports: Sequence[BenchmarkReport],
    *,
    by: str | None = None,
    seed: int = 0,
    compare: entries.Compare | None = None,
) -> Leaderboard:
    """Set reports side by side.

    Each score is a mean over the tasks for which every report has it, so that no model gains by a
    task that it did not do. Categories and combined scores are there if all reports make them of
    the same parts.

    Args:
        reports: one for each model, or several runs of one.
        by: the score that ranks; by default the combined one, else the first that all have.
        seed: of the tests behind the letters.
        compare: compares all pairs by a task and metric, where reports keep no scores of items.

    Raises:
        UserError: no report, the content of a task differs or is not known, or how it was scored,
            nothing is common to all, or a report lacks the score that ranks.
    """
    if not reports:
        raise UserError("A leaderboard needs at least one report.")
    _check(reports)
    runs = [entries.Entry(report) for report in reports]
    columns = _columns(runs)
    if not columns:
        raise UserError("The reports have no score of any task in common.")
    # The combined score, else what all tasks name as their headline, else the first.
    results = [one for report in reports for one in report.detailed_results]
    headlines = {str(one.metadata.get("headline", "")) for one in results}
    usual = [str(runs[0].combined.get("name")), *(headlines if len(headlines) == 1 else ())]
    ranking = by or next((name for name in usual if name in columns), next(iter(columns)))
    if ranking not in columns:
        raise UserError(f"Not all reports have {ranking!r}. They share {', '.join(columns)}.")
    columns = {ranking: columns[ranking], **columns}
    directions = {name: entries.direction_of(results, name) for name in columns}
    directions[ranking] = directions[ranking] or "higher"
    sign = 1 if directions[ranking] == "lower" else -1
    of_tasks = columns[ranking]
    cells = [{name: entry.cell(name, columns[name]) for name in columns} for entry in runs]
    named = sorted(
        zip(entries.names_of(reports), runs, cells, strict=True),
        key=lambda one: (sign * (one[2][ranking].value or 0.0), one[0]),
    )
    values = [own[ranking].value for *_, own in named]
    by_name, how = {name: entry for name, entry, _ in named}, (of_tasks, directions[ranking])
    letters, why = entries.shared_letters(by_name, ranking, *how, seed=seed, compare=compare)
    rows = [
        Row(
            values.index(own[ranking].value) + 1,
            *(name, own, {task_id: entry.cell(ranking, [task_id]) for task_id in of_tasks}),
            letters=letters.get(name, ""),
            **entries.facts_of(entry.report),
        )
        for name, entry, own in named
    ]
    notes = [*([entries.NOTES["letters"]] if letters else []), *why, *_notes(runs, columns, rows)]
    return Leaderboard(
        *(ranking, columns, rows, notes),
        {name: one for name, one in directions.items() if one},
        entries.hashes_of(reports, {task_id for tasks in columns.values() for task_id in tasks}),
    )


def _check(reports: Sequence[BenchmarkReport]) -> None:
    """Refuse scores of other content, by other rules or judges, and a task without its headline.

    Another score would take the place of a headline that is missing.
    """
    for report in reports:
        whose = f"The report of {report.model_id!r}"
        hashed = {one.task_id for one in report.detailed_results if one.metadata.get("task_hash")}
        for task_id, scores in report.task_scores.items():
            if scores and task_id not in hashed and len(reports) > 1:
                raise UserError(
                    f"{whose} does not say which content of task {task_id!r} it scored"
                    " (task_hash). Evaluate it anew."
                )
        for result in report.detailed_results:
            task_id, about = result.task_id, result.metadata
            name = str(about.get("headline", ""))
            if name and name not in report.task_scores.get(task_id, {}):
                reason = said(about, "metrics", name).get("reason")
                why = f" ({reason})" if reason else ""
                raise UserError(
                    f"{whose} has no {name} of task {task_id!r}{why}, by which it is ranked."
                )
    for (task_id, what), ways in entries.ways_of(reports).items():
        if len(ways) > 1:
            (way, model), (other, its), *_ = ways.items()
            raise UserError(
                f"Task {task_id!r} has other {what} in the report of {its!r} ({other}) than in that"
                f" of {model!r} ({way}). Evaluate both on one content and score them in one way."
            )


def _fits(group: Sequence[BenchmarkReport], report: BenchmarkReport) -> bool:
    """Tell whether a report has a place in a table."""
    every = [*group, report]
    shares_a_task = set.intersection(*({*one.task_scores} for one in every))
    return bool(shares_a_task) and all(len(ways) == 1 for ways in entries.ways_of(every).values())


def _csv_row(board: Leaderboard, row: Row, name: str, cell: Line) -> list[object]:
    tasks = board.columns[name]
    hashes = [board.hashes.get(task_id, {}) for task_id in tasks]
    content, data = ([one[key] for one in hashes if key in one] for key in ("content", "data"))
    return [
        *(row.rank, row.model, name, *cell.cells(), len(tasks)),
        *(board.directions.get(name), ", ".join(tasks), row.letters if name == board.by else ""),
        *(", ".join(content), ", ".join(data), row.run_id, f"{row.made_at:%Y-%m-%dT%H:%M:%SZ}"),
        *(None if row.cost is None else float(row.cost), row.median_seconds),
    ]


def _columns(runs: Sequence[entries.Entry]) -> dict[str, list[str]]:
    first, columns = runs[0], dict[str, list[str]]()
    for task_id, scores in first.report.task_scores.items():
        for name in scores:
            if all(
                name in entry.report.task_scores.get(task_id, {})
                and entry.parts(task_id, name) == first.parts(task_id, name)
                for entry in runs
            ):
                columns.setdefault(name, []).append(task_id)
    return {name: columns[name] for name in first.report.overall_scores if name in columns}


def _notes(
    runs: Sequence[entries.Entry], columns: Mapping[str, Sequence[str]], rows: Sequence[Row]
) -> list[str]:
    notes, undefined = [entries.NOTES["intervals"]], entries.NOTES["undefined"]
    used = {task_id for tasks in columns.values() for task_id in tasks}
    every = {task_id for entry in runs for task_id in entry.report.task_scores}
    if left_out := sorted(every - used):
        notes.append(f"Left out, as not all models have scores: {', '.join(left_out)}.")
    # Models may have scores of different items.
    notes += [
        undefined.format(row=row, name=name, cell=cell, items=cell.n_undefined + (cell.n or 0))
        for row in rows
        for name, cell in row.cells.items()
        if cell.n_undefined
    ]
    versions = sorted({str(entry.report.metadata.get("medeval_version")) for entry in runs})
    if len(versions) > 1:
        notes.append(f"Scored by different versions of medeval: {', '.join(versions)}.")
    return notes
