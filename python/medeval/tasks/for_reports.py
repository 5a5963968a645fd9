"""A score as a report: what pages and leaderboards ask of every task, under names they know."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import medeval
from medeval.errors import UserError
from medeval.inference.types import canonical
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.schemas import Row
from medeval.models.scores import LEVEL, Interval
from medeval.scoring.groups import UNKNOWN, hidden, partition, require_min_cell
from medeval.scoring.table import ScoreTable, result_fields, told_counts
from medeval.tasks.task import Method, Table, TaskScore
from medeval.terminal import interval, shown

COUNTS = ("n", "n_missing", "n_positive")


def task_score(
    task: str,
    model: str,
    headline: str,
    found: ScoreTable | Mapping[str, Any],
    method: Method,
    inputs: Sequence[Row],
    outputs: Sequence[Row],
    facts: Mapping[str, Any],
    **shown: Any,
) -> TaskScore:
    """Return the score of a model's answers to the items of a task, in the form of all tasks.

    Args:
        task: its name.
        model: as the user named it.
        headline: the metric that counts.
        found: the items' scores, or `metrics_results`, `item_scores` and `intervals` of their own.
        method: of the intervals.
        inputs: what a reader may see of each item.
        outputs: what a reader may see of the answer to it.
        facts: of the run, and what else is to be known.
        shown: further attributes of the score.
    """
    told: dict[str, Any] = {}
    if isinstance(found, ScoreTable):
        summary = found.summary(draws=method.n_iters, seed=method.seed)
        found, told = result_fields(found, summary), told_counts(summary)
    drawn = {"n_iters": method.n_iters, "seed": method.seed}
    result = EvaluationResult(
        model_id=model,
        task_id=task,
        inputs=list(inputs),
        model_outputs=list(outputs),
        **found,
        metadata={**facts, "headline": headline, **told, **drawn},
    )
    return TaskScore(result, headline, **shown)


def group_scores(
    groups: Sequence[Mapping[str, str]], table: ScoreTable, method: Method
) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return the metrics of each group; None for what is hidden, see `scoring.groups`.

    Args:
        groups: of each item, grouping to group.
        table: of the items.
        method: by which groupings, and the smallest group that is shown.

    Raises:
        UserError: a grouping that there is not.
    """
    known = dict.fromkeys(name for one in groups for name in one)
    if unknown := [name for name in method.groupings if name not in known]:
        raise UserError(f"--by {unknown[0]}: there are {', '.join(known) or 'no groups'}.")
    if method.groupings:
        require_min_cell(method.min_cell)
    scores = {name: column.item_scores for name, column in table.columns.items()}
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for name in method.groupings:
        parts = partition([one.get(name, UNKNOWN) for one in groups])
        hide = hidden([len(one) for one in parts.values()], [{} for _ in parts], method.min_cell)
        found[name] = {}
        for (group, places), is_hidden in zip(parts.items(), hide or (), strict=False):
            own: dict[str, float | None] = {"n": float(len(places))}
            for metric, values in scores.items():
                defined = [one for at in places if (one := values[at]) is not None]
                own[metric] = sum(defined) / len(defined) if defined else None
            found[name][group] = dict.fromkeys(own) if is_hidden else own
    return found


def report_of(scored: TaskScore) -> BenchmarkReport:
    """Return the report of one score; the score's result is made complete for it."""
    result = scored.result
    told = result.metadata
    content = canonical([told["data"]["sha256"], told.get("items_sha256")])
    about = {
        "status": "incomplete" if told.get("not_asked") else "ok",
        "task_hash": hashlib.sha256(content.encode()).hexdigest(),
        "data_class": told["data"].get("data_class", "credentialed"),
        "outcomes": told.get("ledger", {}),
        "warnings": list(scored.warnings),
        "notes": list(scored.notes),
    }
    told.update({name: value for name, value in about.items() if name not in told})
    told["metrics"] = _metrics(result, scored.headline)
    told["scored_as"] = _scored_as(told)
    own = [*scored.tables, *scored.details]
    judging = told.get("judging")
    told["tables"] = [
        {"title": one.title, "columns": list(one.columns), "rows": [list(row) for row in one.rows]}
        for one in [
            *group_tables(scored, scored.groups, own),
            *own,
            *([] if judging is None else _judging_tables(judging)),
        ]
    ]
    methods = sorted({one.method for one in (result.intervals or {}).values() if one.method})
    of_run = {
        "run_id": told.get("run_id"),
        "data_sha256": {result.task_id: told["data"]["sha256"]},
        "versions": {"medeval": medeval.__version__},
        "medeval_version": medeval.__version__,
        "prompt_version": told.get("prompt_version"),
        "endpoint": told.get("endpoint"),
        "models_reported": sorted(told.get("models_reported", {})),
        "model": {"parameters": told.get("parameters", {})},
    }
    if methods:
        drawn = {"draws": told["n_iters"], "seed": told["seed"], "level": LEVEL}
        of_run["bootstrap"] = {**drawn, "method": ", ".join(methods)}
    report = BenchmarkReport(model_id=result.model_id, metadata=of_run)
    report.add_evaluation_result(result)
    return report


