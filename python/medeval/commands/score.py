"""The command `score`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medeval.commands import shared_options as shared
from medeval.commands.flags import one_of, refuse_flags
from medeval.errors import UserError
from medeval.predictions.tasks import Cluster, Grouping, Interval

if TYPE_CHECKING:
    from medeval.predictions.scored import Scored


def score(
    task: shared.ScoredTask,
    prediction: Annotated[
        Path | None,
        typer.Argument(
            help="Prediction file (.csv, .csv.gz, .parquet; yier: a submission) or the folder of a"
            " run. Without it the newest run of the task in runs/; if there is none of an ICU task,"
            " a baseline is trained first."
        ),
    ] = None,
    listfile: shared.Listfile = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            help="yier: the questions with gold answers, for a submission. Default: MEDEVAL_YIER,"
            " else the demo's."
        ),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            help="cdm: the folder of the export, if it is elsewhere now than it was for the run."
        ),
    ] = None,
    subset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="cdm: also score the cases of a file by themselves, one hadm_id a line or a CSV"
            " with that column; may be repeated.",
        ),
    ] = None,
    score_version: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=2,
            help="cdm: 1 for the scores of the published program, 2 (default) for the repaired"
            " ones.",
        ),
    ] = None,
    allow_extra: Annotated[
        bool,
        typer.Option(
            "--allow-extra", help="yier: leave out answers to questions that the gold lacks."
        ),
    ] = False,
    n_iters: Annotated[
        int | None,
        typer.Option(
            "--n-iters",
            "--n_iters",
            min=0,
            help="Resamples; 0 gives values only. Default: 10000 for one row a stay, else 1000.",
        ),
    ] = None,
    seed: shared.ResamplingSeed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--save_file",
            help="The JSON file. Default: ihm_results.json and so on, in the current folder; of a"
            " run of a model, scores.json in its folder.",
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
    cluster: shared.ResampledUnit = None,
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
        list[str] | None,
        typer.Option(
            help="Also score subgroups; may be repeated, or several with commas. ICU: sex,"
            " age_band, ethnicity, care_unit, read from the warehouse; yier: source, context,"
            " answers, options; cdm: pathology, gender, age_band; mtsamples: extracted_section,"
            " medical_specialty, leak."
        ),
    ] = None,
    min_cell: Annotated[
        int,
        typer.Option(
            "--min-cell",
            min=1,
            help="Groups of patients with fewer are not shown; cdm's pathologies always are."
            " 1 hides none, and 2 is refused.",
        ),
    ] = 11,
    target: shared.DbtTarget = None,
    as_built: shared.AsBuilt = False,
) -> None:
    """Score predictions or a model's answers: values with intervals, as a table and as JSON."""
    # Here, not above: every other command starts without these.
    from medeval.predictions.inputs import prediction_file, train_baseline
    from medeval.predictions.layout import require_writable, write_json
    from medeval.predictions.scored import ScoreRequest, score_files
    from medeval.predictions.tasks import is_icu_task, task_named

    groupings = [name.strip() for entry in by or [] for name in entry.split(",") if name.strip()]
    if not is_icu_task(task):
        from medeval.commands.score_asked import Files, score_asked
        from medeval.tasks.catalogue import recorded_name
        from medeval.tasks.task import Method as TaskMethod

        recorded_name(task)  # an unknown task is told before its flags
        refuse_flags(
            task,
            {
                "--listfile": listfile,
                "--allow-duplicates": allow_duplicates,
                "--peer-layout": peer_layout,
                "--strict-nan": strict_nan,
                "--strict": strict,
                "--extra": extra,
                "--ci": ci is not Interval.PERCENTILE,
                "--target": target,
                "--as-built": as_built,
            },
        )
        iterations = 1000 if n_iters is None else n_iters
        method = TaskMethod(
            iterations,
            seed,
            tuple(dict.fromkeys(groupings)),
            cluster,
            min_cell,
            score_version or 2,
        )
        files = Files(prediction, gold, allow_extra, out, cases, tuple(subset or ()))
        if not score_asked(task, files, method):
            raise typer.Exit(1)
        return
    refuse_flags(
        task,
        {
            "--gold": gold,
            "--allow-extra": allow_extra,
            "--cases": cases,
            "--subset": subset or None,
            "--score-version": score_version,
        },
    )
    chosen = task_named(task)
    by_groups = tuple(one_of(Grouping, "--by", name) for name in dict.fromkeys(groupings))
    unit = None if cluster is None else one_of(Cluster, "--cluster", cluster)
    if peer_layout and (extra or by_groups):
        raise UserError("--peer-layout has no place for --extra and --by: leave one of them away.")
    place = out or Path(chosen.default_result)
    require_writable(place)
    file = prediction_file(
        prediction, chosen, lambda wanted: train_baseline(wanted, target, seed, as_built)
    )
    scored = score_files(
        ScoreRequest(
            task=chosen,
            predictions={file.name: file},
            listfile=listfile,
            n_iters=chosen.n_iters if n_iters is None else n_iters,
            seed=seed,
            cluster=unit,
            groupings=by_groups,
            allow_duplicates=allow_duplicates,
            target=target,
            as_built=as_built,
            interval=ci,
            strict_nan=strict_nan,
            extra=extra,
            min_cell=min_cell,
            strict=strict,
        )
    )
    for warning in scored.warnings():
        print(f"medeval: {warning}", file=sys.stderr)
    write_json(place, scored.content(peer_layout=peer_layout), bare_nan=peer_layout or strict_nan)
    _print(scored)
    print(f"saving the results in {place}")


def _print(scored: Scored) -> None:
    """Print tables and the sentences that belong to them."""
    from medeval.predictions.layout import label_names, metrics_table, subgroup_table
    from medeval.terminal import Terminal

    console = Terminal()
    request = scored.request
    n_iters = request.n_iters
    names = label_names(scored.inputs.rows.columns)
    console.print(metrics_table(scored.result.metrics, n_iters, names, request.task.name))
    if scored.result.extra:
        console.print(metrics_table(scored.result.extra, n_iters, names, "extra"))
    for grouping, cells in scored.subgroups.items():
        title = f"by {grouping.value}"
        first = list(scored.result.metrics)[:3]
        shown = [(group, found.metrics if found else None) for group, found in cells]
        console.print(subgroup_table(title, shown, first))
    for sentence in scored.sentences():
        print(sentence)
