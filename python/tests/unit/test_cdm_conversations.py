"""Whatever a model says at the bedside has an answer, one end, and a score."""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import export_of
from cdm_cases import HISTORY, case, table
from commands import folder_in
from in_process import Main
from inference_runs import MODEL, content
from model_server import Body, Fault, Script, error, tool_calls
from tokenizing_server import tokenizing_server, words

from medeval.tasks.cdm.facts import prompt

GROUPS = table("cdm_conversations")


def expanded(value: Any) -> Any:
    """Return a value of the table with its repetitions written out."""
    if isinstance(value, dict):
        if set(value) == {"text", "times"}:
            return value["text"] * value["times"]
        return {name: expanded(each) for name, each in value.items()}
    return [expanded(each) for each in value] if isinstance(value, list) else value


class Endpoint:
    """Says what the table's conversations say, and keeps what each was asked."""

    def __init__(self, group: dict[str, Any]) -> None:
        self.conversations = expanded(group["conversations"])
        self.refused = group.get("refuses")
        self.left = [list(one["replies"]) for one in self.conversations]
        # Where summaries are asked for there is one conversation.
        self.summaries = list(self.conversations[0].get("summaries", ()))
        self.bodies: dict[int, list[Body]] = defaultdict(list)
        self.shortened: list[str] = []
        self.script = Script(self.fault, self.reply)

    def fault(self, body: Body, before: int) -> Fault | None:
        number = self.number(body)
        if number is None:
            return None
        self.bodies[number].append(body)
        if self.refused in body:
            told = f"Unsupported parameter: '{self.refused}' is not supported with this model."
            return error(400, told, code="unsupported_parameter", param=self.refused)
        reply = self.left[number][0]
        return error(**reply) if isinstance(reply, dict) and "status" in reply else None

    def reply(self, body: Body) -> str | dict[str, Any]:
        number = self.number(body)
        left = self.left[number] if number is not None else self.summaries
        said = left.pop(0) if len(left) > 1 else left[0]
        if number is None:
            self.shortened.append(body["messages"][1]["content"])
        if isinstance(said, str):
            return said
        message = {"calls": said} if isinstance(said, list) else dict(said)
        if "answer" in message:
            diagnosis = {"thought": "why", "final_diagnosis": message.pop("answer")}
            return json.dumps({**diagnosis, "treatment": ["antibiotics"], **message})
        if "calls" in message:
            message["tool_calls"] = tool_calls(message.pop("calls"))
            return {"content": None, "finish_reason": "tool_calls", **message}
        return message

    def number(self, body: Body) -> int | None:
        messages = body["messages"]
        if messages[0]["content"] == prompt("system_summary"):
            return None
        return int(messages[1]["content"].partition("Visit ")[2].split(".")[0])


def check(bodies: list[Body]) -> None:
    """Hold what strict endpoints ask of names, ids, arguments and the order of speakers."""
    for body in bodies:
        messages = body["messages"]
        calls = [call for message in messages for call in message.get("tool_calls", ())]
        for call in calls:
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
        ids = [call["id"] for call in calls]
        assert len(set(ids)) == len(ids)
        assert ids == [one["tool_call_id"] for one in messages if one["role"] == "tool"]
        roles = [message["role"] for message in messages]
        assert roles[:2] == ["system", "user"]
        assert ("user", "user") not in pairwise(roles)


def came_of(line: dict[str, Any], score: dict[str, Any]) -> dict[str, Any]:
    """Return what the journal and the scores say of a conversation."""
    calls = line["episode"]["calls"] or []
    return {
        **line["episode"],
        **score.get("scores", {}),
        **score.get("counts", {}),
        "failure": score.get("failure"),
        "outcome": line["outcome"],
        "error": (line.get("error") or {}).get("kind"),
        "tools": [call["tool"] for call in calls],
        "valid": [call["is_valid"] for call in calls],
    }


@pytest.mark.parametrize("group", GROUPS, ids=[group["name"] for group in GROUPS])
def test_conversations_end_as_told(group: dict[str, Any], tmp_path: Path, main: Main) -> None:
    endpoint = Endpoint(group)
    changed = {"history_of_present_illness": HISTORY, **expanded(group.get("case", {}))}
    history = changed.pop("history_of_present_illness")
    of = [
        case(number, history_of_present_illness=f"Visit {number}. {history}", **changed)
        for number in range(len(endpoint.conversations))
    ]
    export = export_of(tmp_path / "cases", of)
    settings = group.get("server", {"tokenizes": False})
    with tokenizing_server(endpoint.script, **settings) as server:
        done = main(
            *("run", "--task", "cdm", "--cases", export, "--out", tmp_path / "runs"),
            *("--model", MODEL, "--base-url", server.url, "--concurrency", "1"),
            *shlex.split(group.get("options", "")),
        )
        folder = folder_in(done.out + done.err)
        # As after a crash before the end: each conversation is the same, turn by turn.
        kept, asked = content(folder), server.server.seen.requests
        (folder / "responses.jsonl").write_text("", encoding="utf-8")
        main("run", "--resume", folder)
        assert server.server.seen.requests == asked
        assert content(folder) == kept
    main("score", "--task", "cdm", folder, "--n-iters", "0")
    told = (folder / "case_scores.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    scores = {line["hadm_id"]: line for line in map(json.loads, told)}
    assert [(text, done.err.count(text)) for text in group.get("stderr", ())] == [
        (text, 1) for text in group.get("stderr", ())
    ]
    shortened = expanded(group.get("shortened", []))
    pairs = list(zip(shortened, endpoint.shortened, strict=bool(shortened)))
    assert [text for text, said in pairs if text not in said] == []
    wrong = []
    for number, (conversation, line) in enumerate(zip(endpoint.conversations, kept, strict=True)):
        bodies = endpoint.bodies[number]
        check(bodies)
        record = {**came_of(line, scores[of[number].hadm_id]), "requests": len(bodies)}
        last = bodies[-1]
        told = json.dumps(last["messages"], ensure_ascii=False)
        least, most = conversation.get("words", (0, 1 << 20))
        due = {name: conversation.get(name, {}) for name in ("record", "parameters")}
        found = {
            "record": {name: record.get(name) for name in due["record"]},
            "parameters": {name: last.get(name) for name in due["parameters"]},
            "last": last["messages"][2:],
            "missing": [text for text in conversation.get("told", ()) if text not in told],
            "leaked": [text for text in conversation.get("untold", ()) if text in told],
            "is_long": least <= words(last["messages"]) <= most,
        }
        due |= {"last": conversation.get("last", found["last"]), "missing": [], "leaked": []}
        due |= {"is_long": True}
        wrong += [(number, conversation["replies"], found, due)] if found != due else []
    assert wrong == []
