"""Conversations of many turns: every turn once, in a journal, through the same gate and budget."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from inference_runs import MODEL, QUICK, content, lines, provider_of
from model_server import (
    BAD_KEY,
    BAD_REQUEST,
    HANG,
    LIMIT,
    QUOTA,
    SERVER,
    Body,
    Fault,
    Script,
    error,
    model_server,
    prompt_of,
    refuses,
    slow,
)

from medeval.errors import UserError
from medeval.inference.cost import Price, Prices
from medeval.inference.endpoints import Endpoint
from medeval.inference.engine import STEPS
from medeval.inference.errors import TOO_LONG, CallFailedError, Failure, Kind, failure_of_response
from medeval.inference.guard import DataUseGuard, RefusedError
from medeval.inference.openai_replies import read_completion
from medeval.inference.run import (
    AUDIT,
    RESPONSES,
    Run,
    RunConfig,
    RunResult,
    read_answers,
    settings_of,
)
from medeval.inference.types import Ask, AskModel, Finished, Item, Outcome, ToolCall, failed

TURNS = 4


@dataclass(frozen=True)
class Dialogue:
    """An episode whose every question depends on the answer before."""

    id: str
    data_class: str | None = "open"
    sample: int = 0
    turns: int = TURNS
    parameters: dict[str, Any] = field(default_factory=dict)
    ends_if_too_long: bool = False

    @property
    def opening(self) -> Ask:
        return Ask([{"role": "user", "content": f"{self.id} turn 0"}], self.parameters)

    async def play(self, ask: AskModel) -> Finished:
        messages = list(self.opening.messages)
        text = ""
        for number in range(self.turns):
            turn = await ask(Ask(messages, self.parameters))
            if turn.completion is None and self.ends_if_too_long:
                return failed(Failure(Kind.REQUEST, code=TOO_LONG))
            if turn.completion is None:
                return Finished(Outcome.UNPARSED, text, "too_long", {"asked": number})
            text = turn.completion.text
            messages = [
                *messages,
                {"role": "assistant", "content": text},
                {"role": "user", "content": f"{self.id} turn {number + 1} after {text}"},
            ]
        return Finished(Outcome.ANSWERED, text, record={"asked": self.turns})


def dialogues(count: int, **changed: Any) -> list[Dialogue]:
    return [Dialogue(f"case-{number:03}", **changed) for number in range(count)]


def talk(
    url: str,
    folder: Path,
    episodes: Iterable[Dialogue],
    options: RunConfig | None = None,
    gate: DataUseGuard | None = None,
    **changed: Any,
) -> RunResult:
    options = options or RunConfig(retries=QUICK)
    folder.mkdir(exist_ok=True)
    provider = provider_of(url, folder, gate, **changed)
    return Run(folder, settings_of(provider, ""), provider).execute(episodes, options)


def steps(folder: Path) -> list[dict[str, Any]]:
    text = (folder / STEPS).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def unmeasured_steps(folder: Path) -> list[dict[str, Any]]:
    kept = [{k: v for k, v in line.items() if k != "measured"} for line in steps(folder)]
    return sorted(kept, key=lambda line: (line["item"], line["sample"], line["turn"]))


def in_turn(name: str, turn: int, fault: Fault, times: int = 1_000) -> Script:
    """Return a script with a fault in one turn of one episode."""
    return Script(
        lambda body, before: (
            fault if prompt_of(body).startswith(f"{name} turn {turn}") and before < times else None
        )
    )


def test_every_turn_is_asked_once_and_every_episode_has_one_end(tmp_path: Path) -> None:
    chance = random.Random(7)
    script = Script(lambda body, before: SERVER if chance.random() < 0.2 else None)
    episodes = dialogues(40)
    with model_server(script) as server:
        ended = talk(server.url, tmp_path, episodes, RunConfig(concurrency=6, retries=QUICK))
        assert server.seen.requests == 40 * TURNS + ended.progress.retries
        assert server.seen.most_open <= 6
    assert ended.progress.retries > 10
    assert ended.progress.ledger.as_json()["answered"] == ended.progress.ledger.asked == 40
    assert (ended.progress.input_tokens, ended.progress.output_tokens) == (
        40 * TURNS * 100,
        40 * TURNS * 10,
    )
    assert [(line["item"], line["turn"]) for line in unmeasured_steps(tmp_path)] == [
        (episode.id, turn) for episode in episodes for turn in range(TURNS)
    ]
    answers = list(read_answers(tmp_path / RESPONSES, [Item(e.id, []) for e in episodes]))
    last = {line["item"]: line["text"] for line in steps(tmp_path) if line["turn"] == TURNS - 1}
    assert [answer.answer for answer in answers] == [last[answer.item] for answer in answers]
    assert {line["episode"]["turns"] for line in lines(tmp_path)} == {TURNS}
    assert len((tmp_path / AUDIT).read_text().splitlines()) == 160 + ended.progress.retries


def test_a_second_start_asks_nothing_again(tmp_path: Path) -> None:
    with model_server() as server:
        talk(server.url, tmp_path, dialogues(5))
        before = content(tmp_path), unmeasured_steps(tmp_path)
        ended = talk(server.url, tmp_path, dialogues(5))
        assert server.seen.requests == 5 * TURNS
    assert (content(tmp_path), unmeasured_steps(tmp_path)) == before
    assert ended.progress.before == ended.progress.ledger.asked == 5


def times_asked(bodies: Iterable[Body], prompt: str) -> int:
    return sum(prompt_of(body).startswith(prompt) for body in bodies)


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from inference_runs import QUICK
from medeval.inference.run import RunConfig
from test_inference_conversations import dialogues, talk
options = RunConfig(concurrency=3, retries=QUICK)
talk(sys.argv[2], Path(sys.argv[3]), dialogues(9, turns=8), options)
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_in_the_turn_where_it_was(tmp_path: Path) -> None:
    chance = random.Random(3)
    script = Script(lambda body, before: SERVER if chance.random() < 0.2 else slow(0.01))
    killed, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    with model_server(script) as server:
        tests = str(Path(__file__).parent)
        process = subprocess.Popen([sys.executable, "-c", KILLED, tests, server.url, str(killed)])
        journal = killed / STEPS
        deadline = time.monotonic() + 60
        # Neither the first three episodes have ended nor has one of them only begun.
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= 14):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        done = journal.read_bytes().count(b"\n")
        assert 14 <= done < 9 * 8
        assert any(line["turn"] > 0 for line in steps(killed))
        kept = [f"{line['item']} turn {line['turn']}" for line in steps(killed)]
        asked = [times_asked(server.seen.bodies, prompt) for prompt in kept]
        assert min(asked) >= 1
        with journal.open("ab") as file:
            file.write(b'{"item":"case-0')  # the line that was being written
        ended = talk(server.url, killed, dialogues(9, turns=8))
        assert [times_asked(server.seen.bodies, prompt) for prompt in kept] == asked
        talk(server.url, undisturbed, dialogues(9, turns=8))
    assert ended.progress.ledger[Outcome.ANSWERED] == 9
    assert unmeasured_steps(killed) == unmeasured_steps(undisturbed)
    assert content(killed) == content(undisturbed)


def test_a_run_killed_before_the_line_of_an_episode_writes_it_without_a_call(
    tmp_path: Path,
) -> None:
    with model_server() as server:
        talk(server.url, tmp_path, dialogues(3))
        whole = content(tmp_path)
        text = (tmp_path / RESPONSES).read_bytes().splitlines(keepends=True)
        (tmp_path / RESPONSES).write_bytes(b"".join(text[:-1]))
        talk(server.url, tmp_path, dialogues(3))
        assert server.seen.requests == 3 * TURNS
    assert content(tmp_path) == whole


def test_an_episode_that_was_asked_otherwise_is_not_gone_on_with(tmp_path: Path) -> None:
    changed = dialogues(2, parameters={"tools": []})
    with model_server() as server:
        talk(server.url, tmp_path, dialogues(2))
        with pytest.raises(UserError, match=r"case-000.*asked otherwise"):
            talk(server.url, tmp_path, changed)
        (tmp_path / RESPONSES).unlink()  # now only the turns tell
        with pytest.raises(UserError, match=r"steps\.jsonl.*asked otherwise"):
            talk(server.url, tmp_path, changed)
        assert server.seen.requests == 2 * TURNS


def test_an_episode_comes_once(tmp_path: Path) -> None:
    with model_server() as server:
        with pytest.raises(UserError, match="comes twice"):
            talk(server.url, tmp_path, [Dialogue("a"), Dialogue("a")])
        ended = talk(server.url, tmp_path, [Dialogue("a"), Dialogue("a", sample=1)])
    assert ended.progress.ledger.asked == 2


def test_a_failed_turn_ends_its_episode_only_and_can_be_asked_again(tmp_path: Path) -> None:
    script = in_turn("case-001", 2, BAD_REQUEST, times=1)
    with model_server(script) as server:
        ended = talk(server.url, tmp_path, dialogues(3))
        assert ended.progress.errors == {"request": 1}
        assert (ended.progress.ledger[Outcome.ANSWERED], ended.progress.ledger.asked) == (2, 3)
        asked = server.seen.requests
        again = RunConfig(retries=QUICK, retry=frozenset({Outcome.ERRORED}))
        ended = talk(server.url, tmp_path, dialogues(3), again)
        # Its first two turns were paid for and are not asked again.
        assert server.seen.requests == asked + TURNS - 2
    assert ended.progress.ledger[Outcome.ANSWERED] == 3


def test_an_episode_with_another_end_is_had_anew_when_wished(tmp_path: Path) -> None:
    overflow = error(400, "This model's maximum context length is 10 tokens")
    with model_server(in_turn("case-000", 1, overflow, times=1)) as server:
        ended = talk(server.url, tmp_path, dialogues(2))
        assert ended.reasons == {"too_long": 1}
        assert ended.progress.ledger[Outcome.UNPARSED] == 1
        asked = server.seen.requests
        again = RunConfig(retries=QUICK, retry=frozenset({Outcome.UNPARSED}))
        ended = talk(server.url, tmp_path, dialogues(2), again)
        assert server.seen.requests == asked + TURNS
    assert (ended.progress.ledger[Outcome.ANSWERED], ended.reasons) == (2, {})


def test_an_episode_that_was_too_long_is_had_anew_when_errors_are_asked_again(
    tmp_path: Path,
) -> None:
    overflow = error(400, "This model's maximum context length is 10 tokens")
    with model_server(in_turn("case-000", 2, overflow, times=1)) as server:
        ended = talk(server.url, tmp_path, [Dialogue("case-000", ends_if_too_long=True)])
        assert ended.progress.ledger[Outcome.ERRORED] == 1
        asked = server.seen.requests
        again = RunConfig(retries=QUICK, retry=frozenset({Outcome.ERRORED}))
        ended = talk(server.url, tmp_path, [Dialogue("case-000", ends_if_too_long=True)], again)
        assert server.seen.requests == asked + TURNS
    assert ended.progress.ledger[Outcome.ANSWERED] == 1


def test_a_conversation_too_long_is_told_to_the_episode_and_known_on_resume(
    tmp_path: Path,
) -> None:
    message = "This model's maximum context length is 8192 tokens. QUILLFEATHER"
    gate = DataUseGuard({}, tmp_path / AUDIT)
    with model_server(in_turn("case-000", 2, error(400, message))) as server:
        talk(server.url, tmp_path, dialogues(1), gate=gate)
        whole = content(tmp_path)
        assert steps(tmp_path)[2]["error"]["code"] == TOO_LONG
        (tmp_path / RESPONSES).unlink()
        ended = talk(server.url, tmp_path, dialogues(1), gate=gate)
        assert server.seen.requests == 3
    assert content(tmp_path) == whole
    assert whole[0]["episode"] == {"turns": 3, "reason": "too_long", "asked": 2}
    assert ended.reasons == {"too_long": 1}


@pytest.mark.parametrize(
    ("status", "code", "message", "is_one"),
    [
        (400, TOO_LONG, "", True),
        (400, "exceed_context_size_error", "", True),
        (400, "", "the request exceeds the available context size", True),
        (400, "", "prompt is too long: 210 tokens > 200 maximum", True),
        (413, "", "input is too long for requested model", True),
        (422, "", "`inputs` tokens + `max_new_tokens` must be", True),
        (400, "", "The input token count (9) exceeds the maximum", True),
        (413, "", "Request Entity Too Large", True),
        (413, "", "", True),
        (400, "", "Invalid value for messages", False),
        (404, TOO_LONG, "", False),
        (503, "", "maximum context length", False),
    ],
)
def test_a_prompt_that_is_too_long_is_told_apart(
    status: int, code: str, message: str, is_one: bool
) -> None:
    body = json.dumps({"error": {"message": message, "code": code}})
    failure = failure_of_response(status, {}, body, datetime(2026, 1, 1, tzinfo=UTC))
    assert failure.without_detail().is_overflow is is_one


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
        (400, "registry.example.org/library/small:1b does not support tools"),
        (400, "Function calling is not supported by this model"),
        (400, "tool_choice is unsupported"),
        (400, "tools param requires --jinja flag"),
        (500, "tools param requires --jinja flag"),
        (404, "No endpoints found that support tool use. To learn more, see the routing guide"),
        (400, "Function calling is not enabled for models/small-1b"),
        (400, "Unrecognized request argument supplied: tools"),
        (422, "tools: Extra inputs are not permitted"),
    ],
)
def test_an_endpoint_without_tools_ends_the_run_and_is_asked_again_later(
    tmp_path: Path, status: int, message: str
) -> None:
    tools = {"tools": [{"type": "function", "function": {"name": "look"}}]}
    has_tools = False
    script = Script(lambda body, before: None if has_tools else error(status, message))
    with model_server(script) as server:
        with pytest.raises(UserError, match="--tool-protocol text"):
            talk(server.url, tmp_path, dialogues(20, parameters=tools), RunConfig(concurrency=2))
        # A sentence is believed when two conversations in a row are told it.
        assert server.seen.requests <= 3
        assert [line["outcome"] for line in lines(tmp_path)] == ["errored"]
        has_tools = True
        again = RunConfig(retry=frozenset({Outcome.ERRORED}))
        ended = talk(server.url, tmp_path, dialogues(2, parameters=tools), again)
    assert ended.progress.ledger[Outcome.ANSWERED] == 2


@pytest.mark.parametrize(("fault", "told"), [(QUOTA, "quota"), (BAD_KEY, "key")])
def test_what_every_turn_would_meet_stops_the_run_which_then_goes_on(
    tmp_path: Path, fault: Fault, told: str
) -> None:
    with model_server(in_turn("case-000", 2, fault, times=1)) as server:
        ended = talk(server.url, tmp_path, dialogues(3), RunConfig(concurrency=1, retries=QUICK))
        assert told in ended.stopped
        assert (ended.progress.ledger.asked, server.seen.requests) == (0, 3)
        ended = talk(server.url, tmp_path, dialogues(3))
        assert server.seen.requests == 3 * TURNS + 1
    assert (ended.stopped, ended.progress.ledger[Outcome.ANSWERED]) == ("", 3)


def test_a_hanging_turn_holds_up_no_other_episode(tmp_path: Path) -> None:
    options = RunConfig(concurrency=2, retries=replace(QUICK, attempts=2))
    with model_server(in_turn("case-000", 1, HANG)) as server:
        ended = talk(server.url, tmp_path, dialogues(4), options, timeout=2.0)
    assert ended.progress.errors == {"timeout": 1}
    assert ended.progress.ledger[Outcome.ANSWERED] == 3
    assert lines(tmp_path)[-1]["item"] == "case-000"


def test_a_declined_prompt_is_a_refusal_and_a_used_up_attempt_an_error(tmp_path: Path) -> None:
    declined = error(400, "declined", code="content_filter")
    script = Script(
        lambda body, before: (
            declined
            if prompt_of(body).startswith("case-000 turn 1")
            else LIMIT
            if prompt_of(body).startswith("case-001 turn 3")
            else None
        )
    )
    with model_server(script) as server:
        ended = talk(server.url, tmp_path, dialogues(3))
    counts = ended.progress.ledger.as_json()
    assert (counts["refused"], counts["errored"], counts["answered"]) == (1, 1, 1)
    assert ended.progress.errors == {"limit": 1}


def test_a_refused_parameter_is_learned_once_for_all_turns(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return refuses("temperature") if "temperature" in body else None

    with model_server(Script(fault)) as server:
        talk(server.url, tmp_path, dialogues(3), parameters={"temperature": 0})
        assert server.seen.requests == 3 * TURNS + 1


def test_the_limit_on_cost_holds_over_turns_and_starts(tmp_path: Path) -> None:
    prices = Prices(price=(Price(model=MODEL, input=Decimal(0), output=Decimal(1_000_000)),))
    # Each turn costs 10 and may cost 20.
    options = RunConfig(concurrency=1, retries=QUICK, prices=prices, max_cost=Decimal(70))
    parameters = {"max_tokens": 20}
    with model_server() as server:
        ended = talk(server.url, tmp_path, dialogues(3), options, parameters=parameters)
        assert "exceed the limit of 70" in ended.stopped
        assert server.seen.requests == 6
        ended = talk(server.url, tmp_path, dialogues(3), options, parameters=parameters)
        assert "exceed the limit of 70" in ended.stopped
        assert server.seen.requests == 6
        more = replace(options, max_cost=Decimal(130))
        ended = talk(server.url, tmp_path, dialogues(3), more, parameters=parameters)
    assert (ended.stopped, ended.progress.known_cost) == ("", Decimal(120))


def test_a_credentialed_episode_reaches_no_undeclared_endpoint(tmp_path: Path) -> None:
    with model_server() as server:
        with pytest.raises(RefusedError):
            talk(server.url, tmp_path, dialogues(1, data_class="credentialed"))
        assert (server.seen.connections, server.seen.bytes) == (0, 0)
    assert (tmp_path / STEPS).read_text() == ""


def test_what_the_endpoint_wrote_is_kept_for_open_episodes_only(tmp_path: Path) -> None:
    with model_server(Script(lambda body, before: error(400, "QUILLFEATHER"))) as server:
        declared = Endpoint(base_url=server.url, runs_locally=True)
        gate = DataUseGuard({server.url: declared}, tmp_path / AUDIT)
        talk(server.url, tmp_path, dialogues(1, data_class="credentialed"), gate=gate)
        assert "QUILLFEATHER" not in (tmp_path / STEPS).read_text()
        assert "QUILLFEATHER" not in (tmp_path / RESPONSES).read_text()
        talk(server.url, tmp_path / "open", dialogues(1))
    assert "QUILLFEATHER" in (tmp_path / "open" / RESPONSES).read_text()


def test_an_episode_may_fail_of_itself(tmp_path: Path) -> None:
    class Failing(Dialogue):
        async def play(self, ask: AskModel) -> Finished:
            raise CallFailedError(Failure(Kind.TIMEOUT))

    with model_server() as server:
        ended = talk(server.url, tmp_path, [Failing("a"), Dialogue("b")])
    assert ended.progress.errors == {"timeout": 1}
    assert ended.progress.ledger.asked == 2


def message_with(**parts: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": None, **parts}, "finish_reason": "tool_calls"}]}


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        ({}, ()),
        ({"tool_calls": None}, ()),
        ({"tool_calls": "look"}, ()),
        (
            {"tool_calls": [{"id": "x", "function": {"name": "look", "arguments": '{"a": 1}'}}]},
            (ToolCall("x", "look", '{"a": 1}'),),
        ),
        (
            {"tool_calls": [{"id": "x", "function": {"name": "look", "arguments": {"a": 1}}}]},
            (ToolCall("x", "look", '{"a": 1}'),),
        ),
        (
            {"tool_calls": [{"function": {"name": "look", "arguments": None}}, 7]},
            (ToolCall("call_0", "look", "{}"), ToolCall("call_1", "", "{}")),
        ),
        (
            {"tool_calls": [{"id": "x", "function": {"name": name}} for name in "ab"]},
            (ToolCall("x", "a", "{}"), ToolCall("call_1", "b", "{}")),
        ),
        (
            {"function_call": {"name": "look", "arguments": "{"}},
            (ToolCall("call_0", "look", "{"),),
        ),
    ],
)
def test_tool_calls_are_read_tolerantly(
    message: dict[str, Any], calls: tuple[ToolCall, ...]
) -> None:
    assert read_completion(message_with(**message)).tool_calls == calls


def test_a_call_of_a_tool_is_no_empty_reply_and_survives_the_journal(tmp_path: Path) -> None:
    call = {"id": "x", "type": "function", "function": {"name": "look", "arguments": "{}"}}

    class Looking(Dialogue):
        async def play(self, ask: AskModel) -> Finished:
            turn = await ask(self.opening)
            assert turn.completion is not None
            names = [call.name for call in turn.completion.tool_calls]
            return Finished(turn.outcome, record={"called": names})

    script = Script(reply=lambda body: {"content": None, "tool_calls": [call]})
    with model_server(script) as server:
        talk(server.url, tmp_path, [Looking("a")])
        whole = content(tmp_path)
        (tmp_path / RESPONSES).unlink()
        talk(server.url, tmp_path, [Looking("a")])
        assert server.seen.requests == 1
    assert steps(tmp_path)[0]["outcome"] == "answered"
    assert content(tmp_path) == whole
    assert whole[0]["episode"]["called"] == ["look"]
