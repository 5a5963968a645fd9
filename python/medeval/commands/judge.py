"""The command `judge`, and what `run` and `judge-audit` share with it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medeval.commands.graceful_exit import command_of, graceful_exit, same_command, with_flags
from medeval.commands.options import amount, flags_in, read_price_file, with_options
from medeval.errors import UserError

# What is slow to load is imported where it is used: other commands start without it.
if TYPE_CHECKING:
    from medeval.inference.run import RunConfig
    from medeval.judging.jury import Jury
    from medeval.judging.results import JudgingResults
    from medeval.judging.rubric import Rubric
    from medeval.tasks.run_record import RunRecord
    from medeval.tasks.task import AskedTask


def _judge(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    **given: Any,
) -> None:
    """Have the answers of a run judged. The model is not asked again.

    What the same judges said before is kept and not paid for twice. Only calls without a reply are
    made again, and those that more repeats or re-asks add. Other judges, or another rubric, get a
    folder of their own in the run's. Exit code 1: a judge failed on more than one answer in twenty,
    or stopped.
    """
    from medeval.tasks import registry
    from medeval.tasks.run_record import read_record

    record = read_record(run)
    task = registry.resume(record)
    flags = JudgeFlags.of(given)
    again = same_command(context, "judge")
    chosen = flags.chosen(task, record)
    refuse_unnamed(record, flags.missing(chosen), again)
    chosen = flags.with_key(chosen)
    check_before(task, chosen, given["endpoints"])
    options = judges_asked(given)
    with graceful_exit(lambda: f"{verdicts_kept(task, run, chosen)}; go on with `{again}`"):
        results = judge_and_tell(task, run, chosen, options, given["endpoints"])
    print(command_of("score", run))
    if results.exit_code:
        raise typer.Exit(1)


judge = with_options(_judge, flags_in("judge_flags.toml"))


@dataclass(frozen=True)
class JudgeFlags:
    """What the command line says of judges.

    Attributes:
        models: one, or a jury; empty if none is named.
        base_urls: one for all, or one for each.
        api_key: given by itself; kept in this process's environment and nowhere else.
        key_variable: the environment variable with the key; `none` for endpoints without keys.
        rubric: what is graded; None for the task's own rubric.
        choices: what is said of the judging apart from who judges: `pooling` of a jury, `repeats`
            and `re_asks`; see `Jury`.
    """

    models: Sequence[str] = ()
    base_urls: Sequence[str] = ()
    api_key: str | None = None
    key_variable: str | None = None
    rubric: Rubric | None = None
    choices: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> JudgeFlags:
        """Return what the flags of a command say; one that it does not have says nothing.

        Raises:
            UserError: there is no such rubric, or its file is wrong.
        """
        from medeval.judging.rubric import named_rubric

        flags = {"pooling": "jury", "repeats": "judge_repeats", "re_asks": "re_asks"}
        choices = {name: given.get(flag) for name, flag in flags.items()}
        return cls(
            given["judge_model"] or (),
            given["judge_base_url"] or (),
            given["judge_api_key"],
            given["judge_key_variable"],
            named_rubric(given["rubric"]) if given["rubric"] else None,
            {name: value for name, value in choices.items() if value is not None},
        )

    def plan(self, task: AskedTask | None = None, default: str | None = None) -> Jury | None:
        """Return who is to judge; None if nobody is named and there is no default.

        Args:
            task: whose answers are judged; its own rubric needs no place in a record.
            default: the judge if none is named.

        Raises:
            UserError: a choice that cannot be meant.
        """
        from medeval.judging.jury import KEY_VARIABLE, jury_of

        if self.api_key is not None:
            os.environ[KEY_VARIABLE] = self.api_key
        models = list(self.models) or ([default] if default else [])
        if models:
            more = {**self.choices, **self._other_rubric(task)}
            return jury_of(models, self.base_urls, self.key_variable, **more)
        if self.base_urls:
            raise UserError("--judge-base-url without --judge-model: name the judge.")
        return None

    def chosen(self, task: AskedTask, record: RunRecord) -> Jury:
        """Return the judging of a run that is gone on with, or a new one; see `chosen_jury`."""
        from medeval.tasks.judged import chosen_jury, rubric_of

        if self.rubric is None and not any(one.rubric for one in record.judgings):
            rubric_of(task)  # raises where it is not judged
        default = None if record.judgings else getattr(task, "default_judge", None)
        wanted = self.plan(task, default)
        if wanted is None and record.judgings:
            wanted = record.judgings[-1].changed(**self._other_rubric(task))
        return chosen_jury(record, wanted, self.choices)

    def _other_rubric(self, task: AskedTask | None) -> dict[str, Rubric | None]:
        """Return the rubric for a record if one is named: None for the task's own."""
        if self.rubric is None:
            return {}
        own = getattr(task, "rubric", None)
        return {"rubric": None if own and own.sha256 == self.rubric.sha256 else self.rubric}

    def with_key(self, jury: Jury) -> Jury:
        """Return the judges of a record with the key's variable that is named now, if one is."""
        if not self.key_variable:
            return jury
        judges = (
            replace(one, key_variable=self.key_variable) if one.base_url else one
            for one in jury.judges
        )
        return jury.changed(judges=tuple(judges))

    def missing(self, jury: Jury) -> dict[str, str]:
        """Return the flag that is missing before keys go to the judges of a record, with its value.

        A record may name any variable and any address. Of itself the usual variable goes to the
        usual address, and nothing else anywhere.
        """
        from medeval.judging.jury import KEY_VARIABLE, KEY_VARIABLES, Judge

        given = self.key_variable or (self.api_key and KEY_VARIABLE)
        for judge in self.with_key(jury).judges:
            is_named = bool(self.models) or judge.base_url == Judge(judge.model).endpoint
            if judge.is_rule or (is_named and judge.key_variable in (None, *KEY_VARIABLES)):
                continue
            try:
                key = judge.key_name()
            except UserError:
                key = KEY_VARIABLE  # that there is none is told where it is asked
            if key is not None:
                return {} if key == given else {"--judge-key-variable": key}
        return {}


