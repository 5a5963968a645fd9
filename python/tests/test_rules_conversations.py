"""Rules of a run of conversations that a small change of it could break unseen."""

from __future__ import annotations

from pathlib import Path

import pytest
from inference_runs import QUICK, lines
from model_server import BAD_REQUEST, Body, Fault, Script, error, model_server, prompt_of, refuses
from test_inference_conversations import TURNS, Dialogue, dialogues, in_turn, steps, talk

from medeval.inference.errors import TOO_LONG, CallFailedError, Failure, Kind
from medeval.inference.run import RunConfig
from medeval.inference.types import AskModel, Finished, Outcome


def test_words_about_tools_end_no_run_whose_turns_have_none(tmp_path: Path) -> None:
    fault = error(400, "Function calling is not supported by this model")
    with model_server(in_turn("case-000", 1, fault)) as server:
        ended = talk(server.url, tmp_path, dialogues(2))
    assert ended.progress.errors == {"request": 1}
    assert ended.progress.ledger[Outcome.ANSWERED] == 1


def test_what_was_learned_of_an_endpoint_is_known_to_the_next_start(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return refuses("temperature") if "temperature" in body else None

    with model_server(Script(fault)) as server:
        talk(server.url, tmp_path, dialogues(1), parameters={"temperature": 0})
        before = server.seen.requests
        talk(server.url, tmp_path, dialogues(2), parameters={"temperature": 0})
        assert server.seen.requests == before + TURNS
        assert not any("temperature" in body for body in server.seen.bodies[before:])


@pytest.mark.parametrize("kind", [Kind.QUOTA, Kind.KEY, Kind.MODEL])
def test_a_failure_beside_the_turns_that_all_would_meet_stops_the_run(
    tmp_path: Path, kind: Kind
) -> None:
    class Counting(Dialogue):
        async def play(self, ask: AskModel) -> Finished:
            raise CallFailedError(Failure(kind))

    with model_server() as server:
        ended = talk(server.url, tmp_path, [Counting("a"), *dialogues(2)], RunConfig())
    assert Failure(kind).sentence() in ended.stopped
    assert "a" not in {line["item"] for line in lines(tmp_path)}


def test_episodes_that_stay_keep_their_turns_when_others_are_had_again(tmp_path: Path) -> None:
    with model_server(in_turn("case-001", 2, BAD_REQUEST, times=1)) as server:
        talk(server.url, tmp_path, dialogues(3))
        again = RunConfig(retries=QUICK, retry=frozenset({Outcome.ERRORED}))
        talk(server.url, tmp_path, dialogues(3), again)
    kept = sorted((line["item"], line["turn"]) for line in steps(tmp_path))
    assert kept == [(episode.id, turn) for episode in dialogues(3) for turn in range(TURNS)]


@pytest.mark.parametrize(
    "message",
    [
        "This endpoint's maximum context length is 8192 tokens",
        "input length exceeds the limit of the model",
        "The prompt is longer than the model's context",
    ],
)
def test_each_way_of_saying_that_a_prompt_is_too_long_reaches_the_episode(
    tmp_path: Path, message: str
) -> None:
    with model_server(in_turn("case-000", 1, error(400, message))) as server:
        ended = talk(server.url, tmp_path, dialogues(1))
    assert ended.reasons == {"too_long": 1}


@pytest.mark.parametrize("kind", [Kind.FILTER, Kind.QUOTA])
def test_what_has_another_cause_is_not_too_long_whatever_its_words(kind: Kind) -> None:
    assert not Failure(kind, 400, TOO_LONG, detail="prompt is too long").is_overflow


def test_the_reasons_of_ends_come_in_one_order(tmp_path: Path) -> None:
    class Ending(Dialogue):
        async def play(self, ask: AskModel) -> Finished:
            return Finished(Outcome.UNPARSED, reason=self.id)

    with model_server() as server:
        episodes = [Ending("z"), Ending("a"), Ending("m")]
        ended = talk(server.url, tmp_path, episodes, RunConfig(concurrency=1))
    assert list(ended.reasons) == ["a", "m", "z"]


def test_a_status_413_says_too_long_whatever_its_body(tmp_path: Path) -> None:
    script = Script(
        lambda body, before: (
            Fault(413, "<html>Request Entity Too Large</html>")
            if prompt_of(body).startswith("case-000 turn 1")
            else None
        )
    )
    with model_server(script) as server:
        ended = talk(server.url, tmp_path, dialogues(2))
    assert ended.reasons == {"too_long": 1}
    assert ended.progress.ledger[Outcome.ANSWERED] == 1
