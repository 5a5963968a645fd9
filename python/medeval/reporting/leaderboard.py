"""Reports set side by side: the same tasks with the same content, or none at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.csv_rows import table_for_spreadsheets
from medeval.models.scores import Interval
from medeval.models.text_files import write_text
from medeval.reporting.lines import interval_cells, mapping_of, page, results_of
from medeval.reporting.resampling import TaskScores, made_of_others, mean_interval

_LEVEL = 0.95
# A report may come from elsewhere: what it states is no reason to draw for hours.
_MOST_DRAWS = 10_000
FORMATS = ("md", "csv", "html")

_HEADER = (
    *("rank", "model", "score", "value", "low", "high", "level", "method"),
    *("n", "n_undefined", "n_tasks"),
)


@dataclass(frozen=True)
class Cell:
    """One score of one model.

    Attributes:
        value: the mean over the tasks of the column.
        interval: None where there is none.
        n: the number of items behind it; None where unknown.
        n_undefined: items of the tasks that have no score.
    """

    value: float
    interval: Interval | None
    n: int | None
    n_undefined: int


@dataclass(frozen=True)
class Row:
    """One model.

    Attributes:
        rank: its place by the ranking score; equal values share one.
        model: its name, with the run where one name comes twice.
        cells: score to cell.
        failed: ids of its tasks that failed.
    """

    rank: int
    model: str
    cells: Mapping[str, Cell]
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
            [
                *(row.rank, row.model, name, cell.value, *interval_cells(cell.interval)),
                *(cell.n, cell.n_undefined, len(self.columns[name])),
            ]
            for row in self.rows
            for name, cell in row.cells.items()
        ]
        write_text(place, table_for_spreadsheets(_HEADER, rows))


def leaderboard(
    reports: Sequence[BenchmarkReport], *, by: str | None = None, allow_unhashed: bool = False
) -> Leaderboard:
    """Set reports side by side.

    Each score is a mean over the tasks for which every report has it, so that no model gains by a
    task that it did not do. Categories and combined scores are there if all reports make them of
    the same parts.

    Args:
        reports: one for each model, or several runs of one.
        by: the score that ranks; by default the combined one, else the first that all have.
        allow_unhashed: also take tasks whose content a report does not identify.

    Raises:
        UserError: no report, the content of a task differs or is not known, or how it was scored,
            nothing is common to all, or a report lacks the score that ranks.
    """
    if not reports:
        raise UserError("A leaderboard needs at least one report.")
    _check_contents(reports, allow_unhashed)
    _check_ways(reports)
    entries = [_Entry(report) for report in reports]
    columns = _columns(entries)
    if not columns:
        raise UserError("The reports have no score of any task in common.")
    ranking = by or _usual_ranking(entries, columns)
    if ranking not in columns:
        raise UserError(f"Not all reports have {ranking!r}. They share {', '.join(columns)}.")
    columns = {ranking: columns[ranking], **columns}
    rows = [
        (name, {column: entry.cell(column, tasks) for column, tasks in columns.items()}, entry)
        for name, entry in zip(_names(reports), entries, strict=True)
    ]
    sign = 1 if entries[0].direction(ranking) == "lower" else -1
    rows.sort(key=lambda row: (sign * row[1][ranking].value, row[0]))
    values = [cells[ranking].value for _, cells, _ in rows]
    ranked = [
        Row(values.index(cells[ranking].value) + 1, name, cells, entry.failed)
        for name, cells, entry in rows
    ]
    return Leaderboard(ranking, columns, ranked, _notes(entries, columns, ranked))


class _Entry:
    """A report with what its scores are made of."""

    def __init__(self, report: BenchmarkReport) -> None:
        self.report = report
        about = report.metadata
        self.combined = mapping_of(about.get("combined"))
        self.categories = mapping_of(about.get("categories"))
        self.version = about.get("medeval_version")
        bootstrap = mapping_of(about.get("bootstrap"))
        self._draws = min(_count(bootstrap.get("draws")), _MOST_DRAWS)
        self._seed = _count(bootstrap.get("seed"))
        self._tasks: dict[str, TaskScores | None] = {}
        self.failed = sorted(
            {
                one.task_id
                for one in report.detailed_results
                if one.metadata.get("status") == "error"
            }
        )

    def made_of(self, task_id: str) -> dict[str, Mapping[str, float]]:
        """Return what the rolled-up scores of a task are made of."""
        scores = self.report.task_scores.get(task_id, {})
        return dict(made_of_others(scores, mapping_of(self.categories.get(task_id)), self.combined))

    def parts(
        self, task_id: str, name: str, inside: frozenset[str] = frozenset()
    ) -> list[tuple[str, float]]:
        """Return the metrics that a score is made of in the end, with their weights.

        Args:
            task_id: the task.
            name: the score.
            inside: what it is a part of; a score that states to be made of itself is taken as it
                is.
        """
        made_of = self.made_of(task_id).get(name, {})
        total = sum(made_of.values())
        if name in inside or total <= 0:
            return [(name, 1.0)]
        return [
            (metric, share * weight / total)
            for part, weight in sorted(made_of.items())
            for metric, share in self.parts(task_id, part, inside | {name})
        ]

    def direction(self, name: str) -> str:
        """Return which way a score is better."""
        for result in self.report.detailed_results:
            about = mapping_of(mapping_of(result.metadata.get("metrics")).get(name))
            if about:
                return str(about.get("direction", "higher"))
        return "higher"

    def cell(self, name: str, tasks: Sequence[str]) -> Cell:
        """Return the mean of a score over tasks that have it."""
        value = fmean(self.report.task_scores[task_id][name] for task_id in tasks)
        scores = [one for task_id in tasks if (one := self._scores(task_id)) is not None]
        interval = mean_interval(scores, name, _LEVEL) if len(scores) == len(tasks) else None
        # Of each task how many items have a score, and how many have none.
        counts = []
        for task_id in tasks:
            results = results_of(self.report, task_id)
            metrics = mapping_of(results[0].metadata.get("metrics")) if len(results) == 1 else {}
            about = mapping_of(metrics.get(name))
            if not about:
                return Cell(value, interval, interval.n if interval else None, 0)
            counts.append((_count(about.get("n")), _count(about.get("n_undefined"))))
        n, undefined = map(sum, zip(*counts, strict=True))
        return Cell(value, interval, n, undefined)

    def _scores(self, task_id: str) -> TaskScores | None:
        if task_id not in self._tasks:
            results = results_of(self.report, task_id)
            # The mean over several results of one task has no interval of theirs.
            self._tasks[task_id] = (
                TaskScores(results[0], self.made_of(task_id), self._draws, self._seed)
                if len(results) == 1
                else None
            )
        return self._tasks[task_id]


def _count(value: Any) -> int:
    """Return a number that a report states; 0 for what is none."""
    return value if isinstance(value, int) and value >= 0 else 0


def _check_contents(reports: Sequence[BenchmarkReport], allow_unhashed: bool) -> None:
    known: dict[str, tuple[str, str]] = {}
    for report in reports:
        hashes: dict[str, set[str]] = {task_id: set() for task_id in report.task_scores}
        for result in report.detailed_results:
            if found := result.metadata.get("task_hash"):
                hashes.setdefault(result.task_id, set()).add(str(found))
        for task_id, found_hashes in hashes.items():
            scored = bool(report.task_scores.get(task_id))
            if not found_hashes and scored and len(reports) > 1 and not allow_unhashed:
                raise UserError(
                    f"The report of {report.model_id!r} does not say which content of task"
                    f" {task_id!r} it scored (task_hash). Evaluate it anew."
                )
            for one in sorted(found_hashes):
                first_model, first = known.setdefault(task_id, (report.model_id, one))
                if one != first:
                    raise UserError(
                        f"Task {task_id!r} has other content in the report of {report.model_id!r}"
                        f" ({one[:12]}) than in that of {first_model!r} ({first[:12]}): the"
                        " scores cannot stand side by side. Evaluate both on one content."
                    )


def _check_ways(reports: Sequence[BenchmarkReport]) -> None:
    """Refuse scores of one task by other rules or judges, and a task without its headline.

    Another score would take the place of a headline that is missing.
    """
    known: dict[tuple[str, str], tuple[str, str]] = {}
    for report in reports:
        for result in report.detailed_results:
            task_id, about = result.task_id, result.metadata
            for what, way in mapping_of(about.get("scored_as")).items():
                first_model, first = known.setdefault((task_id, what), (report.model_id, str(way)))
                if str(way) != first:
                    raise UserError(
                        f"Task {task_id!r} was scored otherwise in the report of"
                        f" {report.model_id!r} ({what}: {way}) than in that of {first_model!r}"
                        f" ({first}): the scores cannot stand side by side. Score both in one way."
                    )
            name = str(about.get("headline", ""))
            if name and name not in report.task_scores.get(task_id, {}):
                reason = mapping_of(mapping_of(about.get("metrics")).get(name)).get("reason")
                raise UserError(
                    f"The report of {report.model_id!r} has no {name} of task {task_id!r}"
                    f"{f' ({reason})' if reason else ''}, by which it is ranked: it has no place"
                    " beside others."
                )


def _columns(entries: Sequence[_Entry]) -> dict[str, list[str]]:
    first = entries[0]
    columns: dict[str, list[str]] = {}
    for task_id, scores in first.report.task_scores.items():
        for name in scores:
            is_common = all(
                name in entry.report.task_scores.get(task_id, {})
                and entry.parts(task_id, name) == first.parts(task_id, name)
                for entry in entries
            )
            if is_common:
                columns.setdefault(name, []).append(task_id)
    return {name: columns[name] for name in first.report.overall_scores if name in columns}


def _usual_ranking(entries: Sequence[_Entry], columns: Mapping[str, object]) -> str:
    """Return the combined score, else what all tasks name as their headline, else the first."""
    name = str(entries[0].combined.get("name"))
    if name in columns:
        return name
    headlines = {
        str(one.metadata.get("headline", ""))
        for entry in entries
        for one in entry.report.detailed_results
    }
    only = headlines.pop() if len(headlines) == 1 else ""
    return only if only in columns else next(iter(columns))


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
    versions = sorted({str(entry.version) for entry in entries})
    if len(versions) > 1:
        notes.append(f"Scored by different versions of medeval: {', '.join(versions)}.")
    return notes
