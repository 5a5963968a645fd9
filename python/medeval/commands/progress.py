"""How far a run is, on the terminal: outcomes, tokens and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.table import Table

from medeval.terminal import Terminal
from medeval.text import visible

if TYPE_CHECKING:
    from medeval.inference.cost import Spent
    from medeval.inference.run import Progress as Sums


@contextmanager
def shown_progress(
    currency: str, total: int | None = None
) -> Iterator[Callable[[str, Sums], None]]:
    """Show a line for whoever is asked; yields what is to be called with a label and its sums.

    Args:
        currency: of the cost.
        total: items to be asked; None for judges, who have no bar.
    """
    # Here, not above: with its bars it is slow to load.
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = () if total is None else (BarColumn(), MofNCompleteColumn())
    left = () if total is None else (TimeRemainingColumn(),)
    label = TextColumn("{task.description}", markup=False)
    columns = (label, *bar, TextColumn("{task.fields[told]}"), *left)
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as lines:
        shown: dict[str, TaskID] = {}

        def show(who: str, sums: Sums) -> None:
            if who not in shown:
                name = who if total is not None else f"judging by {visible(who)}"
                shown[who] = lines.add_task(name, total=total, told="")
            tokens = f"{sums.input_tokens + sums.output_tokens:,} tokens"
            errors = sum(sums.errors.values())
            told = [tokens, cost_of(sums, currency), *[f"{errors:,} errors"] * bool(errors)]
            if total is None:
                told.insert(0, f"{sums.ledger.asked:,} verdicts")
            lines.update(shown[who], completed=sums.ledger.asked, told=", ".join(told))

        yield show


def ledger_table(sums: Sums, currency: str | None, spent: Spent | None = None) -> Table:
    """Return what became of the items, what it took, and what it cost.

    Args:
        sums: of the run.
        currency: of the cost; None for a model in this process, which counts and costs nothing.
        spent: on all calls, also those whose item has no line; None if none had a price.
    """
    table = Table(title="what became of the items")
    table.add_column("outcome")
    table.add_column("items", justify="right")
    for name, count in sums.ledger.as_json().items():
        if count or name in ("asked", "answered"):
            table.add_row(name, sums.errored if name == "errored" else f"{count:,}")
    table.add_section()
    if sums.before:
        table.add_row("of them before", f"{sums.before:,}")
    table.add_row("calls made again", f"{sums.retries:,}")
    if currency is not None:
        counted = f", {sums.uncounted:,} uncounted" if sums.uncounted else ""
        table.add_row("tokens in, out", f"{sums.input_tokens:,}, {sums.output_tokens:,}{counted}")
        cost = cost_of(sums, currency)
        if spent is not None:
            calls = f"{spent.unknown:,} call{'' if spent.unknown == 1 else 's'}"
            # What nobody knows of them is unknown and not 0.
            further = f" and {calls} of unknown cost" if spent.unknown else ""
            cost = f"{spent.cost:f} {currency}{further}"
        table.add_row("cost", cost)
    return table


def cost_of(sums: Sums, currency: str) -> str:
    """Return the cost; what is not known is not 0."""
    if sums.known_cost is not None:
        return f"{sums.known_cost:f} {currency}"
    if sums.unpriced == sums.ledger.asked:
        return "cost unknown"
    return f"{sums.cost:f} {currency} and {sums.unpriced:,} items of unknown cost"
