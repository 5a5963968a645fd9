"""The command `score`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medeval.errors import UserError
from medeval.predictions.choices import Cluster, Grouping, Interval

if TYPE_CHECKING:
    from medeval.predictions.scored import Scored

LARGEST_SEED = 2**32 - 1


def score(
    task: Annotated[
        str,
        typer.Option(
            help="in_hospital_mortality (ihm), decompensation (decomp), length_of_stay (los) or"
            " phenotyping (pheno)."
        ),
    ],
    prediction: Annotated[
        Path | None,
        typer.Argument(
            help="Prediction file (.csv, .csv.gz, .parquet) or the folder of a run. Without it the"
            " newest run of the task in runs/; if there is none, a baseline is trained first."
        ),
    ] = None,
    listfile: Annotated[
        Path | None,
        typer.Option(
            "--listfile",
            "--test_listfile",
            help="The truth (.csv, .csv.gz, .parquet). Without it the warehouse's test rows.",
        ),
    ] = None,
    n_iters: Annotated[
        int | None,
        typer.Option(
            "--n-iters",
            "--n_iters",
            min=0,
            help="Resamples; 0 gives values only. Default: 10000, for hourly tasks 1000.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of the resamples.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--save_file",
            help="The JSON file. Default: ihm_results.json and so on, in the current folder.",
        ),
    ] = None,
    allow_duplicates: Annotated[
        bool,
        typer.Option("--allow-duplicates", help="Count a key as often as the files have it."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Take warnings about the rows for errors.")
    ] = False,
    peer_layout: Annotated[
        bool,
        typer.Option(
            "--peer-layout", help="Write the keys of mimic3-benchmarks only; undefined is NaN."
        ),
    ] = False,
    strict_nan: Annotated[
        bool,
        typer.Option(
            "--strict-nan",
            help="A resample without a value makes the statistic NaN, as in scikit-learn >= 1.6.",
        ),
    ] = False,
    cluster: Annotated[
        Cluster | None,
        typer.Option(help="Resample whole stays or subjects; recommended for hourly tasks."),
    ] = None,
    extra: Annotated[
        bool,
        typer.Option(
            "--extra",
            help="Also average precision, Brier score, calibration slope and error; for length of"
            " stay a kappa over ten fixed bins.",
        ),
    ] = False,
    ci: Annotated[
        Interval, typer.Option(help="How the interval is made of the resamples.")
    ] = Interval.PERCENTILE,
    by: Annotated[
        list[Grouping] | None,
        typer.Option(help="Also score subgroups; may be repeated. Read from the warehouse."),
    ] = None,
    min_cell: Annotated[
        int,
        typer.Option("--min-cell", min=1, help="Groups with fewer stays are not shown."),
    ] = 11,
    target: Annotated[
        str | None, typer.Option(help="Target of profiles.yml (default: MEDEVAL_TARGET).")
    ] = None,
) -> None:
    """Score predictions of an ICU task: values with intervals, as a table and as JSON."""
    # Here, not above: every other command starts without these.
    from medeval.predictions.evaluating import Method
    from medeval.predictions.layout import require_writable, write_json
    from medeval.predictions.runs import prediction_file, train_baseline
    from medeval.predictions.scored import Request, score_files
    from medeval.predictions.tasks import task_named

    chosen = task_named(task)
    if peer_layout and (extra or by):
        raise UserError("--peer-layout has no place for --extra and --by: leave one of them away.")
    place = out or Path(chosen.default_result)
    require_writable(place)
    file = prediction_file(prediction, chosen, lambda wanted: train_baseline(wanted, target, seed))
    iterations = chosen.n_iters if n_iters is None else n_iters
    scored = score_files(
        Request(
            chosen,
            file,
            listfile,
            Method(iterations, seed, ci, strict_nan, extra),
            cluster,
            tuple(dict.fromkeys(by or [])),
            min_cell,
            allow_duplicates,
            strict,
            target,
        )
    )
    for warning in scored.warnings():
        print(f"medeval: {warning}", file=sys.stderr)
    write_json(place, scored.content(peer_layout=peer_layout), bare_nan=peer_layout or strict_nan)
    _print(scored)
    print(f"saving the results in {place}")


def _print(scored: Scored) -> None:
    """Print tables and the sentences that belong to them."""
    from rich.console import Console

    from medeval.predictions.report import sentences
    from medeval.predictions.terminal import label_names, metrics_table, subgroup_table

    console = Console()
    request = scored.request
    n_iters = request.method.n_iters
    names = label_names(scored.inputs.joined.columns)
    console.print(metrics_table(scored.result.metrics, n_iters, names, request.task.name))
    if scored.result.extra:
        console.print(metrics_table(scored.result.extra, n_iters, names, "extra"))
    for grouping, cells in scored.subgroups.items():
        title = f"by {grouping.value}"
        first = list(scored.result.metrics)[:3]
        shown = [(group, found.metrics if found else None) for group, found in cells]
        console.print(subgroup_table(title, shown, first))
    for sentence in sentences(scored):
        print(sentence)
