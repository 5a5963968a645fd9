"""What a leaderboard needs of a report: its scores, its run, and what it can be compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from statistics import fmean
from typing import Any

from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.reporting.contents import Line, said
from medeval.reporting.resampling import Parts, TaskScores, made_of_others, mean_interval

# So much of a hash tells two contents apart.
_SHORT = 12


class Entry:
    """A report with what its scores are made of.

    Attributes:
        only: by task, the result of one that has no other.
    """

    def __init__(self, report: BenchmarkReport) -> None:
        self.report, results = report, report.detailed_results
        self.combined = said(report.metadata, "combined")
        self.failed = sorted(
            {one.task_id for one in results if one.metadata.get("status") == "error"}
        )
        times = Counter(one.task_id for one in results)
        # The mean over several results of one task has no interval of theirs.
        self.only = {one.task_id: one for one in results if times[one.task_id] == 1}
        drawn = said(report.metadata, "bootstrap")
        draws, seed = (int(drawn.get(name, 0)) for name in ("draws", "seed"))
        # By task, what its rolled-up scores are made of.
        self._made_of, self._scores = dict[str, dict[str, Parts]](), dict[str, TaskScores]()
        for task_id in (*report.task_scores, *self.only):
            categories = said(report.metadata, "categories", task_id)
            made = made_of_others(report.task_scores.get(task_id, {}), categories, self.combined)
            self._made_of[task_id] = made
            if only := self.only.get(task_id):
                self._scores[task_id] = TaskScores(only, made, draws, seed)

    def facts(self) -> dict[str, Any]:
        """Return what the report says of its run."""
        about = self.report.metadata
        usages = [said(one.metadata, "usage") for one in self.report.detailed_results]
        costs = [said(one, "all_calls").get("cost", one.get("cost")) for one in usages]
        known = costs and all(cost is not None for cost in costs)
        return {
            "run_id": about.get("run_id"),
            "made_at": self.report.timestamp,
            "cost": str(sum(map(Decimal, costs))) if known else None,
            "median_seconds": about.get("median_seconds"),
        }

    def parts(self, task_id: str, name: str) -> Mapping[str, tuple[float, Mapping[str, float]]]:
        """Return what a score is made of, with the weights, and what each part is made of."""
        made_of = self._made_of[task_id]
        own = made_of.get(name, {})
        total = sum(own.values()) or 1.0
        return {part: (own[part] / total, made_of.get(part, {})) for part in own}

    def cell(self, name: str, tasks: Sequence[str]) -> Line:
        """Return the mean of a score over tasks that have it."""
        value = fmean(self.report.task_scores[task_id][name] for task_id in tasks)
        only = [task_id for task_id in tasks if task_id in self.only]
        interval = None
        if len(only) == len(tasks):
            interval = mean_interval([self._scores[task_id] for task_id in tasks], name)
        about = [said(self.only[task_id].metadata, "metrics", name) for task_id in only]
        if len(only) < len(tasks) or not all(about):
            return Line(name, "metric", value, interval, interval.n if interval else None)
        n, undefined = (sum(one.get(key) or 0 for one in about) for key in ("n", "n_undefined"))
        return Line(name, "metric", value, interval, n, undefined)


def ways_of(result: EvaluationResult) -> dict[str, str]:
    """Return what must be the same for scores of a task to stand side by side."""
    content = result.metadata.get("task_hash")
    ways = {**({"content": content[:_SHORT]} if content else {})}
    return ways | {what: str(way) for what, way in said(result.metadata, "scored_as").items()}


def known_ways(reports: Sequence[BenchmarkReport]) -> dict[tuple[str, str], str]:
    """Return by task and kind in which way the reports were scored, the first of each."""
    found: dict[tuple[str, str], str] = {}
    for result in (result for report in reports for result in report.detailed_results):
        for what, way in ways_of(result).items():
            found.setdefault((result.task_id, what), way)
    return found


def headline_of(report: BenchmarkReport, result: EvaluationResult) -> str | None:
    """Return the score by which a task is ranked; None if it has none."""
    scores = report.task_scores.get(result.task_id, {})
    named = (said(report.metadata, "combined").get("name"), result.metadata.get("headline"))
    return next((str(name) for name in named if name in scores), next(iter(scores), None))


def direction_of(results: Sequence[EvaluationResult], name: str) -> str:
    """Return which way a score is better; empty where no run says it."""
    told = (said(one.metadata, "metrics", name).get("direction") for one in results)
    return str(next(filter(None, told), ""))


def hashes_of(
    reports: Sequence[BenchmarkReport], tasks: Iterable[str]
) -> dict[str, dict[str, str]]:
    """Return by which hashes the data of tasks are known, shortened."""
    found: dict[str, dict[str, str]] = {task_id: {} for task_id in tasks}
    for report in reports:
        for result in report.detailed_results:
            hashes = {
                "content": result.metadata.get("task_hash"),
                "data": said(result.metadata, "data").get("sha256"),
            }
            for name, digest in hashes.items():
                if digest and result.task_id in found:
                    found[result.task_id].setdefault(name, str(digest)[:_SHORT])
    return found


def names_of(reports: Sequence[BenchmarkReport]) -> list[str]:
    """Return the names of models, with run and number where one comes several times."""
    ids = [report.model_id for report in reports]
    names = [
        name if ids.count(name) == 1 else f"{name} ({report.metadata.get('run_id', 'no run id')})"
        for name, report in zip(ids, reports, strict=True)
    ]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]
