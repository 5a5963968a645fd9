"""Judging the answers of a run: by whom, into which folder, the results read back, and scored."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard, read_endpoints
from medeval.inference.run import AUDIT, RESPONSES, Run, RunConfig, read_answers
from medeval.inference.types import Outcome
from medeval.judging.jury import AUDIT_REPORT, Jury
from medeval.tasks.run_record import RunRecord, read_record
from medeval.tasks.task import AskedTask, JudgedTask, Method, Task

if TYPE_CHECKING:
    from medeval.judging.results import JudgingResults, Judgment, SubjectResult
    from medeval.judging.rubric import Rubric
    from medeval.judging.running import Judging, OnJudging
    from medeval.models.scores import Interval
    from medeval.scoring.table import ScoreTable

JUDGINGS = "judgings"
# Ends without an answer, as the results call them; a blank reply is none of them.
_UNANSWERED = {
    None: "not_asked",
    Outcome.ERRORED: "errored",
    Outcome.REFUSED: "refused",
    Outcome.TRUNCATED: "truncated",
    Outcome.TRUNCATED_REASONING: "truncated",
}
HEADLINE = "reward_judged"
MISSING = "no usable judgment"
_COUNTS = ("ok", "partial", "failed", "not_judged", "possible_injections")


def judged(task: AskedTask | type[Task]) -> JudgedTask | None:
    """Return a task, or its class, whose answers judges can grade; None if they are not so."""
    return cast("JudgedTask", task) if hasattr(task, "subject") else None


def rubric_of(task: AskedTask, jury: Jury | None = None) -> Rubric:
    """Return by what the answers to a task are judged: the jury's own rubric, else the task's.

    Raises:
        UserError: its answers cannot be judged, or there is no rubric.
    """
    found = judged(task)
    if found is None:
        raise UserError(f"The answers to {task.name} are not of a kind that judges grade.")
    rubric = (jury and jury.rubric) or found.rubric
    if rubric is None:
        raise UserError(
            f"{task.name} has no rubric. Name one with --rubric, or in the task file, such as"
            " `judge: summarization`."
        )
    return rubric


def check_before(task: AskedTask, jury: Jury, endpoints: Path) -> None:
    """Find what would keep judges from being asked, before the model is asked and paid.

    Raises:
        UserError: the task is not judged, there is no key, or the answers may not be sent to a
            judge.
    """
    rubric = rubric_of(task, jury)
    guard = DataUseGuard(read_endpoints(endpoints), Path(os.devnull))
    is_open = all(item.is_open for item in task.items())
    for judge in jury.seated:
        guard.check(judge.provider(rubric, guard).address, is_open)


def judging_of(task: AskedTask, record: RunRecord, jury: Jury) -> Judging:
    """Return the judging of a run's answers by a jury, in its folder below the run's.

    Where there is no answer, a judge is told nothing, and the results have the reason.

    Raises:
        UserError: the task has no rubric, or there are no answers.
    """
    from medeval.judging.running import Judging

    rubric = rubric_of(task, jury)
    subject_of = cast("JudgedTask", task).subject
    subjects = [
        replace(subject_of(one), unanswered=_UNANSWERED.get(one.outcome, ""))
        for one in read_answers(record.folder / RESPONSES, task.items(record.limit))
    ]
    folder = record.folder / jury.folder
    return Judging(subjects, jury, rubric, folder, answering_model=record.model)


def judge(
    task: AskedTask,
    folder: Path,
    jury: Jury,
    options: RunConfig | None = None,
    endpoints: Path | None = None,
    on_progress: OnJudging | None = None,
) -> JudgingResults:
    """Have the answers of a run judged, and keep with the run who did; see `Judging.execute`.

    Args:
        task: of the run.
        folder: of the run.
        jury: who judges.
        options: see `Judging.execute`.
        endpoints: the declarations of where credentialed text may go; None for nowhere.
        on_progress: see `Judging.execute`.

    Raises:
        UserError: the task has no rubric, or as `Judging.execute`.
    """
    from medeval.judging.running import verdicts_in

    record = read_record(folder)
    judging = judging_of(task, record, jury)
    kept = Run(folder, record.settings)
    gate = endpoints and DataUseGuard(read_endpoints(endpoints), folder / AUDIT)
    # Before anybody is paid: whatever ends the process, the judging can be gone on with.
    keep = partial(kept.update, JUDGINGS, judgings_with(record, jury))
    try:
        return judging.run(replace(options or RunConfig(), on_start=keep), gate, on_progress)
    finally:
        # Judges that said nothing at all stand behind those that did.
        is_only = {one.folder for one in record.judgings} <= {jury.folder}
        if is_only or _has_judges(judging.folder):
            has_verdicts = verdicts_in(judging.folder) > 0
            kept.update(JUDGINGS, judgings_with(record, jury, is_newest=has_verdicts))


def judgings_with(record: RunRecord, jury: Jury, *, is_newest: bool = True) -> list[dict[str, Any]]:
    """Return who judges a run, as its record keeps it: a jury as the newest, or behind all."""
    others = [one for one in record.judgings if one.folder != jury.folder]
    juries = [*others, jury] if is_newest else [jury, *others]
    return [one.model_dump(mode="json") for one in juries]


def results_of_run(task: JudgedTask, record: RunRecord) -> tuple[JudgingResults, Jury]:
    """Return the newest judging of a run that has a verdict; nobody is asked.

    One that was ended before its first verdict, as only a killed process leaves it, takes the
    place of none.

    Raises:
        UserError: it was never judged, or its judgments are those of other answers.
    """
    from medeval.judging.running import verdicts_in

    begun = (one for one in reversed(record.judgings) if verdicts_in(record.folder / one.folder))
    jury = next(begun, None) or chosen_jury(record, None)
    return judging_of(task, record, jury).results(), jury


def chosen_jury(
    record: RunRecord, wanted: Jury | None, choices: Mapping[str, Any] | None = None
) -> Jury:
    """Return the judging to be gone on with, or a new one with a folder of its own.

    The same judges by the same rubric go on where they were, and as they did, but for what is
    chosen anew: another pooling, more repeats or re-asks, another variable with the key.

    Args:
        record: of the run.
        wanted: who is to judge; None takes the judges of the newest judging.
        choices: pooling, repeats or re_asks that it is to have from now on.

    Raises:
        UserError: nobody is named, and the run was never judged; or a choice cannot be meant.
    """
    known, chosen = record.judgings, dict(choices or {})
    if wanted is None:
        if not known:
            raise UserError(
                f"{record.folder} was never judged. Name a judge: `python -m medeval judge"
                f" {record.folder} --judge-model MODEL` (`local` is a rule that needs no network)."
            )
        wanted = known[-1]
    same = [one for one in known if one.who_judges() == wanted.who_judges()]
    if not same:
        # The first folder that no other judging has, recorded or not.
        taken = {one.folder for one in known}
        names = chain([] if known else ["."], (f"judging-{number}" for number in count(2)))
        free = (one for one in names if one not in taken and not _has_judges(record.folder / one))
        return wanted.changed(**chosen, folder=next(free))
    keys = {(one.model, one.base_url or ""): one.key_variable for one in same[-1].judges}
    judges = tuple(
        replace(one, key_variable=one.key_variable or keys[one.model, one.base_url or ""])
        for one in wanted.judges
    )
    return same[-1].changed(judges=judges, **chosen)


def _has_judges(folder: Path) -> bool:
    """Tell whether a folder has the files of judges."""
    return any(path.is_file() and path.name != AUDIT_REPORT for path in folder.glob("judg*"))


def judged_table(results: JudgingResults, plan: Jury) -> ScoreTable:
    """Return the headline first, then the published reward, HELM's score and the dimensions.

    A judgment that failed is missing in all of them but `reward`, the published formula, which
    takes it as 0, and HELM's score, which takes it as 1 of 5. With several samples of an item its
    score is the mean over them; items are drawn, in the order in which they came.
    """
    from medeval.metrics.metric import mean_of
    from medeval.scoring.table import Ratio, ScoreTable

    rows = list(results.by_item().values())

    def column(score: Callable[[SubjectResult], float | None], is_share: bool = False) -> Ratio:
        scores = [mean_of(map(score, own)) for own in rows]
        return Ratio(scores, is_share=is_share, reason=MISSING)

    def dimension(name: str) -> Ratio:
        return column(lambda row: row.scores.get(name))

    return ScoreTable(
        {
            HEADLINE: column(lambda row: row.pooled(plan.pooling), is_share=True),
            "reward": column(lambda row: row.reward, is_share=True),
            # On the rubric's scale, as the dimensions are.
            "helm_jury_score": column(lambda row: row.helm_jury_score),
            **{f"judge_{name}": dimension(name) for name in results.prompt.rubric.names},
        }
    )


def item_verdicts(results: JudgingResults) -> list[str]:
    """Return what each judge gave each item and why, in the order of the scores."""

    def told(judgment: Judgment) -> str:
        said = judgment["explanations"]
        scores = [
            f"{name} {'missing' if score is None else f'{score:g}'}"
            + (f" ({said[name]})" if said.get(name) else "")
            for name, score in judgment["scores"].items()
        ]
        return f"{judgment['judge']}: {', '.join(scores) or judgment['reason']}"

    rows = results.by_item().values()
    return ["\n".join(told(one) for row in own for one in row.judgments) for own in rows]


def judged_values(
    results: JudgingResults, plan: Jury, method: Method
) -> Callable[[Sequence[int]], dict[str, float | Interval | None]]:
    """Return what gives the headline of some items, with its interval."""
    from medeval.scoring.table import Ratio, interval

    rewards = judged_table(results, plan).columns[HEADLINE].item_scores

    def values(places: Sequence[int]) -> dict[str, float | Interval | None]:
        column = Ratio([rewards[at] for at in places], is_share=True, reason=MISSING)
        value = interval(column, draws=method.n_iters, seed=method.seed)
        return {"n_missing": float(value.n_undefined), HEADLINE: value}

    return values


def judging_facts(results: JudgingResults, plan: Jury) -> dict[str, Any]:
    """Return what a report says of a judging.

    Who judged and how, what failed, what it cost by itself, and what must not be overlooked, such
    as a judge that stopped before its end.
    """
    from medeval.judging.agreement import agreement

    summary = results.summary()
    return {
        "prompt_version": results.prompt.version,
        **results.prompt.record(),
        "pooling": plan.pooling,
        "repeats": plan.repeats,
        **{name: summary[name] for name in _COUNTS},
        "cost": summary["judging_cost"],
        "cost_of_priced": summary["judging_cost_of_priced"],
        "judges": [judge.as_json() for judge in results.judges],
        "agreement": agreement(results) if len(results.judges) > 1 else [],
        "warnings": list(results.warnings),
    }
