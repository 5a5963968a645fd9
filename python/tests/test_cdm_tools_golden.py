"""The tools and the scores of version 1 against what the reference's own program said."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cdm_cases import case, facts

from medeval.cdm.lab_names import LabMapping, read_mapping
from medeval.cdm.scores import score_case
from medeval.cdm.tools import VERSIONS, Toolbox
from medeval.models.clinical_case import ClinicalCase

# Of each golden file, so many lines; a shorter file proves less.
N_ANSWERS, N_SCORES = 210, 183
FOLDER = Path("golden") / "cdm_synth"


@cache
def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@cache
def golden_mapping(folder: Path) -> LabMapping:
    return read_mapping(folder / "lab_test_mapping.json")


@cache
def golden_cases(folder: Path) -> dict[int, ClinicalCase]:
    with gzip.open(folder / "reference_extended.json.gz", "rt", encoding="utf-8") as file:
        found = json.load(file)["cases"]
    made = [ClinicalCase.model_validate_json(json.dumps(one)) for one in found]
    return {one.hadm_id: one for one in made}


@pytest.mark.parametrize("number", range(N_ANSWERS))
def test_tools_answer_as_the_reference(shared: Path, number: int) -> None:
    folder = shared / FOLDER
    found = lines(folder / "tool_answers.jsonl")
    assert len(found) == N_ANSWERS
    golden = found[number]
    tools = Toolbox(
        golden_cases(folder)[golden["hadm_id"]],
        facts(),
        mapping=golden_mapping(folder),
        version=1,
    )
    answer = tools.call(golden["tool"], golden["args"])
    assert answer.text == golden["answer"]
    assert answer.record["is_valid"]


@pytest.mark.parametrize("toolbox_version", VERSIONS)
@pytest.mark.parametrize("number", range(N_SCORES))
def test_scores_are_the_reference_s_from_the_calls_of_either_toolbox(
    shared: Path, number: int, toolbox_version: int
) -> None:
    folder = shared / FOLDER
    found = lines(folder / "scores.jsonl")
    assert len(found) == N_SCORES
    golden = found[number]
    truth = golden["ground_truth"]
    of = case(
        golden["pathology"],
        diagnoses=truth["primary_diagnosis"],
        treatments=[(given["title"], given["icd_code"]) for given in truth["treatments"]],
    )
    tools = Toolbox(of, facts(), mapping=golden_mapping(folder), version=toolbox_version)
    calls = [tools.call(call["name"], call["args"]).record for call in golden["tool_calls"]]
    score = score_case(of, golden["prediction"], calls, facts(), version=1)
    assert json.dumps(score.as_json()) == json.dumps(
        {"answers": golden["answers"], "scores": golden["scores"]}
    )
    # A record is kept as JSON between the run and the score.
    assert json.loads(json.dumps(calls)) == calls
