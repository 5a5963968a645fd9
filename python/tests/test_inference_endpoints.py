"""What comes back over the wire in odd layouts is one answer, or broken; never a guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inference_runs import ask, lines, open_item
from model_server import Fault, Script, model_server


def choice(content: Any, **more: Any) -> dict[str, Any]:
    return {"message": {"content": content}, "finish_reason": "stop", **more}


@pytest.mark.parametrize(
    "choices",
    [
        [choice("B", index=1), choice("A", index=0)],
        [choice("A", index=0), choice("B", index=1)],
        [choice("A", index=0), choice("B", index=0)],
        [choice("A"), choice("B")],
        [choice("A", index=2), choice("B", index=1)],
        [None, choice("A", index=0)],
    ],
)
def test_of_several_choices_the_first_is_the_one_of_index_0(
    tmp_path: Path, choices: list[Any]
) -> None:
    fault = Fault(200, {"choices": choices})
    with model_server(Script(lambda body, before: fault)) as server:
        ask(server.url, tmp_path, [open_item("one")])
    (line,) = lines(tmp_path)
    assert (line["outcome"], line["text"]) == ("answered", "A")


@pytest.mark.parametrize("broken", [2, 1000])
def test_content_that_is_an_object_is_a_broken_reply_and_no_empty_one(
    tmp_path: Path, broken: int
) -> None:
    fault = Fault(200, {"choices": [choice({"answer": ["A"]})]})
    script = Script(lambda body, before: fault if before < broken else None, lambda body: "A")
    with model_server(script) as server:
        ask(server.url, tmp_path, [open_item("one")])
    (line,) = lines(tmp_path)
    if broken == 2:
        assert (line["text"], line["measured"]["attempts"]) == ("A", 3)
    else:
        assert (line["outcome"], line["error"]["kind"]) == ("errored", "broken_reply")
        assert "JSON object, not text" in line["error"]["detail"]
