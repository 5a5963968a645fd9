"""The command `compare`: prediction files or runs of models, by pairs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medeval.commands import shared_options as shared
from medeval.commands.graceful_exit import moved_to
from medeval.commands.shared_options import one_of, refuse_flags
from medeval.errors import UserError
from medeval.predictions.tasks import Cluster

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.scoring.compare import Difference, PairTest
    from medeval.scoring.significance import DeLong
    from medeval.tasks.task import Method

NOT_EQUAL = "What cannot be told apart need not be equal: these data do not say."


def compare(
    task: shared.ScoredTask,
    predictions: Annotated[
        list[Path],
        typer.Argument(
            metavar="PREDICTION...",
            help="Two or more prediction files (.csv, .csv.gz, .parquet) or folders of runs.",
        ),
    ],
    listfile: shared.Listfile = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            help="cdm: the folder of the export, if it is elsewhere now than it was for the runs."
        ),
    ] = None,
    n_iters: Annotated[
        int | None,
        typer.Option(
            "--n-iters",
            "--n_iters",
            min=1,
            help="Resamples, the same for all. Default: 10000 for one row a stay, else 1000.",
        ),
    ] = None,
    seed: shared.ResamplingSeed = 0,
    cluster: shared.ResampledUnit = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="A metric to compare by; may be repeated. Default: all of the task. Choose before"
            " you look: the correction counts these only."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Also test answers, right or wrong, that say yes above this probability"
            " (McNemar). For ihm and decomp.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A JSON file for the results.")] = None,
    target: shared.DbtTarget = None,
    as_built: shared.AsBuilt = False,
) -> None:
    """Compare predictions or models' answers: which is better, and which cannot be told apart.

    All are scored on the same resamples; p values are corrected for the number of comparisons
    (Holm: all pairs, all metrics).
    """
    # Here, not above: every other command starts without these.
    from medeval.predictions.comparing import (
        CompareRequest,
        chosen_metrics,
        compare_files,
        named_files,
    )
    from medeval.predictions.layout import label_names, require_writable, write_json
    from medeval.predictions.tasks import Kind, is_icu_task, task_named
    from medeval.tasks.catalogue import recorded_name
    from medeval.tasks.task import Method

    if not is_icu_task(task):
        recorded_name(task)  # an unknown task is told before its flags
        of_warehouse = {"--listfile": listfile, "--target": target, "--as-built": as_built}
        refuse_flags(task, {**of_warehouse, "--threshold": threshold})
        if out is not None:
            require_writable(out)
        method = Method(1000 if n_iters is None else n_iters, seed, (), cluster)
        found = _of_runs(task, predictions, metric or [], method, cases)
        said = [
            f"{method.n_iters:,} paired resamples of the items, seed {seed}; p values by random"
            f" exchanges, corrected for {len(found):,} comparisons (Holm)",
            NOT_EQUAL,
        ]
        content: dict[str, Any] = {
            "task": task,
            "comparisons": list(comparisons(found)),
            "n_iters": method.n_iters,
            "seed": seed,
            "correction": "Holm over all pairs and metrics",
        }
        _print(found, said)
    else:
        refuse_flags(task, {"--cases": cases})
        chosen = task_named(task)
        if threshold is not None and chosen.kind is not Kind.BINARY:
            raise UserError(f"--threshold: {chosen.name} has no answers that are yes or no.")
        if out is not None:
            require_writable(out)
        compared = compare_files(
            CompareRequest(
                task=chosen,
                predictions=named_files(chosen, predictions),
                listfile=listfile,
                n_iters=chosen.n_iters if n_iters is None else n_iters,
                seed=seed,
                cluster=None if cluster is None else one_of(Cluster, "--cluster", cluster),
                target=target,
                as_built=as_built,
                metrics=chosen_metrics(chosen, metric or []),
                threshold=threshold,
            )
        )
        for warning in compared.warnings():
            print(f"medeval: {warning}", file=sys.stderr)
        first, last = compared.method_sentences()
        content = compared.content(list(comparisons(compared.differences)))
        names = label_names(compared.inputs.rows.columns)
        said = [*compared.answer_sentences(), *first, NOT_EQUAL, *last]
        _print(compared.differences, said, compared.areas, names)
    if out is not None:
        write_json(out, content, bare_nan=False)
        print(f"saving the results in {out}")


def comparisons(found: Sequence[Difference]) -> Iterator[dict[str, Any]]:
    """Yield comparisons as the JSON file has them."""
    from medeval.scoring.compare import sentence

    for entry in found:
        fields = asdict(entry)
        if entry.n is None:
            del fields["n"]
        yield {**fields, "sentence": sentence(entry)}


def _of_runs(
    task: str, folders: Sequence[Path], metrics: Sequence[str], method: Method, cases: Path | None
) -> Sequence[Difference]:
    """Compare all pairs of runs.

    Raises:
        UserError: fewer than two runs, runs of other tasks or data, one that is not whole, or a
            metric that there is not.
    """
    from medeval.scoring.compare import corrected
    from medeval.tasks.catalogue import recorded_name
    from medeval.tasks.cdm_taken_up import taken_up
    from medeval.tasks.run_record import facts_of_run, read_record

    if len(folders) < 2:
        raise UserError("Name two runs or more to compare.")
    name = recorded_name(task)
    records = [read_record(folder, name) for folder in folders]
    runs = [
        (folder, taken_up(record, cases)) for folder, record in zip(folders, records, strict=True)
    ]
    for record, (_, asked) in zip(records, runs, strict=True):
        missing = facts_of_run(record, asked.items(record.limit))["not_asked"]
        if missing:
            raise UserError(
                f"{missing:,} items of {record.folder} were never asked: it cannot be compared"
                " before it is whole."
                f" `python -m medeval run --resume {record.folder}{moved_to(cases)}`."
            )
    found = [
        replace(difference, first=one.name, second=two.name)
        for (one, asked), (two, other) in combinations(runs, 2)
        for difference in asked.compare(one, other, two, method)
        if not metrics or difference.metric in metrics
    ]
    if unknown := [name for name in metrics if name not in {one.metric for one in found}]:
        raise UserError(f"--metric {unknown[0]}: the runs cannot be compared by it.")
    return corrected(found)


def _print(
    differences: Sequence[Difference],
    said: Sequence[str],
    areas: Sequence[PairTest[DeLong]] = (),
    names: Mapping[str, str] | None = None,
) -> None:
    """Print a table a pair, then what can be said of each, then how the numbers came about."""
    from medeval.scoring.compare import pair_sentences
    from medeval.terminal import Terminal

    console = Terminal()
    pairs: dict[tuple[str, str], list[Difference]] = {}
    for entry in differences:
        pairs.setdefault((entry.first, entry.second), []).append(entry)
    for pair, found in pairs.items():
        tests = {one.metric: one for one in areas if (one.first, one.second) == pair}
        console.print(_table(found, tests, names or {}))
    for found in pairs.values():
        print("\n".join(pair_sentences(found, names)))
    print("\n".join(said))


def _table(
    found: Sequence[Difference], areas: Mapping[str, PairTest[DeLong]], names: Mapping[str, str]
) -> Table:
    from rich.table import Table

    from medeval.predictions.layout import interval, shown
    from medeval.scoring.compare import shown_p

    def cell(p: float | None) -> str:
        return "" if p is None else shown_p(p).replace("below ", "<")

    title = f"{found[0].first} (first) and {found[0].second} (second)"
    table = Table(title=title, title_justify="left")
    table.add_column("metric")
    has_n = any(entry.n is not None for entry in found)
    # Broken by hand, so that all fits a terminal of 80 columns.
    headers = ["first", "second", "first -\nsecond", "95 % interval", "p\n(Holm)"]
    for header in [*headers, *["DeLong\n(Holm)"] * bool(areas), *["n"] * has_n]:
        table.add_column(header, justify="right", no_wrap=True)
    for entry in found:
        cells = [
            names.get(entry.metric, entry.metric),
            *map(shown, (entry.first_value, entry.second_value, entry.difference)),
            interval(entry.low, entry.high),
            cell(entry.adjusted_p),
        ]
        if areas:
            cells.append(cell(areas[entry.metric].adjusted_p) if entry.metric in areas else "")
        if has_n:
            cells.append("" if entry.n is None else f"{entry.n:,}")
        table.add_row(*cells)
    return table
