"""What boards and tables need of a report: its scores, its run, what it can be compared with.

Scores that are made of others have intervals of their own: items are drawn again, all metrics at
once. They are drawn within their tasks, and the tasks are fixed: an interval of a mean over tasks
speaks of other items of the same tasks, not of other tasks.

What is published are values over all items, as rows of a table of the warehouse, and no texts.

Models that no test tells apart share a letter, as in a compact letter display. Each pair is
compared on the items that both have a score for; p values are corrected over all pairs (Holm).
Letters are found by insertion and absorption: H.-P. Piepho, An Algorithm for a Letter-Based
Representation of All-Pairwise Comparisons, J. Comput. Graph. Stat. 13 (2004) 456-466.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from decimal import Decimal
from itertools import combinations
from math import isclose
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.inference.types import canonical
from medeval.models.benchmark_report import BenchmarkReport, EvaluationResult
from medeval.models.scores import DRAWS, LEVEL, Interval
from medeval.reporting.report import LINE_CELLS, Line, said, task_lines
from medeval.scoring.binary import ratio
from medeval.scoring.compare import RATIOS, Difference, Verdict, corrected, paired_differences
from medeval.scoring.resample import Floats, draw_bins
from medeval.scoring.table import distinct_rows, percentiles

METHOD = "bootstrap_percentile_within_tasks"
# Draws made at a time, so that memory does not grow with their number.
_DRAWS_AT_ONCE = 50
# So much of a hash tells two contents apart.
_SHORT = 12

# A score that is made of others: these with their weights.
Parts = Mapping[str, float]


class Entry:
    """A report with what its scores are made of.

    Metrics of the whole task (macro F1) have no item scores: they have the interval of their
    result, and what is made of them and others has none.

    Attributes:
        only: by task, the result of one that has no other.
        made_of: by task, its scores that are weighted means of others, with the parts' weights.
    """

    def __init__(self, report: BenchmarkReport) -> None:
        self.report, self.combined = report, said(report.metadata, "combined")
        by_task, name = report.results_by_task(), self.combined.get("name")
        # The mean over several results of one task has no interval of theirs.
        self.only = {task_id: own[0] for task_id, own in by_task.items() if len(own) == 1}
        self.made_of: dict[str, dict[str, Parts]] = {}
        for task_id in by_task:
            scores = report.task_scores.get(task_id, {})
            categories = said(report.metadata, "categories", task_id).items()
            made: dict[str, Parts] = {one: dict.fromkeys(own, 1.0) for one, own in categories}
            if name in scores:
                made[str(name)] = {
                    part: weight
                    for part, weight in said(self.combined, "weights").items()
                    if weight and part in scores
                }
            self.made_of[task_id] = made
        # By task and score: means over resamples with the number of items, and intervals.
        self._means, self._known = dict[tuple[str, str], Any](), dict[tuple[str, str], Interval]()
        drawn = said(report.metadata, "bootstrap")
        draws, seed = (int(drawn.get(name, 0)) for name in ("draws", "seed"))
        for task_id, result in self.only.items():
            means = _resampled_means(result, draws, seed) if draws else {}
            known = dict(result.intervals or {})
            for made_of_others, weights in self.made_of[task_id].items():
                # What is made of one score is that score.
                if len(weights) == 1 and (own := known.get(next(iter(weights)))):
                    known[made_of_others] = own
                if weights and weights.keys() <= means.keys():
                    parts, sizes = zip(*(means[part] for part in weights), strict=True)
                    mean = np.average(parts, axis=0, weights=list(weights.values()))
                    means[made_of_others] = mean, max(sizes)
            self._means |= {(task_id, one): found for one, found in means.items()}
            self._known |= {(task_id, one): found for one, found in known.items()}

    def interval(self, name: str, tasks: Sequence[str]) -> Interval | None:
        """Return the interval of the unweighted mean over tasks of one score, or of one task's.

        Returns:
            None if a task has no resamples of it or a single item, or if no resample differs.
        """
        keys = [(task_id, name) for task_id in tasks]
        if len(keys) == 1 and keys[0] in self._known:
            return self._known[keys[0]]
        drawn = [self._means[key] for key in keys if self._means.get(key, (0, 0))[1] > 1]
        if len(drawn) < len(keys):
            return None
        low, high, _ = percentiles(np.mean([means for means, _ in drawn], axis=0))
        if low == high:
            return None  # items that all score alike tell nothing of how others would
        size = sum(size for _, size in drawn)
        return Interval(low=low, high=high, level=LEVEL, method=METHOD, n=size)

    def parts(self, task_id: str, name: str) -> Mapping[str, tuple[float, Mapping[str, float]]]:
        """Return what a score is made of, with the weights, and what each part is made of."""
        made_of = self.made_of[task_id]
        own = made_of.get(name, {})
        total = sum(own.values()) or 1.0
        return {part: (own[part] / total, made_of.get(part, {})) for part in own}

    def cell(self, name: str, tasks: Sequence[str]) -> Line:
        """Return the mean of a score over tasks that have it."""
        value = fmean(self.report.task_scores[task_id][name] for task_id in tasks)
        only = [task_id for task_id in tasks if task_id in self.only]
        interval = self.interval(name, tasks) if len(only) == len(tasks) else None
        about = [said(self.only[task_id].metadata, "metrics", name) for task_id in only]
        if len(only) < len(tasks) or not all(about):
            return Line(name, "metric", value, interval, interval.n if interval else None)
        n, undefined = (sum(one.get(key) or 0 for one in about) for key in ("n", "n_undefined"))
        return Line(name, "metric", value, interval, n, undefined)


def _resampled_means(
    result: EvaluationResult, draws: int, seed: int
) -> dict[str, tuple[Floats, int]]:
    """Return by metric one mean a resample, NaN where no drawn item has a score, and its items."""
    columns = result.item_scores or {}
    if not (names := sorted(columns)):
        return {}
    scores, sizes = distinct_rows(np.array([columns[name] for name in names], np.float64).T)
    # Each task has draws of its own, whatever other tasks there are.
    own = int.from_bytes(hashlib.sha256(result.task_id.encode()).digest()[:8])
    draw, defined = draw_bins([seed, own], sizes), np.isfinite(scores)
    filled, parts = np.where(defined, scores, 0.0), list[Floats]()
    for start in range(0, draws, _DRAWS_AT_ONCE):
        drawn = draw(min(_DRAWS_AT_ONCE, draws - start))
        parts.append(ratio(drawn @ filled, drawn @ defined))
    return dict(
        zip(names, zip(np.vstack(parts).T, (sizes @ defined).tolist(), strict=True), strict=True)
    )


def facts_of(report: BenchmarkReport) -> dict[str, Any]:
    """Return what a report says of its run."""
    about, results = report.metadata, report.detailed_results
    usages = [said(one.metadata, "usage") for one in results]
    costs = [said(one, "all_calls").get("cost", one.get("cost")) for one in usages]
    known = costs and all(cost is not None for cost in costs)
    return {
        "model_id": report.model_id,
        "run_id": about.get("run_id"),
        "made_at": report.timestamp,
        "failed": sorted({one.task_id for one in results if one.metadata.get("status") == "error"}),
        "cost": str(sum(map(Decimal, costs))) if known else None,
        "median_seconds": about.get("median_seconds"),
    }


def ways_of(reports: Iterable[BenchmarkReport]) -> dict[tuple[str, str], dict[str, str]]:
    """Return by task and kind the ways of being scored, each with the model that first has it.

    Scores of a task can stand side by side if there is one way of each kind.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for report in reports:
        for result in report.detailed_results:
            ways = {"content": str(result.metadata.get("task_hash") or "")[:_SHORT]}
            for what, way in {**ways, **said(result.metadata, "scored_as")}.items():
                if way or what != "content":
                    known = found.setdefault((result.task_id, what), {})
                    known.setdefault(str(way), report.model_id)
    return found


