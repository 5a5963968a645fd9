"""All information at once: its blocks, its order, and imaging made shorter where it must be."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import (
    CHEST,
    CT,
    EXAMINATION,
    HISTORY,
    ULTRASOUND,
    bedside,
    case,
    cases,
    demo_reply,
    in_order,
    lab,
    leaks,
    report,
    steps,
)
from cdm_cases import rows
from inference_runs import MODEL, QUICK, content, provider_of
from model_server import Body, Fault, Script, error, model_server, refuses
from tokenizing_server import TokenizingServer, tokenizing_server, words

from medeval.cdm import prompts
from medeval.cdm.context import ContextBudget, budget_in
from medeval.cdm.episode import Transcript, read_transcripts
from medeval.cdm.full_information import (
    BLOCKS,
    MARGIN,
    PARAMETERS,
    FullInformation,
    FullInformationOptions,
    full_information,
)
from medeval.cdm.tool_protocols import FinalAnswer
from medeval.inference import tokens
from medeval.inference.endpoints import Endpoint
from medeval.inference.errors import CallFailedError
from medeval.inference.guard import DataUseGuard, RefusedError
from medeval.inference.python_model import PythonModel
from medeval.inference.run import AUDIT
from medeval.inference.tokens import EstimatedTokens, ServerTokens, context_window
from medeval.inference.types import Item, Outcome
from medeval.models.clinical_case import ClinicalCase

ANSWER = '{"diagnosis": "Acute appendicitis", "treatment": ["surgery"]}'
WHOLE = f"""# History
{HISTORY}

# Physical examination
{EXAMINATION}

# Laboratory results
- White Blood Cells [Chemistry | Blood]: 15.2 K/uL (ref: 4-11)
- C-Reactive Protein [Chemistry | Blood]: 88 mg/L (ref: 0-5)
- Lipase [Chemistry | Blood]: 30 IU/L (ref: 0-60)

# Imaging
## ULTRASOUND ABDOMEN (Ultrasound, Abdomen)
{ULTRASOUND}

## CT ABDOMEN (CT, Abdomen)
{CT}

## CHEST (PA AND LAT) (Radiograph, Chest)
{CHEST}

