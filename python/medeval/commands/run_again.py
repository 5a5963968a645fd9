"""How far a run is, what its next start is told, and the command with which it goes on."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from medeval.commands.graceful_exit import command_of, with_flags
from medeval.commands.judging import refuse_unnamed, verdicts_kept
from medeval.commands.task_options import moved_to
from medeval.inference.journal import read_journal
from medeval.tasks.judged import judged
from medeval.tasks.run_record import RunRecord, read_record
from medeval.tasks.task_run import ENDPOINTS, Asking

if TYPE_CHECKING:
    from medeval.commands.run_batch import Batch
    from medeval.commands.run_flow import How
    from medeval.inference.run import Progress as Sums
    from medeval.judging.jury import Jury
    from medeval.tasks.models import ModelChoice


def again(asking: Asking, how: How, *flags: str) -> str:
    """Return the command that goes on with a run; see `_command`."""
    record = read_record(asking.folder.path)
    # A key that was given by itself is not in it, nor that one was.
    next_time = replace(how.judges, models=(), key_variable=None)
    named = [next_time.missing(how.judges.with_key(plan)) for plan in _judgings(record, how)]
    return with_flags(_command(record, how, *flags), {**asking.choice.to_name, **dict(*named)})


def named_again(
    record: RunRecord, choice: ModelChoice, how: How, given: Mapping[str, object]
) -> None:
    """Refuse to use what the record of a run may not decide alone, unless the command names it.

    Args:
        record: of the run.
        choice: the model that it names, with the key's variable of now.
        how: the run is made.
        given: flags of the command.

    Raises:
        UserError: with what the record names, and the whole command.
    """
    named = {flag: value for flag, value in choice.to_name.items() if not given[flag]}
    for plan in _judgings(record, how):
        named |= how.judges.missing(plan)
    refuse_unnamed(record, named, _command(record, how))


def _judgings(record: RunRecord, how: How) -> Sequence[Jury]:
    return () if how.no_judge else record.judgings[-1:]


def _command(record: RunRecord, how: How, *flags: str) -> str:
    """Return a command that goes on with a run.

    What the run keeps itself is left out, and so is what cannot keep it from going on.
    """
    words = ["run", "--resume", record.folder, *flags]
    if how.no_judge and record.judgings:
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
    task, plans = judged(asking.task), read_record(asking.folder.path).judgings
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
