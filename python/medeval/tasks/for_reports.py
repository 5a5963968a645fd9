"""A score as a report: what pages and leaderboards ask of every task, under names they know."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import medeval
from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.inference.types import digest
from medeval.models.benchmark_report import (
    GOLD,
    GROUPS,
    OUTCOMES,
    VERDICTS,
    BenchmarkReport,
    EvaluationResult,
)
from medeval.models.plots import PLOTS, Plot, ends_of, plot_name
from medeval.models.schemas import Row
from medeval.models.scores import LEVEL, Interval
from medeval.scoring.groups import UNKNOWN, hidden, partition, require_min_cell
from medeval.scoring.table import ScoreTable, result_fields
from medeval.tasks.task import Method, Table, TaskScore
from medeval.terminal import interval, shown
from medeval.text import OPEN

COUNTS = ("n", "n_missing", "n_positive")
# What tables call the figures of a judging.
_SAID: Mapping[str, Mapping[str, str]] = toml_beside(__file__, "for_reports.toml")
# What is told of how far the judges of a jury agree; `judge-audit` tells more.
_AGREEMENT = ("exact", "within_1", "quadratic_kappa")
Groups = dict[str, dict[str, dict[str, float | Interval | None]]]


def task_score(
    task: str,
    model: str,
    headline: str,
    found: ScoreTable | Mapping[str, Any],
    method: Method,
    inputs: Sequence[Row],
    outputs: Sequence[Row],
    facts: Mapping[str, Any],
    *,
    texts: Collection[str] = (),
    gold: Sequence[Any] = (),
    verdicts: Sequence[Any] = (),
    item_groups: Sequence[Mapping[str, str]] = (),
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
        texts: keys of both that are left out, unless texts may be shown.
        facts: of the run, and what else is to be known.
        gold: what each item should have been answered, if texts may be shown.
        verdicts: why an answer scores as it does, likewise.
        item_groups: of each item, grouping to group, likewise; `report_of` keeps what is shown.
        shown: further attributes of the score.
    """
    told: dict[str, Any] = {}
    if isinstance(found, ScoreTable):
        summary = found.summary(draws=method.n_iters, seed=method.seed)
        found = result_fields(found, summary)
        told["n"] = {name: one.n for name, one in summary.items()}
        told["undefined"] = {
            name: {"items": one.n_undefined, "reason": one.reason}
            for name, one in summary.items()
            if one.n_undefined or one.value is None
        }
    if shows_text(facts, method):
        texts = ()
        kept = {GOLD: list(gold), VERDICTS: list(verdicts), GROUPS: list(item_groups)}
        told |= {name: own for name, own in kept.items() if own}
    drawn = {"n_iters": method.n_iters, "seed": method.seed}
    asked, answered = (
        [{name: value for name, value in row.items() if name not in texts} for row in rows]
        for rows in (inputs, outputs)
    )
    result = EvaluationResult(
        model_id=model,
        task_id=task,
        inputs=asked,
        model_outputs=answered,
        **found,
        metadata={**facts, "headline": headline, **told, **drawn},
    )
    if ends := result.metadata.get(OUTCOMES):
        result.metadata[OUTCOMES] = [ends.get(name, "") for name in result.item_ids()]
    return TaskScore(result, headline, **shown)


def shows_text(facts: Mapping[str, Any], method: Method) -> bool:
    """Tell whether texts may be shown, by what is known of a run or since a user asks for them."""
    return method.show_text or facts.get("data", {}).get("data_class") == OPEN