# Microbiology
- Blood Culture [BLOOD CULTURE]: Unknown; NO GROWTH."""


def shown(of: ClinicalCase) -> str:
    (episode,) = full_information([of], FullInformationOptions())
    return str(episode.opening.messages[1]["content"])


def played(
    folder: Path, *replies: str | dict[str, Any], of: ClinicalCase | None = None
) -> tuple[Transcript, list[Body]]:
    of = of or case()
    with model_server(Script(reply=in_order(*replies))) as server:
        bedside(server.url, folder, full_information([of], FullInformationOptions()))
        bodies = server.seen.bodies
    return read_transcripts(folder, [of])[0], bodies


def test_all_is_shown_under_its_heading() -> None:
    assert shown(case()) == WHOLE


def test_what_nothing_is_known_of_has_no_block() -> None:
    of = case(lab_results=[], radiology_reports=[], microbiology_events=[], physical_exams=" \n")
    assert shown(of) == f"# History\n{HISTORY}"


@pytest.mark.parametrize(("changed", "line"), rows("a_laboratory_result_shows_what_is_known_of_it"))
def test_a_laboratory_result_shows_what_is_known_of_it(changed: dict[str, Any], line: str) -> None:
    of = case(lab_results=[lab(50889, "CRP", "9", **changed)])
    assert line in shown(of).splitlines()


def test_one_question_one_answer(tmp_path: Path) -> None:
    transcript, bodies = played(tmp_path, f"```json\n{ANSWER}\n```")
    assert len(bodies) == 1
    assert bodies[0]["response_format"]["json_schema"]["schema"]["required"] == [
        "diagnosis",
        "treatment",
    ]
    assert transcript.answer == FinalAnswer("Acute appendicitis", ("surgery",))
    assert (transcript.outcome, transcript.calls) == (Outcome.ANSWERED, None)
    assert (transcript.turns, transcript.context, transcript.order) == (1, (), BLOCKS)


def test_an_endpoint_without_structured_output_is_asked_without(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return refuses("response_format") if "response_format" in body else None

    with model_server(Script(fault, reply=lambda body: ANSWER)) as server:
        bedside(server.url, tmp_path, full_information(cases(3), FullInformationOptions()))
        # Refused as a schema and as a plain object, each once for the whole run.
        assert server.seen.requests == 3 + 2
    assert {one.outcome for one in read_transcripts(tmp_path, cases(3))} == {Outcome.ANSWERED}


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [("Appendicitis.", Outcome.UNPARSED), ("", Outcome.EMPTY)],
)
def test_an_answer_that_cannot_be_read_is_asked_for_once_more(
    tmp_path: Path, reply: str, outcome: Outcome
) -> None:
    transcript, bodies = played(tmp_path / "twice", reply)
    assert (transcript.outcome, transcript.reason, len(bodies)) == (outcome, "", 2)
    assert bodies[1]["messages"][-1]["content"] == prompts.ASK_AGAIN_FULL_INFORMATION
    transcript, _ = played(tmp_path / "once", reply, ANSWER)
    assert (transcript.outcome, transcript.reason) == (Outcome.ANSWERED, "")
    assert transcript.is_reasked


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ({"content": "", "refusal": "no"}, Outcome.REFUSED),
        ({"content": ANSWER[:20], "finish_reason": "length"}, Outcome.TRUNCATED),
        ({"content": ANSWER, "finish_reason": "length"}, Outcome.TRUNCATED),
    ],
)
def test_a_reply_that_is_none_is_not_asked_for_again(
    tmp_path: Path, reply: dict[str, Any], outcome: Outcome
) -> None:
    transcript, bodies = played(tmp_path, reply)
    assert (transcript.outcome, transcript.answer, len(bodies)) == (outcome, None, 1)


def test_no_truth_no_person_and_no_name_of_the_disease_is_sent(tmp_path: Path) -> None:
    of = case()
    with model_server(Script(reply=demo_reply)) as server:
        episodes = full_information([of], FullInformationOptions(permute=2))
        bedside(server.url, tmp_path, episodes)
        assert server.seen.requests == 3
        assert leaks(server.seen.bodies, of) == []
    assert {
        one.answer.final_diagnosis for one in read_transcripts(tmp_path, [of]) if one.answer
    } == {"Acute appendicitis"}


def test_other_orders_are_further_samples_with_the_same_information(tmp_path: Path) -> None:
    options = FullInformationOptions(permute=3, seed=5)
    episodes = list(full_information(cases(2), options))
    assert [(one.id, one.sample) for one in episodes] == [
        (str(20055000 + number), sample) for number in (1, 2) for sample in range(4)
    ]
    texts = [str(one.opening.messages[1]["content"]) for one in episodes]
    lines = [Counter(line for line in text.splitlines() if line) for text in texts]
    assert all(count == lines[0] for count in lines)
    assert texts[0] == texts[4] == WHOLE
    # Each its own order, and each case its own orders.
    assert len(set(texts)) == 7
    again = [str(one.opening.messages[1]["content"]) for one in full_information(cases(2), options)]
    assert again == texts
    other = full_information(cases(2), replace(options, seed=6))
    assert [str(one.opening.messages[1]["content"]) for one in other][1:4] != texts[1:4]
    with model_server(Script(reply=demo_reply)) as server:
        bedside(server.url, tmp_path, episodes)
    found = read_transcripts(tmp_path, cases(2))
    assert [one.sample for one in found] == [0, 1, 2, 3] * 2
    assert found[0].order == BLOCKS
    assert all(sorted(one.order) == sorted(BLOCKS) for one in found)
    assert [one.order for one in found] == [one.order for one in episodes]


def is_summary(body: Body) -> bool:
    return bool(body["messages"][0]["content"] == prompts.SYSTEM_SUMMARY)


def long_case(**changed: Any) -> ClinicalCase:
    """Return a case with 100 words in each report: three of the abdomen and one of the chest."""
    reports = [
        report(1, "CT", "early " * 100),
        report(2, "CT", "later " * 100),
        report(3, "Ultrasound", "echo " * 100),
        report(4, "Radiograph", "lungs " * 100, region="Chest", exam_name="CHEST"),
    ]
    return case(radiology_reports=reports, **changed)


def bare_words(of: ClinicalCase) -> int:
    """Return what a prompt has without imaging."""
    bare = FullInformation(of.model_copy(update={"radiology_reports": ()}))
    return words([dict(message) for message in bare.opening.messages])


def shortening(length: int, again: int) -> Callable[[Body], str]:
    """Return a script that summarises to a number of words, and summaries to another one."""

    def reply(body: Body) -> str:
        if not is_summary(body):
            return ANSWER
        text = body["messages"][1]["content"]
        is_report = text.count("##") == 1 and "short" not in text
        return " ".join(["short"] * (length if is_report else again))

    return reply


def run_at(
    folder: Path, script: Script, of: ClinicalCase, room_for: int, enforces: bool = True
) -> tuple[Transcript, list[Body]]:
    """Play a case with room for so many words of imaging."""
    folder.mkdir(exist_ok=True)
    limit = bare_words(of) + room_for + MARGIN
    with tokenizing_server(script, limit=limit, enforces=enforces) as server:
        provider = provider_of(server.url, folder)
        window = asyncio.run(context_window(provider, is_open=True))
        budget = budget_in(window, provider, MARGIN)
        episodes = full_information([of], FullInformationOptions(), budget)
        bedside(server.url, folder, episodes, provider=provider)
        bodies = server.server.seen.bodies
    return read_transcripts(folder, [of])[0], bodies


def imaging_in(body: Body) -> str:
    text = str(body["messages"][1]["content"])
    if "# Imaging\n" not in text:
        return ""
    return text.split("# Imaging\n")[1].split("\n\n# ")[0]


# Words of imaging: the heading of the block, and of each report its heading and its text.
ALL = 2 + 3 * (5 + 100) + (4 + 100)
ABDOMEN = 2 + 3 * (5 + 100)


def test_imaging_is_whole_as_long_as_it_fits(tmp_path: Path) -> None:
    transcript, bodies = run_at(tmp_path / "fits", Script(reply=shortening(9, 9)), long_case(), ALL)
    assert (transcript.context, len(bodies)) == ((), 1)
    transcript, bodies = run_at(
        tmp_path / "one_less", Script(reply=shortening(9, 9)), long_case(), ALL - 1
    )
    assert (transcript.context, len(bodies)) == (("abdomen_only",), 1)
    assert "lungs" not in imaging_in(bodies[0])
    assert imaging_in(bodies[0]).count("##") == 3


def test_reports_of_the_abdomen_are_summarised_one_of_each_modality(tmp_path: Path) -> None:
    script = Script(reply=shortening(30, 9))
    transcript, bodies = run_at(tmp_path, script, long_case(), ABDOMEN - 1)
    assert transcript.context == ("abdomen_only", "reports_summarised")
    assert [is_summary(body) for body in bodies] == [True, True, False]
    told = [body["messages"][1]["content"] for body in bodies[:2]]
    assert ["early" in text for text in told] == [True, False]
    assert "echo" in told[1]
    short = " ".join(["short"] * 30)
    assert imaging_in(bodies[2]) == (
        f"## CT ABDOMEN (CT, Abdomen)\n{short}\n\n"
        f"## ULTRASOUND ABDOMEN (Ultrasound, Abdomen)\n{short}"
    )
    assert transcript.outcome is Outcome.ANSWERED


def test_summaries_that_are_too_long_are_summarised_and_then_cut(tmp_path: Path) -> None:
    script = Script(reply=shortening(90, 20))
    transcript, bodies = run_at(tmp_path / "again", script, long_case(), 100)
    assert transcript.context[-1] == "summaries_summarised"
    assert imaging_in(bodies[-1]) == " ".join(["short"] * 20)
    script = Script(reply=shortening(90, 150))
    transcript, bodies = run_at(tmp_path / "cut", script, long_case(), 100)
    assert transcript.context == (
        *("abdomen_only", "reports_summarised", "summaries_summarised", "truncated"),
    )
    assert 80 <= imaging_in(bodies[-1]).count("short") <= 98
    assert transcript.outcome is Outcome.ANSWERED


def test_without_any_room_imaging_is_left_out(tmp_path: Path) -> None:
    script = Script(reply=shortening(9, 9))
    transcript, bodies = run_at(tmp_path, script, long_case(), -1, enforces=False)
    assert (transcript.context, len(bodies)) == (("without_imaging",), 1)
    assert imaging_in(bodies[0]) == ""


def test_what_is_not_imaging_is_never_cut(tmp_path: Path) -> None:
    transcript, bodies = run_at(tmp_path, Script(reply=shortening(9, 9)), long_case(), -MARGIN - 1)
    assert (transcript.outcome, transcript.reason) == (Outcome.ERRORED, "context_limit")
    assert HISTORY in bodies[-1]["messages"][1]["content"]
    assert (len(bodies), transcript.turns) == (1, 1)


def test_an_endpoint_that_says_too_long_is_believed(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        is_long = words(body["messages"]) > bare_words(long_case()) + 60
        return error(400, "prompt is too long") if is_long and not is_summary(body) else None

    script = Script(fault, shortening(20, 9))
    with model_server(script) as server:
        episodes = full_information([long_case()], FullInformationOptions())
        bedside(server.url, tmp_path, episodes)
        asked = server.seen.requests
        (tmp_path / "responses.jsonl").unlink()
        bedside(server.url, tmp_path, full_information([long_case()], FullInformationOptions()))
        assert server.seen.requests == asked  # all of it is in the journal
    (transcript,) = read_transcripts(tmp_path, [long_case()])
    assert transcript.context == ("abdomen_only", "reports_summarised")
    assert (transcript.outcome, transcript.turns) == (Outcome.ANSWERED, asked)
    assert [line.get("error", {}).get("code") for line in steps(tmp_path)][:2] == [
        "context_length_exceeded"
    ] * 2


def window_of(server: TokenizingServer, folder: Path, limit: int | None = None) -> dict[str, Any]:
    provider = provider_of(server.url, folder)
    window = asyncio.run(context_window(provider, is_open=True, limit=limit, retries=QUICK))
    return window.as_json()


def test_limit_and_counter_are_those_that_there_are(tmp_path: Path) -> None:
    def found(limit_from: str, limit: int, by: str) -> dict[str, Any]:
        return {"limit": limit, "limit_from": limit_from, "tokens_counted_by": by}

    with tokenizing_server(Script(), limit=4096) as server:
        assert window_of(server, tmp_path) == found("server", 4096, "server")
        assert window_of(server, tmp_path, 1000) == found("user", 1000, "server")
        # Nothing of a patient is in it, and it is in the audit like all that is sent.
        assert [body["messages"][0]["content"] for body in server.counted] == ["Hello"] * 2
    assert len((tmp_path / AUDIT).read_text().splitlines()) == 2
    with tokenizing_server(Script(), tokenizes=False) as server:
        assert window_of(server, tmp_path) == found("default", 8192, "estimate")
    with model_server() as plain:
        assert window_of(TokenizingServer(plain), tmp_path) == found("default", 8192, "estimate")


def test_tiktoken_counts_if_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Encoding:
        def encode(self, text: str, disallowed_special: Sequence[str]) -> list[str]:
            return text.split()

    class Module:
        def get_encoding(self, name: str) -> Encoding:
            return Encoding()

    monkeypatch.setattr(tokens, "import_module", lambda name: {"tiktoken": Module()}[name])
    provider = PythonModel(lambda item: "A", MODEL, DataUseGuard({}, tmp_path / AUDIT))
    window = asyncio.run(context_window(provider, is_open=False))
    assert window.as_json()["tokens_counted_by"] == "tiktoken"
    item = Item("a", [{"role": "user", "content": "one two three"}])
    assert asyncio.run(window.counter.count(item)) == 3 + 4 + 3


def test_the_estimate_counts_texts_calls_and_tools() -> None:
    def count(messages: Sequence[Mapping[str, Any]], **parameters: Any) -> int:
        item = Item("a", messages, parameters=parameters)
        return asyncio.run(EstimatedTokens().count(item))

    user = {"role": "user", "content": "x" * 35}
    assert count([user]) == 10 + 4 + 3
    assert count([user, user]) == 20 + 8 + 3
    assert count([{"role": "user", "content": "é" * 35}]) == 20 + 4 + 3
    assert count([user], tools=[{"type": "function"}]) > count([user])
    assert count([{**user, "tool_calls": [{"id": "c0"}]}]) > count([user])


def test_a_count_that_fails_is_tried_again_and_then_an_error_of_its_case(tmp_path: Path) -> None:
    item = Item("a", [{"role": "user", "content": "one two"}], "open")

    async def counted(server: TokenizingServer) -> int:
        provider = provider_of(server.url, tmp_path)
        try:
            return await ServerTokens(provider, QUICK).count(item)
        finally:
            await provider.close()

    with tokenizing_server(Script(), broken=2) as server:
        assert asyncio.run(counted(server)) == 5
        assert len(server.counted) == 3
    with tokenizing_server(Script(), broken=100) as server:
        with pytest.raises(CallFailedError):
            asyncio.run(counted(server))
        assert len(server.counted) == QUICK.attempts


def test_texts_are_counted_behind_the_same_gate(tmp_path: Path) -> None:
    of = long_case(data_class="credentialed")
    with tokenizing_server(Script(reply=shortening(9, 9)), limit=900) as server:
        undeclared = provider_of(server.url, tmp_path)
        with pytest.raises(RefusedError):
            asyncio.run(context_window(undeclared, is_open=False))
        window = asyncio.run(context_window(undeclared, is_open=True))
        assert server.lookups == 1
        seen = server.server.seen.bytes, len(server.counted)
        # Even where the window is known, no word of the case is counted by the endpoint.
        episodes = full_information([of], FullInformationOptions(), ContextBudget(window, 100))
        with pytest.raises(RefusedError):
            bedside(server.url, tmp_path / "refused", episodes, provider=undeclared)
        assert (server.server.seen.bytes, len(server.counted)) == seen
        gate = DataUseGuard(
            {server.url: Endpoint(base_url=server.url, runs_locally=True)}, tmp_path / "audit"
        )
        local = provider_of(server.url, tmp_path, gate)
        window = asyncio.run(context_window(local, is_open=False))
        episodes = full_information(
            [of], FullInformationOptions(), budget_in(window, local, MARGIN)
        )
        bedside(server.url, tmp_path / "local", episodes, provider=local)
        assert any("early" in str(body) for body in server.counted)
    audit = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert {(line["data_class"], line["ground"]) for line in audit} == {
        ("open", "open"),
        ("credentialed", "local"),
    }


def test_a_credentialed_case_reaches_no_undeclared_endpoint(tmp_path: Path) -> None:
    of = case(data_class="credentialed")
    with model_server() as server:
        with pytest.raises(RefusedError, match="Nothing was sent"):
            bedside(server.url, tmp_path, full_information([of], FullInformationOptions()))
        provider = provider_of(server.url, tmp_path)
        with pytest.raises(RefusedError):
            asyncio.run(context_window(provider, is_open=False, limit=1000))
        assert (server.seen.connections, server.seen.bytes) == (0, 0)
    assert content(tmp_path) == []


def test_the_record_of_a_run_says_how_it_was_shown() -> None:
    options = FullInformationOptions(permute=2, seed=3)
    assert options.as_json() == {"mode": "full_information", "permute": 2, "seed": 3}
    assert PARAMETERS["response_format"]["type"] == "json_schema"
