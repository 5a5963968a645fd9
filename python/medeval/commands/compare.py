"""The command `compare`: prediction files or runs of models, by pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medeval.commands.graceful_exit import command_of
from medeval.commands.shared_options import flags_in, refuse_flags
from medeval.errors import UserError
from medeval.registry import with_options
from medeval.tasks.mimic3.task import is_icu_task

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.scoring.binary import DeLong
    from medeval.scoring.compare import Difference, PairTest

FLAGS = "compare_flags.toml"
# Of predictions, whose rows are the same for all metrics.
NO_N = ("n", None)
NOT_EQUAL = "What cannot be told apart need not be equal: these data do not say."


@dataclass(frozen=True)
class Compared:
    """All pairs by all metrics, and what is said of them.

    Attributes:
        differences: of one family.
        sentences: how the numbers came about.
        content: what is written beside the comparisons; they take the place of its key.
        warnings: in sentences.
        areas: DeLong's tests.
        names: what to call some metrics instead of their keys.
    """

    differences: Sequence[Difference]
    sentences: Sequence[str]
    content: dict[str, Any]
    warnings: Sequence[str] = ()
    areas: Sequence[PairTest[DeLong]] = ()
    names: Mapping[str, str] = field(default_factory=dict)


def _compare(
    predictions: Annotated[
        list[Path],
        typer.Argument(
            metavar="PREDICTION...",
            help="Two or more prediction files (.csv, .csv.gz, .parquet) or folders of runs.",
        ),
    ],
    **given: Any,
) -> None:
    """Compare predictions or models' answers: which is better, and which cannot be told apart.

    All are scored on the same resamples; p values are corrected for the number of comparisons
    (Holm: all pairs, all metrics).
    """
    # Here, not above: every other command starts without these.
    from medeval.scoring.compare import pair_sentences, sentence
    from medeval.tasks.catalogue import canonical_name, recorded_name
    from medeval.terminal import Results, require_writable, write_json

    task = given["task"]
    is_icu = is_icu_task(task)
    if not is_icu:
        recorded_name(task)  # an unknown task is told before its flags
    refuse_flags(FLAGS, task, ["predictions" if is_icu else canonical_name(task)], given)
    out = given["out"]
    if out is not None:
        require_writable(out)
    found = (_of_predictions if is_icu else _of_runs)(task, predictions, given)
    pairs: dict[tuple[str, str], list[Difference]] = {}
    for entry in found.differences:
        pairs.setdefault((entry.first, entry.second), []).append(entry)
    said = [one for of_pair in pairs.values() for one in pair_sentences(of_pair, found.names)]
    files = {}
    if out is not None:
        told = [
            {
                **{name: value for name, value in asdict(one).items() if (name, value) != NO_N},
                "sentence": sentence(one),
            }
            for one in found.differences
        ]
        content = {**found.content, "comparisons": told}
        files[out] = partial(write_json, content=content, bare_nan=False)
    tables = [_table(pair, of_pair, found) for pair, of_pair in pairs.items()]
    Results(tables, [*said, *found.sentences], found.warnings, files).show()


compare = with_options(_compare, [flags_in(FLAGS)])


def _of_predictions(name: str, paths: Sequence[Path], given: Mapping[str, Any]) -> Compared:
    """Compare prediction files; see `IcuTask.compare_files`."""
    from medeval.scoring.compare import answer_sentence
    from medeval.tasks.mimic3.task import ScoreOptions, task_named
    from medeval.tasks.task import Method

    same = ("listfile", "target", "as_built", "threshold")
    task = task_named(name, ScoreOptions(**{flag: given[flag] for flag in same}))
    n_iters = task.n_iters if given["n_iters"] is None else given["n_iters"]
    method = Method(n_iters, given["seed"], (), given["cluster"])
    found = task.compare_files(paths, given["metric"] or [], method)
    first, last = found.notes[:2], found.notes[2:]
    return Compared(
        found.differences,
        [*map(answer_sentence, found.answers), *first, NOT_EQUAL, *last],
        found.content,
        found.warnings,
        found.areas,
        found.names,
    )


def _of_runs(task: str, folders: Sequence[Path], given: Mapping[str, Any]) -> Compared:
    """Compare runs of models on what both of a pair were asked.

    Raises:
        UserError: fewer than two runs, runs of other tasks or data, one that is not whole, or a
            metric that there is not.
    """
    from medeval.scoring.compare import corrected
    from medeval.tasks.catalogue import recorded_name
    from medeval.tasks.cdm.resume import taken_up
    from medeval.tasks.run_record import facts_of_run, read_record
    from medeval.tasks.task import Method

    if len(folders) < 2:
        raise UserError("Name two runs or more to compare.")
    name, cases, metrics = recorded_name(task), given["cases"], given["metric"] or []
    n_iters = 1000 if given["n_iters"] is None else given["n_iters"]
    method = Method(n_iters, given["seed"], (), given["cluster"])
    records = [read_record(folder, name) for folder in folders]
    runs = [(record, taken_up(record, cases)) for record in records]
    for record, asked in runs:
        missing = facts_of_run(record, asked.items(record.limit))["not_asked"]
        if missing:
            raise UserError(
                f"{missing:,} items of {record.folder} were never asked: it cannot be compared"
                " before it is whole."
                f" `{command_of('run', '--resume', record.folder, cases=cases)}`."
            )
    found = corrected(
        [
            replace(difference, first=one.folder.name, second=two.folder.name)
            for (one, asked), (two, other) in combinations(runs, 2)
            for difference in asked.compare(one.folder, other, two.folder, method)
            if not metrics or difference.metric in metrics
        ]
    )
    if unknown := [one for one in metrics if one not in {each.metric for each in found}]:
        raise UserError(f"--metric {unknown[0]}: the runs cannot be compared by it.")
    said = (
        f"{n_iters:,} paired resamples of the items, seed {method.seed}; p values by random"
        f" exchanges, corrected for {len(found):,} comparisons (Holm)"
    )
    content: dict[str, Any] = {
        "task": task,
        "comparisons": [],
        "n_iters": n_iters,
        "seed": method.seed,
        "correction": "Holm over all pairs and metrics",
    }
    return Compared(found, [said, NOT_EQUAL], content)


def _table(pair: tuple[str, str], found: Sequence[Difference], all_found: Compared) -> Table:
    from rich.table import Table

    from medeval.scoring.compare import shown_p
    from medeval.tasks.mimic3.results import interval, shown

    areas = {one.metric: one for one in all_found.areas if (one.first, one.second) == pair}
    table = Table(title=f"{pair[0]} (first) and {pair[1]} (second)", title_justify="left")
    table.add_column("metric")
    has_n = any(entry.n is not None for entry in found)
    # Broken by hand, so that all fits a terminal of 80 columns.
    headers = ["first", "second", "first -\nsecond", "95 % interval", "p\n(Holm)"]
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
