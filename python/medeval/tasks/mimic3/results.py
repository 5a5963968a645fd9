"""What is told of scores and comparisons of the ICU tasks: JSON as published, tables, sentences."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import medeval
from medeval.errors import UserError
from medeval.models.scores import Interval
from medeval.scoring import compare
from medeval.scoring.binary import DeLong, delong_test
from medeval.scoring.compare import LEVEL, McNemar, PairTest
from medeval.scoring.resample import Floats, Integers, MetricSummary, score
from medeval.tasks.for_reports import task_score
from medeval.tasks.mimic3.groups import Group, numbered_clusters
from medeval.tasks.mimic3.metrics import LABEL_METRIC, LOWER_IS_BETTER, METRICS, PUBLISHED
from medeval.tasks.mimic3.predictions import counted
from medeval.tasks.mimic3.task import IcuTask, Inputs, options_of
from medeval.tasks.task import Comparison, Method, Table, TaskScore
from medeval.terminal import interval, progress, shown

Metrics = Mapping[str, MetricSummary]
# The published keys, in the order of the attributes of `MetricSummary`.
KEYS = ("value", "mean", "median", "std", "2.5% percentile", "97.5% percentile")
NO_INTERVAL = "all resamples lie on one side of the value, so there is no BCa interval"
ALIKE = "The hours of one stay are alike, and here each is drawn as if it stood alone: the"
NAMED = 3


def score_of(
    task: type[IcuTask],
    model: str,
    run_id: str | None,
    inputs: Inputs,
    metrics: Metrics,
    subgroups: Mapping[str, Sequence[Group]],
    method: Method,
) -> TaskScore:
    """Return a score in the form of all tasks, and in the published layout.

    Args:
        task: what was scored, and how.
        model: who predicted.
        run_id: the name of the run's folder; None for a file.
        inputs: what was scored.
        metrics: of all rows.
        subgroups: grouping to groups with their metrics.
        method: resamples and groups.
    """
    joined, options, n_iters = inputs.rows, options_of(method), method.n_iters
    bare_nan = options.peer_layout or options.strict_nan
    gaps = undefined(metrics, n_iters)
    warnings = [*joined.warnings, *undefined_sentences(gaps, n_iters, options.strict_nan)]

    def entries(found: Metrics) -> dict[str, dict[str, float | None]]:
        """Return one object a metric, keys in the published order; without resamples `value`."""
        keys = KEYS[: None if n_iters else 1]
        return {
            name: {
                key: number if math.isfinite(number) or bare_nan else None
                for key, number in zip(keys, astuple(metric), strict=False)
            }
            for name, metric in found.items()
        }

    def group_content(group: Group) -> dict[str, Any]:
        sizes = {key: getattr(group, key) for key in ("n", "n_stays", "n_positive", "suppressed")}
        if not group.metrics:
            return {**sizes, "metrics": None}
        values = {"metrics": entries(group.metrics), "undefined": undefined(group.metrics, n_iters)}
        hidden = {"suppressed_metrics": group.hidden_metrics} if group.hidden_metrics else {}
        return {**sizes, **values, **hidden}

    own = [name for name in metrics if name in METRICS[task.kind]]
    content: dict[str, Any] = {"n_iters": n_iters}
    content |= entries({name: metrics[name] for name in own})
    if not options.peer_layout:
        if further := {name: one for name, one in metrics.items() if name not in own}:
            content["extra"] = entries(further)
        if subgroups:
            content["subgroups"] = {
                grouping: {group.name: group_content(group) for group in groups}
                for grouping, groups in subgroups.items()
            }
        content["meta"] = {
            "task": task.name,
            **about(inputs, method, {"prediction": joined.described()}),
            "interval": {"method": options.ci, "level": LEVEL},
            "strict_nan": options.strict_nan,
            "undefined": gaps,
            "warnings": warnings,
            "min_cell": method.min_cell if subgroups else None,
        }
    n = len(joined.stays)
    scores = {
        "metrics_results": {
            name: one.value for name, one in metrics.items() if math.isfinite(one.value)
        },
        "intervals": {
            name: interval_of(one, n, options.ci)
            for name, one in metrics.items()
            if math.isfinite(one.low) and math.isfinite(one.value)
        },
    }
    facts = {
        "run_id": run_id,
        "predictions": joined.described(),
        "data": {
            "sha256": inputs.listfile.sha256,
            "data_class": inputs.data_class or "credentialed",
        },
        "cluster": method.cluster,
        "n": dict.fromkeys(metrics, n),
        "about_metrics": {
            name: {"label": label} for name, label in label_names(joined.columns).items()
        },
        # Undefined resamples are counted in the intervals; no row has a score of its own.
        "undefined": {
            name: {"items": 0, "reason": one.reason} for name, one in metrics.items() if one.reason
        },
    }
    return task_score(
        task.name, model, own[0], scores, method, [], [], facts,
        warnings=warnings,
        groups={grouping: {} for grouping in subgroups},
        notes=list(sentences(task, inputs, subgroups, method)),
        tables=[group_table(name, groups, own[:3]) for name, groups in subgroups.items()],
        file=content,
        place=Path(f"{task.short}_results.json"),
        bare_nan=bare_nan,
    )  # fmt: skip


def interval_of(metric: MetricSummary, n: int, ci: str) -> Interval:
    """Return a metric with its interval, None for what is undefined.

    Args:
        metric: over all resamples.
        n: how many rows it rests on.
        ci: how the interval was made, `percentile` or `bca`.
    """
    value, low, high = (
        number if math.isfinite(number) else None
        for number in (metric.value, metric.low, metric.high)
    )
    method = "" if low is None or high is None else f"bootstrap_{ci}"
    return Interval(
        value=value, low=low, high=high, level=LEVEL, method=method, n=n,
        n_undefined=metric.n_undefined, reason=metric.reason,
    )  # fmt: skip


def about(inputs: Inputs, method: Method, predictions: dict[str, Any]) -> dict[str, Any]:
    """Return how results say what they were made of."""
    stays = inputs.rows.stays
    truth = {**inputs.listfile.described(), "data_class": inputs.data_class}
    return {
        "n": len(stays),
        "n_stays": len(np.unique(stays)),
        "n_iters": method.n_iters,
        "seed": method.seed,
        "generator": "MT19937, as numpy.random.RandomState(seed).randint",
        "cluster": method.cluster,
        "inputs": {**predictions, "listfile": truth},
        "versions": {
            "medeval": medeval.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
    }


def sentences(
    task: type[IcuTask], inputs: Inputs, subgroups: Mapping[str, Sequence[Group]], method: Method
) -> Iterator[str]:
    """Say what was scored, and what an interval stands for."""
    joined = inputs.rows
    rows, stays = len(joined.stays), len(np.unique(joined.stays))
    said = f"{rows:,} rows of {stays:,} stays" if rows != stays else f"{rows:,} stays"
    if task.kind == "binary":
        said += f", {int(joined.truth.sum()):,} positive"
    yield f"{task.name}: {said}; truth from {inputs.listfile.name}."
    if method.n_iters:
        ci = options_of(method).ci
        kind = "BCa" if ci == "bca" else ci
        yield (
            f"Intervals: 95 %, {kind}, from {method.n_iters:,} resamples of"
            f" {method.cluster or 'row'}s, seed {method.seed}."
        )
        if task.has_sample_times and method.cluster is None:
            yield f"{ALIKE} intervals are too narrow. --cluster stay draws whole stays."
    few = f"fewer than {method.min_cell} stays in all or of one class (--min-cell)"
    for grouping, groups in subgroups.items():
        suppressed = sum(group.suppressed is not None for group in groups)
        if not groups:
            yield f"By {grouping}: nothing can be told, for it would tell of {few}."
        elif suppressed:
            yield (
                f"By {grouping}: {suppressed:,} of {len(groups):,} groups are hidden,"
                f" since one of them has {few}, or such a one could be worked out from it."
            )


def group_table(grouping: str, groups: Sequence[Group], first: Sequence[str]) -> Table:
    """Return a table with one line a group: its size and the metrics named in `first`."""
    has_classes = any(group.n_positive is not None for group in groups)
    rows = []
    for group in groups:
        counts = [group.n, group.n_positive][: 1 + has_classes]
        values = [
            f"{shown(one.value)} ({interval(one.low, one.high)})"
            if math.isfinite(one.low)
            else shown(one.value)
            for one in (group.metrics[name] for name in first if group.metrics)
        ]
        rows.append(
            [
                group.name,
                *("hidden" if count is None else f"{count:,}" for count in counts),
                *(values or [group.suppressed or "", *[""] * (len(first) - 1)]),
            ]
        )
    return Table(f"by {grouping}", ("group", "n", *["positive"] * has_classes, *first), rows)


def label_names(columns: Sequence[str]) -> dict[str, str]:
    """Return what to call the metrics of single labels: number and phenotype."""
    numbered = list(enumerate(columns, start=1))
    if len(columns) == 1 or all(name == f"label_{number}" for number, name in numbered):
        return {}
    return {f"{LABEL_METRIC}{number}": f"{number} {name}" for number, name in numbered}


def undefined(metrics: Metrics, n_iters: int) -> dict[str, dict[str, Any]]:
    """Return the metrics to tell of: in how many resamples they are undefined, and why.

    A reason of None means that the metric has a value and an interval, from the other resamples.
    """
    gaps = {}
    for name, metric in metrics.items():
        reason = metric.reason
        if not reason and n_iters > metric.n_undefined and not math.isfinite(metric.low):
            reason = None if math.isnan(metric.mean) else NO_INTERVAL
        if metric.n_undefined or reason:
            gaps[name] = {"n_undefined": int(metric.n_undefined), "reason": reason}
    return gaps


def undefined_sentences(
    gaps: Mapping[str, Mapping[str, Any]], n_iters: int, strict_nan: bool
) -> Iterator[str]:
    """Say it in as few sentences as there are reasons."""
    by_reason: dict[str | None, list[str]] = {}
    for name, entry in gaps.items():
        by_reason.setdefault(entry["reason"], []).append(name)
    for reason, names in by_reason.items():
        listed, verb = ", ".join(names), "are" if len(names) > 1 else "is"
        if len(names) > NAMED + 1:
            listed = f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more metrics"
        if reason == NO_INTERVAL:
            yield f"{listed}: {reason}."
        elif reason is not None:
            yield f"{listed} {verb} undefined: {reason}."
        else:
            most = max(gaps[name]["n_undefined"] for name in names)
            some = f"up to {most:,}" if len(names) > 1 else f"{most:,}"
            rest = "are NaN (--strict-nan)" if strict_nan else "are those of the others"
            yield (
                f"{listed} {verb} undefined in {some} of {n_iters:,} resamples; the"
                f" statistics {rest}."
            )


def chosen_metrics(task: type[IcuTask], wanted: Sequence[str]) -> list[str]:
    """Return the metrics to compare by, in the task's order; upper and lower case are the same.

    Raises:
        UserError: the task has no such metric.
    """
    every = METRICS[task.kind]
    keys = {name.strip().casefold(): name for name in wanted}
    if unknown := [keys[key] for key in keys if key not in map(str.casefold, every)]:
        raise UserError(
            f"{task.name} has no metric {', '.join(map(repr, unknown))}. It has:"
            f" {', '.join(every)}."
        )
    return [name for name in every if not keys or name.casefold() in keys]


def compared(
    task: type[IcuTask], inputs: Inputs, metrics: Sequence[str], method: Method
) -> Comparison:
    """Score and compare prediction files on the same resamples; see `Task.compare_files`."""
    every, rows, threshold = METRICS[task.kind], inputs.rows, options_of(method).threshold
    numbers = numbered_clusters(rows, method.cluster)
    scores = {}
    for name, joined in inputs.joined.items():
        with progress(name, lambda: method.n_iters) as advance:
            statistic = PUBLISHED[task.kind](joined.truth, joined.prediction)
            scores[name] = score(statistic, method.n_iters, method.seed, numbers, progress=advance)
    truths = rows.truth.reshape(len(rows.stays), -1).T
    units = independent_units(task, truths, numbers)
    differences = compare.compare(scores, metrics, units=units, lower_is_better=LOWER_IS_BETTER)

    pairs = list(combinations(inputs.joined, 2))
    columns = {
        name: one.prediction.reshape(len(one.stays), -1).T for name, one in inputs.joined.items()
    }
    # The area under one ROC curve has a test; means of areas have none.
    ranked = {"binary": every[:1], "hours": (), "labels": every[-len(truths) :]}[task.kind]
    areas = compare.family(
        [
            (*pair, metric, delong_test(truths[place], *(columns[name][place] for name in pair)))
            for pair in pairs
            for place, metric in enumerate(ranked)
            if metric in metrics
        ]
    )
    answers: Sequence[PairTest[McNemar]] = ()
    if threshold is not None:
        right = {name: (one[0] > threshold) == (truths[0] == 1) for name, one in columns.items()}
        accuracy = f"accuracy at threshold {threshold:g}"
        answers = compare.family(
            [(*pair, accuracy, compare.mcnemar(*(right[name] for name in pair))) for pair in pairs]
        )

    made, n_iters = differences[0].n_comparisons, method.n_iters
    warnings = [warning for joined in inputs.joined.values() for warning in joined.warnings]
    if made and n_iters < (needed := compare.least_resamples(made)):
        warnings.append(
            f"{n_iters:,} resamples are too few for {made:,} comparisons: no difference"
            f" can be significant. Take at least --n-iters {needed}."
        )
    warnings += [
        f"{entry.first} and {entry.second}: {entry.metric} is undefined in"
        f" {entry.n_undefined:,} of {n_iters:,} resamples; the others count."
        for entry in differences
        if 0 < entry.n_undefined < n_iters
    ]
    notes = [
        f"{task.name}: {len(rows.stays):,} rows; truth from {inputs.listfile.name}.",
        f"Intervals of differences (first minus second): 95 %, percentile, from {n_iters:,}"
        f" resamples of {method.cluster or 'row'}s, the same for all, seed {method.seed}. p values"
        f" are two-sided; Holm's correction is over {counted(made, 'comparison')}"
        f" ({counted(len(pairs), 'pair')}, {counted(len(metrics), 'metric')}).",
    ]
    if task.has_sample_times and method.cluster is None:
        notes.append(
            f"{ALIKE} differences look surer than they are. --cluster stay draws whole stays."
        )
    tests = ["DeLong's"] * bool(areas) + ["McNemar's"] * bool(answers)
    if tests and (task.has_sample_times or method.cluster):
        verb = "test takes" if len(tests) == 1 else "tests take"
        notes.append(f"{' and '.join(tests)} {verb} every row as independent in any case.")
    files = {name: one.described() for name, one in inputs.joined.items()}
    tested = [
        {**_flat(entry), "threshold": threshold, "sentence": compare.answer_sentence(entry)}
        for entry in answers
    ]
    content: dict[str, Any] = {
        "task": task.name,
        "predictions": list(files),
        "comparisons": [],
        "delong": [_flat(entry) for entry in areas],
        **({} if threshold is None else {"mcnemar": tested}),
        "meta": {
            **about(inputs, method, {"predictions": files}),
            "interval": {"method": "percentile of paired differences", "level": LEVEL},
            "p_value": "two-sided, 2 min(1 + below, 1 + above) / (1 + resamples)",
            "correction": "Holm over all pairs and metrics; DeLong and McNemar each by itself",
            "warnings": warnings,
        },
    }
    said = [*map(compare.answer_sentence, answers), *notes]
    return Comparison(differences, said, content, warnings, areas, label_names(rows.columns))


def _flat(entry: PairTest[DeLong] | PairTest[McNemar]) -> dict[str, Any]:
    names = {key: getattr(entry, key) for key in ("first", "second", "metric")}
    return {**names, **asdict(entry.test), "adjusted_p": entry.adjusted_p}


def independent_units(
    task: type[IcuTask], truths: Floats, numbers: Integers | None
) -> dict[str, int]:
    """Return on how many rows or clusters each metric rests.

    A metric that needs both classes rests on those of the rarer one; means over labels rest on all.

    Args:
        task: what is scored.
        truths: of each label, shape (labels, n).
        numbers: each row's cluster; None if every row stands for itself.
    """

    def count(rows: Any) -> int:
        return int(rows.sum()) if numbers is None else len(np.unique(numbers[rows]))

    every = METRICS[task.kind]
    units = dict.fromkeys(every, count(np.ones(truths.shape[1], dtype=np.bool_)))
    if task.kind == "hours":
        return units
    rarer = [min(count(one == 1), count(one != 1)) for one in truths]
    both = every[-len(rarer) :] if task.kind == "labels" else every
    return units | dict(zip(both, rarer * (len(both) // len(rarer)), strict=True))
