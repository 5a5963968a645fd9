"""The command `judge`, and what `run` and `judge-audit` share with it: who judges, by their flags.

`given` holds the flags of a command by name; one that it does not have says nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from medeval.commands.options import amount, command_of, same_command, with_flags
from medeval.commands.progress import cost_of, graceful_exit, shown_progress
from medeval.errors import UserError
from medeval.inference.cost import Budget, read_prices
from medeval.inference.guard import IN_PROCESS
from medeval.inference.run import RunConfig
from medeval.inference.types import Outcome
from medeval.judging.jury import KEY_VARIABLE, KEY_VARIABLES, Judge, Jury, jury_of
from medeval.judging.rubric import Rubric, named_rubric
from medeval.tasks import judged, registry
from medeval.tasks.judged import check_before, chosen_jury, judging_of, rubric_of
from medeval.tasks.run_record import RunRecord, read_record
from medeval.tasks.task import AskedTask
from medeval.terminal import Terminal, table_of, warn

# What is slow to load is imported where it is used: other commands start without it.
if TYPE_CHECKING:
    from medeval.judging.results import JudgingResults

# What is said of a judging apart from who judges; see `Jury`.
_CHOICES = {"pooling": "jury", "repeats": "judge_repeats", "re_asks": "re_asks"}


def judge(**given: Any) -> None:
    """Have the answers of a run judged. The model is not asked again.

    What the same judges said before is kept and not paid for twice. Only calls without a reply are
    made again, and those that more repeats or re-asks add. Other judges, or another rubric, get a
    folder of their own in the run's. Exit code 1: a judge failed on more than one answer in twenty,
    or stopped.
    """
    run = given["run"]
    record = read_record(run)
    task = registry.resume(record)
    again = same_command()
    jury = chosen_and_checked(given, task, record, again)
    options = how_asked(given)
    with graceful_exit(lambda: f"{verdicts_kept(task, run, jury)}; go on with `{again}`"):
        results = judge_and_tell(task, run, jury, options, given["endpoints"])
    print(command_of("score", run))
    if results.exit_code:
        raise typer.Exit(1)


def named_jury(
    given: Mapping[str, Any], task: AskedTask | None = None, default: str | None = None
) -> Jury | None:
    """Return who is to judge; None if nobody is named and there is no default.

    A key that is given by itself is kept in this process's environment and nowhere else.

    Args:
        given: the flags.
        task: whose answers are judged; its own rubric needs no place in a record.
        default: the judge if none is named.

    Raises:
        UserError: a choice that cannot be meant, or there is no such rubric.
    """
    if given["judge_api_key"] is not None:
        os.environ[KEY_VARIABLE] = given["judge_api_key"]
    addresses = given["judge_base_url"] or ()
    if models := given["judge_model"] or ([default] if default else []):
        more = {**_choices(given), **_other_rubric(given, task)}
        return jury_of(models, addresses, given["judge_key_variable"], **more)
    if addresses:
        raise UserError("--judge-base-url without --judge-model: name the judge.")
    return None


def chosen(given: Mapping[str, Any], task: AskedTask, record: RunRecord) -> Jury:
    """Return the judging of a run that is gone on with, or a new one; see `chosen_jury`."""
    if given["rubric"] is None and not any(one.rubric for one in record.judgings):
        rubric_of(task)  # raises where it is not judged
    default = None if record.judgings else getattr(task, "default_judge", None)
    wanted = named_jury(given, task, default)
    if wanted is None and record.judgings:
        wanted = record.judgings[-1].changed(**_other_rubric(given, task))
    return chosen_jury(record, wanted, _choices(given))


def chosen_and_checked(
    given: Mapping[str, Any], task: AskedTask, record: RunRecord, command: str
) -> Jury:
    """Return the judging of a run as `chosen` does, fit to be asked.

    Raises:
        UserError: its record names what it may not decide alone, or as `check_before`.
    """
    jury = chosen(given, task, record)
    refuse_unnamed(record, unnamed(given, jury), command)
    jury = with_key(given, jury)
    check_before(task, jury, given["endpoints"])
    return jury


def _choices(given: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: given.get(flag) for name, flag in _CHOICES.items()}
    return {name: value for name, value in found.items() if value is not None}


def _other_rubric(given: Mapping[str, Any], task: AskedTask | None) -> dict[str, Rubric | None]:
    """Return the rubric for a record if one is named: None for the task's own."""
    if not given["rubric"]:
        return {}
    own, rubric = getattr(task, "rubric", None), named_rubric(given["rubric"])
    return {"rubric": None if own and own.sha256 == rubric.sha256 else rubric}


