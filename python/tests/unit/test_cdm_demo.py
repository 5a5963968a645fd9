"""The built-in demo model: offline, the same each time, and shown nothing that it may not see."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from builds import Build
from cdm_bedside import MARKS, leaks
from cdm_cases import MADE, case, cases, facts, names
from inference_runs import content

from medeval.inference.errors import Failure
from medeval.inference.guard import DataUseGuard
from medeval.inference.python_model import PythonModel
from medeval.inference.run import AUDIT, Run, RunConfig, settings_of
from medeval.inference.types import Episode, Outcome, Reply, Request, body_of
from medeval.models.clinical_case import ClinicalCase, read_case
from medeval.tasks.cdm.demo import MODEL, reply_to
from medeval.tasks.cdm.episode import ToolEpisode
from medeval.tasks.cdm.facts import PROMPT_VERSION, LabNames, read_lab_tests
from medeval.tasks.cdm.full_information import FullInformation
from medeval.tasks.cdm.run_scores import Transcript, read_transcripts
from medeval.tasks.cdm.task import CdmOptions
from medeval.tasks.cdm.tools import TOOLS

MODES = ("native", "text", "full_information")


class Listening(PythonModel):
    """The demo model, and what it was asked."""

    def __init__(self, gate: DataUseGuard) -> None:
        super().__init__(lambda item: reply_to(item.messages, item.parameters), MODEL, gate)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def ask(self, request: Request) -> Reply | Failure:
        self.asked.append((request.item.id, body_of(request, request.all_parameters)))
        return await super().ask(request)


Ran = tuple[list[Transcript], list[tuple[str, dict[str, Any]]]]


def run(folder: Path, of: list[ClinicalCase], mode: Any = "native", **known: Any) -> Ran:
    folder.mkdir(exist_ok=True)
    model = Listening(DataUseGuard({}, folder / AUDIT))
    episodes: Iterable[Episode] = map(FullInformation, of)
    if mode != "full_information":
        options = CdmOptions(tool_protocol=mode, tools=known.pop("enabled", TOOLS))
        given = {"facts": facts(), "names": names(), "options": options, **known}
        episodes = [ToolEpisode(one, **given) for one in of]
    place = Run(folder, settings_of(model, PROMPT_VERSION), model)
    assert place.execute(episodes, RunConfig()).stopped == ""
    return read_transcripts(folder, of), model.asked


@pytest.mark.parametrize("mode", MODES)
def test_it_is_offline_and_says_the_same_each_time(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(self: socket.socket, address: object) -> None:
        raise AssertionError(f"connects to {address}")

    monkeypatch.setattr(socket.socket, "connect", connect)
    of = cases(4, data_class="credentialed")
    first, _ = run(tmp_path / "first", of, mode)
    assert run(tmp_path / "second", of, mode)[0] == first
    assert content(tmp_path / "first") == content(tmp_path / "second")
    assert {one.outcome for one in first} == {Outcome.ANSWERED}
    assert {one.answer.final_diagnosis for one in first if one.answer} == {"Acute appendicitis"}
    assert '"ground":"in-process"' in (tmp_path / "first" / AUDIT).read_text()


@pytest.mark.parametrize(("text", "diagnosis"), MADE["demo_decisions"])
def test_it_decides_by_the_words_that_it_is_given(text: str, diagnosis: str) -> None:
    messages = [{"role": "system", "content": ""}, {"role": "user", "content": text}]
    assert json.loads(reply_to(messages, {}).text)["final_diagnosis"] == diagnosis


@pytest.fixture(scope="module")
def demo_export(demo_cdm: Build) -> Path:
    return demo_cdm.export("--extended")


@pytest.mark.parametrize("mode", MODES)
def test_no_truth_person_nor_name_of_the_disease_is_sent(
    tmp_path: Path, demo_export: Path, mode: str
) -> None:
    text = (demo_export / "benchmark.jsonl").read_text(encoding="utf-8")
    of = [read_case(line, str(number)) for number, line in enumerate(text.split("\n")) if line]
    tests = LabNames(read_lab_tests(demo_export / "lab_test_mapping.json"), facts().labs)
    # The criteria are left out: they name every disease, as the model asks for one.
    seen = {"names": tests, "enabled": TOOLS[:3]}
    transcripts, asked = run(tmp_path / "true", of, mode, **seen)
    assert {one.pathology for one in of} >= {"appendicitis", "pancreatitis"}
    assert {one.outcome for one in transcripts} == {Outcome.ANSWERED}
    for one in of:
        sent = [body for name, body in asked if name == str(one.hadm_id)]
        assert sent
        assert leaks(sent, one, marks=[str(one.hadm_id)]) == []
    # Whoever the patient is and whatever was found in the end, the model is asked the same.
    marked = case()
    told = {"demographics": marked.demographics, "ground_truth": marked.ground_truth}
    others = [one.model_copy(update={"pathology": "cholecystitis", **told}) for one in of]
    _, asked_of_others = run(tmp_path / "other", others, mode, **seen)
    # Cases go on side by side: each has an order of its own.
    assert sorted(asked_of_others, key=itemgetter(0)) == sorted(asked, key=itemgetter(0))
    assert leaks([body for _, body in asked], of[0], marks=MARKS[:7]) == []
    # The marks of the case made by hand are seen where they stand.
    _, asked = run(tmp_path / "marked", [marked], mode, enabled=TOOLS[:3])
    assert leaks([body for _, body in asked], marked) == []
    assert leaks([marked.as_json()], marked) != []
