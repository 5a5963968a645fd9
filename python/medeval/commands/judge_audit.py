"""The command `judge-audit`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import medeval
from medeval.commands.graceful_exit import graceful_exit, same_command
from medeval.commands.judging import JudgeFlags, judges_asked, refuse_unnamed
from medeval.commands.options import flags_in, with_options
from medeval.errors import UserError

if TYPE_CHECKING:
    from medeval.judging.jury import Jury
    from medeval.judging.rubric import Rubric
    from medeval.judging.running import Judging
    from medeval.tasks.run_record import RunRecord
    from medeval.tasks.task import JudgedTask


def _judge_audit(
    context: typer.Context,
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN]",
            help="The folder of a run. Without it judges are tried on weak answers that come along,"
            " with and without attacks in them.",
        ),
    ] = None,
    **given: Any,
) -> None:
    """Find out how far judges may be believed.

    Do they agree with people, with each other and with themselves; are they moved by the order of
    the prompt, by the length of an answer, by attacks; do they tell a right answer from a wrong
    one? Without --judge-model those who judged the run last are audited. Nothing that was judged
    before is asked again, and the run's own judging stays as it is. Exit code 1: a judge failed on
    more than one answer in twenty, or stopped.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.commands.judge_audit_tables import audit_tables
    from medeval.commands.run_progress import shown_progress
    from medeval.inference.endpoints import read_endpoints
    from medeval.inference.guard import DataUseGuard
    from medeval.inference.run import AUDIT
    from medeval.judging.audit import ATTACKS, FOLDER, PARTS, audit
    from medeval.judging.human import read_human_ratings
    from medeval.judging.injection import AttackFile
    from medeval.judging.jury import AUDIT_REPORT
    from medeval.judging.running import verdicts_in
    from medeval.models.text_files import write_text
    from medeval.tasks.run_record import read_record
    from medeval.terminal import Terminal, require_writable, warn

    human, out = given["human"], given["out"]
    if out is not None:
        require_writable(out)
    if run is None and human is not None:
        raise UserError("--human needs the run whose answers were rated: name its folder.")
    flags = JudgeFlags.of(given)
    record = None if run is None else read_record(run)
    judging = _judging_of(record, flags, given["rubric"])
    folder, jury, kept = run or judging.folder, judging.jury, (judging.folder, FOLDER)
    again = same_command(context, "judge-audit")
    if record is not None:
        refuse_unnamed(record, flags.missing(jury), again)
    ratings = None if human is None else read_human_ratings(human, judging.rubric)
    attacks = given["attacks"] and AttackFile.read(given["attacks"])
    named = [name.strip() for each in given["parts"] or () for name in each.split(",")]
    parts = [*filter(None, named)] or (PARTS if run else (ATTACKS,))
    options = judges_asked(given)
    currency = options.prices.currency

    with (
        graceful_exit(lambda: f"{verdicts_in(*kept):,} verdicts are kept; go on with `{again}`"),
        shown_progress(currency) as show,
    ):
        report = audit(
            judging,
            options,
            DataUseGuard(read_endpoints(given["endpoints"]), folder / AUDIT),
            show,
            parts=parts,
            attacks=attacks,
            human=ratings,
        )
    console = Terminal()
    for shown in audit_tables(report):
        console.print(shown)
    warn(*report["warnings"])
    described = {
        "versions": {"medeval": medeval.__version__},
        "run": record and record.folder.name,
        "task": record and record.task,
        "answering_model": judging.answering_model or None,
        "prompt_version": judging.prompt.version,
        **judging.prompt.record(),
        **jury.model_dump(include={"repeats", "re_asks", "seed"}),
        **report,
    }
    place = out or folder / AUDIT_REPORT
    write_text(place, json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    cost = "cost unknown" if report["cost"] is None else f"{report['cost']} {currency}"
    print(f"{report['calls']:,} calls in all, {cost}")
    print(f"saving the report in {place}")
    if report["exit_code"]:
        raise typer.Exit(1)


judge_audit = with_options(_judge_audit, [flags_in("judge_audit_flags.toml")])


def _judging_of(record: RunRecord | None, flags: JudgeFlags, named: str | None) -> Judging:
    """Return the answers of a run, or the weak ones that come along, and who judges them.

    Judges that judged the run before are asked nothing twice. Others get a folder that the run's
    record does not know of: the run's score stays that of its own judging.

    Args:
        record: of the run; None for the answers that come along.
        flags: who is to judge; nobody means those who judged it last.
        named: a rubric's name or file; None for that of the run's task.

    Raises:
        UserError: the run's task is not judged, or there is no judge.
    """
    from medeval.judging.injection import WEAK_ANSWERS, WeakAnswers
    from medeval.judging.jury import DEFAULT_JUDGE
    from medeval.judging.rubric import named_rubric
    from medeval.judging.running import Judging
    from medeval.tasks import registry
    from medeval.tasks.judged import subjects_of_run
    from medeval.tasks.run_record import RUNS

    if record is None:
        weak, jury = WeakAnswers.read(WEAK_ANSWERS), cast("Jury", flags.plan(DEFAULT_JUDGE))
        rubric = named_rubric(named or weak.rubric)
        return Judging(weak.subjects, jury, rubric, RUNS / _folder_of(jury, rubric))
    task = cast("JudgedTask", registry.resume(record))
    if not hasattr(task, "subjects"):
        raise UserError(f"The answers to {record.task} are not of a kind that judges grade.")
    own, judgings = task.rubric, record.judgings
    if named is None and own is None:
        raise UserError(f"{record.task} has no rubric. Name one with --rubric.")
    rubric = own if named is None and own is not None else named_rubric(str(named))
    default = None if judgings else getattr(task, "default_judge", None)
    wanted = flags.plan(default) or next(reversed(judgings), None)
    if wanted is None:
        raise UserError(
            f"{record.folder} was never judged. Name a judge with --judge-model (`local` is a rule"
            " that needs no network)."
        )
    # Judgments by another rubric are no judging of this run.
    is_own = own is not None and own.sha256 == rubric.sha256
    who, _ = wanted.who_judges()
    same = [one for one in judgings if is_own and one.who_judges()[0] == who]
    jury = same[-1] if same else wanted.changed({"folder": _folder_of(wanted, rubric)})
    jury = jury.changed(flags.choices)
    return Judging(
        subjects_of_run(task, record),
        flags.with_key(jury),
        rubric,
        record.folder / jury.folder,
        answering_model=record.model,
    )


def _folder_of(jury: Jury, rubric: Rubric) -> str:
    """Return the name of a folder that the same judges and rubric have again next time."""
    judges = [
        {"model": one.model, "base_url": one.base_url, "key_variable": None} for one in jury.judges
    ]
    texts = [json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in judges]
    key = "\n".join([*texts, str(jury.seed), rubric.sha256])
    return f"judge-audit-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