def with_key(given: Mapping[str, Any], jury: Jury) -> Jury:
    """Return the judges of a record with the key's variable that is named now, if one is."""
    key = given["judge_key_variable"]
    judges = (replace(one, key_variable=key) if one.base_url else one for one in jury.judges)
    return jury.changed(judges=tuple(judges)) if key else jury


def unnamed(given: Mapping[str, Any], jury: Jury) -> dict[str, str]:
    """Return the flag that is missing before keys go to the judges of a record, with its value.

    A record may name any variable and any address. Of itself the usual variable goes to the usual
    address, and nothing else anywhere.
    """
    known = given["judge_key_variable"] or (given["judge_api_key"] and KEY_VARIABLE)
    for judge in with_key(given, jury).judges:
        is_named = bool(given["judge_model"]) or judge.base_url == Judge(judge.model).endpoint
        if judge.is_rule or (is_named and judge.key_variable in (None, *KEY_VARIABLES)):
            continue
        try:
            key = judge.key_name()
        except UserError:
            key = KEY_VARIABLE  # that there is none is told where it is asked
        if key is not None:
            return {} if key == known else {"--judge-key-variable": key}
    return {}


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


def how_asked(given: Mapping[str, Any]) -> RunConfig:
    """Return how models and judges are asked, by the flags of a command: again what has no reply.

    Raises:
        UserError: the limit is no amount of money, or there are no such prices.
    """
    return RunConfig(
        concurrency=given["concurrency"],
        prices=read_prices(given["prices"]),
        budget=Budget(amount(given["max_cost"])),
        retry=frozenset({Outcome.ERRORED}),
    )


def judge_and_tell(
    task: AskedTask, folder: Path, jury: Jury, config: RunConfig, endpoints: Path
) -> JudgingResults:
    """Have a run judged, show how far it is, and say what came of it.

    The counts of verdicts, what each judge took, and what must not be overlooked.
    """
    from medeval.judging.results import counted
    from medeval.judging.verdict import OF_VERDICTS

    currency = config.prices.currency
    with shown_progress(currency) as show:
        results = judged.judge(task, folder, jury, config, endpoints, show)
    rows = [
        (
            one.judge,
            *(f"{one.counts()[status]:,}" for status in OF_VERDICTS),
            f"{one.progress.ledger.asked + one.progress.retries:,}",
            f"{one.progress.input_tokens:,}, {one.progress.output_tokens:,}",
            "none" if one.endpoint == IN_PROCESS else cost_of(one.progress, currency),
        )
        for one in results.judges
    ]
    head = ("judge", "complete", "partial", "failed", "calls", "tokens in, out", "cost")
    Terminal().print(table_of("what the judges said", head, rows, names=1))
    if reasons := counted(each.reason for each in results.subjects):
        named = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
        print(f"{sum(reasons.values()):,} answers were not judged and earn 0: {named}")
    if further := sum(one.further.ledger.asked for one in results.judges):
        print(f"{further:,} further verdicts are kept, of repeats that are not wanted now")
    warn(*results.warnings)
    return results


def verdicts_kept(task: AskedTask, folder: Path, jury: Jury) -> str:
    """Say how far the judging of a run is."""
    kept, due = judging_of(task, read_record(folder), jury).verdicts()
    return f"{kept:,} of {due:,} verdicts are kept"