def direction_of(results: Sequence[EvaluationResult], name: str) -> str:
    """Return which way a score is better; empty where no run says it."""
    told = (said(one.metadata, "metrics", name).get("direction") for one in results)
    return str(next(filter(None, told), ""))


def hashes_of(
    reports: Sequence[BenchmarkReport], tasks: Iterable[str]
) -> dict[str, dict[str, str]]:
    """Return by which hashes the data of tasks are known, shortened."""
    found: dict[str, dict[str, str]] = {task_id: {} for task_id in tasks}
    for result in (one for report in reports for one in report.detailed_results):
        content = result.metadata.get("task_hash")
        data = said(result.metadata, "data").get("sha256")
        for name, digest in (("content", content), ("data", data)):
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


def published_rows(
    reports: Sequence[tuple[Path, BenchmarkReport]],
) -> dict[str, list[dict[str, object]]]:
    """Return the rows of reports by the ids of their runs, cells by column.

    Args:
        reports: of whole runs, and where each is.

    Raises:
        UserError: a report without the id of a run or the hash of a task, one without a score, or
            two of one run.
    """
    found: dict[str, list[dict[str, object]]] = {}
    for place, report in reports:
        run_id = report.metadata.get("run_id")
        if not run_id:
            raise UserError(f"{place} has no id of a run. Publish the folder of a run.")
        if run_id in found:
            raise UserError(f"{place}: the run {run_id} is named twice. Leave one of them away.")
        found[run_id] = list(score_rows(report))
        if not found[run_id]:
            raise UserError(f"{place} has no scores to publish.")
        for row in found[run_id]:
            del row["method"]  # for which the table has no column
            if not row["content_sha256"]:
                raise UserError(
                    f"{place} does not say which content of task {row['task']!r} it scored"
                    " (task_hash). Evaluate it anew."
                )
    return found


