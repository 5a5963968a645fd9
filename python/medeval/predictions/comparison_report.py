"""Comparisons as JSON, as a table and as sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from typing import TYPE_CHECKING, Any

from medeval.predictions.comparing import Compared, warnings

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.scoring.compare import AnswerDifference, Difference


def content(compared: Compared) -> dict[str, Any]:
    """Return what is written as JSON."""
    import numpy as np

    from medeval.predictions.files import provenance
    from medeval.scoring.compare import LEVEL

    request, inputs = compared.request, compared.inputs
    written: dict[str, Any] = {
        "task": request.task.name,
        "predictions": list(request.predictions),
        "comparisons": [
            {**asdict(entry), "sentence": entry.sentence} for entry in compared.differences
        ],
        "delong": [
            {
                "first": entry.first,
                "second": entry.second,
                "metric": entry.metric,
                **{
                    f"{key}_value" if key in ("first", "second") else key: value
                    for key, value in asdict(entry.test).items()
                },
                "adjusted_p": entry.adjusted_p,
            }
            for entry in compared.areas
        ],
    }
    if request.threshold is not None:
        written["mcnemar"] = [
            {
                "first": entry.first,
                "second": entry.second,
                "threshold": request.threshold,
                **asdict(entry.test),
                "adjusted_p": entry.adjusted_p,
                "sentence": _answer_sentence(entry, request.threshold),
            }
            for entry in compared.answers
        ]
    written["meta"] = {
        "n": len(inputs.rows.stays),
        "n_stays": len(np.unique(inputs.rows.stays)),
        "n_iters": request.n_iters,
        "seed": request.seed,
        "generator": "MT19937, as numpy.random.RandomState(seed).randint",
        "cluster": request.cluster.value if request.cluster else None,
        "interval": {"method": "percentile of paired differences", "level": LEVEL},
        "p_value": "two-sided, 2 min(1 + below, 1 + above) / (1 + resamples)",
        "correction": "Holm over all pairs and metrics; DeLong and McNemar each by itself",
        "warnings": warnings(compared),
        **provenance(
            {"predictions": {name: one.described() for name, one in inputs.sources.items()}},
            inputs.listfile,
            inputs.data_class,
            is_file=request.listfile is not None,
        ),
    }
    return written


def print_comparison(compared: Compared) -> None:
    """Print a table a pair, and the sentences of all."""
    from medeval.predictions.terminal import label_names
    from medeval.scoring.compare import pair_sentences
    from medeval.terminal import Terminal

    console = Terminal()
    names = label_names(compared.inputs.rows.columns)
    pairs = list(combinations(compared.request.predictions, 2))
    said = []
    for first, second in pairs:
        found = [
            entry
            for entry in compared.differences
            if (entry.first, entry.second) == (first, second)
        ]
        console.print(_table(compared, found, names))
        said += pair_sentences(found, names)
    if compared.request.threshold is not None:
        said += [_answer_sentence(entry, compared.request.threshold) for entry in compared.answers]
    print("\n".join([*said, *_method(compared, len(pairs))]))


def _table(compared: Compared, found: Sequence[Difference], names: dict[str, str]) -> Table:
    from rich.table import Table

    from medeval.predictions.terminal import interval, shown

    first, second = found[0].first, found[0].second
    areas = {
        entry.metric: entry
        for entry in compared.areas
        if (entry.first, entry.second) == (first, second)
    }
    title = f"{first} (first) and {second} (second)"
    table = Table(title=title, title_justify="left")
    table.add_column("metric")
    # Broken by hand, so that all fits a terminal of 80 columns.
    headers = ["first", "second", "first -\nsecond", "95 % interval", "p\n(Holm)"]
    if areas:
        headers.append("DeLong\n(Holm)")
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    for entry in found:
        cells = [names.get(entry.metric, entry.metric)]
        cells += [
            shown(math.nan if value is None else value)
            for value in (entry.first_value, entry.second_value, entry.difference)
        ]
        cells.append(
            "undefined"
            if entry.low is None or entry.high is None
            else interval(entry.low, entry.high)
        )
        cells.append(_cell(entry.adjusted_p))
        if areas:
            area = areas.get(entry.metric)
            cells.append(_cell(area.adjusted_p) if area else "")
        table.add_row(*cells)
    return table


def _method(compared: Compared, pairs: int) -> list[str]:
    """Say how the numbers came about."""
    request = compared.request
    unit = f"{request.cluster.value}s" if request.cluster else "rows"
    made = max(entry.n_comparisons for entry in compared.differences)
    comparisons = "1 comparison" if made == 1 else f"{made:,} comparisons"
    of_pairs = "1 pair" if pairs == 1 else f"{pairs:,} pairs"
    metrics = "1 metric" if len(request.metrics) == 1 else f"{len(request.metrics):,} metrics"
    said = [
        f"{request.task.name}: {len(compared.inputs.rows.stays):,} rows; truth from"
        f" {compared.inputs.listfile.name}.",
        f"Intervals of differences (first minus second): 95 %, percentile, from"
        f" {request.n_iters:,} resamples of {unit}, the same for all, seed {request.seed}. p values"
        f" are two-sided; Holm's correction is over {comparisons} ({of_pairs}, {metrics}).",
        "What cannot be told apart need not be equal: these data do not say.",
    ]
    if request.task.has_sample_times and request.cluster is None:
        said.append(
            "The hours of one stay are alike, and here each is drawn as if it stood alone: the"
            " differences look surer than they are. --cluster stay draws whole stays."
        )
    if request.task.has_sample_times or request.cluster:
        tests = ["DeLong's"] * bool(compared.areas) + ["McNemar's"] * bool(compared.answers)
        if tests:
            verb = "test takes" if len(tests) == 1 else "tests take"
            said.append(f"{' and '.join(tests)} {verb} every row as independent in any case.")
    return said


def _answer_sentence(found: AnswerDifference, threshold: float) -> str:
    from medeval.scoring.compare import answer_sentence

    return answer_sentence(found, f"accuracy at threshold {threshold:g}")


def _cell(p: float | None) -> str:
    from medeval.scoring.compare import shown_p

    return "" if p is None else shown_p(p).replace("below ", "<")