def taken_from_arguments(flags: JudgeFlags, options: dict[str, Any]) -> JudgeFlags:
    """Take the judge's arguments out of a task's options; a flag wins over them.

    Raises:
        UserError: one of them is no text, nor a list of texts, or it is empty.
    """
    given: dict[str, list[str]] = {}
    for name in ("judge_model", "judge_base_url", "judge_api_key"):
        value = options.pop(name, None)
        if value is None:
            continue
        texts = value if isinstance(value, list) and name != "judge_api_key" else [value]
        if not all(isinstance(text, str) for text in texts):
            raise UserError(f"--env-args: {name} is a text{'' if len(texts) == 1 else ' each'}.")
        if not texts or not all(map(str.strip, texts)):
            raise UserError(f"--env-args: {name} is empty. Leave it away, or say what is meant.")
        given[name] = texts
    return replace(
        flags,
        models=flags.models or given.get("judge_model", ()),
        base_urls=flags.base_urls or given.get("judge_base_url", ()),
        api_key=flags.api_key or given.get("judge_api_key", [None])[0],
    )


def refuse_unnamed(record: RunRecord, named: Mapping[str, str], command: str) -> None:
    """Refuse what the record of a run may not decide alone.

    Args:
        record: of the run.
        named: flags that are missing, with their values.
        command: without them.

    Raises:
        UserError: a flag is missing.
    """
    if named:
        judges = (one.base_url for jury in record.judgings[-1:] for one in jury.judges)
        places = dict.fromkeys(filter(None, (record.settings["endpoint"], *judges)))
        raise UserError(
            f"{record.folder}/run.json names {', '.join(named.values())}, and as addresses"
            f" {', '.join(places)}. A record that comes from others may have any file run and any"
            f" key sent anywhere, so name again what you mean: `{with_flags(command, named)}`."
            " Nothing was sent."
        )


def check_before(task: AskedTask, jury: Jury, endpoints: Path) -> None:
    """Find what would keep judges from being asked, before the model is asked and paid.

    Raises:
        UserError: the task is not judged, there is no key, or the answers may not be sent to a
            judge.
    """
    from medeval.inference.guard import DataUseGuard, read_endpoints
    from medeval.tasks.judged import rubric_of

    rubric = rubric_of(task, jury)
    gate = DataUseGuard(read_endpoints(endpoints), Path(os.devnull))
    is_open = all(item.is_open for item in task.items())
    for judge in jury.seated:
        gate.check(judge.provider(rubric, gate).address, is_open)


def judges_asked(given: Mapping[str, Any]) -> RunConfig:
    """Return how judges are asked, by the flags of a command: again for what has no reply.

    Raises:
        UserError: the limit is no amount of money, or there are no such prices.
    """
    from medeval.inference.run import RunConfig
    from medeval.inference.types import Outcome

    return RunConfig(
        concurrency=given["concurrency"],
        prices=read_price_file(given["prices"]),
        max_cost=amount(given["max_cost"]),
        retry=frozenset({Outcome.ERRORED}),
    )


def judge_and_tell(
    task: AskedTask, folder: Path, jury: Jury, run: RunConfig, endpoints: Path
) -> JudgingResults:
    """Have a run judged, show how far it is, and say what came of it.

    The counts of verdicts, what each judge took, and what must not be overlooked.
    """
    from rich.table import Table

    from medeval.commands.progress import cost_of, shown_progress
    from medeval.inference.guard import IN_PROCESS, DataUseGuard, read_endpoints
    from medeval.inference.run import AUDIT
    from medeval.judging.results import counted
    from medeval.judging.verdict import OF_VERDICTS
    from medeval.tasks import judged
    from medeval.terminal import Terminal, warn

    currency = run.prices.currency
    with shown_progress(currency) as show:
        gate = DataUseGuard(read_endpoints(endpoints), folder / AUDIT)
        results = judged.judge(task, folder, jury, run, gate, show)
    table = Table(title="what the judges said")
    for name in ("judge", "complete", "partial", "failed", "calls", "tokens in, out", "cost"):
        table.add_column(name, justify="left" if name == "judge" else "right")
    for one in results.judges:
        counts, sums = one.counts(), one.progress
        table.add_row(
            one.judge,
            *(f"{counts[status]:,}" for status in OF_VERDICTS),
            f"{sums.ledger.asked + sums.retries:,}",
            f"{sums.input_tokens:,}, {sums.output_tokens:,}",
            "none" if one.endpoint == IN_PROCESS else cost_of(sums, currency),
        )
    told = []
    if reasons := counted(each.reason for each in results.subjects):
        named = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
        told.append(f"{sum(reasons.values()):,} answers were not judged and earn 0: {named}")
    if further := sum(one.further.ledger.asked for one in results.judges):
        told.append(f"{further:,} further verdicts are kept, of repeats that are not wanted now")
    table.caption = "\n".join(told) or None
    Terminal().print(table)
    warn(*results.warnings)
    return results


def verdicts_kept(task: AskedTask, folder: Path, jury: Jury) -> str:
    """Say how far the judging of a run is."""
    from medeval.tasks.judged import judging_of
    from medeval.tasks.run_record import read_record

    kept, due = judging_of(task, read_record(folder), jury).verdicts()
    return f"{kept:,} of {due:,} verdicts are kept"
