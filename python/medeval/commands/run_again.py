"""How far a run is, what its next start is told, and the command with which it goes on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from medeval.commands.going_on import command_of
from medeval.commands.judging import verdicts_kept
from medeval.commands.task_options import moved_to
from medeval.inference.journal import read_journal
from medeval.tasks.asking import ENDPOINTS, Asking
from medeval.tasks.judged import judged, plans_of
from medeval.tasks.run_record import read_record

if TYPE_CHECKING:
    from medeval.commands.run_batch import Batch
    from medeval.commands.run_flow import How
    from medeval.inference.progress import Progress as Sums


def again(asking: Asking, how: How, *flags: str) -> str:
    """Return the command that goes on with a run.

    What the run keeps itself is left out, and so is what cannot keep it from going on.

    Args:
        asking: the run.
        how: it was made this time.
        flags: further ones.
    """
    words = ["run", "--resume", asking.folder.path, *flags]
    if how.no_judge and plans_of(read_record(asking.folder.path)):
        words.append("--no-judge")
    if how.endpoints != ENDPOINTS:
        words += ["--endpoints", how.endpoints]
    return command_of(*words) + moved_to(how.moved_cases)


def standing(asking: Asking, how: How, batch: Batch) -> str:
    """Say how far a run is, and how it goes on."""
    due = {(item.id, item.sample) for item in asking.task.items(asking.limit)}
    journal = asking.folder.journal
    lines = read_journal(journal) if journal.exists() else ()
    done = sum((line["item"], line["sample"]) in due for line in lines)
    told = f"{done:,} of {len(due):,} items are done"
    task, plans = judged(asking.task), plans_of(read_record(asking.folder.path))
    if done == len(due) and task is not None and plans and not how.no_judge:
        told += f", {verdicts_kept(task, asking.folder.path, plans[-1])}"
    return f"{told}; go on with `{again(asking, how, *batch.flags)}`"


def limits(how: How) -> dict[str, str]:
    """Return what a run keeps of its money, for the next start."""
    return {
        "max_cost": "" if how.max_cost is None else str(how.max_cost),
        "prices": "" if how.price_file is None else str(how.price_file.resolve()),
    }


def tell_made(asking: Asking) -> None:
    """Name a new run, which is there to stay from now on."""
    if asking.made:
        print(f"run {asking.folder.path}")


def tell_errored(asking: Asking, how: How, sums: Sums) -> None:
    """Say how many items have no reply, and how they are asked again."""
    count = sum(sums.errors.values())
    if count:
        print(
            f"medeval: {count:,} items have no reply; ask them again with `{again(asking, how)}`",
            file=sys.stderr,
        )
