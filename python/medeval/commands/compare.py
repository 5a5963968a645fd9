"""The command `compare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from medeval.commands import shared_options as shared
from medeval.commands.flags import one_of, refuse_flags
from medeval.errors import UserError
from medeval.predictions.choices import Cluster


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
        Request,
        chosen_metrics,
        compare_files,
        named_files,
        warnings,
    )
    from medeval.predictions.comparison_report import content, print_comparison
    from medeval.predictions.layout import require_writable, write_json
    from medeval.predictions.tasks import Kind, is_icu_task, task_named

    if not is_icu_task(task):
        from medeval.commands.compare_asked import compare_asked
        from medeval.tasks.catalogue import recorded_name
        from medeval.tasks.task import Method

        recorded_name(task)  # an unknown task is told before its flags
        of_warehouse = {"--listfile": listfile, "--target": target, "--as-built": as_built}
        refuse_flags(task, {**of_warehouse, "--threshold": threshold})
        method = Method(1000 if n_iters is None else n_iters, seed, (), cluster)
        compare_asked(task, predictions, metric or [], method, out, cases)
        return
    refuse_flags(task, {"--cases": cases})
    chosen = task_named(task)
    if threshold is not None and chosen.kind is not Kind.BINARY:
        raise UserError(f"--threshold: {chosen.name} has no answers that are yes or no.")
    if out is not None:
        require_writable(out)
    compared = compare_files(
        Request(
            chosen,
            named_files(chosen, predictions),
            listfile,
            chosen.n_iters if n_iters is None else n_iters,
            seed,
            None if cluster is None else one_of(Cluster, "--cluster", cluster),
            chosen_metrics(chosen, metric or []),
            threshold,
            target,
            as_built,
        )
    )
    for warning in warnings(compared):
        print(f"medeval: {warning}", file=sys.stderr)
    if out is not None:
        write_json(out, content(compared), bare_nan=False)
    print_comparison(compared)
    if out is not None:
        print(f"saving the results in {out}")
