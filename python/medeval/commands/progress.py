"""How far a command is: on the terminal while it runs, and in a line where it is ended."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import typer
from rich.table import Table

from medeval.inference.cost import Spent
from medeval.inference.run import Progress as Sums
from medeval.terminal import Terminal, table_of
from medeval.text import visible

# What shells report of a process that a signal has ended.
_BY_SIGNAL = 128


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
    from rich import progress

    label = progress.TextColumn("{task.description}", markup=False)
    bar = () if total is None else (progress.BarColumn(), progress.MofNCompleteColumn())
    left = () if total is None else (progress.TimeRemainingColumn(),)
    columns = (label, *bar, progress.TextColumn("{task.fields[told]}"), *left)
    with progress.Progress(*columns, console=Terminal(stderr=True), transient=True) as lines:
        shown: dict[str, progress.TaskID] = {}

        def show(who: str, sums: Sums) -> None:
            done, errors = sums.ledger.asked, sums.errors.total()
            if who not in shown:
                name = who if total is not None else f"judging by {visible(who)}"
                shown[who] = lines.add_task(name, total=total, told="")
            tokens = f"{sums.input_tokens + sums.output_tokens:,} tokens"
            told = [tokens, cost_of(sums, currency), *[f"{errors:,} errors"] * bool(errors)]
            told = [*[f"{done:,} verdicts"] * (total is None), *told]
            lines.update(shown[who], completed=done, told=", ".join(told))

        yield show


def ledger_table(sums: Sums, currency: str | None, spent: Spent | None = None) -> Table:
    """Return what became of the items, what it took, and what it cost.

    Args:
        sums: of the run.
        currency: of the cost; None for a model in this process, which counts and costs nothing.
        spent: on all calls, also those whose item has no line; None if none had a price.
    """
    ledger = sums.ledger.as_json().items()
    rows = [
        (name, sums.errored if name == "errored" else f"{count:,}")
        for name, count in ledger
        if count or name in ("asked", "answered")
    ]
    further = [("of them before", f"{sums.before:,}")] if sums.before else []
    further.append(("calls made again", f"{sums.retries:,}"))
    if currency is not None:
        counted = f", {sums.uncounted:,} uncounted" if sums.uncounted else ""
        tokens = f"{sums.input_tokens:,}, {sums.output_tokens:,}{counted}"
        cost = cost_of(sums, currency)
        if spent is not None:
            calls = f"{spent.unknown:,} call{'' if spent.unknown == 1 else 's'}"
            # What nobody knows of them is unknown and not 0.
            more = f" and {calls} of unknown cost" if spent.unknown else ""
            cost = f"{spent.cost:f} {currency}{more}"
        further += [("tokens in, out", tokens), ("cost", cost)]
    table = table_of("what became of the items", ("outcome", "items"), [*rows, *further])
    table.columns[1].justify = "right"
    table.rows[len(rows) - 1].end_section = True
    return table


def cost_of(sums: Sums, currency: str) -> str:
    """Return the cost; what is not known is not 0."""
    spent = sums.spent
    if spent.known is not None:
        return f"{spent.known:f} {currency}"
    if spent.unknown == sums.ledger.asked:
        return "cost unknown"
    return f"{spent.cost:f} {currency} and {spent.unknown:,} items of unknown cost"


@contextmanager
def graceful_exit(status: Callable[[], str]) -> Iterator[None]:
    """End with one line, and no traceback, when Ctrl-C or a request to end comes in the block.

    A request to end (SIGTERM, as batch systems and containers send it) takes the same way as
    Ctrl-C, so that files are closed and what was answered is kept.

    Args:
        status: says how far it is and with which command it goes on; called after everything
            that was open in the block has been closed.

    Raises:
        typer.Exit: with 130 after Ctrl-C, with 143 after a request to end.
    """
    ended_by = signal.SIGINT

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended_by
        ended_by = signal.SIGTERM
        # An event loop has a handler of its own for Ctrl-C, which closes what is open.
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    before = signal.getsignal(signal.SIGTERM)
    is_ours = before is signal.SIG_DFL
    # A shell starts what runs in its background without Ctrl-C. It stays without, by the mask, but
    # an event loop makes its handler only where Python's own stands.
    is_in_background = is_ours and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if is_in_background:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if is_ours:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        # Said once and whole, also when the key is pressed again.
        interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            print(f"medeval: ended; {status()}", file=sys.stderr)
        finally:
            signal.signal(signal.SIGINT, interrupt)
        # Where Ctrl-C came within a text that was run (an import makes classes so), Python would
        # end by the signal, whatever the exit code, until another text has run.
        exec("")  # noqa: S102
        raise typer.Exit(_BY_SIGNAL + ended_by) from None
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, before)
        if is_in_background:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
