"""How far a run is, what its next start is told, and the command with which it goes on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from medeval.commands.going_on import command_of
from medeval.commands.judging import JudgeFlags, refuse_unnamed, verdicts_kept
from medeval.commands.task_options import moved_to
from medeval.inference.journal import read_journal
from medeval.tasks.asking import ENDPOINTS, Asking
from medeval.tasks.judged import judged, plans_of
from medeval.tasks.run_record import RunRecord, read_record

if TYPE_CHECKING:
    from medeval.commands.run_batch import Batch
    from medeval.commands.run_flow import How
    from medeval.inference.progress import Progress as Sums
    from medeval.tasks.models import ModelChoice


def again(asking: Asking, how: How, *flags: str) -> str:
    """Return the command that goes on with a run; see `_command`."""
    record = read_record(asking.folder.path)
    # A key that was given by itself is not in it, nor that one was.
    judges = _unnamed_judges(record, how, JudgeFlags(api_key=how.judges.api_key))
    return _command(record, how, *asking.choice.to_name, *judges, *flags)


def require_named(
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
    model = choice.to_name
    if model and given.get(model[0]):
        model = []
    judges = _unnamed_judges(record, how, how.judges)
    refuse_unnamed(record, [*model, *judges], _command(record, how, *model, *judges))


def _unnamed_judges(record: RunRecord, how: How, flags: JudgeFlags) -> list[str]:
    plans = [] if how.no_judge else plans_of(record)[-1:]
    return [flag for plan in plans for flag in flags.to_name(how.judges.with_key(plan))]


def _command(record: RunRecord, how: How, *flags: str) -> str:
    """Return a command that goes on with a run.

    What the run keeps itself is left out, and so is what cannot keep it from going on.
    """
    words = ["run", "--resume", record.folder, *flags]
    if how.no_judge and plans_of(record):
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
