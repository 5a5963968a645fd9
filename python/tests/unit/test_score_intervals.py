"""The same item scores and seed have the same interval in every task, through the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from in_process import Main
from judging_runs import verdict
from model_server import Body, Script, model_server, prompt_of

OPTIONS = ("red", "green", "blue", "white")
# F1 of an answer and of two words against three, and the verdict of five that is worth as much.
ANSWERS = {0.4: ("red white", 2), 0.8: ("red green", 4), 1.0: ("red green blue", 5)}
MIXED = [0.4, 1.0, 0.8, 0.4, 0.8, 1.0, 1.0, 0.4, 0.4, 0.8]
TASK = (
    "task_type: qa\ndata_class: open\njudge: mtsamples_procedures\nmetrics: [token_f1]\ndataset:\n"
)
ITEM = "- {{input: {{question: colours of item {0}}}, output: {{answer: red green blue}}}}\n"


def reply_of(scores: Sequence[float], body: Body) -> str:
    """Answer item by item as the model, and give each answer its verdict as the judge."""
    item = re.findall(r"colours of item (\d+)", prompt_of(body))[-1]
    words, points = ANSWERS[scores[int(item)]]
    is_judge = body["model"] == "judge"
    return verdict(points, points, points) if is_judge else json.dumps({"answer": words})


def judged_task(main: Main, scores: Sequence[float]) -> list[str | Path]:
    """Ask and judge the items of a task file; return how the run is named to `score`."""
    Path("colours.yaml").write_text(TASK + "".join(map(ITEM.format, range(len(scores)))))
    with model_server(Script(reply=lambda body: reply_of(scores, body))) as server:
        judge = ("--judge-model", "judge", "--judge-base-url", server.url)
        asked = ("run", "--task", "colours.yaml", "--model", "m", "--base-url", server.url)
        main(*asked, *judge, code=0)
    return ["colours.yaml", *Path("runs").iterdir()]


def question_file(scores: Sequence[float]) -> list[str | Path]:
    """Hand in answers to questions that are as good, in another order."""
    gold = {"question": "Which colours?", "selection": OPTIONS, "answer_choices": OPTIONS[:3]}
    records = [
        {"sample_id": f"q{number}", **gold, "predict_answers": ANSWERS[score][0].split()}
        for number, score in enumerate(reversed(scores))
    ]
    for name in ("gold.json", "given.json"):
        Path(name).write_text(json.dumps(records))
    return ["yier", "given.json", "--gold", "gold.json"]


DRAWN, AGAIN = "bootstrap_percentile", ("--seed", "7", "--n-iters", "300")


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    ("scores", "args", "method"),
    [(MIXED, (), DRAWN), (MIXED, AGAIN, DRAWN), ([1.0] * 10, (), "wilson")],
)
def test_the_same_item_scores_have_the_same_interval_in_every_task(
    scores: list[float], args: tuple[str, ...], method: str, main: Main
) -> None:
    def scored(words: Sequence[str | Path]) -> dict[str, Any]:
        main("score", "--task", *words, "--out", "scores.json", *args, code=0)
        report = json.loads(Path("scores.json").read_text(encoding="utf-8"))
        return dict(report["detailed_results"][0])

    judged, questions = scored(judged_task(main, scores)), scored(question_file(scores))
    places = [(judged, "token_f1"), (judged, "reward_judged"), (questions, "mean_question_f1")]
    first, *others = [result["intervals"][name] for result, name in places]
    for result, name in places:
        assert sorted(result["item_scores"][name]) == pytest.approx(sorted(scores)), name
    assert (first["method"], first["n"]) == (method, 10)
    assert first["low"] < first["high"]
    assert others == [pytest.approx(first)] * 2
    if method == "wilson":
        assert (first["low"], first["high"]) == pytest.approx((0.722467, 1.0), abs=1e-6)
