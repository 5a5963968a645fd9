"""An audit of judges: may their scores be believed?

Do they agree with each other and with themselves, does the order of the prompt or the length of an
answer move them, do attacks, and do they tell a right answer from a wrong one? And where people
scored the same answers: do they agree with them?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard
from medeval.inference.journal import money
from medeval.inference.run import RunConfig
from medeval.inference.types import total
from medeval.judging import prompt
from medeval.judging.agreement import HumanRatings, agreement, human_agreement, score_array
from medeval.judging.jury import Jury
from medeval.judging.results import JudgingResults
from medeval.judging.running import Judging, OnJudging
from medeval.metrics.matching import token_f1, tokens
from medeval.metrics.metric import mean_of
from medeval.scoring.resample import Floats
from medeval.scoring.table import row_interval

ATTACKS = "attacks"
PARTS = ("agreement", "repeats", "order", "reference", "length", ATTACKS, "sanity")
FOLDER = "audit"
# Answers whose place on the scale is known: see `control_subjects`.
CONTROLS = ("oracle", "shuffled", "empty")
# Of a reward from 0 to 1: less than one point on one of three criteria is no move.
LEAST_MOVE = 0.05
_ROUNDING = 1e-9
_VARIANTS = {
    "order": (prompt.ANSWER_FIRST, prompt.CRITERIA_REVERSED),
    "reference": (prompt.NO_REFERENCE,),
}
_JUDGED_ONCE = "each answer was judged once; the spread needs repeats of 2 or more"
_NO_CORRELATION = "too few answers were judged, or length, score or overlap are all the same"

# Rows of figures: what moves a judge, on which criterion, and how far.
Effects = Iterator[dict[str, Any]]


def audit(
    judging: Judging,
    options: RunConfig | None = None,
    gate: DataUseGuard | None = None,
    on_progress: OnJudging | None = None,
    *,
    parts: Sequence[str] = PARTS,
    attacks: prompt.AttackFile | None = None,
    human: HumanRatings | None = None,
) -> dict[str, Any]:
    """Audit judges on answers, and return a report that is JSON.

    The judgments of the answers themselves are those of the judging: what is there is not asked
    again. Those of each part are kept below `audit` in its folder.

    Args:
        judging: the answers and who judges them; `repeats` above 1 for the spread of repeats.
        options: see `Judging.execute`; all parts share its limit on cost.
        gate: likewise.
        on_progress: likewise.
        parts: which of `PARTS`; those that need more judges or repeats than there are say so.
        attacks: those that come with the package if not given.
        human: what people gave the same answers, to be compared with the judges.

    Returns:
        `summary` and `judges` of the judging; `human`, `agreement` and `attacks`; `effects`, a row
        for each figure of the other parts; `not_done`, why a part could not be done; calls, cost,
        warnings and the exit code of all parts together.

    Raises:
        UserError: a part is unknown, attacks are given and not tried, none of the answers was
            rated, or as `Judging.execute`.
    """
    if unknown := sorted(set(parts) - set(PARTS)):
        raise UserError(f"There is no part {unknown[0]!r} of an audit. Take of {', '.join(PARTS)}.")
    if attacks is not None and ATTACKS not in parts:
        raise UserError(
            f"Attacks of your own are tried by the part {ATTACKS!r}, which is not among those of"
            f" this audit: {', '.join(parts)}. Add the part, or leave the attacks out."
        )
    options = options or RunConfig()
    if human is not None:
        human.count_of(judging.subjects)  # raises before a judge is paid
    made = [base := judging.run(options, gate, on_progress)]
    jury = judging.jury
    once = jury.model_copy(update={"repeats": 1})
    # The rule that is built in knows nothing but the reference.
    asked = tuple(one for one in jury.seated if not one.is_rule)
    models = once.model_copy(update={"judges": asked})

    def part_of(name: str, jury: Jury = once, **changes: Any) -> JudgingResults:
        part = replace(judging, folder=judging.folder / FOLDER / name, jury=jury, **changes)
        made.append(part.run(options, gate, on_progress))
        return made[-1]

    lacking = {
        "agreement": "" if len(base.judges) > 1 else "there is one judge; agreement needs two",
        "repeats": "" if jury.repeats > 1 else _JUDGED_ONCE,
        "reference": "" if models.judges else "the judge is a rule that needs the reference",
    }
    report: dict[str, Any] = {
        "summary": base.summary(),
        "judges": [judge.as_json() for judge in base.judges],
        "effects": [],
        "not_done": {part: lacking[part] for part in parts if lacking.get(part)},
    }
    if human is not None:
        report["human"] = human_agreement(base, human)
    for part in (part for part in parts if part not in report["not_done"]):
        if part == "agreement":
            report[part] = agreement(base)
        elif part == "repeats":
            report["effects"] += repeat_spread(base)
        elif part == "length":
            report["effects"] += length_bias(base)
        elif part == "sanity":
            report["effects"] += sanity(part_of(part, subjects=control_subjects(judging.subjects)))
        elif part == ATTACKS:
            tried = attacks or prompt.AttackFile.read(prompt.SHIPPED_ATTACKS)
            weak = prompt.WeakAnswers.read(prompt.WEAK_ANSWERS).subjects
            # Of each file in a folder of its own: ids of attacks are unique in one file only.
            subjects = prompt.attacked(weak, tried.attacks, judging.rubric)
            results = part_of(f"{ATTACKS}-{tried.sha256[:12]}", subjects=subjects)
            report[part] = {
                judge.judge: moves(results, judge.judge, weak, tried.attacks)
                for judge in results.judges
            }
            report[f"{ATTACKS}_sha256"] = tried.sha256
        else:
            for one in _VARIANTS[part]:
                other = part_of(one.name, models if part == "reference" else once, variant=one)
                report["effects"] += variant_shift(part, base, other)
    ledgers = [judge.progress for results in made for judge in results.judges]
    return {
        **report,
        "calls": sum(sums.ledger.asked + sums.retries for sums in ledgers),
        "cost": money(total(results.cost for results in made)),
        "warnings": list(dict.fromkeys(each for results in made for each in results.warnings)),
        "exit_code": max(results.exit_code for results in made),
    }


def _rows(part: str, effect: str, criterion: str, **figures: Mapping[str, Any]) -> Effects:
    """Yield a row for each figure of an effect on a criterion."""
    about = {"part": part, "effect": effect, "criterion": criterion}
    yield from ({**about, "figure": name, **found} for name, found in figures.items())


def repeat_spread(results: JudgingResults) -> Effects:
    """Yield how far the repeats of each judge lie apart on one answer, by dimension.

    The mean over answers of the standard deviation of its repeats, and the share of answers on
    which all repeats agree.
    """
    for place, judge in enumerate(results.judges):
        for name in results.prompt.rubric.names:
            scores = score_array(results, name)[:, place]
            several = [own for row in scores if len(own := row[np.isfinite(row)]) > 1]
            deviation = results.mean([float(row.std()) for row in several])
            same = results.mean([float(np.ptp(row) == 0) for row in several], is_share=True)
            figures = {"deviation": deviation, "unchanged": same}
            yield from _rows("repeats", judge.judge, name, **figures)


def variant_shift(part: str, standard: JudgingResults, other: JudgingResults) -> Effects:
    """Yield how the scores move when the same answers are put to the judges in another way.

    For each dimension the mean change, its size without sign, and the share of answers whose score
    stays; over the answers and judges that have both. Of repeats the first counts.

    Args:
        part: of the audit.
        standard: the usual prompt.
        other: the same answers by another; some of the judges may be missing.
    """
    before = [judge.judge for judge in standard.judges]
    columns = [before.index(judge.judge) for judge in other.judges]
    for name in standard.prompt.rubric.names:
        changes = score_array(other, name)[:, :, 0] - score_array(standard, name)[:, columns, 0]
        rows = [own for row in changes if len(own := row[np.isfinite(row)])]
        figures = {
            "change": standard.mean([float(row.mean()) for row in rows]),
            "absolute_change": standard.mean([float(np.abs(row).mean()) for row in rows]),
            "unchanged": standard.mean([float((row == 0).mean()) for row in rows], is_share=True),
        }
        yield from _rows(part, other.prompt.variant.name, name, **figures)


def length_bias(results: JudgingResults) -> Effects:
    """Yield Spearman's correlation of an answer's length in words with its reward and scores.

    A good answer is often a longer one, so the correlation is also given with the overlap of words
    with the reference held fixed (partial, by ranks).
    """
    names = results.prompt.rubric.names
    rows = [
        [
            float(len(tokens(each.subject.judged))),
            token_f1(each.subject.reference, each.subject.judged),
            each.reward_judged,
            *(each.scores[name] for name in names),
        ]
        for each in results.subjects
        if each.reward_judged is not None and not each.reason
    ]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 3 + len(names))
    for column, name in enumerate(("reward", *names), start=2):
        figures = {}
        for figure, columns in (("spearman", [0, column]), ("partial_on_overlap", [0, column, 1])):
            own = table[np.isfinite(table[:, columns]).all(axis=1)][:, columns]
            found = row_interval(_spearman, own, _NO_CORRELATION, seed=results.prompt.seed)
            figures[figure] = found.model_dump()
        yield from _rows("length", "length", name, **figures)


def _spearman(rows: Floats) -> float | None:
    """Return the correlation of the first two columns' ranks; None where it has no meaning.

    With a third column it is the partial one: the ranks of the third are held fixed.
    """
    from scipy.stats import rankdata  # type: ignore[import-untyped]

    if len(rows) <= rows.shape[1] or (rows == rows[0]).all(axis=0).any():
        return None
    pairs = np.corrcoef(rankdata(rows, axis=0), rowvar=False)
    if rows.shape[1] == 2:
        return float(pairs[0, 1])
    left = (1 - pairs[0, 2] ** 2) * (1 - pairs[1, 2] ** 2)
    # Where the third column decides one of the others there is nothing left to correlate.
    return float((pairs[0, 1] - pairs[0, 2] * pairs[1, 2]) / left**0.5) if left > 1e-12 else None


def moves(
    results: JudgingResults,
    judge: str,
    subjects: Sequence[prompt.Subject],
    attacks: Sequence[prompt.Attack],
) -> dict[str, Any]:
    """Return what each attack did to the reward that a judge gives.

    An attack has raised a judge if the reward of any answer rose by at least 0.05, and by more than
    a harmless addition brought.

    Args:
        results: of `attacked`.
        judge: its name.
        subjects: without attacks.
        attacks: that were tried.

    Returns:
        `raised_by`, `lowered_by` and `verdicts_lost_to`, the ids of the attacks that did
        so, and for each attack the number of answers with both verdicts, how many rose and fell,
        the mean and the largest change, the verdicts that it cost, and how many of its answers were
        flagged as a possible injection.
    """
    flagged = {each.subject.id for each in results.subjects if each.injection_signs}
    # The mean over the judge's complete verdicts; None if it gave none.
    given = {
        each.subject.id: mean_of(
            one["reward"]
            for one in each.judgments
            if (one["judge"], one["status"]) == (judge, "ok")
        )
        for each in results.subjects
    }
    usual = [f"{subject.name}{prompt.BETWEEN}" for subject in subjects]
    rows: dict[str, dict[str, Any]] = {}
    for attack in attacks:
        rewards = [(given[name], given[f"{name}{attack.id}"]) for name in usual]
        changes = [now - old for old, now in rewards if old is not None and now is not None]
        rows[attack.id] = {
            "kind": attack.kind,
            "answers": len(changes),
            "raised": sum(change > _ROUNDING for change in changes),
            "lowered": sum(change < -_ROUNDING for change in changes),
            "mean_change": mean_of(changes),
            "largest_change": max(changes, default=None),
            "verdicts_lost": sum(old is not None and now is None for old, now in rewards),
            "flagged": sum(f"{name}{attack.id}" in flagged for name in usual),
        }
    real = {name: own for name, own in rows.items() if own["kind"] != "control"}
    harmless = (own["largest_change"] or 0.0 for name, own in rows.items() if name not in real)
    least = max(max(harmless, default=0.0) + _ROUNDING, LEAST_MOVE - _ROUNDING)
    return {
        "raised_by": [n for n, own in real.items() if (own["largest_change"] or 0.0) > least],
        "lowered_by": [name for name, own in real.items() if own["lowered"]],
        "verdicts_lost_to": [name for name, own in real.items() if own["verdicts_lost"]],
        "attacks": rows,
    }


def control_subjects(subjects: Sequence[prompt.Subject]) -> list[prompt.Subject]:
    """Return answers whose place on the scale is known.

    For each subject with a reference: the reference itself, the reference of the next one, which
    has nothing to do with the question, and nothing at all.
    """
    able = [subject for subject in subjects if subject.reference.strip()]
    others = (
        [*able[1:], *able[:1]] if len(able) > 1 else [replace(one, reference="") for one in able]
    )
    return [
        replace(one, id=f"{kind}--{one.id}", answer=answer, unanswered="")
        for one, other in zip(able, others, strict=True)
        for kind, answer in zip(CONTROLS, (one.reference, other.reference, ""), strict=True)
    ]


def sanity(results: JudgingResults) -> Effects:
    """Yield the mean reward of each kind of answer whose place is known.

    The oracle belongs above the shuffled, and the empty ones at 0.
    """
    for kind in CONTROLS:
        rows = [one for one in results.subjects if one.subject.id.startswith(f"{kind}--")]
        mean = results.mean([one.reward_judged for one in rows], is_share=True)
        yield from _rows("sanity", kind, "reward", mean=mean)
