"""The scores of version 1 against what the reference's own program said."""

from __future__ import annotations

import json
from pathlib import Path

from cdm_cases import case, facts, records

from medeval.tasks.cdm.facts import LabNames, read_lab_tests
from medeval.tasks.cdm.scores import score_case
from medeval.tasks.cdm.text_protocol import FinalAnswer
from medeval.tasks.cdm.tools import Toolbox

# Lines of the golden file; a shorter one proves less.
N_SCORES = 183


def test_scores_of_version_1_are_the_reference_s(shared: Path) -> None:
    folder = shared / "golden" / "cdm_synth"
    names = LabNames(read_lab_tests(folder / "lab_test_mapping.json"), facts().labs)
    lines = (folder / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == N_SCORES
    for golden in map(json.loads, lines):
        truth, told = golden["ground_truth"], golden["prediction"]
        of = case(of="bare", pathology=golden["pathology"], ground_truth=truth)
        made = [(call["name"], call["args"]) for call in golden["tool_calls"]]
        calls = records(Toolbox(of, facts(), names), made)
        answer = FinalAnswer(told["final_diagnosis"], tuple(told["treatment"]))
        score = score_case(of, answer, calls, facts(), version=1)
        assert json.dumps(score.as_json()) == json.dumps(
            {"answers": golden["answers"], "scores": golden["scores"]}
        ), golden
        # A record is kept as JSON between the run and the score.
        assert json.loads(json.dumps(calls)) == calls