def score_rows(report: BenchmarkReport) -> Iterator[dict[str, object]]:
    """Yield what is known of each score of each task, under the names of tables."""
    cost = facts_of(report)["cost"]
    of_run = {
        "run_id": report.metadata.get("run_id"),
        "model": report.model_id,
        "medeval_version": report.metadata.get("medeval_version"),
        "prompt_version": report.metadata.get("prompt_version"),
        # The warehouse has times without a zone: UTC.
        "made_at": report.timestamp.astimezone(UTC).replace(tzinfo=None),
        "cost": None if cost is None else float(cost),
    }
    for task_id, results in report.results_by_task().items():
        told = results[-1].metadata if results else {}
        scores = report.task_scores.get(task_id, {})
        named = (said(report.metadata, "combined").get("name"), told.get("headline"))
        headline = next((name for name in named if name in scores), next(iter(scores), None))
        for line in task_lines(report, task_id, results):
            # What nobody says is not claimed, but a headline ranks.
            known = direction_of(results, line.name) or (
                "higher" if line.name == headline else None
            )
            yield {
                **of_run,
                **dict(zip(LINE_CELLS, line.cells(), strict=True)),
                "task": task_id,
                "metric": line.name,
                "is_headline": line.name == headline,
                "direction": known,
                "content_sha256": told.get("task_hash"),
                "data_sha256": said(told, "data").get("sha256"),
                "scored_as": canonical(said(told, "scored_as")),
            }


Compare = Callable[[Sequence[BenchmarkReport], str, str], Sequence[Difference]]

NOTES = toml_beside(__file__, "templates/notes.toml")
# Holm multiplies the smallest p value by the number of pairs, and it has to get below 0.05.
_DRAWS_A_PAIR = 40
_SIGNS = string.ascii_letters


