"""The command `compare`: prediction files or runs of models, by pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medeval.commands.graceful_exit import command_of, with_flags
from medeval.commands.options import flags_in, flags_of_options, with_options
from medeval.commands.score import method_of, write_json
from medeval.errors import UserError
from medeval.tasks import registry

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.scoring.compare import Difference
    from medeval.tasks.task import Comparison, Method

# Of predictions, whose rows are the same for all metrics.
NO_N = ("n", None)
NOT_EQUAL = "What cannot be told apart need not be equal: these data do not say."


def _compare(
    context: typer.Context,
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|FILE...",
            help="Two or more folders of runs, or prediction files (.csv, .csv.gz, .parquet).",
        ),
    ],
    **given: Any,
) -> None:
    """Compare runs or predictions: which is better, and which cannot be told apart.

    All are scored on the same resamples. p values are corrected for the number of comparisons
    (Holm: all pairs, all metrics).
    """
    # Here, not above: every other command starts without these.
    from medeval.scoring.compare import pair_sentences, sentence
    from medeval.terminal import Results, require_writable

    given |= context.obj["options"]
    out, as_json = given["out"], given["json"] or str(given["out"]) == "-"
    named = given["task"] or registry.task_of(runs[0])
    if named is None:
        raise UserError("Name a task with --task, or folders of runs.")
    name, kind = registry.recorded_name(named), registry.task_class(registry.canonical_name(named))
    method = method_of(kind, name, given)
    if out is not None and not as_json:
        require_writable(out)
    metrics = given["metric"] or []
    found = kind.compare_files(runs, name, metrics, method)
    if found is None:
        moved = {one: given[one] for one in kind.MOVED if given.get(one) is not None}
        found = _of_runs(name, runs, metrics, method, moved, given["task"])
    pairs: dict[tuple[str, str], list[Difference]] = {}
    for entry in found.differences:
        pairs.setdefault((entry.first, entry.second), []).append(entry)
    letters = _letters(found.differences)
    said = [
        sentence
        for of_pair in pairs.values()
        for sentence in pair_sentences([_by_letter(one, letters) for one in of_pair], found.names)
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
    files = {}
    if out is not None and not as_json:
        files[out] = partial(write_json, content=content, bare_nan=False)
    legend = [f"{letter}: {run}" for run, letter in letters.items()]
    tables = [_table(pair, of_pair, found, letters) for pair, of_pair in pairs.items()]
    sentences = [*legend, *said, *found.sentences, NOT_EQUAL]
    Results(tables, sentences, found.warnings, files, content=content).show(as_json=as_json)


compare = with_options(_compare, flags_in("compare_flags.toml"))


def _by_letter(difference: Difference, letters: Mapping[str, str]) -> Difference:
    return replace(difference, first=letters[difference.first], second=letters[difference.second])


def _letters(differences: Sequence[Difference]) -> dict[str, str]:
    """Return a short name for each run, in the order in which they were named: A, B and so on."""
    runs = dict.fromkeys(run for one in differences for run in (one.first, one.second))
    return {
        run: ascii_uppercase[place] if place < len(ascii_uppercase) else f"R{place + 1}"
        for place, run in enumerate(runs)
    }


def _of_runs(
    name: str,
    folders: Sequence[Path],
    metrics: Sequence[str],
    method: Method,
    moved: Mapping[str, Any],
    named: str | None,
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
    records = [read_record(folder, name) for folder in folders]
    runs = [(record, registry.resume(record, moved, named)) for record in records]
    for record, asked in runs:
        missing = facts_of_run(record, asked.items(record.limit))["not_asked"]
        if missing:
            again = with_flags(
                command_of("run", "--resume", record.folder), flags_of_options(moved)
            )
            raise UserError(
                f"{missing:,} items of {record.folder} were never asked: it cannot be compared"
                f" before it is whole. `{again}`."
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

    areas = {metric: p for (*names, metric), p in all_found.areas.items() if (*names,) == pair}
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
            p_values.append(areas.get(entry.metric))
        cells = [
            all_found.names.get(entry.metric, entry.metric),
            *map(shown, (entry.first_value, entry.second_value, entry.difference)),
            interval(entry.low, entry.high),
            *("" if p is None else shown_p(p).replace("below ", "<") for p in p_values),
            *["" if entry.n is None else f"{entry.n:,}"] * has_n,
        ]
        table.add_row(*cells)
    return table
