"""Replies to questions of YIER as data: `yier_replies.jsonl`, one case a line, one test a case.

Each says by which rule a reply means which options (by their letters), what in it is no option, and
where it matters the step that reads it. All replies go through one run and its score.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run_medeval
from tables import table

CASES = table("yier_replies", "readers")
OPTIONS = {
    "zh": ["发热", "咳嗽", "皮疹", "腹痛", "头晕"],
    "signs": ["发热", "咳嗽", "皮疹", "腹痛"],
    "en": ["Fever", "Cough", "Rash", "Abdominal pain"],
    "items": ["甲项", "乙项", "丙项", "丁项"],
    "bugs": ["E. coli", "C. difficile", "M. tuberculosis", "S. aureus"],
    "energies": ["4 MeV", "6 MeV", "10 MeV", "15 MeV"],
    "quoted": ["“三凹征”，呼吸困难", "心悸，气短，乏力", "所谓“假性”肥大", "乏力"],
    "prefixes": ["高血压", "高血压3级", "高血压3级，很高危", "糖尿病", "2型糖尿病"],
}
MODEL = """
import json, pathlib, re
CASES = pathlib.Path({path!r}).read_text("utf-8").splitlines()
def reply(messages):
    return json.loads(CASES[int(re.search(r"case-(\\d+)", messages[-1]["content"])[1])])["reply"]
"""


def options_of(case: dict[str, Any]) -> list[str]:
    named = case["options"]
    return OPTIONS[named] if isinstance(named, str) else named


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the score of one run says that it has read of each reply."""
    folder = tmp_path_factory.mktemp("replies")
    (folder / "model.py").write_text(
        MODEL.format(path=str(Path(__file__).with_name("yier_replies.jsonl"))), encoding="utf-8"
    )
    questions = [
        {
            "question": f"case-{number}?",
            "selection": options_of(case),
            "answer_choices": options_of(case)[:1],
            "sample_id": f"{number:04}",
            "data_class": "open",
        }
        for number, case in enumerate(CASES)
    ]
    path = folder / "questions.json"
    path.write_text(json.dumps(questions), encoding="utf-8")
    model = f"{folder / 'model.py'}:reply"
    words = ("--task", "yier", "--model", model, "--questions", path, "--out", folder / "runs")
    # Many of these replies are not to be read, which is a finding.
    done = run_medeval("run", *words)
    assert done.returncode == 1, done.stderr
    (run,) = (folder / "runs").iterdir()
    done = run_medeval("score", "--task", "yier", run, "--n-iters", "0")
    assert done.returncode == 0, done.stderr
    report = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    outputs: list[dict[str, Any]] = report["detailed_results"][0]["model_outputs"]
    return outputs


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_reply_is_read_as_its_line_says(read: list[dict[str, Any]], number: int) -> None:
    case = CASES[number]
    due = [options_of(case)["ABCDEF".index(letter)] for letter in case["read"]]
    found = read[number]
    assert found["predict_answers"] == [*due, *case.get("unknown", [])], case
    assert case.get("step") in (None, found["extraction"]), case
