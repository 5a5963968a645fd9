"""The command `compare`: runs or prediction files of one task, by pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from medeval.commands.score import meant, resume_again
from medeval.errors import UserError
from medeval.files import require_different
from medeval.tasks import registry
from medeval.tasks.run_record import facts_of_run, read_record
from medeval.tasks.task import Comparison, Method
from medeval.terminal import interval, show_results, shown, table_of

if TYPE_CHECKING:
    from medeval.scoring.compare import Difference

NOT_EQUAL = "What cannot be told apart need not be equal: these data do not say."


def compare(context: typer.Context, **given: Any) -> None:
    """Compare runs or predictions: which is better?

    Or can they not be told apart?

    All are scored on the same resamples. p values are corrected for the number of comparisons
    (Holm: all pairs, all metrics).
    """
    # Here, not above: every other command starts without these.
    from medeval.scoring.compare import pair_sentences, sentence

    given |= context.obj["options"]
    runs: list[Path] = given["runs"]
    name, kind, method = meant(given, runs[0], "folders of runs")
    found = kind.compare_files(runs, name, given["metric"] or [], method)
    found = found or _of_runs(name, runs, method, given)
    # A letter for each run, in the order in which they were named; after Z R27 and so on.
    named = dict.fromkeys(run for one in found.differences for run in (one.first, one.second))
    letters = {run: chr(65 + at) if at < 26 else f"R{at + 1}" for at, run in enumerate(named)}
    tables, said, comparisons = [], [], []
    for pair in dict.fromkeys((one.first, one.second) for one in found.differences):
        of_pair = [one for one in found.differences if (one.first, one.second) == pair]
        first, second = (letters[run] for run in pair)
        tables.append(_pair_table((first, second), of_pair, found))
        short = [replace(one, first=first, second=second) for one in of_pair]
        said += pair_sentences(short, found.names)
    for one in found.differences:
        about = {**asdict(one), "sentence": sentence(one)}
        # Predictions have the same rows for all metrics.
        comparisons.append({key: about[key] for key in about if (key, about[key]) != ("n", None)})
    content = {**found.content, "comparisons": comparisons}
    legend = [f"{letter}: {run}" for run, letter in letters.items()]
    show_results(
        tables,
        [*legend, *said, *found.sentences, NOT_EQUAL],
        warnings=found.warnings,
        out=given["out"],
        content=content,
        as_json=given["json"],
    )


def _of_runs(
    name: str, folders: Sequence[Path], method: Method, given: Mapping[str, Any]
) -> Comparison:
    """Compare runs of models on what both of a pair were asked.

    Raises:
        UserError: fewer than two runs, one that is named twice, runs of other tasks or data, one
            that is not whole, or a metric that there is not.
    """
    from medeval.scoring.compare import corrected

    if len(folders) < 2:
        raise UserError("Name two runs or more to compare.")
    metrics, moved = given["metric"] or [], given["moved"]
    records = [read_record(folder, name) for folder in folders]
    runs = [(record, registry.resume(record, moved, given["task"])) for record in records]
    for record, asked in runs:
        if missing := facts_of_run(record, asked.items(record.limit))["not_asked"]:
            raise UserError(
                f"{missing:,} items of {record.folder} were never asked: it cannot be compared"
                f" before it is whole. `{resume_again(record.folder, moved)}`."
            )
    found = corrected(
        [
            replace(difference, first=str(one.folder), second=str(two.folder))
            for (one, asked), (two, other) in combinations(runs, 2)
            for difference in asked.compare(one.folder, other, two.folder, method)
            if not metrics or difference.metric in metrics
        ]
    )
    if unknown := [one for one in metrics if one not in {each.metric for each in found}]:
        raise UserError(f"--metric {unknown[0]}: the runs cannot be compared by it.")
    require_different(folders, folders)
    said = (
        f"{method.n_iters:,} paired resamples of the items, seed {method.seed}; p values by random"
        f" exchanges, corrected for {len(found):,} comparisons (Holm)"
    )
    content = {"task": name, "comparisons": [], "n_iters": method.n_iters, "seed": method.seed}
    content["correction"] = "Holm over all pairs and metrics"
    return Comparison(found, [said], content)


def _pair_table(
    letters: tuple[str, str], of_pair: Sequence[Difference], found: Comparison
) -> Table:
    """Return a table of one pair: a row a metric, runs by their letters."""
    from medeval.scoring.compare import shown_p

    pair = of_pair[0].first, of_pair[0].second
    areas = {metric: p for (*names, metric), p in found.areas.items() if (*names,) == pair}
    has_n = any(one.n is not None for one in of_pair)
    rows = []
    for one in of_pair:
        p_values = [one.adjusted_p, *[areas.get(one.metric)] * bool(areas)]
        cells = [
            found.names.get(one.metric, one.metric),
            *map(shown, (one.first_value, one.second_value, one.difference)),
            interval(one.low, one.high),
            *("" if p is None else shown_p(p).replace("below ", "<") for p in p_values),
        ]
        rows.append(cells + ["" if one.n is None else f"{one.n:,}"] * has_n)
    # Broken by hand, so that all fits a terminal of 80 columns.
    columns = ["metric", *letters, " - ".join(letters), "95 % interval", "p\n(Holm)"]
    columns += [*["DeLong\n(Holm)"] * bool(areas), *["n"] * has_n]
    table = table_of(" and ".join(letters), columns, rows, names=1)
    table.title_justify = "left"
    return table
