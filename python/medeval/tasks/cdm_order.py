"""Does the diagnosis of CDM hang on the order in which the information is shown?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from medeval.cdm.episode import Transcript
from medeval.cdm.facts import Facts
from medeval.cdm.scores import DIAGNOSIS
from medeval.models.scores import LEVEL
from medeval.scoring.table import wilson
from medeval.tasks.cdm_case_scores import score_transcript


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
    n_changed = sum(len(set(found.values())) > 1 for found in whole)
    interval = wilson(n_changed / len(whole), len(whole)) if whole else None
    return {
        "orders": len(orders),
        "cases": len(whole),
        "n_incomplete": len(by_case) - len(whole),
        "diagnosis_by_order": [fmean(found[order] for found in whole) for order in orders]
        if whole
        else None,
        "n_changed": n_changed,
        "share_of_cases_that_change": n_changed / len(whole) if whole else None,
        "interval": None
        if interval is None
        else {"low": interval[0], "high": interval[1], "level": LEVEL, "method": "wilson"},
    }


def order_sentence(order: Mapping[str, Any]) -> str:
    """Say it in words."""
    left_out = order["n_incomplete"]
    rest = ""
    if left_out:
        rest = f" Left out are {left_out:,} cases that were not asked in every order."
    if order["interval"] is None:
        return f"No case was asked in all {order['orders']} orders of the information.{rest}"
    ends = order["interval"]
    return (
        f"In {order['n_changed']:,} of {order['cases']:,} cases the diagnosis is right in some of"
        f" {order['orders']} orders of the information and wrong in others:"
        f" {order['share_of_cases_that_change']:.1%} (95 % interval {ends['low']:.1%} to"
        f" {ends['high']:.1%}, Wilson).{rest}"
    )
