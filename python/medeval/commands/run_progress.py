"""How far a run is, on the terminal: outcomes, tokens and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from medeval.text import visible

if TYPE_CHECKING:
    from medeval.inference.cost import Spent
    from medeval.inference.run import Progress as Sums


@contextmanager
def shown_progress(total: int, currency: str) -> Iterator[Callable[[Sums], None]]:
    """Show a bar while a run goes on; yields what is to be called with its sums."""
    columns = (
        TextColumn("asking"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, transient=True) as bar:
        shown = bar.add_task("asking", total=total, told="")

        def show(sums: Sums) -> None:
            bar.update(shown, completed=sums.ledger.asked, told=told(sums, currency))

        yield show


@contextmanager
def shown_judging(currency: str) -> Iterator[Callable[[str, Sums], None]]:
    """Show a line for each judge; yields what is to be called with its name and sums."""
    columns = (TextColumn("{task.description}", markup=False), TextColumn("{task.fields[told]}"))
    with Progress(*columns, transient=True) as lines:
        shown: dict[str, TaskID] = {}

        def show(judge: str, sums: Sums) -> None:
            if judge not in shown:
                shown[judge] = lines.add_task(f"judging by {visible(judge)}", total=None, told="")
            done = f"{sums.ledger.asked:,} verdicts, {told(sums, currency)}"
            lines.update(shown[judge], told=done)

        yield show


def told(sums: Sums, currency: str) -> str:
    """Say tokens, cost and errors in a few words."""
    tokens = f"{sums.input_tokens + sums.output_tokens:,} tokens"
    errors = sum(sums.errors.values())
    parts = [tokens, cost_of(sums, currency), f"{errors:,} errors" if errors else ""]
    return ", ".join(part for part in parts if part)


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
            table.add_row(name, f"{count:,}")
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
    for kind, count in sorted(sums.errors.items()):
        table.add_row(f"errored: {kind}", f"{count:,}")
    return table


def cost_of(sums: Sums, currency: str) -> str:
    """Return the cost; what is not known is not 0."""
    if sums.known_cost is not None:
        return f"{sums.known_cost:f} {currency}"
    if sums.unpriced == sums.ledger.asked:
        return "cost unknown"
    return f"{sums.cost:f} {currency} and {sums.unpriced:,} items of unknown cost"
