"""Reports set side by side: the same tasks with the same content, or none at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.rows import table_for_spreadsheets
from medeval.models.text_files import write_text
from medeval.reporting.report import LINE_CELLS, Line, page, said
from medeval.reporting.resampling import Parts, TaskScores, made_of_others, mean_interval

FORMATS = ("md", "csv", "html")

_HEADER = ("rank", "model", "score", *LINE_CELLS, "n_tasks")


@dataclass(frozen=True)
class Row:
    """One model.

    Attributes:
        rank: its place by the ranking score; equal values share one.
        model: its name, with the run where one name comes twice.
        cells: score to its mean over the tasks of its column.
        failed: ids of its tasks that failed.
    """

    rank: int
    model: str
    cells: Mapping[str, Line]
    failed: Sequence[str]


@dataclass(frozen=True)
class Leaderboard:
    """Models by rank, over the tasks that all of them have scores for.

    Attributes:
        by: the score that ranks.
        columns: score to the tasks that it is a mean over, the ranking score first.
        rows: the models, the best first.
        notes: what a reader has to know: tasks left out, and why.
    """

    by: str
    columns: Mapping[str, Sequence[str]]
    rows: Sequence[Row]
    notes: Sequence[str]

    def write(self, path: str | Path) -> None:
        """Write the board to a file: .md, .html, or .csv with one line for each model and score.

        Raises:
            UserError: another suffix.
        """
        place = Path(path)
        kind = place.suffix.lower().removeprefix(".")
        if kind not in FORMATS:
            raise UserError(f"{place}: a leaderboard is written as {', '.join(FORMATS)}.")
        if kind != "csv":
            write_text(place, page(f"board.{kind}", board=self))
            return
        rows = [
            [row.rank, row.model, name, *cell.cells(), len(self.columns[name])]
            for row in self.rows
            for name, cell in row.cells.items()
        ]
        write_text(place, table_for_spreadsheets(_HEADER, rows))


def leaderboard(reports: Sequence[BenchmarkReport], *, by: str | None = None) -> Leaderboard:
    """Set reports side by side.

    Each score is a mean over the tasks for which every report has it, so that no model gains by a
    task that it did not do. Categories and combined scores are there if all reports make them of
    the same parts.

    Args:
        reports: one for each model, or several runs of one.
        by: the score that ranks; by default the combined one, else the first that all have.

    Raises:
        UserError: no report, the content of a task differs or is not known, or how it was scored,
            nothing is common to all, or a report lacks the score that ranks.
    """
    if not reports:
        raise UserError("A leaderboard needs at least one report.")
    _check(reports)
    entries = [_Entry(report) for report in reports]
    columns = _columns(entries)
    if not columns:
        raise UserError("The reports have no score of any task in common.")
    # The combined score, else what all tasks name as their headline, else the first.
    results = [one for report in reports for one in report.detailed_results]
    headlines = {str(one.metadata.get("headline", "")) for one in results}
    usual = [str(entries[0].combined.get("name")), *(headlines if len(headlines) == 1 else ())]
    ranking = by or next((name for name in usual if name in columns), next(iter(columns)))
    if ranking not in columns:
        raise UserError(f"Not all reports have {ranking!r}. They share {', '.join(columns)}.")
    columns = {ranking: columns[ranking], **columns}
    about = next(filter(None, (said(one.metadata, "metrics", ranking) for one in results)), {})
    sign = 1 if about.get("direction") == "lower" else -1
    rows = [
        Row(
            0,
            name,
            {column: entry.cell(column, columns[column]) for column in columns},
            entry.failed,
        )
        for name, entry in zip(_names(reports), entries, strict=True)
    ]
    rows.sort(key=lambda row: (sign * (row.cells[ranking].value or 0.0), row.model))
    values = [row.cells[ranking].value for row in rows]
    ranked = [replace(row, rank=values.index(row.cells[ranking].value) + 1) for row in rows]
    return Leaderboard(ranking, columns, ranked, _notes(entries, columns, ranked))


class _Entry:
    """A report with what its scores are made of."""

    def __init__(self, report: BenchmarkReport) -> None:
        self.report, results = report, report.detailed_results
        self.combined = said(report.metadata, "combined")
        self.failed = sorted(
            {one.task_id for one in results if one.metadata.get("status") == "error"}
        )
        times = Counter(one.task_id for one in results)
        # The mean over several results of one task has no interval of theirs.
        self._only = {one.task_id: one for one in results if times[one.task_id] == 1}
        drawn = said(report.metadata, "bootstrap")
        draws, seed = (int(drawn.get(name, 0)) for name in ("draws", "seed"))
        # By task, what its rolled-up scores are made of.
        self._made_of, self._scores = dict[str, dict[str, Parts]](), dict[str, TaskScores]()
        for task_id in (*report.task_scores, *self._only):
            categories = said(report.metadata, "categories", task_id)
            made = made_of_others(report.task_scores.get(task_id, {}), categories, self.combined)
            self._made_of[task_id] = made
            if only := self._only.get(task_id):
                self._scores[task_id] = TaskScores(only, made, draws, seed)

    def parts(self, task_id: str, name: str) -> Mapping[str, tuple[float, Mapping[str, float]]]:
        """Return what a score is made of, with the weights, and what each part is made of."""
        made_of = self._made_of[task_id]
        own = made_of.get(name, {})
        total = sum(own.values()) or 1.0
        return {part: (own[part] / total, made_of.get(part, {})) for part in own}

    def cell(self, name: str, tasks: Sequence[str]) -> Line:
        """Return the mean of a score over tasks that have it."""
        value = fmean(self.report.task_scores[task_id][name] for task_id in tasks)
        only = [task_id for task_id in tasks if task_id in self._only]
        interval = None
        if len(only) == len(tasks):
            interval = mean_interval([self._scores[task_id] for task_id in tasks], name)
        about = [said(self._only[task_id].metadata, "metrics", name) for task_id in only]
        if len(only) < len(tasks) or not all(about):
            return Line(name, "metric", value, interval, interval.n if interval else None)
        n, undefined = (sum(one.get(key) or 0 for one in about) for key in ("n", "n_undefined"))
        return Line(name, "metric", value, interval, n, undefined)


def _check(reports: Sequence[BenchmarkReport]) -> None:
    """Refuse scores of other content, by other rules or judges, and a task without its headline.

    Another score would take the place of a headline that is missing.
    """
    known: dict[tuple[str, str], tuple[str, str]] = {}
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
            content = {"content": about["task_hash"][:12]} if about.get("task_hash") else {}
            for what, way in {**content, **said(about, "scored_as")}.items():
                first = known.setdefault((task_id, what), (report.model_id, str(way)))
                if first[1] != str(way):
                    raise UserError(
                        f"Task {task_id!r} has other {what} in the report of {report.model_id!r}"
                        f" ({way}) than in that of {first[0]!r} ({first[1]}). Evaluate both on one"
                        " content and score them in one way."
                    )
            name = str(about.get("headline", ""))
            if name and name not in report.task_scores.get(task_id, {}):
                reason = said(about, "metrics", name).get("reason")
                why = f" ({reason})" if reason else ""
                raise UserError(
                    f"{whose} has no {name} of task {task_id!r}{why}, by which it is ranked."
                )


def _columns(entries: Sequence[_Entry]) -> dict[str, list[str]]:
    first, columns = entries[0], dict[str, list[str]]()
    for task_id, scores in first.report.task_scores.items():
        for name in scores:
            if all(
                name in entry.report.task_scores.get(task_id, {})
                and entry.parts(task_id, name) == first.parts(task_id, name)
                for entry in entries
            ):
                columns.setdefault(name, []).append(task_id)
    return {name: columns[name] for name in first.report.overall_scores if name in columns}


def _names(reports: Sequence[BenchmarkReport]) -> list[str]:
    ids = [report.model_id for report in reports]
    names = [
        name if ids.count(name) == 1 else f"{name} ({report.metadata.get('run_id', 'no run id')})"
        for name, report in zip(ids, reports, strict=True)
    ]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _notes(
    entries: Sequence[_Entry], columns: Mapping[str, Sequence[str]], rows: Sequence[Row]
) -> list[str]:
    notes = [
        "Each score is a mean over the same tasks for all models. Intervals speak of other items of"
        " these tasks. That two overlap or do not is no test of a difference."
    ]
    used = {task_id for tasks in columns.values() for task_id in tasks}
    every = {task_id for entry in entries for task_id in entry.report.task_scores}
    if left_out := sorted(every - used):
        notes.append(f"Left out, as not all models have scores: {', '.join(left_out)}.")
    # Models may have scores of different items.
    notes += [
        f"{row.model}: {name} is not defined for {cell.n_undefined} of"
        f" {cell.n_undefined + (cell.n or 0)} items, which are not in the score."
        for row in rows
        for name, cell in row.cells.items()
        if cell.n_undefined
    ]
    versions = sorted({str(entry.report.metadata.get("medeval_version")) for entry in entries})
    if len(versions) > 1:
        notes.append(f"Scored by different versions of medeval: {', '.join(versions)}.")
    return notes
