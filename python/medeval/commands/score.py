"""The command `score`: of predictions, of a run of a model, or of a file that was handed in."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medeval.commands import shared_options as shared
from medeval.commands.graceful_exit import moved_to
from medeval.commands.shared_options import one_of, refuse_flags
from medeval.errors import UserError
from medeval.predictions.tasks import Cluster, Grouping, Interval

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.predictions.scored import Scored
    from medeval.tasks.task import Method, TaskScore
    from medeval.tasks.task import Table as TableData

SCORES = "scores.json"
CDM = "cdm"


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
        from medeval.tasks.catalogue import canonical_name, recorded_name
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
        if out is not None:
            require_writable(out)
        name = canonical_name(task)
        if name != CDM:
            of_cdm = {"--cases": cases, "--subset": bool(subset)}
            refuse_flags(name, {**of_cdm, "--score-version 1": score_version == 1})
        if prediction is not None and prediction.is_file():
            handed_in = _score_file(name, prediction, gold, method, allow_extra=allow_extra)
            _tell_run(handed_in, None, out, method, cases)
            return
        of_files = {"--gold": gold, "--allow-extra": allow_extra}
        result, folder = _score_run(name, prediction, method, cases, subset or (), of_files)
        if not _tell_run(result, folder, out, method, cases):
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
    _print_predictions(scored)
    print(f"saving the results in {place}")


def _print_predictions(scored: Scored) -> None:
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


def _score_run(
    name: str,
    path: Path | None,
    method: Method,
    cases: Path | None,
    subsets: Sequence[str],
    of_files: Mapping[str, object],
) -> tuple[TaskScore, Path]:
    """Score a run, the newest if none is named; returns its folder, too.

    Raises:
        UserError: no such run, flags that belong to a file, or data that do not fit.
    """
    from medeval.inference.journal import read_journal
    from medeval.inference.run import RESPONSES
    from medeval.tasks.catalogue import recorded_name
    from medeval.tasks.cdm_taken_up import taken_up
    from medeval.tasks.run_record import newest_run, read_record, warning_of_cut_prompts

    if path is None:
        path = newest_run(recorded_name(name))
        if path is None:
            raise UserError(
                f"There is no run of {name} in runs/. Make one:"
                f" `python -m medeval run --task {name} --model demo`."
            )
        print(f"medeval: scoring {path}", file=sys.stderr)
    record = read_record(path, recorded_name(name))
    refuse_flags(name, of_files)
    task = taken_up(record, cases, named=name, subsets=tuple(subsets))
    scored = task.score(path, method)
    warning = warning_of_cut_prompts(task.items(record.limit), read_journal(path / RESPONSES))
    if not warning:
        return scored, path
    about = scored.result.metadata
    about["warnings"] = [*about.get("warnings", scored.warnings), warning]
    return replace(scored, warnings=[*scored.warnings, warning]), path


def _score_file(
    name: str, path: Path, gold: Path | None, method: Method, *, allow_extra: bool
) -> TaskScore:
    """Score a file of answers that was handed in.

    Raises:
        UserError: the task has none, or the files do not fit.
    """
    from medeval.tasks import yier
    from medeval.tasks.yier_score import score_of, score_submission, yier_method

    if name != yier.NAME:
        raise UserError(f"{path} is a file; scores of {name} are made of runs, which are folders.")
    gold = yier.questions_file(None) if gold is None else gold
    made = score_submission(path, gold, yier_method(method), allow_extra=allow_extra)
    hashes = [hashlib.sha256(file.read_bytes()).hexdigest() for file in (path, gold)]
    facts = {"prediction": path.name, "gold": gold.name, "prediction_sha256": hashes[0]}
    return score_of(made, path.name, {**facts, "data": {"sha256": hashes[1]}})


def _tell_run(
    scored: TaskScore, folder: Path | None, out: Path | None, method: Method, cases: Path | None
) -> bool:
    """Print the tables and write the report; returns whether all items were asked.

    Raises:
        UserError: it cannot be written.
    """
    from medeval.predictions.layout import write_json
    from medeval.tasks.for_reports import report_of

    for warning in scored.warnings:
        print(f"medeval: {warning}", file=sys.stderr)
    report = report_of(scored)
    if folder is not None:
        report.save(folder / SCORES)
    if out is not None:
        write_json(out, json.loads(report.to_json()), bare_nan=False)
    _print_run(scored, method.groupings)
    missing = scored.result.metadata.get("not_asked", 0)
    if missing:
        print(
            f"medeval: {missing:,} items were never asked and count as not answered; go on with"
            f" `python -m medeval run --resume {folder}{moved_to(cases)}`",
            file=sys.stderr,
        )
    for place in [folder / SCORES if folder else None, out]:
        if place is not None:
            print(f"saving the results in {place}")
    return not missing


def _print_run(scored: TaskScore, groupings: Sequence[str]) -> None:
    from medeval.tasks.for_reports import group_table
    from medeval.terminal import Terminal

    console = Terminal()
    console.print(_table(scored))
    titles = {table.title for table in scored.tables}
    groups = [group_table(name, scored.groups[name]) for name in groupings]
    for table in [*(one for one in groups if one.title not in titles), *scored.tables]:
        console.print(_further_table(table))
    for note in scored.notes:
        print(note)
    ledger = scored.result.metadata.get("ledger")
    if ledger:
        ends = ", ".join(f"{name} {count:,}" for name, count in ledger.items() if count)
        print(f"items: {ends}")
    judging = scored.result.metadata.get("judging")
    if judging:
        blank = ", ".join(f"{count:,} {why}" for why, count in judging["not_judged"].items())
        print(
            f"verdicts: {judging['ok']:,} complete, {judging['partial']:,} partial,"
            f" {judging['failed']:,} failed{f'; not judged, earn 0: {blank}' if blank else ''}"
        )


def _table(scored: TaskScore) -> Table:
    from rich.table import Table

    from medeval.tasks.cdm_score import ANSWERED_ONLY

    result = scored.result
    table = Table(title=f"{result.task_id}: {result.model_id}")
    undefined = result.metadata.get("undefined", {})
    columns = ["metric", "value", "95 % interval", "n"]
    if undefined:
        columns.append("missing")
    for name in columns:
        table.add_column(name, justify="left" if name == "metric" else "right")
    counts = result.metadata.get("n")
    # Where nothing failed, means over the answered items say the same again.
    is_whole = result.metadata.get("n_failed") == 0
    names = [name for name in result.metrics_results if not (is_whole and ANSWERED_ONLY in name)]
    names += [name for name in undefined if not result.has_metric(name)]
    for name in sorted(names, key=lambda one: one != scored.headline):
        value = result.metrics_results.get(name)
        interval = (result.intervals or {}).get(name)
        between = "" if interval is None else f"{interval.low:.4f} to {interval.high:.4f}"
        n = counts.get(name) if isinstance(counts, dict) else counts
        if interval is not None and not isinstance(counts, dict):
            n = interval.n
        table.add_row(
            name,
            "undefined" if value is None else f"{value:.4f}",
            between,
            "" if n is None else f"{n:,}",
            *([f"{undefined.get(name, {}).get('items', 0):,}"] if undefined else []),
            style="bold" if name == scored.headline else None,
        )
    return table


def _further_table(data: TableData) -> Table:
    from rich.table import Table

    table = Table(title=data.title)
    for name in data.columns:
        table.add_column(name, overflow="fold")
    for row in data.rows:
        table.add_row(*row)
    return table
