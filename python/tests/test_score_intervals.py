"""The same item scores and seed have the same interval in every task, through the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from commands import run_medeval
from model_server import Body, Script, model_server, prompt_of

OPTIONS = ("red", "green", "blue", "white")
# F1 of an answer and of two words against three, and the verdict of five that is worth as much.
ANSWERS = {0.4: ("red white", 2), 0.8: ("red green", 4), 1.0: ("red green blue", 5)}
MIXED = [0.4, 1.0, 0.8, 0.4, 0.8, 1.0, 1.0, 0.4, 0.4, 0.8]


def reply_of(scores: Sequence[float], body: Body) -> str:
    """Answer item by item as the model, and give each answer its verdict as the judge."""
    item = re.findall(r"colours of item (\d+)", prompt_of(body))[-1]
    words, verdict = ANSWERS[scores[int(item)]]
    if body["model"] != "judge":
        return json.dumps({"answer": words})
    names = re.findall(r'"(\w+)": \{', prompt_of(body))
    marker = re.findall(r"^VERDICT-[0-9a-f]{16}$", prompt_of(body), re.MULTILINE)[-1]
    told = {name: {"explanation": "so it is", "score": verdict} for name in names}
    return f"{marker}\n{json.dumps(told)}"


def scored(*args: str | Path) -> dict[str, Any]:
    done = run_medeval("score", *args)
    assert done.returncode == 0, done.stderr
    place = Path(re.findall(r"^saving the results in (.+)$", done.stdout, re.MULTILINE)[-1])
    report = json.loads(place.read_text(encoding="utf-8"))
    result: dict[str, Any] = report["detailed_results"][0]
    return result


def judged_task(folder: Path, scores: Sequence[float], *args: str) -> dict[str, Any]:
    """Ask and judge the items of a task file, and score the run."""
    file = folder / "colours.yaml"
    rows = [
        f"  - {{input: {{question: colours of item {number}}},"
        " output: {answer: red green blue}}\n"
        for number in range(len(scores))
    ]
    file.write_text(
        "task_type: qa\ndata_class: open\njudge: mtsamples_procedures\nmetrics: [token_f1]\n"
        f"dataset:\n{''.join(rows)}",
        encoding="utf-8",
    )
    with model_server(Script(reply=lambda body: reply_of(scores, body))) as server:
        done = run_medeval(
            "run", "--task", file, "--out", folder / "runs", "--model", "m", "--base-url",
            server.url, "--judge-model", "judge", "--judge-base-url", server.url,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (folder / "runs").iterdir()
    return scored("--task", file, run, *args)


def question_file(folder: Path, scores: Sequence[float], *args: str) -> dict[str, Any]:
    """Score a submission of questions that are answered as well, in another order."""
    questions = [
        {
            "sample_id": f"q{number}", "question": "Which colours?", "context": "", "source": "own",
            "selection": list(OPTIONS), "answer_choices": list(OPTIONS[:3]),
        }
        for number in range(len(scores))
    ]  # fmt: skip
    given = [
        {"sample_id": f"q{number}", "predict_answers": ANSWERS[score][0].split()}
        for number, score in enumerate(reversed(scores))
    ]
    for name, content in (("gold", questions), ("given", given)):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return scored(
        "--task", "yier", folder / "given.json", "--gold", folder / "gold.json", "--out",
        folder / "scores.json", *args,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("scores", "args", "method"),
    [
        (MIXED, (), "bootstrap_percentile"),
        (MIXED, ("--seed", "7", "--n-iters", "300"), "bootstrap_percentile"),
        ([1.0] * 10, (), "wilson"),
    ],
    ids=["mixed", "another seed", "all right"],
)
def test_the_same_item_scores_have_the_same_interval_in_every_task(
    scores: list[float], args: tuple[str, ...], method: str, tmp_path: Path
) -> None:
    judged = judged_task(tmp_path, scores, *args)
    questions = question_file(tmp_path, scores, *args)
    places = [
        (judged, "token_f1"),
        (judged, "reward_judged"),
        (questions, "mean_question_f1"),
    ]
    found = [result["intervals"][name] for result, name in places]
    for result, name in places:
        assert sorted(result["item_scores"][name]) == pytest.approx(sorted(scores)), name
    first = found[0]
    assert (first["method"], first["n"]) == (method, 10)
    assert first["low"] < first["high"]
    for other in found[1:]:
        assert other == pytest.approx(first)
    if method == "wilson":
        assert (first["low"], first["high"]) == pytest.approx((0.722467, 1.0), abs=1e-6)
