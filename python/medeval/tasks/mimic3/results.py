"""What is told of scores and comparisons of the ICU tasks, and their JSON as published."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import medeval
from medeval.errors import UserError
from medeval.models.plots import PLOTS, Plot, ends_of
from medeval.models.scores import LEVEL, Interval
from medeval.scoring import compare
from medeval.scoring.binary import delong_test, mcnemar
from medeval.scoring.curves import Curves, calibration_plot, confusion_cells
from medeval.scoring.resample import Floats, Integers, MetricSummary, score
from medeval.scoring.table import ScoreTable, result_fields
from medeval.tasks.for_reports import task_score
from medeval.tasks.mimic3 import metrics as icu
from medeval.tasks.mimic3.groups import divided
from medeval.tasks.mimic3.predictions import Rows, counted
from medeval.tasks.mimic3.task import LAYOUT, IcuScoreOptions, IcuTask
from medeval.tasks.task import Comparison, Method, TaskScore
from medeval.terminal import progress

Metrics = Mapping[str, MetricSummary]
Groups = Mapping[str, Mapping[str, Any]]
Predicted = Mapping[str, Rows]
# The published keys, in the order of the attributes of `MetricSummary`.
KEYS = ("value", "mean", "median", "std", "2.5% percentile", "97.5% percentile")
NO_INTERVAL = "all resamples lie on one side of the value, so there is no BCa interval"
SAID = LAYOUT["said"]
NAMED = 3


def scored(
    task: type[IcuTask], model: str, run_id: str | None, truth: Rows, joined: Rows, method: Method
) -> TaskScore:
    """Score predictions and their groups, in the form of all tasks and in the published layout.

    Args:
        task: what is scored.
        model: who predicted.
        run_id: the name of the run's folder; None for a file.
        truth: the listfile.
        joined: its rows with the predictions, their clusters and the groups of the stays.
        method: resamples and groups.
    """
    options, n_iters = method.chosen(IcuScoreOptions), method.n_iters
    n, own = len(joined.stays), icu.PUBLISHED[task.kind].names
    bare_nan = options.peer_layout or options.strict_nan

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

    is_binary, of_rows = task.kind == "binary", (joined.truth, joined.prediction, joined.stays)
    curves = Curves(*of_rows, method.min_cell) if is_binary else None
    metrics = icu.evaluate(task, joined, method, task.name, curves)
    gaps = undefined(metrics, n_iters)
    warnings = [*joined.warnings, *undefined_sentences(gaps, n_iters, options.strict_nan)]
    subgroups: dict[str, dict[str, Any]] = {}
    groups: dict[str, dict[str, dict[str, float | Interval | None]]] = {}
    for grouping in joined.groups:
        subgroups[grouping], groups[grouping] = {}, {}
        for name, part, told, hidden in divided(task, joined, grouping, method.min_cell):
            found: dict[str, MetricSummary] = {}
            content: dict[str, Any] = {**told, "metrics": None}
            if told["suppressed"] is None:
                every = icu.evaluate(task, part, method, f"{grouping} {name}")
                found = {metric: one for metric, one in every.items() if metric not in hidden}
                content |= {"metrics": entries(found), "undefined": undefined(found, n_iters)}
            subgroups[grouping][name] = content | ({"suppressed_metrics": hidden} if hidden else {})
            shown = {key: told[key] for key in ("n", "n_positive")[: 1 + is_binary]}
            for metric in own[:NAMED]:
                one = found.get(metric)
                shown[metric] = one and interval_of(one, len(part.stays), options.ci)
            groups[grouping][name] = shown
    file: dict[str, Any] = {"n_iters": n_iters, **entries({name: metrics[name] for name in own})}
    if not options.peer_layout:
        if options.extra:
            file["extra"] = entries({name: metrics[name] for name in metrics if name not in own})
        if subgroups:
            file["subgroups"] = subgroups
        file["meta"] = {
            "task": task.name,
            **about(truth, joined, method, {"prediction": joined.described()}),
            "interval": {"method": options.ci, "level": LEVEL},
            "strict_nan": options.strict_nan,
            "undefined": gaps,
            "warnings": warnings,
            "min_cell": method.min_cell if subgroups else None,
        }
    intervals = {name: interval_of(one, n, options.ci) for name, one in metrics.items()}
    names = label_names(joined.columns)
    facts = {
        "run_id": run_id,
        "predictions": joined.described(),
        "data": {"sha256": truth.sha256, "data_class": truth.data_class or "credentialed"},
        "cluster": method.cluster,
        "n": dict.fromkeys(metrics, n),
        "about_metrics": {
            **{name: {"label": label} for name, label in names.items()},
            **{name: {"direction": how} for name, how in icu.DIRECTIONS.items() if name in metrics},
        },
        # Undefined resamples are counted in the intervals; no row has a score of its own.
        "undefined": {
            name: {"items": 0, "reason": one.reason} for name, one in metrics.items() if one.reason
        },
        PLOTS: [
            one.model_dump(mode="json", exclude_defaults=True)
            for one in _plots_of(task, joined, curves, intervals, method)
        ],
    }
    return task_score(
        task.name, model, own[0], result_fields(ScoreTable({}), intervals), method, [], [], facts,
        warnings=warnings,
        groups=groups,
        notes=list(sentences(task, truth, joined, subgroups, method)),
        file=file,
        place=Path(f"{task.short}_results.json"),
        bare_nan=bare_nan,
    )  # fmt: skip


def _plots_of(
    task: type[IcuTask],
    joined: Rows,
    curves: Curves | None,
    intervals: Mapping[str, Interval],
    method: Method,
) -> Iterator[Plot]:
    """Yield the plots that the task calls for; none that would tell of too few stays.

    Args:
        task: what was scored.
        joined: truth and predictions.
        curves: of a binary outcome, with those of its resamples.
        intervals: of each metric.
        method: the smallest number of stays that is told.
    """
    if curves is not None:
        yield from curves.plots(method.cluster)
        data = joined.truth, joined.prediction, joined.stays
        if calibration := calibration_plot(*data, method.min_cell):
            alike = [LAYOUT["plots"]["alike"]] if task.has_sample_times or method.cluster else []
            note = " ".join([*filter(None, [calibration.note]), *alike])
            yield calibration.model_copy(update={"note": note})
    elif task.kind == "labels":
        single = [intervals[name] for name in intervals if name.startswith(icu.LABEL_METRIC)]
        told, values = LAYOUT["plots"]["labels"], [one.value for one in single]
        yield Plot(**told, **ends_of(single), y=values, labels=list(joined.columns))
    else:
        cells = icu.LengthOfStay(joined.truth, joined.prediction).cells.astype(int)
        found, note = confusion_cells(cells, joined.stays, len(icu.BINS), method.min_cell)
        yield Plot(**LAYOUT["plots"]["hours"], labels=icu.BINS, cells=found, note=note)


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


def about(
    truth: Rows, joined: Rows, method: Method, predictions: Mapping[str, Any]
) -> dict[str, Any]:
    """Return how results say what they were made of."""
    listfile = {**truth.described(), "data_class": truth.data_class}
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    return {
        "n": len(joined.stays),
        "n_stays": len(np.unique(joined.stays)),
        "n_iters": method.n_iters,
        "seed": method.seed,
        "generator": "MT19937, as numpy.random.RandomState(seed).randint",
        "cluster": method.cluster,
        "inputs": {**predictions, "listfile": listfile},
        "versions": {"medeval": medeval.__version__, **versions},
    }


def sentences(
    task: type[IcuTask], truth: Rows, joined: Rows, subgroups: Groups, method: Method
) -> Iterator[str]:
    """Say what was scored, and what an interval stands for."""
    rows, stays = len(joined.stays), len(np.unique(joined.stays))
    said = f"{rows:,} rows of {stays:,} stays" if rows != stays else f"{rows:,} stays"
    if task.kind == "binary":
        said += f", {int(joined.truth.sum()):,} positive"
    yield f"{task.name}: {said}; truth from {truth.name}."
    if method.n_iters:
        ci = method.chosen(IcuScoreOptions).ci
        kind = {"bca": "BCa"}.get(ci, ci)
        yield SAID["intervals"].format(kind=kind, unit=method.cluster or "row", method=method)
        if task.has_sample_times and method.cluster is None:
            yield SAID["alike"].format(what="intervals are too narrow")
    few = SAID["few"].format(method.min_cell)
    for grouping, groups in subgroups.items():
        hidden = sum(group["suppressed"] is not None for group in groups.values())
        if hidden or not groups:
            told = SAID["hidden" if groups else "nothing"]
            yield told.format(grouping=grouping, hidden=hidden, groups=len(groups), few=few)


def label_names(columns: Sequence[str]) -> dict[str, str]:
    """Return what to call the metrics of single labels: number and phenotype."""
    numbered = list(enumerate(columns, start=1))
    if len(columns) == 1 or all(name == f"label_{number}" for number, name in numbered):
        return {}
    return {f"{icu.LABEL_METRIC}{number}": f"{number} {name}" for number, name in numbered}


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
    rest = "are NaN (--strict-nan)" if strict_nan else "are those of the others"
    for reason in dict.fromkeys(gap["reason"] for gap in gaps.values()):
        names = [name for name, gap in gaps.items() if gap["reason"] == reason]
        listed, are = ", ".join(names), "are" if len(names) > 1 else "is"
        if len(names) > NAMED + 1:
            listed = f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more metrics"
        told = f": {reason}" if reason == NO_INTERVAL else f" {are} undefined: {reason}"
        if reason is None:
            most = max(gaps[name]["n_undefined"] for name in names)
            some = f"up to {most:,}" if len(names) > 1 else f"{most:,}"
            told = f" {are} undefined in {some} of {n_iters:,} resamples; the statistics {rest}"
        yield f"{listed}{told}."


def chosen_metrics(task: type[IcuTask], wanted: Sequence[str]) -> list[str]:
    """Return the metrics to compare by, in the task's order; upper and lower case are the same.

    Raises:
        UserError: the task has no such metric.
    """
    every = {name.casefold(): name for name in icu.PUBLISHED[task.kind].names}
    keys = {name.strip().casefold(): name for name in wanted}
    if unknown := [repr(name) for key, name in keys.items() if key not in every]:
        there = ", ".join(every.values())
        raise UserError(f"{task.name} has no metric {', '.join(unknown)}. It has: {there}.")
    return [name for key, name in every.items() if not keys or key in keys]


def compared(
    task: type[IcuTask], truth: Rows, predicted: Predicted, metrics: Sequence[str], method: Method
) -> Comparison:
    """Score and compare prediction files on the same resamples; see `Task.compare_files`."""
    every, threshold = icu.PUBLISHED[task.kind].names, method.chosen(IcuScoreOptions).threshold
    rows, *_ = predicted.values()
    n_iters, seed, scores = method.n_iters, method.seed, {}
    for name, joined in predicted.items():
        statistic = icu.PUBLISHED[task.kind](joined.truth, joined.prediction)
        with progress(name, lambda: n_iters) as advance:
            scores[name] = score(statistic, n_iters, seed, rows.clusters, progress=advance)
    truths = rows.truth.reshape(len(rows.stays), -1).T
    units = independent_units(task, truths, rows.clusters)
    differences = compare.compare(scores, metrics, units=units, lower_is_better=icu.LOWER_IS_BETTER)

    pairs = list(combinations(predicted, 2))
    columns = {
        name: one.prediction.reshape(len(one.stays), -1).T for name, one in predicted.items()
    }
    # The area under one ROC curve has a test; means of areas have none.
    ranked = {"binary": every[:1], "hours": (), "labels": every[-len(truths) :]}[task.kind]
    areas = compare.family(
        {
            (*pair, metric): delong_test(truths[place], *(columns[name][place] for name in pair))
            for pair in pairs
            for place, metric in enumerate(ranked)
            if metric in metrics
        }
    )
    answers = []
    if threshold is not None:
        right = {name: (one[0] > threshold) == (truths[0] == 1) for name, one in columns.items()}
        accuracy = f"accuracy at threshold {threshold:g}"
        answers = compare.family(
            {(*pair, accuracy): mcnemar(*(right[name] for name in pair)) for pair in pairs}
        )
        for entry in answers:
            entry |= {"threshold": threshold, "sentence": compare.answer_sentence(entry)}

    made = differences[0].n_comparisons
    warnings = [warning for joined in predicted.values() for warning in joined.warnings]
    if made and method.n_iters < (needed := compare.least_resamples(made)):
        warnings.append(SAID["too_few"].format(method=method, made=made, needed=needed))
    warnings += [
        SAID["undefined"].format(one=entry, method=method)
        for entry in differences
        if 0 < entry.n_undefined < method.n_iters
    ]
    over = {
        "comparisons": counted(made, "comparison"),
        "pairs": counted(len(pairs), "pair"),
        "metrics": counted(len(metrics), "metric"),
    }
    notes = [
        f"{task.name}: {len(rows.stays):,} rows; truth from {truth.name}.",
        SAID["differences"].format(method=method, unit=method.cluster or "row", **over),
    ]
    if task.has_sample_times and method.cluster is None:
        notes.append(SAID["alike"].format(what="differences look surer than they are"))
    tests = ["DeLong's"] * bool(areas) + ["McNemar's"] * bool(answers)
    if tests and (task.has_sample_times or method.cluster):
        verb = "test takes" if len(tests) == 1 else "tests take"
        notes.append(f"{' and '.join(tests)} {verb} every row as independent in any case.")
    files = {name: one.described() for name, one in predicted.items()}
    content: dict[str, Any] = {
        "task": task.name,
        "predictions": list(files),
        "comparisons": [],
        "delong": areas,
        **({} if threshold is None else {"mcnemar": answers}),
        "meta": {
            **about(truth, rows, method, {"predictions": files}),
            "interval": {"method": "percentile of paired differences", "level": LEVEL},
            "p_value": SAID["p_value"],
            "correction": SAID["correction"],
            "warnings": warnings,
        },
    }
    said = [*(entry["sentence"] for entry in answers), *notes]
    adjusted = {(one["first"], one["second"], one["metric"]): one["adjusted_p"] for one in areas}
    return Comparison(differences, said, content, warnings, adjusted, label_names(rows.columns))


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

    every = icu.PUBLISHED[task.kind].names
    units = dict.fromkeys(every, count(np.ones(truths.shape[1], dtype=np.bool_)))
    if task.kind == "hours":
        return units
    rarer = [min(count(one == 1), count(one != 1)) for one in truths]
    both = every[-len(rarer) :] if task.kind == "labels" else every
    return units | dict(zip(both, rarer * (len(both) // len(rarer)), strict=True))
