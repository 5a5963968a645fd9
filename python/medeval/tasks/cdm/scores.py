"""The score of one case, from what the model did and answered.

The scores are those of practical_cdm_benchmark, which took them over from Hager et al., Evaluation
and mitigation of the limitations of large language models in clinical decision-making, Nature
Medicine 30 (2024) 2613-2622. Version 1 is that program's, with its faults, and lives in
`scores_v1`; version 2 is repaired.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.cdm import scores_v1
from medeval.tasks.cdm.facts import Facts, canonical
from medeval.tasks.cdm.negation import has_pair, is_spelt_like
from medeval.tasks.cdm.text_protocol import FinalAnswer
from medeval.tasks.cdm.tools import EXAMINE, IMAGE, TEST, TOOLS
from medeval.tasks.task import Method

if TYPE_CHECKING:
    from medeval.scoring.table import ScoreTable

SCORES = (
    *("Late Physical Examination", "Physical Examination", "Laboratory Tests", "Imaging"),
    *("Diagnosis", "Gracious Diagnosis", "Treatment Requested"),
)
LATE_EXAMINATION, EXAMINATION, LABORATORY, IMAGING, DIAGNOSIS, GRACIOUS, TREATMENT = SCORES
# What was asked for, which full information leaves nothing to.
TOOLS_ONLY = (LATE_EXAMINATION, EXAMINATION, LABORATORY, IMAGING)
# Between 0 and 1; the others are points.
SHARES = (LATE_EXAMINATION, EXAMINATION, DIAGNOSIS, GRACIOUS, TREATMENT)
COUNTS = (
    *("Unnecessary Laboratory Tests", "Unnecessary Imaging"),
    *("Rounds", "Tool Calls", "Invalid Tool Calls"),
)
UNNECESSARY_TESTS, UNNECESSARY_IMAGING, ROUNDS, TOOL_CALLS, INVALID_CALLS = COUNTS
# More rounds and calls are neither better nor worse.
LOWER_IS_BETTER = (UNNECESSARY_TESTS, UNNECESSARY_IMAGING, INVALID_CALLS)
CORRECT_TESTS, NEUTRAL_TESTS = "Correct Laboratory Tests", "Neutral Laboratory Tests"
CORRECT_IMAGING = "Correct Imaging"
MOST_IMAGING_POINTS = 2
ANSWERED_ONLY = "answered only"
ZEROED = "_failures_as_zero"
_ENDS = {"mean": "value", "low": "low", "high": "high"}
_WORD = re.compile(r"[^\W_]+")

# A call of a tool as a `Toolbox` records it.
Call = Mapping[str, Any]
# What `score_case` returns.
CaseScore = Mapping[str, Any]


def score_case(
    case: ClinicalCase,
    answer: FinalAnswer,
    calls: Sequence[Call] | None,
    facts: Facts,
    version: int = 2,
) -> CaseScore:
    """Score what a model did on a case; without tools there are only the scores of the answer.

    Args:
        case: the case with its ground truth and one of the four pathologies.
        answer: what the model decided.
        calls: records of a `Toolbox` in the order of the calls, each with its `round` if it is
            known; None where the model had no tools, which leaves their scores out.
        facts: the facts.
        version: 1 for the reference's scores, 2 for the repaired ones. A record serves both.

    Returns:
        JSON values: `score_version`; `tool_calls`, how often each tool was called, None without
        tools; `answers`, what the scores were made from, in the reference's names; `scores`, the
        more the better; and `counts` of what the model did.
    """
    pathology = str(case.pathology)
    diagnosis_of = scores_v1.diagnosis_scores if version == 1 else diagnosis_scores
    right, nearly = diagnosis_of(answer.final_diagnosis, pathology, facts)
    requested = requested_treatments(case, answer.treatment, facts, version)
    required = required_treatments(case, facts, version)
    needed = [requested[name] for name, is_required in required.items() if is_required]
    answers: dict[str, Any] = {
        "Diagnosis": answer.final_diagnosis,
        "Diagnostic Confidence": None,
        "Treatment": list(answer.treatment),
    }
    scores: dict[str, float] = {}
    counts: dict[str, int] = {}
    tool_calls = None
    if calls is not None:
        # An invalid call examines nobody.
        examined = [call["tool"] == EXAMINE and call["is_valid"] for call in calls]
        points, images = imaging_scores(case, calls, facts, version)
        answers |= laboratory_answers(calls, pathology, facts, version) | images
        scores = {
            LATE_EXAMINATION: int(any(examined)),
            EXAMINATION: int(any(examined[:1])),
            LABORATORY: sum(answers[CORRECT_TESTS].values()),
            IMAGING: points,
        }
        # A call that does not say its turn is taken for one of its own.
        turns = {call.get("round", f"call {number}") for number, call in enumerate(calls)}
        counts = {name: len(answers[name]) for name in (UNNECESSARY_TESTS, UNNECESSARY_IMAGING)}
        # How often each tool was called with success; all calls are in the total.
        counted = Counter(call["tool"] for call in calls if call["is_valid"])
        counts |= {ROUNDS: len(turns), TOOL_CALLS: len(calls)}
        counts[INVALID_CALLS] = len(calls) - counted.total()
        tool_calls = {tool: counted[tool] for tool in TOOLS} | {"total": len(calls)}
    return {
        "score_version": version,
        "tool_calls": tool_calls,
        "answers": answers | {TREATMENT: requested, "Treatment Required": required},
        "scores": scores
        | {DIAGNOSIS: right, GRACIOUS: nearly, TREATMENT: sum(needed) / len(needed)},
        "counts": counts,
    }


def diagnosis_scores(diagnosis: str, pathology: str, facts: Facts) -> tuple[int, int]:
    """Return the points for the diagnosis and for the gracious diagnosis, 0 or 1 each.

    It is right by a word that is spelt much like the pathology, or by a place and a change that
    together mean it; nearly right by a more lenient pair. An answer that names several diagnoses
    is right if one of them is, as in the reference.
    """
    answer = diagnosis.lower()
    rules = facts.negation
    organs = facts.other_organs.get(pathology, ())
    is_named = any(
        is_spelt_like(word[0], pathology) and not rules.denies(answer, *word.span())
        for word in _WORD.finditer(answer)
    )
    if is_named or has_pair(answer, facts.correct_diagnoses.get(pathology, ()), organs, rules):
        return 1, 1
    return 0, int(has_pair(answer, facts.gracious_diagnoses.get(pathology, ()), organs, rules))


def laboratory_answers(
    calls: Sequence[Call], pathology: str, facts: Facts, version: int
) -> dict[str, Any]:
    """Return what was asked for of the categories that are needed, of the neutral, and the rest.

    A point for each needed category of which a test was asked for; a neutral panel counts by tests
    that no category has; all else is unnecessary, in the order of the requests. A request's items
    have their synonyms replaced, and version 2 replaces those of the categories too.
    """
    labs = facts.labs
    listed = set if version == 1 else partial(canonical, facts=labs)
    requests = [call.get("itemids", {}) for call in calls if call["tool"] == TEST]
    asked = [item for request in requests for item in request.get(str(version), ())]
    required = {name: set(listed(labs.categories[name])) for name in labs.required[pathology]}
    needed = set().union(*required.values())
    neutral = {name: set(listed(labs.panels[name])) - needed for name in labs.neutral[pathology]}
    minded = needed.union(*neutral.values())
    correct, others = (
        {name: not items.isdisjoint(asked) for name, items in of.items()}
        for of in (required, neutral)
    )
    unnecessary = list(dict.fromkeys(item for item in asked if item not in minded))
    return {CORRECT_TESTS: correct, NEUTRAL_TESTS: others, UNNECESSARY_TESTS: unnecessary}


def imaging_scores(
    case: ClinicalCase, calls: Sequence[Call], facts: Facts, version: int
) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """Return the points for imaging, the acceptable imaging, and the unnecessary.

    2 points if the first acceptable imaging is a preferred one, 1 if it is an alternative; a
    modality that only adds to others does so once, where the diagnoses have its word, and never to
    more than 2. Imaging that is not acceptable is unnecessary, and so is the same once more. A
    request in unknown words is an invalid call and no imaging. Version 1 takes the words of all
    requests as they are, adds each time and knows no most.
    """
    affirmed = _affirmed(facts, version)
    points = 0
    correct: list[dict[str, str]] = []
    unnecessary: list[dict[str, str]] = []
    for call in calls:
        if call["tool"] != IMAGE or "scored_as" not in call:
            continue
        if version == 1:
            asked = {name: call["arguments"][name].lower() for name in ("region", "modality")}
        elif call["is_valid"]:
            asked = {"region": call["region"].lower(), "modality": call["scored_as"]}
        else:
            continue
        modality = "ultrasound" if asked["modality"] == "us" else asked["modality"]
        worth = facts.imaging.worth(str(case.pathology), asked["region"], modality)
        is_new = worth is not None and asked not in correct
        (correct if is_new else unnecessary).append(asked)
        if worth is None or not (is_new or version == 1):
            continue
        word = worth.added_if_diagnosis_has
        if word is None:
            points = points or worth.points
        elif affirmed(case.ground_truth.primary_diagnosis, [word]):
            points += worth.points
    most = points if version == 1 else MOST_IMAGING_POINTS
    return min(points, most), {CORRECT_IMAGING: correct, UNNECESSARY_IMAGING: unnecessary}


def required_treatments(case: ClinicalCase, facts: Facts, version: int) -> dict[str, bool]:
    """Return for each treatment of the pathology whether the case needs it.

    It is needed always, or if the ground truth shows it by a code or by words. Every pathology has
    one that is always needed.
    """
    affirmed, truth = _affirmed(facts, version), case.ground_truth
    titles = [one.title for one in truth.treatments]
    codes = {one.icd_code for one in truth.treatments}
    found: dict[str, bool] = {}
    for one in facts.treatments[str(case.pathology)]:
        # A place in titles counts with a word in the same one or another.
        shown = affirmed(titles, one.shown_word) and affirmed(titles, one.shown_place)
        shown = shown or affirmed(titles, one.shown_or_requested)
        shown = shown or not codes.isdisjoint(one.icd_9 | one.icd_10)
        if one.diagnosis:
            shown = affirmed(truth.primary_diagnosis, one.diagnosis)
        found[one.name] = one.is_always_required or shown
    return found


def requested_treatments(
    case: ClinicalCase, answered: Sequence[str], facts: Facts, version: int
) -> dict[str, bool]:
    """Return for each treatment of the pathology whether words of the answer ask for it."""
    affirmed = _affirmed(facts, version)
    found: dict[str, bool] = {}
    for one in facts.treatments[str(case.pathology)]:
        is_asked = affirmed(answered, one.shown_or_requested + one.requested) or any(
            affirmed([text], [place]) and affirmed([text], [change])
            for place, change in one.requested_pairs
            for text in answered
        )
        if one.requested_groups:
            is_asked = all(affirmed(answered, group) for group in one.requested_groups)
        causes = case.ground_truth.primary_diagnosis
        found[one.name] = is_asked and (not one.diagnosis or affirmed(causes, one.diagnosis))
    return found


def _affirmed(facts: Facts, version: int) -> Callable[[Sequence[str], Sequence[str]], bool]:
    """Return what tells whether one of some texts mentions a keyword that is not denied."""
    affirms = facts.negation.affirms
    if version == 1:
        affirms = partial(scores_v1.affirms, facts=facts)
    return lambda texts, words: any(affirms(text, word) for word in words for text in texts)


# Means over cases


def mean_table(scores: Sequence[CaseScore | None], names: Iterable[str]) -> ScoreTable:
    """Return a column of each score over cases, None for one that failed.

    A score is there twice: with 0 for each case that failed, and under `answered` for the others
    only. For counts zero is no worst value, so a failure is none. Shares have Wilson's interval.
    """
    from medeval.scoring.table import Ratio, ScoreTable  # numpy is slow to load

    own = {name: [value_of(score, name) for score in scores] for name in names}
    zeroed = {
        name: Ratio([value or 0.0 for value in values], is_share=name in SHARES)
        for name, values in own.items()
        if name not in COUNTS
    }
    found = {answered(name): Ratio(values, is_share=name in SHARES) for name, values in own.items()}
    return ScoreTable({**zeroed, **found})


def means(
    scores: Sequence[CaseScore | None], names: Sequence[str], method: Method
) -> dict[str, dict[str, Any]]:
    """Return the mean of each score over cases, whatever their order, as JSON values.

    Args:
        scores: of every case that was asked; None for one that failed.
        names: scores and counts.
        method: the resamples, of which 0 give values without intervals, and their seed.

    Returns:
        `n` cases, of which `n_failed`; `mean`, `low` and `high` over the answered ones and, but for
        counts, with `_failures_as_zero` over all; and the `reason` where a value is missing.
    """
    found = mean_table(scores, names).summary(draws=method.n_iters, seed=method.seed)
    made = {}
    for name in names:
        own, reason = found[answered(name)], None
        told: dict[str, Any] = {"n": len(scores), "n_failed": own.n_undefined}
        for one, kind in ((own, ""), (None if name in COUNTS else found[name], ZEROED)):
            told |= {f"{end}{kind}": getattr(one, key, None) for end, key in _ENDS.items()}
        if own.value is None:
            reason = "no case was answered" if scores else "no case"
        elif own.low is None:
            few = "one case only: there is no interval"
            reason = few if method.n_iters else "without resamples there is no interval"
        made[name] = {**told, "reason": reason}
    return made


def answered(name: str) -> str:
    """Return what the mean over the answered cases is called; counts have no other."""
    return name if name in COUNTS else f"{name} ({ANSWERED_ONLY})"


def cells(mean: Mapping[str, Any]) -> tuple[str, str]:
    """Return a value of `means` and the ends of its interval as tables show them.

    Failed cases count as zero, but in counts, which are means over the answered cases.
    """
    kind = "" if mean[f"mean{ZEROED}"] is None else ZEROED
    value, low, high = (mean[f"{end}{kind}"] for end in _ENDS)
    shown = "undefined" if value is None else f"{value:.4f}"
    return shown, "" if low is None else f"{low:.4f} to {high:.4f}"


def value_of(score: CaseScore | None, name: str, failed: float | None = None) -> float | None:
    """Return a score or count of a case, or what one that failed has."""
    return failed if score is None else float((score["scores"] | score["counts"])[name])
