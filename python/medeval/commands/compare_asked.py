"""`compare` for tasks that models are asked: runs against each other, by pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from medeval.commands.task_options import moved_to
from medeval.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.scoring.paired import Difference
    from medeval.tasks.task import Method


@dataclass(frozen=True)
class Compared:
    """A difference of two runs with its p value after the correction for all of them."""

    first: str
    second: str
    difference: Difference
    adjusted_p: float


def compare_asked(
    task: str,
    folders: Sequence[Path],
    metrics: Sequence[str],
    method: Method,
    out: Path | None,
    cases: Path | None = None,
) -> None:
    """Compare all pairs of runs, print the table and write it if a file is named.

    Args:
        task: of all runs.
        folders: of the runs.
        metrics: by which they are compared; none for all.
        method: resamples and their seed.
        out: the JSON file; None writes none.
        cases: the folder of CDM's export, if it is not where the runs say.

    Raises:
        UserError: fewer than two runs, runs of other tasks or data, or a metric that there is not.
    """
    from medeval.predictions.layout import require_writable, write_json
    from medeval.terminal import Terminal

    if out is not None:
        require_writable(out)
    compared = _compared(task, folders, metrics, method, cases)
    Terminal().print(_table(compared))
    for one in compared:
        print(_sentence(one))
    print(
        f"{method.n_iters:,} paired resamples of the items, seed {method.seed}; p values by random"
        f" exchanges, corrected for {len(compared):,} comparisons (Holm)"
    )
    if out is not None:
        content = {
            "task": task,
            "comparisons": [
                {
                    "first": one.first,
                    "second": one.second,
                    **{
                        {"first": "first_value", "second": "second_value"}.get(name, name): value
                        for name, value in asdict(one.difference).items()
                    },
                    "adjusted_p": one.adjusted_p,
                }
                for one in compared
            ],
            "n_iters": method.n_iters,
            "seed": method.seed,
            "correction": "Holm over all pairs and metrics",
        }
        write_json(out, content, bare_nan=False)
        print(f"saving the results in {out}")


def _compared(
    task: str,
    folders: Sequence[Path],
    metrics: Sequence[str],
    method: Method,
    cases: Path | None,
) -> list[Compared]:
    from medeval.scoring.holm import holm
    from medeval.tasks.catalogue import recorded_name
    from medeval.tasks.cdm_taken_up import taken_up
    from medeval.tasks.run_record import facts_of_run, read_record

    if len(folders) < 2:
        raise UserError("Name two runs or more to compare.")
    name = recorded_name(task)
    records = [read_record(folder) for folder in folders]
    for record in records:
        if record.task != name:
            raise UserError(f"{record.folder} is a run of {record.task}, not of {name}.")
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
        (one.name, two.name, difference)
        for (one, asked), (two, other) in combinations(runs, 2)
        for difference in asked.compare(one, other, two, method)
        if not metrics or difference.metric in metrics
    ]
    unknown = [metric for metric in metrics if metric not in {one[2].metric for one in found}]
    if unknown:
        raise UserError(f"--metric {unknown[0]}: the runs cannot be compared by it.")
    adjusted = holm([difference.p_value for _, _, difference in found])
    return [
        Compared(one, two, difference, 1.0 if p is None else p)
        for (one, two, difference), p in zip(found, adjusted, strict=True)
    ]


def _sentence(compared: Compared) -> str:
    difference = compared.difference
    if compared.adjusted_p >= 0.05:
        return f"{difference.metric}: {compared.first} and {compared.second} cannot be told apart."
    better, worse = compared.first, compared.second
    if difference.difference < 0:
        better, worse = worse, better
    return f"{difference.metric}: {better} scores higher than {worse}."


def _table(compared: Sequence[Compared]) -> Table:
    from rich.table import Table

    table = Table()
    for name in ("first", "second", "metric"):
        table.add_column(name, overflow="fold")
    for name in ("values", "difference", "95 % interval", "p, corrected", "n"):
        table.add_column(name, justify="right")
    for one in compared:
        found = one.difference
        table.add_row(
            one.first,
            one.second,
            found.metric,
            f"{found.first:.4f}, {found.second:.4f}",
            f"{found.difference:+.4f}",
            f"{found.low:+.4f} to {found.high:+.4f}",
            f"{one.adjusted_p:.4f}",
            f"{found.n:,}",
        )
    return table
