"""An audit of judges: may their scores be believed?

Do they agree with each other and with themselves, does the order of the prompt or the length of an
answer move them, do attacks, and do they tell a right answer from a wrong one? And where people
scored the same answers: do they agree with them?
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.inference.cost import Budget
from medeval.judging.agreement import agreement
from medeval.judging.attacking import AttackFile, attacked, moves, shipped_attacks, weak_subjects
from medeval.judging.human import HumanRatings
from medeval.judging.human_agreement import human_agreement
from medeval.judging.judges import Judge
from medeval.judging.length_bias import length_bias
from medeval.judging.options import JudgingOptions
from medeval.judging.prompt import ANSWER_FIRST, CRITERIA_REVERSED, NO_REFERENCE
from medeval.judging.results import JudgingResults
from medeval.judging.rubric import Rubric
from medeval.judging.running import run_judges
from medeval.judging.stability import repeat_spread, variant_shift
from medeval.judging.subjects import Subject, checked
from medeval.scoring.table import mean

AGREEMENT = "agreement"
REPEATS = "repeats"
ORDER = "order"
REFERENCE = "reference"
LENGTH = "length"
ATTACKS = "attacks"
SANITY = "sanity"
HUMAN = "human"
PARTS = (AGREEMENT, REPEATS, ORDER, REFERENCE, LENGTH, ATTACKS, SANITY)
FOLDER = "audit"
_VARIANTS = {ORDER: (ANSWER_FIRST, CRITERIA_REVERSED), REFERENCE: (NO_REFERENCE,)}


def audit(
    subjects: Iterable[Subject],
    judges: Sequence[Judge],
    rubric: Rubric,
    folder: Path,
    options: JudgingOptions | None = None,
    parts: Sequence[str] = PARTS,
    attacks: AttackFile | None = None,
    human: HumanRatings | None = None,
) -> dict[str, Any]:
    """Audit judges on answers, and return a report that is JSON.

    The judgments of the answers themselves are those of `run_judges` in the same folder: what is
    there is not asked again. Those of each part are kept below `audit`.

    Args:
        subjects: the answers.
        judges: one, or a jury.
        rubric: what is graded.
        folder: of the run.
        options: how; `repeats` above 1 for the spread of repeats.
        parts: which of `PARTS`; those that need more judges or repeats than there are say so.
        attacks: those that come with the package if not given.
        human: what people gave the same answers, to be compared with the judges.

    Raises:
        UserError: a part is unknown, attacks are given and not tried, none of the answers was
            rated, or as `run_judges`.
    """
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise UserError(f"There is no part {unknown[0]!r} of an audit. Take of {', '.join(PARTS)}.")
    if attacks is not None and ATTACKS not in parts:
        raise UserError(
            f"Attacks of your own are tried by the part {ATTACKS!r}, which is not among those of"
            f" this audit: {', '.join(parts)}. Add the part, or leave the attacks out."
        )
    options = _with_one_budget(options or JudgingOptions())
    listed = checked(subjects)
    if human is not None:
        human.count_of(listed)  # raises before a judge is paid
    base = run_judges(listed, judges, rubric, folder, options)
    below = folder / FOLDER
    once = replace(options, repeats=1)
    made: list[JudgingResults] = [base]
    report: dict[str, Any] = {
        "summary": base.summary(),
        "judges": [judge.as_json() for judge in base.judges],
    }
    if human is not None:
        report[HUMAN] = human_agreement(base, human, options.seed)
    for part in parts:
        if part == AGREEMENT:
            report[part] = _agreement(base, options)
        elif part == REPEATS:
            report[part] = _repeats(base, options)
        elif part in _VARIANTS:
            # The rule that is built in knows nothing but the reference.
            able = [judge for judge in judges if part == ORDER or not judge.is_rule]
            if not able:
                report[part] = {"reason": "the judge is a rule that needs the reference"}
                continue
            others = {
                variant.name: run_judges(
                    listed, able, rubric, below / variant.name, replace(once, variant=variant)
                )
                for variant in _VARIANTS[part]
            }
            made += others.values()
            report[part] = variant_shift(base, others, options.seed)
        elif part == LENGTH:
            report[part] = length_bias(base, options.seed)
        elif part == ATTACKS:
            tried = shipped_attacks() if attacks is None else attacks
            weak = weak_subjects()
            # Of each file in a folder of its own: ids of attacks are unique in one file only.
            place = below / f"{ATTACKS}-{tried.sha256[:12]}"
            results = run_judges(attacked(weak, tried.attacks, rubric), judges, rubric, place, once)
            made.append(results)
            report[part] = moves(results, weak, tried.attacks)
            report[f"{ATTACKS}_sha256"] = tried.sha256
        else:
            results = run_judges(control_subjects(listed), judges, rubric, below / SANITY, once)
            made.append(results)
            report[part] = sanity(results)
    report.update(_spent(made))
    report["warnings"] = list(dict.fromkeys(each for results in made for each in results.warnings))
    report["exit_code"] = max(results.exit_code for results in made)
    return report


def control_subjects(subjects: Sequence[Subject]) -> list[Subject]:
    """Return answers whose place on the scale is known.

    For each subject with a reference: the reference itself, the reference of the next one, which
    has nothing to do with the question, and nothing at all.
    """
    able = [subject for subject in subjects if subject.reference.strip()]
    found = []
    for place, subject in enumerate(able):
        other = able[(place + 1) % len(able)].reference if len(able) > 1 else ""
        for name, answer in (("oracle", subject.reference), ("shuffled", other), ("empty", "")):
            found.append(replace(subject, id=f"{name}--{subject.id}", answer=answer, unanswered=""))
    return found


def sanity(results: JudgingResults) -> dict[str, Any]:
    """Return the mean reward of each kind of answer whose place is known.

    Returns:
        `oracle`, `shuffled` and `empty`, each with an interval, and `is_in_order`: the oracle above
        the shuffled, and the empty ones at 0.
    """
    found: dict[str, Any] = {
        kind: mean(
            [
                each.reward_judged
                for each in results.subjects
                if each.subject.id.startswith(f"{kind}--")
            ],
            seed=results.seed,
            is_share=True,
            reason="there is no value",
        ).model_dump()
        for kind in ("oracle", "shuffled", "empty")
    }
    oracle, shuffled, empty = (found[kind]["value"] for kind in ("oracle", "shuffled", "empty"))
    known = oracle is not None and shuffled is not None
    found["is_in_order"] = bool(known and oracle > shuffled and empty == 0) if known else None
    return found


def _spent(made: Sequence[JudgingResults]) -> dict[str, Any]:
    """Return the calls and the cost of all parts together; None as soon as a part is unknown."""
    judges = [judge for results in made for judge in results.judges]
    costs = [judge.cost for judge in judges]
    known = [cost for cost in costs if cost is not None]
    return {
        "calls": sum(judge.progress.ledger.asked + judge.progress.retries for judge in judges),
        "cost": str(sum(known, Decimal(0))) if len(known) == len(costs) else None,
    }


def _with_one_budget(options: JudgingOptions) -> JudgingOptions:
    """Return the options with a limit on cost that all parts share."""
    budget = options.run.budget or Budget(options.run.max_cost)
    return replace(options, run=replace(options.run, budget=budget, max_cost=None))


def _agreement(base: JudgingResults, options: JudgingOptions) -> dict[str, Any]:
    if len(base.judges) < 2:
        return {"reason": "there is one judge; agreement needs two"}
    return agreement(base, options.seed)


def _repeats(base: JudgingResults, options: JudgingOptions) -> dict[str, Any]:
    if options.repeats < 2:
        return {"reason": "each answer was judged once; the spread needs repeats of 2 or more"}
    return repeat_spread(base, options.seed)