def group_tables(
    scored: TaskScore, groupings: Iterable[str], own: Sequence[Table]
) -> Iterator[Table]:
    """Yield the values of groups, with whatever there is more of as rows.

    Args:
        scored: with its groups.
        groupings: whose tables are wanted.
        own: tables that the score has itself; a title that is among them is not made again.
    """
    for name in groupings:
        groups, title = scored.groups[name], f"by {name}"
        if title in {table.title for table in own}:
            continue
        metrics = list(next(iter(groups.values()), {}))
        shown = {
            group: [_cell(*one) for one in zip(metrics, found.values(), strict=False)]
            for group, found in groups.items()
        }
        if len(groups) >= len(metrics):
            yield Table(title, (name, *metrics), [(group, *row) for group, row in shown.items()])
        else:
            rows = list(zip(metrics, *shown.values(), strict=True))
            yield Table(title, ("metric", *groups), rows)


def _cell(metric: str, value: float | Interval | None) -> str:
    if isinstance(value, Interval):
        ends = "" if value.low is None else f" ({interval(value.low, value.high)})"
        return shown(value.value) + ends
    if value is None:
        return "not shown"
    return f"{value:,.0f}" if metric in COUNTS else f"{value:.4f}"


def _metrics(result: EvaluationResult, headline: str) -> dict[str, dict[str, Any]]:
    """Return for each metric how many items are behind it and how many have none, and why."""
    told = result.metadata
    undefined: Mapping[str, Mapping[str, Any]] = told.get("undefined", {})
    counts = told.get("n")
    names = sorted({**result.metrics_results, **undefined}, key=lambda name: name != headline)
    metrics: dict[str, dict[str, Any]] = {}
    for name in names:
        interval = (result.intervals or {}).get(name)
        usual = interval.n if interval else counts
        n = counts.get(name) if isinstance(counts, Mapping) else usual
        missing = undefined.get(name, {})
        metrics[name] = {
            **({} if n is None else {"n": n}),
            "n_undefined": missing.get("items", 0),
            **({"reason": missing["reason"]} if missing.get("reason") else {}),
            **told.get("about_metrics", {}).get(name, {}),
        }
    return metrics


def _scored_as(told: Mapping[str, Any]) -> dict[str, str]:
    """Return what must be the same for scores to stand side by side, beside the items."""
    found = {}
    if (version := told.get("score_version")) is not None:
        found["score version"] = str(version)
    if (judging := told.get("judging")) is not None:
        judges = ", ".join(
            sorted(f"{one['model']} at {one['endpoint']}" for one in judging["judges"])
        )
        found["judging"] = (
            f"{judges}; rubric {judging['rubric']} {judging['rubric_sha256'][:12]}, prompt"
            f" {judging['prompt_version']}, {judging['pooling']} of {judging['repeats']} verdicts"
            " a judge"
        )
    return found


def _judging_tables(judging: Mapping[str, Any]) -> list[Table]:
    """Return who judged, and what came of it."""
    judges = [
        (
            one["judge"],
            one["model"],
            ", ".join(one["models_reported"]) or "not named",
            *(f"{one[status]:,}" for status in ("ok", "partial", "failed")),
            "unknown" if one["cost"] is None else one["cost"],
        )
        for one in judging["judges"]
    ]
    told = [
        ("rubric", f"{judging['rubric']} ({judging['rubric_sha256'][:12]})"),
        ("prompt version", judging["prompt_version"]),
        ("verdicts of a jury are put together by", judging["pooling"]),
        ("verdicts of a judge on an answer", str(judging["repeats"])),
        ("answers with complete verdicts", f"{judging['ok']:,}"),
        ("answers with partial verdicts", f"{judging['partial']:,}"),
        ("answers with no usable verdict", f"{judging['failed']:,}"),
        *((f"not judged: {why}", f"{n:,}") for why, n in judging["not_judged"].items()),
        ("answers with signs of an injection", f"{judging['possible_injections']:,}"),
        ("cost of judging", "unknown" if judging["cost"] is None else str(judging["cost"])),
    ]
    named = ("judge", "model", "as its server names it", "complete", "partial", "failed", "cost")
    return [Table("judges", named, judges), Table("judging", ("", ""), told)]


def reasons_table(title: str, counts: Mapping[str, int]) -> Sequence[Table]:
    """Return a table of how often there was each reason; nothing without any."""
    rows = [(name.replace("_", " "), f"{count:,}") for name, count in counts.items() if count]
    return [Table(title, ("", "cases"), rows)] if rows else []
