"""Scores beyond single metrics: categories, the combined score, and the intervals of averages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from medeval import __version__
from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.metrics.registry import MetricRegistry
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.documents import described
from medeval.models.scores import LEVEL, Interval
from medeval.reporting.entries import Entry

CategoryMap = Mapping[str, Sequence[str]]
CATEGORIES: CategoryMap = toml_beside(__file__, "data/categories.toml")
_ABOUT_A_TASK = ("status", "task_hash", "data_class")


@dataclass(frozen=True)
class Scoring:
    """How outputs are scored, and scores averaged beyond single metrics.

    Attributes:
        metrics: where names are found.
        draws: resamples of the bootstrap.
        seed: of the bootstrap.
        categories: category to metrics.
        weights: metric or category to weight; empty for no combined score.
        combined_name: what the combined score is called.
    """

    metrics: MetricRegistry
    draws: int
    seed: int
    categories: CategoryMap
    weights: Mapping[str, float]
    combined_name: str

    def members(self, metrics: Iterable[str]) -> dict[str, list[str]]:
        """Return the metrics of each category that a task has, as the task calls them.

        Names of one metric (`rouge1`, `rouge_1`) are one member. A category without any is left
        out.
        """

        def canonical(name: str) -> str:
            return self.metrics.find(name).name if name in self.metrics else name

        named = {canonical(metric): metric for metric in reversed([*metrics])}
        members: dict[str, list[str]] = {}
        for category, names in self.categories.items():
            found = [named[name] for name in dict.fromkeys(map(canonical, names)) if name in named]
            if found:
                members[category] = found
        return members

    def check(self, scored: Sequence[str]) -> None:
        """Check that scores of all these metrics can be averaged as wanted.

        Raises:
            UserError: a name stands for two things, a weight is of nothing that is scored, weights
                cannot be used, or a metric of which higher is not better would be averaged.
        """
        if taken := sorted(set(self.categories) & set(scored)):
            raise UserError(f"Category {taken[0]!r} has the name of a metric. Choose another name.")
        present, combined = self.members(scored), self.combined_name
        parts = [(name, f"category {one!r}") for one, found in present.items() for name in found]
        parts += [(name, f"combined score {combined!r}") for name in self.weights if name in scored]
        for name, place in parts:
            if (direction := self.metrics.find(name).direction) != "higher":
                better = "lower is better" if direction == "lower" else "neither way is better"
                raise UserError(f"{name!r} is in {place}, but {better}. Leave it out.")
        if not self.weights:
            return
        known = [*scored, *present]
        if combined in {*scored, *self.categories}:
            raise UserError(f"The combined score cannot be called {combined!r}: that is scored.")
        if unknown := [name for name in self.weights if name not in known]:
            raise UserError(
                f"A weight is given for {unknown[0]!r}, which no task has. Known:"
                f" {', '.join(known)}."
            )
        try:
            BenchmarkReport(model_id="x").add_combined_score(self.weights, combined)
        except ValueError as error:
            raise UserError(f"The combined score cannot be made: {described(error)[0]}.") from None

    def finish(self, report: BenchmarkReport, about: Mapping[str, Any]) -> None:
        """Add roll-ups, their intervals and the metadata to a report of all results.

        Args:
            report: has the results of the run, each task once.
            about: metadata of the run beyond what the results tell.
        """
        # Each category beside the metrics of a task: the mean of those that it has.
        used: dict[str, dict[str, list[str]]] = {}
        for task_id, scores in report.task_scores.items():
            if members := self.members(list(scores)):
                used[task_id] = members
            for category, metrics in members.items():
                scores[category] = fmean(scores[metric] for metric in metrics)
                report.metric_counts.setdefault(task_id, {})[category] = 1
        for category in dict.fromkeys(name for members in used.values() for name in members):
            report.overall_scores[category] = fmean(report.metric_history(category))
        combined = None
        if self.weights:
            report.add_combined_score(self.weights, self.combined_name)
            combined = {"name": self.combined_name, "weights": dict(self.weights)}
        told = {one.task_id: one.metadata for one in report.detailed_results}
        outcomes: Counter[str] = Counter()
        for one in told.values():
            outcomes.update(one.get("outcomes", {}))
        errors = [error for one in told.values() for error in one.get("validation_errors", ())]
        report.metadata |= {
            **about,
            "medeval_version": __version__,
            "bootstrap": {"draws": self.draws, "seed": self.seed, "level": LEVEL},
            "tasks": {
                task_id: {key: one[key] for key in _ABOUT_A_TASK if key in one}
                for task_id, one in told.items()
            },
            "failed_tasks": [task_id for task_id, one in told.items() if one["status"] == "error"],
            "outcomes": dict(outcomes),
            "categories": used,
            "combined": combined,
        }
        entry = Entry(report)  # of what is said until here
        having = {
            name: [task_id for task_id, scores in report.task_scores.items() if name in scores]
            for name in report.overall_scores
        }
        overall = {name: entry.interval(name, tasks) for name, tasks in having.items()}
        rolled = {
            task_id: _known({name: entry.interval(name, [task_id]) for name in made})
            for task_id, made in entry.made_of.items()
        }
        report.metadata |= {
            "intervals": {
                "overall_scores": _known(overall),
                "task_scores": {task_id: known for task_id, known in rolled.items() if known},
            },
            "validation_errors": list(dict.fromkeys(errors)),
        }


def _known(intervals: Mapping[str, Interval | None]) -> dict[str, dict[str, Any]]:
    """Return the intervals that there are, as metadata keep them."""
    return {name: one.model_dump() for name, one in intervals.items() if one}
