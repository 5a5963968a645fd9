"""Scores of CDM: of each case and over all, with what groups, subsets and orders say beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from medeval.errors import UserError
from medeval.inference.types import Outcome
from medeval.models.clinical_case import PATHOLOGIES
from medeval.models.scores import Interval
from medeval.scoring.table import mean
from medeval.tasks.cdm.aggregate import ScoredCase, aggregate, value_of
from medeval.tasks.cdm.cases import Subset
from medeval.tasks.cdm.episode import Transcript
from medeval.tasks.cdm.facts import Facts
from medeval.tasks.cdm.scores import (
    COUNTS,
    DIAGNOSIS,
    IMAGING,
    LABORATORY,
    LOWER_IS_BETTER,
    MOST_IMAGING_POINTS,
    SCORES,
    TREATMENT,
    CaseScore,
    required_treatments,
    score_case,
)
from medeval.tasks.cdm.subgroups import attributes_of, subgroups
from medeval.tasks.cdm.tables import (
    NOT_ASKED,
    detail_tables,
    gap_sentences,
    gap_table,
    headline_table,
    shown_groups,
    subset_scores,
    subset_sentences,
)
from medeval.tasks.for_reports import reasons_table, task_score
from medeval.tasks.task import Method, TaskScore

PATHOLOGY = "pathology"
SUBSET = "subset"
GROUPINGS = (PATHOLOGY, "gender", "age_band")
ANSWERED_ONLY = "answered only"
ACCEPTABLE = "acceptable"
PREFERRED = "preferred"
# What is counted of the way to the answers.
CONDUCT = ("turns", "rounds", "invalid_calls", "custom_parsings")


def score_of(
    transcripts: Sequence[Transcript],
    facts: Facts,
    model: str,
    about: Mapping[str, Any],
    method: Method,
    possible: Sequence[str] = SCORES,
    subsets: Sequence[Subset] = (),
    version: int = 2,
) -> TaskScore:
    """Score what came of the cases.

    The values count a case that failed as 0, so that no failure leaves the denominator; the means
    over the answered cases stand beside them.

    Args:
        transcripts: of every case and sample.
        facts: the facts.
        model: as the user named it.
        about: the run.
        method: of intervals and groups.
        possible: the scores that there are for a case that is answered.
        subsets: cases that are scored by themselves, too.
        version: of the scores: 1 for those of the published program, 2 for the repaired ones.

    Raises:
        UserError: a grouping that there is not.
    """
    for name in method.groupings:
        if name not in GROUPINGS:
            raise UserError(f"--by {name}: cases can be grouped by {', '.join(GROUPINGS)}.")
    if method.cluster is not None:
        raise UserError(f"--cluster {method.cluster}: cases are drawn by themselves.")
    first = [one for one in transcripts if one.sample == 0]
    cases = [
        ScoredCase(
            one.case.hadm_id,
            str(one.case.pathology),
            score_transcript(one, facts, version),
            failure_of(one),
        )
        for one in first
    ]
    found = aggregate(cases, seed=method.seed, n_iters=method.n_iters, possible=possible)
    order = order_sensitivity(transcripts, facts, version)
    measures = Counter(measure for one in first for measure in one.context)
    conduct = {
        **{name: sum(getattr(one, name) for one in first) for name in CONDUCT},
        "asked_again": sum(one.is_reasked for one in first),
        "context_measures": dict(sorted(measures.items())),
    }
    zeroed = {name: mean.zeroed for name, mean in found.overall.items() if mean.zeroed}
    # Counts have no other mean than that over the answered cases.
    answered = {
        name if name in COUNTS else f"{name} ({ANSWERED_ONLY})": mean.answered
        for name, mean in found.overall.items()
    }
    intervals: dict[str, Interval] = {**zeroed, **answered}
    values = {name: one.value for name, one in intervals.items() if one.value is not None}
    fields = {
        "metrics_results": values,
        # 0 where a case failed; counts have none there.
        "item_scores": {
            name: [value_of(case, name, failed=None if name in COUNTS else 0.0) for case in cases]
            for name in found.overall
        },
        "intervals": {name: one for name, one in intervals.items() if one.low is not None},
    }
    by_pathology = {
        pathology: {name: mean.as_json() for name, mean in of.items()}
        for pathology, of in found.by_pathology.items()
    }
    told: dict[str, Any] = {
        **about,
        "score_version": version,
        "n": found.n,
        "n_failed": found.n_failed,
        "failures": found.failures,
        "by_pathology": by_pathology,
        "rates_by_pathology": rates(first, facts, version),
        "conduct": conduct,
        "about_metrics": {
            name: {
                "direction": "lower" if name in LOWER_IS_BETTER else "neither",
                "scale": "count",
            }
            for name in COUNTS
        },
        **({} if order is None else {"order_sensitivity": order}),
    }
    parts = [
        {"name": name, "n": means[DIAGNOSIS]["n"], "scores": means}
        for name, means in by_pathology.items()
    ]
    groups = {PATHOLOGY: shown_groups(parts, list(zeroed))}
    warnings: list[str] = []
    tables = [headline_table(found), *reasons_table("failed", found.failures)]
    notes = [] if order is None else [order_sentence(order)]
    subset = about["data"].get("subset")
    if subset is not None:
        its = f"{subset['name']}: {subset['cases']:,} cases of the export."
        notes.insert(0, f"The run is of the subset {its}")
    if subsets:
        parts, table = subset_scores(cases, subsets, method, possible)
        told["subsets"] = parts
        groups[SUBSET] = shown_groups(parts, list(zeroed))
        warnings += subset_sentences(parts)
        tables.append(table)
    persons = [name for name in GROUPINGS if name != PATHOLOGY and name in method.groupings]
    if persons:
        people = subgroups(
            cases,
            {
                one.case.hadm_id: {name: attributes_of(one.case)[name] for name in persons}
                for one in first
            },
            min_cell=method.min_cell,
            seed=method.seed,
            n_iters=method.n_iters,
            possible=possible,
        )
        told["subgroups"] = people
        for name, grouping in people["attributes"].items():
            groups[name] = shown_groups(grouping["groups"], list(zeroed))
        warnings += gap_sentences(people)
        gaps = gap_table(people)
        tables += [gaps] if gaps.rows else []
    # No word of the model's, which may repeat the notes.
    outputs = [
        {
            "outcome": None if one.outcome is None else str(one.outcome),
            "reason": one.reason or None,
            **{name: getattr(one, name) for name in ("rounds", "turns", "invalid_calls")},
        }
        for one in first
    ]
    return task_score(
        "cdm",
        model,
        DIAGNOSIS,
        fields,
        method,
        [{"hadm_id": case.hadm_id, "pathology": case.pathology} for case in cases],
        outputs,
        told,
        warnings=warnings,
        groups=groups,
        notes=notes,
        tables=tables,
        details=detail_tables(found, conduct),
        # Where nothing failed, means over the answered cases say the same again.
        said_again=[] if found.n_failed else [name for name in answered if ANSWERED_ONLY in name],
    )


def score_transcript(transcript: Transcript, facts: Facts, version: int) -> CaseScore | None:
    """Return the score of a case; None if it has no answer."""
    if transcript.answer is None:
        return None
    answer = asdict(transcript.answer)
    return score_case(transcript.case, answer, transcript.calls, facts, version=version)


def failure_of(transcript: Transcript) -> str | None:
    """Return why a case has no answer, in one word; None if it has one."""
    if transcript.answer is not None:
        return None
    if transcript.outcome is None:
        return NOT_ASKED
    if transcript.reason:
        return transcript.reason
    return transcript.error if transcript.outcome is Outcome.ERRORED else str(transcript.outcome)


def case_lines(transcripts: Sequence[Transcript], facts: Facts, version: int) -> str:
    """Return one line of JSON for each case and sample: its score, or why it has none."""
    lines = []
    for one in transcripts:
        score = score_transcript(one, facts, version)
        line = {
            "hadm_id": one.case.hadm_id,
            "sample": one.sample,
            "pathology": one.case.pathology,
            "outcome": None if one.outcome is None else str(one.outcome),
            "score_version": version,
            **({"failure": failure_of(one)} if score is None else score.as_json()),
        }
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    return "".join(lines)


def rates(
    transcripts: Sequence[Transcript], facts: Facts, version: int
) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """Return how often each category, imaging and treatment was asked for, by pathology.

    A case that failed asked for nothing, so the shares are of all cases; those of a treatment are
    of the cases that need it.

    Args:
        transcripts: one of each case.
        facts: the facts.
        version: of the scores.

    Returns:
        For each pathology that has cases, then kind and name: `n`, `asked` and `share`.
    """
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for pathology in PATHOLOGIES:
        of = [one for one in transcripts if one.case.pathology == pathology]
        scores = [score_transcript(one, facts, version) for one in of]
        answers = [{} if score is None else score.answers for score in scores]
        # What a case needs is known of one that failed too.
        needs = [required_treatments(one.case, facts, version) for one in of]
        asked: dict[str, dict[str, list[bool]]] = {TREATMENT: {}}
        for need, answer in zip(needs, answers, strict=True):
            for name in (name for name, is_required in need.items() if is_required):
                is_asked = bool(answer.get(TREATMENT, {}).get(name))
                asked[TREATMENT].setdefault(name, []).append(is_asked)
        if any(LABORATORY in score.scores for score in scores if score is not None):
            tests = [answer.get("Correct Laboratory Tests", {}) for answer in answers]
            points = [0.0 if score is None else score.scores[IMAGING] for score in scores]
            asked[LABORATORY] = {
                name: [bool(one.get(name)) for one in tests]
                for name in facts.labs.required[pathology]
            }
            asked[IMAGING] = {
                name: [one >= least for one in points]
                for name, least in ((ACCEPTABLE, 1), (PREFERRED, MOST_IMAGING_POINTS))
            }
        if of:
            found[pathology] = {
                kind: {
                    name: {"n": len(each), "asked": sum(each), "share": sum(each) / len(each)}
                    for name, each in names.items()
                }
                for kind, names in asked.items()
            }
    return found


def order_sensitivity(
    transcripts: Sequence[Transcript], facts: Facts, version: int
) -> dict[str, Any] | None:
    """Return how the order of the information moves the diagnosis; None with one order.

    A case that was not asked in every order says nothing of it and is left out, counted.
    """
    orders = sorted({one.sample for one in transcripts})
    if len(orders) < 2:
        return None
    by_case: dict[int, dict[int, float]] = {}
    for one in transcripts:
        values = by_case.setdefault(one.case.hadm_id, {})
        if one.outcome is not None:
            score = score_transcript(one, facts, version)
            values[one.sample] = 0.0 if score is None else score.scores[DIAGNOSIS]
    whole = [found for found in by_case.values() if len(found) == len(orders)]
    changed = [float(len(set(found.values())) > 1) for found in whole]
    share = mean(changed, is_share=True)
    return {
        "orders": len(orders),
        "cases": len(whole),
        "n_incomplete": len(by_case) - len(whole),
        "diagnosis_by_order": [fmean(found[order] for found in whole) for order in orders]
        if whole
        else None,
        "n_changed": int(sum(changed)),
        "share_of_cases_that_change": share.value,
        "interval": None
        if share.low is None
        else share.model_dump(include={"low", "high", "level", "method"}),
    }


def order_sentence(order: Mapping[str, Any]) -> str:
    """Say it in words."""
    left_out = f" Left out are {order['n_incomplete']:,} cases that were not asked in every order."
    rest = left_out if order["n_incomplete"] else ""
    if order["interval"] is None:
        return f"No case was asked in all {order['orders']} orders of the information.{rest}"
    ends = order["interval"]
    return (
        f"In {order['n_changed']:,} of {order['cases']:,} cases the diagnosis is right in some of"
        f" {order['orders']} orders of the information and wrong in others:"
        f" {order['share_of_cases_that_change']:.1%} (95 % interval {ends['low']:.1%} to"
        f" {ends['high']:.1%}, Wilson).{rest}"
    )
