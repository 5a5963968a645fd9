"""Rules of the scores of CDM that a small change of them could break unseen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cdm_cases import ask, case, facts, rows, scored, toolbox

from medeval.cdm.scores import calls_by_tool
from medeval.cdm.tools import understood


@pytest.mark.parametrize(("diagnosis", "right"), rows("how_far_a_negation_reaches"))
def test_how_far_a_negation_reaches(diagnosis: str, right: int) -> None:
    assert scored(case(), diagnosis=diagnosis).scores["Diagnosis"] == right


def test_a_call_that_was_not_valid_is_in_the_total_only() -> None:
    calls = [
        {"tool": "physical_examination", "is_valid": True},
        {"tool": "request_imaging", "is_valid": False},
        {"tool": "take_temperature", "is_valid": False},
    ]
    counted = calls_by_tool(calls)
    assert (counted["physical_examination"], counted["request_imaging"]) == (1, 0)
    assert (counted["total"], "take_temperature" in counted) == (3, False)


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_longer_phrase_of_a_request_goes_before_a_shorter_one(is_turned: bool) -> None:
    phrases = {"chest": "Chest", "chest wall": "Thorax"}
    if is_turned:
        phrases = dict(reversed(phrases.items()))
    known = replace(facts().imaging, region_phrases=phrases)
    assert understood("the chest wall", "CT", known).region == "Thorax"
    assert understood("the chest", "CT", known).region == "Chest"


def test_a_name_with_slashes_that_means_nothing_stays_whole() -> None:
    tools = toolbox()
    assert tools.call(*ask("xyz/abc")).record["unknown_names"] == ["xyz/abc"]
    assert tools.call(*ask("xyz/lipase")).record["unknown_names"] == ["xyz"]
