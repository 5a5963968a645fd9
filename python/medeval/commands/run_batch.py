"""A run without a connection: prompts out as a batch file, answers in from one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from medeval.commands.run_again import again, limits, tell_errored, tell_made
from medeval.commands.run_progress import ledger_table
from medeval.errors import UserError
from medeval.inference.cost import kept_spending
from medeval.inference.types import Outcome
from medeval.tasks.task_run import Asking, export_prompts, import_answers, sums_of
from medeval.terminal import Terminal

if TYPE_CHECKING:
    from medeval.commands.run_flow import How


@dataclass(frozen=True)
class Batch:
    """Files instead of a connection: where prompts go, where answers come from."""

    prompts: Path | None = None
    answers: Sequence[Path] = ()

    def require_one_way(self) -> None:
        """Refuse both at once.

        Raises:
            UserError: prompts are to go out and answers to come in.
        """
        if self.prompts is not None and self.answers:
            raise UserError("--export-prompts and --import-answers: one after the other.")

    @property
    def flags(self) -> list[str]:
        """The same on the command line."""
        exported = [] if self.prompts is None else ["--export-prompts", str(self.prompts)]
        return exported + [word for one in self.answers for word in ("--import-answers", str(one))]


def export(asking: Asking, how: How, path: Path) -> None:
    """Write the prompts of a run as a batch file, and say how their answers come in."""
    _ = how.prices  # one that cannot be read is not kept
    count = export_prompts(asking, path, how.endpoints)
    asking.record_alone(**limits(how))
    tell_made(asking)
    print(f"{count:,} prompts in {path}. When they are answered:")
    print(again(asking, how, "--import-answers", "ANSWERS.jsonl"))


def bring_in(asking: Asking, how: How, paths: Sequence[Path]) -> bool:
    """Read the answers of batch files, and say what became of the items.

    Returns:
        Whether all items have a reply.
    """
    imported = import_answers(asking, paths, how.prices)
    asking.record_alone(**limits(how))
    tell_made(asking)
    print(f"{imported.new:,} answers are new, {imported.known:,} were there already")
    sums = sums_of(asking)
    spent = kept_spending(asking.folder.journal)
    Terminal().print(ledger_table(sums, how.prices.currency, spent))
    left = sum(1 for _ in asking.task.items(asking.limit)) - sums.ledger.asked
    if left:
        print(
            f"medeval: {left:,} items have no answer"
            f" ({imported.expired:,} expired); ask them with `{again(asking, how)}`",
            file=sys.stderr,
        )
    tell_errored(asking, how, sums)
    return not left and not sums.ledger[Outcome.ERRORED]
