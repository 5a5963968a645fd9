"""The tools and the scores of version 1 against what the reference's own program said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from cdm_cases import case, facts

from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.cdm.lab_names import LabMapping, read_mapping
from medeval.tasks.cdm.scores import score_case
from medeval.tasks.cdm.tools import VERSIONS, Toolbox

# Of each golden file, so many lines; a shorter file proves less.
N_ANSWERS, N_SCORES = 210, 183


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "golden" / "cdm_synth"


@pytest.fixture(scope="module")
def mapping(folder: Path) -> LabMapping:
    return read_mapping(folder / "lab_test_mapping.json")


def lines(path: Path, count: int) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(found) == count
    return found


def test_tools_answer_as_the_reference(folder: Path, mapping: LabMapping) -> None:
    with gzip.open(folder / "reference_extended.json.gz", "rt", encoding="utf-8") as file:
        made = [
            ClinicalCase.model_validate_json(json.dumps(one)) for one in json.load(file)["cases"]
        ]
    cases = {one.hadm_id: one for one in made}
    for golden in lines(folder / "tool_answers.jsonl", N_ANSWERS):
        tools = Toolbox(cases[golden["hadm_id"]], facts(), mapping=mapping, version=1)
        answer = tools.call(golden["tool"], golden["args"])
        assert (answer.text, answer.record["is_valid"]) == (golden["answer"], True), golden


@pytest.mark.parametrize("toolbox_version", VERSIONS)
def test_scores_are_the_reference_s_from_the_calls_of_either_toolbox(
    folder: Path, mapping: LabMapping, toolbox_version: int
) -> None:
    for golden in lines(folder / "scores.jsonl", N_SCORES):
        truth = golden["ground_truth"]
        of = case(of="bare", pathology=golden["pathology"], ground_truth=truth)
        tools = Toolbox(of, facts(), mapping=mapping, version=toolbox_version)
        calls = [tools.call(call["name"], call["args"]).record for call in golden["tool_calls"]]
        score = score_case(of, golden["prediction"], calls, facts(), version=1)
        assert json.dumps(score.as_json()) == json.dumps(
            {"answers": golden["answers"], "scores": golden["scores"]}
        ), golden
        # A record is kept as JSON between the run and the score.
        assert json.loads(json.dumps(calls)) == calls
