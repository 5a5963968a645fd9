"""The command `compare`: prediction files or runs of models, by pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, combinations, count
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import typer

from medeval.commands.options import flags_in, with_options
from medeval.commands.score import meant, resume_again, write_json
from medeval.errors import UserError
from medeval.tasks import registry

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.scoring.compare import Difference
    from medeval.tasks.task import Comparison, Method

# Of predictions, whose rows are the same for all metrics.
NO_N = ("n", None)
NOT_EQUAL = "What cannot be told apart need not be equal: these data do not say."


def _compare(context: typer.Context, **given: Any) -> None:
    """Compare runs or predictions: which is better, and which cannot be told apart.

    All are scored on the same resamples. p values are corrected for the number of comparisons
    (Holm: all pairs, all metrics).
    """
    # Here, not above: every other command starts without these.
    from medeval.scoring.compare import pair_sentences, sentence
    from medeval.terminal import show_results

    given |= context.obj["options"]
    runs: list[Path] = given["runs"]
    name, kind, method = meant(given, runs[0], "folders of runs")
    found = kind.compare_files(runs, name, given["metric"] or [], method)
    found = found or _of_runs(name, runs, method, given)
    pairs: dict[tuple[str, str], list[Difference]] = {}
    for entry in found.differences:
        pairs.setdefault((entry.first, entry.second), []).append(entry)
    # A short name for each run, in the order in which they were named.
    named = dict.fromkeys(run for one in found.differences for run in (one.first, one.second))
    letters = dict(zip(named, chain(ascii_uppercase, (f"R{at}" for at in count(27))), strict=False))
    said = [
        sentence
        for of_pair in pairs.values()
        for sentence in pair_sentences(
            [replace(one, first=letters[one.first], second=letters[one.second]) for one in of_pair],
            found.names,
        )
    ]
    content = {
        **found.content,
        "comparisons": [
            {
                **{key: value for key, value in asdict(one).items() if (key, value) != NO_N},
                "sentence": sentence(one),
            }
            for one in found.differences
        ],
    }
    out = given["out"]
    files = {} if out is None else {out: partial(write_json, content=content, bare_nan=False)}
    legend = [f"{letter}: {run}" for run, letter in letters.items()]
    tables = [_table(pair, of_pair, found, letters) for pair, of_pair in pairs.items()]
    sentences = [*legend, *said, *found.sentences, NOT_EQUAL]
    show_results(
        tables,
        sentences,
        warnings=found.warnings,
        files=files,
        content=content,
        as_json=given["json"],
    )


compare = with_options(_compare, flags_in("compare_flags.toml"))


def _of_runs(
    name: str, folders: Sequence[Path], method: Method, given: Mapping[str, Any]
) -> Comparison:
    """Compare runs of models on what both of a pair were asked.

    Raises:
        UserError: fewer than two runs, runs of other tasks or data, one that is not whole, or a
            metric that there is not.
    """
    from medeval.scoring.compare import corrected
    from medeval.tasks.run_record import facts_of_run, read_record
    from medeval.tasks.task import Comparison

    if len(folders) < 2:
        raise UserError("Name two runs or more to compare.")
    metrics, moved = given["metric"] or [], given["moved"]
    records = [read_record(folder, name) for folder in folders]
    runs = [(record, registry.resume(record, moved, given["task"])) for record in records]
    for record, asked in runs:
        missing = facts_of_run(record, asked.items(record.limit))["not_asked"]
        if missing:
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
    said = (
        f"{method.n_iters:,} paired resamples of the items, seed {method.seed}; p values by random"
        f" exchanges, corrected for {len(found):,} comparisons (Holm)"
    )
    content: dict[str, Any] = {
        "task": name,
        "comparisons": [],
        "n_iters": method.n_iters,
        "seed": method.seed,
        "correction": "Holm over all pairs and metrics",
    }
    return Comparison(found, [said], content)


def _table(
    pair: tuple[str, str],
    found: Sequence[Difference],
    all_found: Comparison,
    letters: Mapping[str, str],
) -> Table:
    """Return a table of one pair: a row a metric, runs by their letters."""
    from rich.table import Table

    from medeval.scoring.compare import shown_p
    from medeval.terminal import interval, shown

    areas = {one.metric: one for one in all_found.areas if (one.first, one.second) == pair}
    first, second = (letters[run] for run in pair)
    table = Table(title=f"{first} and {second}", title_justify="left")
    table.add_column("metric", no_wrap=True)
    has_n = any(entry.n is not None for entry in found)
    # Broken by hand, so that all fits a terminal of 80 columns.
    headers = [first, second, f"{first} - {second}", "95 % interval", "p\n(Holm)"]
    for header in [*headers, *["DeLong\n(Holm)"] * bool(areas), *["n"] * has_n]:
        table.add_column(header, justify="right", no_wrap=True)
    for entry in found:
        p_values = [entry.adjusted_p]
        if areas:
            p_values.append(areas[entry.metric].adjusted_p if entry.metric in areas else None)
        cells = [
            all_found.names.get(entry.metric, entry.metric),
            *map(shown, (entry.first_value, entry.second_value, entry.difference)),
            interval(entry.low, entry.high),
            *("" if p is None else shown_p(p).replace("below ", "<") for p in p_values),
            *["" if entry.n is None else f"{entry.n:,}"] * has_n,
        ]
        table.add_row(*cells)
    return table
