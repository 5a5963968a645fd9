"""Scores of CDM: of each case, by pathology, by groups of patients, by the order of information."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medeval.cdm.aggregate import Aggregate, aggregate
from medeval.cdm.case_means import Mean, ScoredCase
from medeval.cdm.facts import Facts
from medeval.cdm.scoring import (
    COUNTS,
    DIAGNOSIS,
    EXAMINATION,
    IMAGING,
    LABORATORY,
    LATE_EXAMINATION,
    SCORES,
)
from medeval.cdm.subgroups import attributes_of, subgroups
from medeval.cdm.transcripts import Transcript
from medeval.errors import UserError
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.scores import Interval
from medeval.tasks.cdm_case_scores import failure_of, rates, score_transcript
from medeval.tasks.cdm_order import LEVEL, order_sensitivity, order_sentence
from medeval.tasks.task import Method, Table, TaskScore

PATHOLOGY = "pathology"
GROUPINGS = (PATHOLOGY, "gender", "age_band")
# Scores of what was asked for, which full information leaves nothing to.
TOOLS_ONLY = (LATE_EXAMINATION, EXAMINATION, LABORATORY, IMAGING)
ANSWERED_ONLY = "answered only"
BOOTSTRAP = "bootstrap_percentile over cases"


def scored_cases(transcripts: Sequence[Transcript], facts: Facts, version: int) -> list[ScoredCase]:
    """Return each case with its score, or with the reason why it has none."""
    return [
        ScoredCase(
            one.case.hadm_id,
            str(one.case.pathology),
            score_transcript(one, facts, version),
            failure_of(one),
        )
        for one in transcripts
    ]


def score_of(
    transcripts: Sequence[Transcript],
    facts: Facts,
    model: str,
    about: Mapping[str, Any],
    method: Method,
    possible: Sequence[str] = SCORES,
) -> TaskScore:
    """Score what came of the cases.

    The values count a case that failed as 0, so that no failure leaves the denominator; the means
    over the answered cases stand beside them.

    Args:
        transcripts: of every case and sample.
        facts: the facts.
        model: as the user named it.
        about: the run.
        method: of intervals and groups; its `score_version` says by which rules.
        possible: the scores that there are for a case that is answered.

    Raises:
        UserError: a grouping that there is not.
    """
    for name in method.groupings:
        if name not in GROUPINGS:
            raise UserError(f"--by {name}: cases can be grouped by {', '.join(GROUPINGS)}.")
    if method.cluster is not None:
        raise UserError(f"--cluster {method.cluster}: cases are drawn by themselves.")
    first = [one for one in transcripts if one.sample == 0]
    cases = scored_cases(first, facts, method.score_version)
    found = aggregate(cases, seed=method.seed, n_iters=method.n_iters, possible=possible)
    other = 1 if method.score_version == 2 else 2
    beside = aggregate(scored_cases(first, facts, other), n_iters=0, possible=possible)
    order = order_sensitivity(transcripts, facts, method.score_version)
    result = EvaluationResult(
        model_id=model,
        task_id="cdm",
        inputs=[{"hadm_id": case.hadm_id, "pathology": case.pathology} for case in cases],
        model_outputs=[_output(one) for one in first],
        metrics_results=_values(found),
        item_scores=_item_scores(cases, found),
        intervals=_intervals(found),
        metadata={
            **about,
            "headline": DIAGNOSIS,
            "score_version": method.score_version,
            "n": found.n,
            "n_failed": found.n_failed,
            "failures": found.failures,
            "by_pathology": found.as_json()["by_pathology"],
            "rates_by_pathology": rates(first, facts, method.score_version),
            f"version_{other}": {
                name: mean.mean_failures_as_zero
                for name, mean in beside.overall.items()
                if mean.mean_failures_as_zero is not None
            },
            "conduct": _conduct(first),
            **({} if order is None else {"order_sensitivity": order}),
            "n_iters": method.n_iters,
            "seed": method.seed,
        },
    )
    groups = {PATHOLOGY: _by_pathology(found)}
    warnings: list[str] = []
    tables: list[Table] = []
    persons = [name for name in method.groupings if name != PATHOLOGY]
    if persons:
        groups |= _by_person(first, cases, persons, method, result, possible)
        warnings += [_gap_sentence(gap) for gap in _notable(result)]
        tables.append(_gap_table(result))
    notes = [] if order is None else [order_sentence(order)]
    return TaskScore(result, DIAGNOSIS, warnings, groups, notes, tables)


def _values(found: Aggregate) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, mean in found.overall.items():
        if name not in COUNTS and mean.mean_failures_as_zero is not None:
            values[name] = mean.mean_failures_as_zero
    for name, mean in found.overall.items():
        if mean.mean is not None:
            values[_answered(name)] = mean.mean
    return values


def _answered(name: str) -> str:
    """Return the name of a mean over the answered cases; counts have no other."""
    return name if name in COUNTS else f"{name} ({ANSWERED_ONLY})"


def _intervals(found: Aggregate) -> dict[str, Interval]:
    intervals = {}
    for name, mean in found.overall.items():
        if name not in COUNTS and mean.low_failures_as_zero is not None:
            intervals[name] = _interval(
                mean.low_failures_as_zero, mean.high_failures_as_zero, mean.n
            )
        if mean.mean is not None and mean.low is not None:
            answered = mean.n - mean.n_failed
            intervals[_answered(name)] = _interval(mean.low, mean.high, answered)
    return intervals


def _interval(low: float | None, high: float | None, n: int) -> Interval:
    return Interval(low=low, high=high, level=LEVEL, method=BOOTSTRAP, n=n)


def _item_scores(cases: Sequence[ScoredCase], found: Aggregate) -> dict[str, list[float | None]]:
    """Return the score of each case, 0 where it failed; counts have none there."""
    scores: dict[str, list[float | None]] = {}
    for name in found.overall:
        is_count = name in COUNTS
        scores[name] = [
            (None if is_count else 0.0)
            if case.score is None
            else float({**case.score.scores, **case.score.counts}[name])
            for case in cases
        ]
    return scores


def _output(transcript: Transcript) -> dict[str, Any]:
    """Return what a report shows of a case: no word of the model's, which may repeat the notes."""
    return {
        "outcome": None if transcript.outcome is None else str(transcript.outcome),
        "reason": transcript.reason or None,
        "rounds": transcript.rounds,
        "turns": transcript.turns,
        "invalid_calls": transcript.invalid_calls,
    }


