"""What a scripted model does at the bedside, run and scored by commands: what earns a point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import HISTORY, answering, calling, case, export_of
from cdm_runs import folder_of, lines, run_cdm, scored
from model_server import Body, Script, model_server

Reply = str | dict[str, Any]
EXAMINE = ("physical_examination", {})
BROKEN = ("physical_examination", "{broken")
LAB = ("request_lab_test", {"test_name": "CRP"})
CT = ("request_imaging", {"region": "Abdomen", "modality": "CT"})
US = ("request_imaging", {"region": "Abdomen", "modality": "US"})
CHEST = ("request_imaging", {"region": "Chest", "modality": "CT"})
UNKNOWN = ("request_imaging", {"region": "Abdomen", "modality": "magic"})


def decided(diagnosis: str, treatment: str = "surgery") -> str:
    return f"Diagnosis: {diagnosis}\nTreatment: {treatment}"


# Each is a case of appendicitis: what the model replies in order, and what that is worth.
NATIVE: list[tuple[list[Reply], dict[str, float]]] = [
    # A denied diagnosis is none.
    ([answering("No appendicitis.")], {"Diagnosis": 0, "Gracious Diagnosis": 0}),
    ([answering("No signs of an acute appendicitis")], {"Diagnosis": 0}),
    ([answering("Appendicitis was ruled out; gastritis")], {"Diagnosis": 0}),
    ([answering("Pain not due to appendicitis")], {"Diagnosis": 0}),
    ([answering("Normal appendix, perforated ulcer")], {"Diagnosis": 0}),
    ([answering("Acute appendicitis.")], {"Diagnosis": 1, "Gracious Diagnosis": 1}),
    ([answering("Acute apendicitis")], {"Diagnosis": 1}),
    ([answering("No fever due to appendicitis")], {"Diagnosis": 1}),
    ([answering("Not perforated acute appendicitis")], {"Diagnosis": 1}),
    ([answering("Cholecystitis without gallstones")], {"Diagnosis": 0}),
    ([answering(treatment=["appendectomy", "antibiotics"])], {"Treatment Requested": 2 / 3}),
    ([answering(treatment=["no appendectomy", "antibiotics"])], {"Treatment Requested": 1 / 3}),
    # An invalid call examines nobody, whether it is broken or one too many in its step.
    ([calling(EXAMINE), answering()],
     {"Physical Examination": 1, "Late Physical Examination": 1, "Invalid Tool Calls": 0}),
    ([calling(LAB), calling(EXAMINE), answering()],
     {"Physical Examination": 0, "Late Physical Examination": 1, "Laboratory Tests": 1}),
    ([calling(BROKEN), answering()],
     {"Physical Examination": 0, "Late Physical Examination": 0, "Invalid Tool Calls": 1}),
    ([calling(BROKEN), calling(EXAMINE), answering()],
     {"Physical Examination": 0, "Late Physical Examination": 1, "Invalid Tool Calls": 1}),
    ([calling(*[LAB] * 10, EXAMINE), answering()],
     {"Physical Examination": 0, "Late Physical Examination": 0, "Invalid Tool Calls": 1}),
    # The first acceptable imaging counts, and no invalid request.
    ([calling(UNKNOWN), calling(CT), calling(US), calling(CT), answering()],
     {"Imaging": 1, "Unnecessary Imaging": 1, "Invalid Tool Calls": 1}),
    ([calling(US), answering()], {"Imaging": 2}),
    ([calling(CHEST), calling(CT), calling(CT), answering()],
     {"Imaging": 1, "Unnecessary Imaging": 2}),
]  # fmt: skip
TEXT: list[tuple[list[Reply], dict[str, float]]] = [
    ([decided("No appendicitis")], {"Diagnosis": 0}),
    ([decided("Acute appendicitis")], {"Diagnosis": 1}),
    (["Action: physical_examination\nAction Input: none", decided("Appendicitis")],
     {"Physical Examination": 1, "Invalid Tool Calls": 0}),
    (["Action: examine the patient\nAction Input: abdomen", decided("Appendicitis")],
     {"Physical Examination": 0, "Late Physical Examination": 0, "Invalid Tool Calls": 1}),
    (["Action: physical_examination(abdomen)", decided("Appendicitis")],
     {"Physical Examination": 0, "Late Physical Examination": 0, "Invalid Tool Calls": 1}),
]  # fmt: skip


def in_order(conversations: list[tuple[list[Reply], dict[str, float]]]) -> Callable[[Body], Reply]:
    """Return what the model says: of the conversation that the history names, the next reply."""

    def reply(body: Body) -> Reply:
        messages = body["messages"]
        number = int(messages[1]["content"].rpartition("Visit ")[2].split(".")[0])
        said = sum(message["role"] == "assistant" for message in messages)
        return conversations[number][0][said]

    return reply


@pytest.mark.parametrize(("protocol", "conversations"), [("native", NATIVE), ("text", TEXT)])
def test_scored_run_gives_what_each_conversation_earned(
    tmp_path: Path, protocol: str, conversations: list[tuple[list[Reply], dict[str, float]]]
) -> None:
    asked = [
        case(number, history_of_present_illness=f"{HISTORY} Visit {number}.")
        for number in range(len(conversations))
    ]
    cases = tmp_path / "cases"
    cases.mkdir()
    with model_server(Script(reply=in_order(conversations))) as server:
        done = run_cdm(
            tmp_path / "runs", export_of(cases, asked), "--model", "m", "--base-url", server.url,
            "--tool-protocol", protocol, "--context-limit", "20000",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = scored(folder_of(done), "--n-iters", "0")
    made = [
        {**one["scores"], **one["counts"]} for one in lines(folder_of(done), "case_scores.jsonl")
    ]
    found = [
        {name: one[name] for name in due} for one, (_, due) in zip(made, conversations, strict=True)
    ]
    assert found == [due for _, due in conversations]
    assert result["intervals"] == {}
    # The values of the whole are the means of these.
    for name in ("Diagnosis", "Physical Examination"):
        assert result["metrics_results"][name] == pytest.approx(
            sum(one[name] for one in made) / len(made)
        )