def group_scores(
    groups: Sequence[Mapping[str, str]],
    values: Callable[[Sequence[int]], Mapping[str, float | Interval | None]],
    method: Method,
    groupings: Iterable[str] | None = None,
) -> Groups:
    """Return the values of each group; None for what is hidden, see `hide_small_groups`.

    Args:
        groups: of each item, grouping to group.
        values: of the items at some places.
        method: by which groupings, and the smallest group that is shown.
        groupings: others than those of the method.

    Raises:
        UserError: a grouping that there is not, or a smallest cell that hides nothing well.
    """
    known = dict.fromkeys(name for one in groups for name in one)
    if unknown := [name for name in method.groupings if name not in known]:
        raise UserError(f"--by {unknown[0]}: there are {', '.join(known) or 'no groups'}.")
    found: Groups = {}
    for name in method.groupings if groupings is None else groupings:
        places = partition([one.get(name, UNKNOWN) for one in groups])
        found[name] = {one: {"n": float(len(own)), **values(own)} for one, own in places.items()}
    return hide_small_groups(found, method.min_cell)


def hide_small_groups(groups: Groups, min_cell: int) -> Groups:
    """Return groups with None for each value of those that `scoring.groups.hidden` names.

    Args:
        groups: grouping to group to its values, its size as `n` among them. A single small group
            goes with its name.
        min_cell: the smallest group that is shown.

    Raises:
        UserError: a smallest cell that hides nothing well.
    """
    if groups:
        require_min_cell(min_cell)
    shown: Groups = {}
    for name, own in groups.items():
        sizes = [n if isinstance(n := one["n"], float) else 0 for one in own.values()]
        hide = hidden([int(n) for n in sizes], [{} for _ in own], min_cell)
        shown[name] = {
            group: dict.fromkeys(values) if is_hidden else values
            for (group, values), is_hidden in zip(own.items(), hide or (), strict=False)
        }
    return shown


def report_of(scored: TaskScore) -> BenchmarkReport:
    """Return the report of one score; the score's result is made complete for it."""
    result = scored.result
    told, data = result.metadata, result.metadata["data"]
    judging, own = told.get("judging"), [*scored.tables, *scored.details]
    by_group = group_tables(scored, scored.groups, own)
    tables = [*by_group, *own, *([] if judging is None else _judging_tables(judging))]
    about = {
        "status": "incomplete" if told.get("not_asked") else "ok",
        "task_hash": digest([data["sha256"], told.get("items_sha256")]),
        "data_class": data.get("data_class", "credentialed"),
        "outcomes": told.get("ledger", {}),
        "warnings": list(scored.warnings),
        "notes": list(scored.notes),
    }
    told |= {**about, **told, "warnings": about["warnings"]}
    told["metrics"] = _metrics(result, scored.headline)
    told["scored_as"] = _scored_as(told)
    told["tables"] = [one._asdict() for one in tables]
    if GROUPS in told:
        # Of a group that is hidden, or by which nobody asked, no item tells.
        known = {
            (name, group)
            for name, own in scored.groups.items()
            for group, values in own.items()
            if any(value is not None for value in values.values())
        }
        told[GROUPS] = [
            {name: group for name, group in one.items() if (name, group) in known}
            for one in told[GROUPS]
        ]
    if more := [one.model_dump(mode="json", exclude_defaults=True) for one in group_plots(scored)]:
        told[PLOTS] = [*told.get(PLOTS, []), *more]
    of_run = {
        "run_id": told.get("run_id"),
        "data_sha256": {result.task_id: data["sha256"]},
        "versions": {"medeval": medeval.__version__},
        "medeval_version": medeval.__version__,
        "prompt_version": told.get("prompt_version"),
        "endpoint": told.get("endpoint"),
        "models_reported": sorted(told.get("models_reported", {})),
        "model": {"parameters": told.get("parameters", {})},
    }
    methods = sorted({one.method for one in (result.intervals or {}).values() if one.method})
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


