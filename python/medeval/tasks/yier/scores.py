"""The score of answers to YIER-LLM: micro F1 with its interval, what stands beside it, and groups.

Of each question right, predicted and gold answers are counted as sets; the sums make the headline.
Questions are drawn, never single options: the options of a question belong together. With clusters,
all questions that share a context are drawn together. A draw without any predicted or gold answer
has an F1 of 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np
from pydantic import ValidationError

from medeval.errors import UserError
from medeval.models.documents import described
from medeval.models.scores import Interval
from medeval.scoring.compare import RATIOS, Difference, of_means, paired_difference
from medeval.scoring.table import Ratio, ScoreTable, result_fields, sampled_interval, samples
from medeval.tasks.choices import Step, canonical
from medeval.tasks.for_reports import hide_small_groups, task_score
from medeval.tasks.task import Method, TaskScore
from medeval.tasks.yier import questions
from medeval.tasks.yier.files import Document
from medeval.tasks.yier.questions import Answered, Counts, Record, Submitted
from medeval.tasks.yier.task import NAME

HEADLINE = "f1"
# A larger share of replies that cannot be read measures the reader, not the model.
_UNPARSED_WARNING = 0.02
_SHOWN = 10
# By what questions are grouped.
GROUPINGS: Mapping[str, Callable[[Answered], str]] = {
    "source": lambda one: one.record.source or "none",
    "context": lambda one: "with" if one.record.context else "without",
    "answers": lambda one: "single" if len(one.record.gold.options) == 1 else "multiple",
    "options": lambda one: str(len(one.record.selection)),
}
# Means of the questions' own scores; an F1 of 1 has exactly the gold answers.
_BY_QUESTION: Mapping[str, Callable[[Answered], float]] = {
    "exact_set_accuracy": lambda one: float(one.counts.f1 == 1),
    "mean_question_f1": lambda one: float(one.counts.f1),
}
# What is a score; the rest of a summary are counts.
_METRICS = (
    *(HEADLINE, "precision", "recall", "f1_unknown_dropped", *_BY_QUESTION, "mean_jaccard"),
    *(_LOWER := ("over_selection_rate", "under_selection_rate")),
)
# What a model is shown of a question.
_ASKED = ("context", "question", "selection")
_BY_GROUP = ("n", HEADLINE, "precision", "recall", "exact_set_accuracy")


def submitted_records(file: Document) -> list[Submitted]:
    """Return what was handed in.

    Raises:
        UserError: a record without an id, answers that are no strings, or no predictions at all.
    """
    found = []
    for place, raw in enumerate(file.records, start=1):
        try:
            found.append(Submitted.model_validate(raw))
        except ValidationError as error:
            wrong = "; ".join(described(error))
            raise UserError(f"{file.name}: record {place:,}: {wrong}.") from None
    if found and all(record.predict_answers is None for record in found):
        raise UserError(f"{file.name} has no predict_answers in any record; it is no submission.")
    return found


def join(
    gold: Sequence[Record], submitted: Sequence[Submitted], *, allow_extra: bool = False
) -> list[Answered]:
    """Return the gold's questions with the submitted answers, in the gold's order.

    Args:
        gold: the questions, each id once; those without gold answers may be among them.
        submitted: records with `predict_answers`; one without has an empty prediction.
        allow_extra: leave out submitted records that the gold does not have.

    Raises:
        UserError: an id twice in the submission, or an id that the gold does not have.
    """
    times = Counter(one.sample_id for one in submitted)
    if twice := [one for one, count in times.items() if count > 1]:
        raise UserError(f"sample_id more than once in the submission: {_listed(twice)}.")
    known = {record.sample_id for record in gold}
    extra = [sample_id for sample_id in times if sample_id not in known]
    if extra and not allow_extra:
        raise UserError(
            f"submitted sample_id that the gold does not have: {_listed(extra)}. To leave such"
            " records out, allow extra ones."
        )
    given = {one.sample_id: one.predict_answers for one in submitted}
    # The gold's own options decide: a submission cannot change the question.
    return [
        Answered(record, record.options.answers(given[record.sample_id]))
        if record.sample_id in given
        else Answered(record, missing=True)
        for record in gold
    ]


def _listed(ids: list[str]) -> str:
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return ", ".join(repr(one) for one in ids[:_SHOWN]) + more


def labelled(answered: Sequence[Answered]) -> list[Answered]:
    """Return the questions that have gold answers, sorted by sample_id.

    Raises:
        UserError: no question, or no gold answers at all.
    """
    if not answered:
        raise UserError("nothing to score: there is no question.")
    ordered = sorted(answered, key=lambda one: one.record.sample_id)
    scored = [one for one in ordered if one.record.gold.options]
    if not scored:
        raise UserError(
            f"no gold answers: all of the {len(answered):,} questions have an empty"
            " answer_choices. Score against the file that has them."
        )
    return scored


def score_answers(
    answered: Sequence[Answered],
    method: Method,
    model: str,
    facts: Mapping[str, Any],
    agreement: float | None = None,
    n_left_out: int = 0,
) -> TaskScore:
    """Score a system's answers, with the interval, the groups, and what a reader should know.

    Args:
        answered: in any order; questions without gold answers are left out, counted.
        method: of the interval and the groups; without groupings, by all that there are.
        model: whose answers they are.
        facts: of the run or the files.
        agreement: of several passes; None with one.
        n_left_out: records of the file that cannot be used as questions.

    Raises:
        UserError: nothing to score, or a grouping or cluster that this task does not have.
    """
    method = _checked(method)
    scored = labelled(answered)
    by: dict[str, dict[str, dict[str, Any]]] = {}
    groups: dict[str, dict[str, dict[str, float | Interval | None]]] = {}
    for name in method.groupings:
        by[name], groups[name], of = {}, {}, GROUPINGS[name]
        for group, members in groupby(sorted(scored, key=of), of):
            own = list(members)
            values = by[name][group] = summarise(own)
            groups[name][group] = {key: float(values[key]) for key in _BY_GROUP}
            if method.n_iters:
                groups[name][group][HEADLINE] = bootstrap(units_of(own, method.cluster), method)[0]
    groups = hide_small_groups(groups, method.min_cell)
    told = {name: [group for group in own if own[group]["n"]] for name, own in groups.items()}
    details = {
        **summarise(scored),
        "n_unlabelled": len(answered) - len(scored),
        "extractions": dict(sorted(Counter(o.extraction for o in scored if o.extraction).items())),
        "warnings": _warnings(scored),
        "by": {name: {group: by[name][group] for group in own} for name, own in told.items()},
        "f1_interval": None,
        "cluster": method.cluster,
        "pass_agreement": agreement,
        "n_left_out": n_left_out,
    }
    warnings = details["warnings"]
    table = ScoreTable(
        {
            name: Ratio(list(map(value, scored)), is_share=True)
            for name, value in reversed(list(_BY_QUESTION.items()))
        }
    )
    # Questions that are drawn in clusters are not independent, as these means take them to be.
    draws = 0 if method.cluster else method.n_iters
    fields = result_fields(table, table.summary(draws=draws, seed=method.seed))
    if method.n_iters:
        interval, drawn = bootstrap(units_of(scored, method.cluster), method)
        details["f1_interval"] = drawn
        fields["intervals"][HEADLINE] = interval
        warnings += [drawn["warning"]] if drawn["warning"] else []
    warnings += [questions.left_out_words(n_left_out)] if n_left_out else []
    inputs = [one.record.model_dump(include={"sample_id", *_ASKED}) for one in scored]
    outputs = [
        {"predict_answers": o.answers.texts(o.record.selection), "extraction": o.extraction}
        | ({"reply": o.reply} if o.reply else {})
        for o in scored
    ]
    verdicts = ["{} right of {} chosen, {} of the gold".format(*one.counts) for one in scored]
    return task_score(
        NAME,
        model,
        HEADLINE,
        {**fields, "metrics_results": {name: details[name] for name in _METRICS}},
        method,
        inputs,
        outputs,
        {
            **facts,
            "n": details["n"],
            "warnings": warnings,
            "details": details,
            RATIOS: {HEADLINE: [one.counts.ratio for one in scored]},
            "about_metrics": {name: {"direction": "lower"} for name in _LOWER},
        },
        texts={*_ASKED, "reply"},
        gold=[one.record.answer_choices for one in scored],
        verdicts=verdicts,
        item_groups=[{name: of(one) for name, of in GROUPINGS.items()} for one in scored],
        warnings=warnings,
        groups=groups,
    )


def _checked(method: Method) -> Method:
    for name in method.groupings:
        if name not in GROUPINGS:
            raise UserError(f"--by {name}: questions can be grouped by {', '.join(GROUPINGS)}.")
    if method.cluster not in (None, "context"):
        raise UserError(f"--cluster {method.cluster}: questions are drawn alone or by context.")
    return replace(method, groupings=tuple(method.groupings) or tuple(GROUPINGS))


def _warnings(scored: Sequence[Answered]) -> list[str]:
    read = sum(one.extraction is not None for one in scored)
    unparsed = sum(one.extraction == Step.UNPARSED for one in scored)
    many = []
    if read and unparsed / read > _UNPARSED_WARNING:
        many = [
            f"{unparsed:,} of {read:,} replies could not be read ({unparsed / read:.1%}): the"
            " score then measures the reader, not the model."
        ]
    return many + [
        f"{one.record.sample_id}: {warning}"
        for one in scored
        for warning in (
            *([questions.DUPLICATE_GOLD] if one.record.gold.n_duplicates else []),
            *one.record.gold.warnings,
            *one.answers.warnings,
        )
    ]


def summarise(scored: Sequence[Answered]) -> dict[str, Any]:
    """Return the values over some questions, of which there must be one; `f1` is the headline.

    Sums with precision and recall, 0 where they have no denominator; `f1_unknown_dropped` without
    the answers that are no option; then shares of questions that were answered by exactly the gold
    answers, by another one, without one; then how many had no record, no answer in their reply, and
    how many answers were no option or there already.
    """
    each = [one.counts for one in scored]
    sums = questions.total(each)
    n_unknown = sum(len(one.answers.unknown) for one in scored)
    return {
        "n": len(each),
        **sums._asdict(),
        "precision": sums.tp / sums.n_pred if sums.n_pred else 0.0,
        "precision_defined": sums.n_pred > 0,
        "recall": sums.tp / sums.n_gold if sums.n_gold else 0.0,
        "f1": float(sums.f1),
        "f1_unknown_dropped": float(sums._replace(n_pred=sums.n_pred - n_unknown).f1),
        "exact_set_accuracy": _mean(one.f1 == 1 for one in each),
        "mean_question_f1": _mean(one.f1 for one in each),
        # Right answers over all that are predicted or gold, of which there are some.
        "mean_jaccard": _mean(Fraction(one.tp, one.n_pred + one.n_gold - one.tp) for one in each),
        "over_selection_rate": _mean(one.n_pred > one.tp for one in each),
        "under_selection_rate": _mean(one.n_gold > one.tp for one in each),
        "n_missing": sum(one.missing for one in scored),
        "n_unread": sum(one.extraction == Step.UNPARSED for one in scored),
        "n_unknown": n_unknown,
        "n_duplicates": sum(one.answers.n_duplicates for one in scored),
    }


def _mean(values: Iterable[Fraction | bool]) -> float:
    # Exact until the end, so that the order of the questions does not matter.
    fractions = [Fraction(value) for value in values]
    return float(sum(fractions, Fraction(0)) / len(fractions))


def bootstrap(units: Sequence[Counts], method: Method) -> tuple[Interval, dict[str, Any]]:
    """Return the percentile interval of micro F1, and all that is said of its draws, by name.

    Args:
        units: the counts of each question, or of each cluster, in an order of their own.
        method: how many draws, and their seed.
    """
    column = Ratio(*zip(*(one.ratio for one in units), strict=True), empty=0.0)
    warning = None
    if len(set(units)) == 1:
        alike = "one unit only" if len(units) == 1 else "all units are alike"
        warning = f"{alike}: the interval has no width and says nothing"
    draws = samples(column, method.n_iters, method.seed)
    found = sampled_interval(column.value(), draws, len(units), "")
    return found, {
        "value": found.value,
        "mean": float(draws.mean()),
        "median": float(np.median(draws)),
        "std": float(draws.std()),
        "low": found.low,
        "high": found.high,
        "n_iters": method.n_iters,
        "n_units": len(units),
        "seed": method.seed,
        "warning": warning,
    }


def units_of(answered: Sequence[Answered], cluster: str | None = None) -> list[Counts]:
    """Return what is drawn: questions by sample_id, or those that share a context together.

    A question without a context is a unit of its own.
    """
    units: dict[tuple[str, str], list[Counts]] = {}
    for one in sorted(answered, key=lambda one: one.record.sample_id):
        context = one.record.context if cluster == "context" else None
        key = ("id", one.record.sample_id) if context is None else ("context", canonical(context))
        units.setdefault(key, []).append(one.counts)
    return [questions.total(counts) for counts in units.values()]


def compare(
    first: Sequence[Answered], second: Sequence[Answered], method: Method
) -> list[Difference]:
    """Compare two systems' scores on the same questions, sorted by sample_id; the headline first.

    Raises:
        UserError: not the same questions, or no draws.
    """
    method = _checked(method)
    ids = [[one.record.sample_id for one in some] for some in (first, second)]
    if ids[0] != ids[1]:
        raise UserError(
            f"the two systems have answers to different questions ({len(ids[0]):,} and"
            f" {len(ids[1]):,}); score both against the same file."
        )
    drawn: dict[str, Any] = {"draws": method.n_iters, "seed": method.seed}
    means = [
        paired_difference(name, of_means(map(value, first)), of_means(map(value, second)), **drawn)
        for name, value in _BY_QUESTION.items()
    ]
    one, two = ([unit.ratio for unit in units_of(some, method.cluster)] for some in (first, second))
    return [paired_difference(HEADLINE, one, two, len(first), **drawn), *means]
