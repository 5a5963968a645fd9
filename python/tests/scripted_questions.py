"""Questions put to a scripted endpoint by `run`, and what comes of each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from in_process import Main
from model_server import Body, Fault, Script, model_server

OPTIONS = ["甲项", "乙项", "丙项", "丁项"]
ANSWER = "答案：A"
Answered = str | Mapping[str, Any] | Fault


@dataclass(frozen=True)
class Ran:
    """How a run of questions ended.

    Attributes:
        code: of the exit.
        said: on standard output and standard error, with its lines joined.
        lines: of the journal by the number of the question.
        record: what `run.json` says.
        bodies: of the requests, in their order.
        folder: of the run.
    """

    code: int
    said: str
    lines: Mapping[int, Mapping[str, Any]]
    record: Mapping[str, Any]
    bodies: Sequence[Body]
    folder: Path

    @property
    def outcomes(self) -> list[str]:
        return [line["outcome"] for _, line in sorted(self.lines.items())]


def number_in(body: Body) -> int:
    found = re.search(r"第(\d+)题", body["messages"][-1]["content"])
    assert found
    return int(found[1])


def questions_file(
    folder: Path, count: int, data_class: str = "open", question: str = "第{}题？"
) -> Path:
    records = [
        {
            "context": "",
            "question": question.format(number),
            "selection": OPTIONS,
            "answer_choices": OPTIONS[:1],
            "sample_id": f"q{number}",
            "source": "x",
            "data_class": data_class,
        }
        for number in range(count)
    ]
    path = folder / "questions.json"
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return path


def asked(
    main: Main,
    folder: Path,
    replies: Sequence[Answered] | Callable[[Body], Answered],
    count: int = 0,
    *flags: str | Path,
    usage: Mapping[str, Any] | None = None,
    **file: str,
) -> Ran:
    """Put questions to an endpoint that answers each by its number, or as a function says.

    `file` is what `questions_file` takes.
    """
    reply = replies if callable(replies) else lambda body: replies[number_in(body)]
    count = count if callable(replies) else len(replies)

    def fault(body: Body, before: int) -> Fault | None:
        given = reply(body)
        return given if isinstance(given, Fault) else None

    def content(body: Body) -> str | dict[str, Any]:
        given = reply(body)
        assert not isinstance(given, Fault)
        return given if isinstance(given, str) else dict(given)

    questions = questions_file(folder, count, **file)
    with model_server(Script(fault, content, usage or Script().usage)) as server:
        (folder / "endpoints.toml").write_text(
            f'[[endpoint]]\nbase_url = "{server.url}"\nruns_locally = true\n', encoding="utf-8"
        )
        words = ["--questions", questions, "--model", "m", "--base-url", server.url]
        words += ["--out", folder / "runs", *flags, "--endpoints", folder / "endpoints.toml"]
        done = main("run", "--task", "yier", *words)
        bodies = list(server.seen.bodies)
    (made,) = (folder / "runs").iterdir()
    journal = made / "responses.jsonl"
    text = journal.read_text(encoding="utf-8") if journal.exists() else ""
    found = [json.loads(line) for line in text.splitlines()]
    return Ran(
        done.code,
        " ".join((done.out + done.err).split()),
        {int(line["item"][1:]): line for line in found},
        json.loads((made / "run.json").read_text(encoding="utf-8")),
        bodies,
        made,
    )


def read_as(main: Main, ran: Ran) -> dict[int, list[str]]:
    """Return what was read of each reply, by the number of the question: what is handed in."""
    out = ran.folder / "submission.json"
    assert main("yier", "submit", ran.folder, "--out", out).code == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    return {int(each["sample_id"][1:]): each["predict_answers"] for each in found}