def group_plots(scored: TaskScore) -> Iterator[Plot]:
    """Yield the headline metric of the groups of each grouping; what is hidden has no value."""
    whole = scored.result.metrics_results.get(scored.headline)
    for name, groups in scored.groups.items():
        found = [one.get(scored.headline) for one in groups.values()]
        values = [one.value if isinstance(one, Interval) else one for one in found]
        ends = [one if isinstance(one, Interval) else None for one in found]
        known = [one for one in values if one is not None]
        if not known or len(groups) < 2:
            continue
        counts = [one.get("n") for one in groups.values()]
        yield Plot(
            kind="forest",
            name=plot_name(f"by {name}"),
            title=f"{scored.headline} by {name.replace('_', ' ')}",
            x_label=scored.headline,
            y=values,
            **ends_of(ends),
            n=[int(one) if isinstance(one, float | int) else None for one in counts],
            labels=list(groups),
            level=whole,
            level_label="all",
            limits=(0.0, 1.0) if min(known) >= 0 and max(known) <= 1 else None,
            note="" if len(known) == len(values) else "Groups without a value are not shown.",
        )


def _cell(metric: str, value: float | Interval | None) -> str:
    if isinstance(value, Interval):
        ends = "" if value.low is None else f" ({interval(value.low, value.high)})"
        return shown(value.value) + ends
    return "not shown" if value is None else f"{value:{',.0f' if metric in COUNTS else '.4f'}}"


def _metrics(result: EvaluationResult, headline: str) -> dict[str, dict[str, Any]]:
    """Return for each metric how many items are behind it and how many have none, and why."""
    told = result.metadata
    undefined, counts = told.get("undefined", {}), told.get("n")
    names = sorted({**result.metrics_results, **undefined}, key=lambda name: name != headline)
    metrics: dict[str, dict[str, Any]] = {}
    for name in names:
        interval, missing = (result.intervals or {}).get(name), undefined.get(name, {})
        n = interval.n if interval else counts
        n = counts.get(name) if isinstance(counts, Mapping) else n
        metrics[name] = {
            **({} if n is None else {"n": n}),
            "n_undefined": missing.get("items", 0),
            **({"reason": missing["reason"]} if missing.get("reason") else {}),
            **told.get("about_metrics", {}).get(name, {}),
        }
    return metrics


def _scored_as(told: Mapping[str, Any]) -> dict[str, str]:
    """Return what must be the same for scores to stand side by side, beside the items."""
    found, judging = {}, told.get("judging")
    if (version := told.get("score_version")) is not None:
        found["score version"] = str(version)
    if judging is not None:
        judges = sorted(f"{one['model']} at {one['endpoint']}" for one in judging["judges"])
        found["judging"] = (
            f"{', '.join(judges)}; rubric {judging['rubric']} {judging['rubric_sha256'][:12]},"
            f" prompt {judging['prompt_version']}, {judging['pooling']} of {judging['repeats']}"
            " verdicts a judge"
        )
    return found


def _judging_tables(judging: Mapping[str, Any]) -> list[Table]:
    """Return who judged, and what came of it."""

    def told(value: Any) -> str:
        if isinstance(value, list):
            return ", ".join(value) or "not named"
        return "unknown" if value is None else f"{value:,}" if isinstance(value, int) else value

    judges = [[told(one[key]) for key in _SAID["judges"]] for one in judging["judges"]]
    rows = [
        (label.format(why), told(value))
        for key, label in _SAID["judging"].items()
        for why, value in (judging[key] if key == "not_judged" else {"": judging[key]}).items()
    ]
    rubric = ("rubric", f"{judging['rubric']} ({judging['rubric_sha256'][:12]})")
    agreement = [
        [one["criterion"], f"{one['who']} with {one['with']}", str(one["answers"])]
        + [_cell(name, Interval.model_validate(one[name])) for name in _AGREEMENT]
        for one in judging.get("agreement", ())
    ]
    agreed = ("criterion", "judges", "answers", *(name.replace("_", " ") for name in _AGREEMENT))
    return [
        Table("judges", tuple(_SAID["judges"].values()), judges),
        Table("judging", ("", ""), [rubric, *rows]),
        *([Table("agreement of the judges", agreed, agreement)] if agreement else []),
    ]