def _conduct(transcripts: Sequence[Transcript]) -> dict[str, Any]:
    measures: dict[str, int] = {}
    for one in transcripts:
        for measure in one.context:
            measures[measure] = measures.get(measure, 0) + 1
    return {
        "turns": sum(one.turns for one in transcripts),
        "rounds": sum(one.rounds for one in transcripts),
        "invalid_calls": sum(one.invalid_calls for one in transcripts),
        "custom_parsings": sum(one.custom_parsings for one in transcripts),
        "asked_again": sum(one.is_reasked for one in transcripts),
        "context_measures": dict(sorted(measures.items())),
    }


def _by_pathology(found: Aggregate) -> dict[str, dict[str, float | None]]:
    return {
        name: {
            "n": float(means[DIAGNOSIS].n),
            **{
                score: mean.mean_failures_as_zero
                for score, mean in means.items()
                if score not in COUNTS
            },
        }
        for name, means in found.by_pathology.items()
    }


def _by_person(
    transcripts: Sequence[Transcript],
    cases: Sequence[ScoredCase],
    names: Sequence[str],
    method: Method,
    result: EvaluationResult,
    possible: Sequence[str],
) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return the groups of patients, and put them with their gaps into the result's metadata."""
    attributes = {
        one.case.hadm_id: {
            name: group for name, group in attributes_of(one.case).items() if name in names
        }
        for one in transcripts
    }
    found = subgroups(
        cases,
        attributes,
        min_cell=method.min_cell,
        seed=method.seed,
        n_iters=method.n_iters,
        possible=possible,
    )
    result.metadata["subgroups"] = found.as_json()
    return {
        name: {
            group.name: {
                "n": None if group.n is None else float(group.n),
                **{score: _shown(group.scores.get(score)) for score in _names(result)},
            }
            for group in grouping.groups
        }
        for name, grouping in found.groupings.items()
    }


def _names(result: EvaluationResult) -> list[str]:
    return [
        name for name in result.metrics_results if ANSWERED_ONLY not in name and name not in COUNTS
    ]


def _shown(mean: Mean | None) -> float | None:
    return None if mean is None else mean.mean_failures_as_zero


def _gaps(result: EvaluationResult) -> list[dict[str, Any]]:
    attributes = result.metadata["subgroups"]["attributes"]
    return [
        {**gap, "attribute": name}
        for name, grouping in attributes.items()
        for gap in grouping["gaps"]
    ]


def _notable(result: EvaluationResult) -> list[dict[str, Any]]:
    return [gap for gap in _gaps(result) if gap["p_holm"] is not None and gap["p_holm"] < 1 - LEVEL]


def _gap_table(result: EvaluationResult) -> Table:
    return Table(
        "gaps between groups",
        ("score", "by", "groups", "gap", "expected", "p (Holm)"),
        [
            (
                gap["score"],
                gap["attribute"],
                f"{gap['first']} less {gap['second']}",
                f"{gap['gap']:+.4f}",
                f"{gap['expected_gap']:+.4f}",
                "not tested" if gap["p_holm"] is None else f"{gap['p_holm']:.4f}",
            )
            for gap in _gaps(result)
        ],
    )


def _gap_sentence(gap: Mapping[str, Any]) -> str:
    return (
        f"{gap['score']} differs by {gap['attribute']}: {gap['first']} less {gap['second']} is"
        f" {gap['gap']:+.3f}, where their pathologies alone would make {gap['expected_gap']:+.3f}"
        f" (p = {gap['p_holm']:.4f} after Holm)."
    )