def shared_letters(
    entries: Mapping[str, Entry],
    metric: str,
    tasks: Sequence[str],
    direction: str,
    *,
    seed: int = 0,
    compare: Compare | None = None,
) -> tuple[dict[str, str], list[str]]:
    """Return the letters of models, and why some or all have none, in sentences.

    Args:
        entries: the reports by the model's name, the best first.
        metric: by which they are compared.
        tasks: those over which it is a mean; models are told apart on one task only.
        direction: which way it is better.
        seed: of resamples and exchanges.
        compare: returns the comparisons of all pairs, where results keep no scores of items.
    """
    if len(entries) < 2:
        return {}, []
    if len(tasks) > 1:
        return {}, [f"No letters: {metric} is a mean over {len(tasks)} tasks."]
    tested, untested = dict[str, EvaluationResult](), dict[str, list[str]]()
    for name, entry in entries.items():
        if (result := entry.only.get(tasks[0])) is None:
            return {}, ["No letters: a report has several results of the task."]
        if reason := _why_untested(result, metric):
            untested.setdefault(reason, []).append(name)
        else:
            tested[name] = result
    why = [f"No letter for {', '.join(names)}: {reason}." for reason, names in untested.items()]
    reports = [entry.report for entry in entries.values()]
    try:
        if found := compare(reports, tasks[0], metric) if compare and not tested else ():
            return _letters_of(found, list(entries)), []
    except UserError as error:
        return {}, [f"No letters: {error}"]
    if len(tested) < 2:
        every = len(untested) == 1 and not tested
        return {}, [f"No letters: {next(iter(untested))}."] if every else why
    pairs = list(combinations(range(len(tested)), 2))
    draws, ways = max(DRAWS, _DRAWS_A_PAIR * len(pairs)), {metric: direction}
    known, found = list(tested.values()), list[Difference]()
    try:
        for one, two in pairs:
            found += paired_differences(known[one], known[two], draws, seed, ways, [metric])
    except UserError:
        return {}, [f"No letters: two models have no scores of the same items for {metric}."]
    return _letters_of(corrected(found), list(tested)), why


def _letters_of(differences: Sequence[Difference], names: Sequence[str]) -> dict[str, str]:
    """Return the letters of models, given the comparisons of all pairs in their order."""
    differing = [
        pair
        for pair, one in zip(combinations(range(len(names)), 2), differences, strict=True)
        if one.verdict not in (Verdict.NEITHER, Verdict.UNDEFINED)
    ]
    return dict(zip(names, compact_letters(len(names), differing), strict=True))


def compact_letters(count: int, differing: Collection[tuple[int, int]]) -> list[str]:
    """Return letters so that two share one if and only if they do not differ.

    Args:
        count: how many there are; the first has an `a`.
        differing: pairs of places.
    """
    groups = [frozenset(range(count))]
    for pair in sorted(differing):
        parts = [
            part
            for group in groups
            for part in ([group - {one} for one in pair] if group.issuperset(pair) else [group])
        ]
        distinct = list(dict.fromkeys(parts))
        groups = [part for part in distinct if not any(part < other for other in distinct)]
    groups.sort(key=sorted)
    signs = [*_SIGNS, *(f"{sign}{n}" for n in range(2, len(groups)) for sign in _SIGNS)]
    return [
        "".join(sign for sign, group in zip(signs, groups, strict=False) if place in group)
        for place in range(count)
    ]


def _why_untested(result: EvaluationResult, metric: str) -> str:
    """Return why there are no scores of items to test with; empty if there are."""
    if metric in (result.metadata.get(RATIOS) or {}):
        return ""
    scores = (result.item_scores or {}).get(metric)
    defined = [score for score in scores or () if score is not None]
    if scores is None or not defined:
        return f"the run keeps no scores of single items for {metric}"
    if not isclose(fmean(defined), result.metrics_results[metric], rel_tol=1e-9, abs_tol=1e-9):
        return f"{metric} is no mean of scores of single items"
    return ""
