"""The task CDM: what a score is made of, what is said beside it, and the built-in models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from builds import Build
from cdm_bedside import MARKS, export_of, leaks
from cdm_cases import case, facts, names

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
from medeval.tasks.cdm.run_scores import (
    Transcript,
    order_sensitivity,
    read_transcripts,
    score_of,
    scored,
)
from medeval.tasks.cdm.scores import DIAGNOSIS
from medeval.tasks.cdm.task import CdmOptions, CdmTask
from medeval.tasks.cdm.text_protocol import FinalAnswer
from medeval.tasks.cdm.tools import TOOLS
from medeval.tasks.registry import start
from medeval.tasks.self_check import check_task
from medeval.tasks.task import Method

RIGHT = FinalAnswer("appendicitis", ("appendectomy",))
WRONG = FinalAnswer("gastritis", ("rest",))


@pytest.mark.parametrize("mode", ["tools", "full_information"])
def test_gold_scores_most_silence_none_shuffled_gold_chance(mode: str, asked_export: Path) -> None:
    checks = list(check_task(start("cdm", {"cases": str(asked_export), "mode": mode})))
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == (15 if mode == "tools" else 7)


def ended(
    answer: FinalAnswer | None,
    sample: int = 0,
    number: int = 1,
    outcome: Outcome | None = Outcome.ANSWERED,
    **changed: Any,
) -> Transcript:
    changed = {"calls": (), **changed}
    made = Transcript(case(number), sample, outcome, answer=answer, **changed)
    return scored([made], facts(), 2)[0]


def item_scores(transcripts: Sequence[Transcript]) -> dict[str, list[float | None]]:
    found = score_of(transcripts, facts(), {"model": "m", "data": {}}, Method(n_iters=0))
    return dict(found.result.item_scores or {})


def test_a_diagnosis_that_failed_is_wrong_and_one_that_was_not_asked_says_nothing() -> None:
    transcripts = [ended(RIGHT, 0), ended(RIGHT, 1)]
    transcripts += [ended(RIGHT, 0, 2), ended(None, 1, 2, Outcome.ERRORED)]
    transcripts += [ended(RIGHT, 0, 3), ended(None, 1, 3, None)]
    transcripts += [ended(WRONG, 0, 4), ended(WRONG, 1, 4)]
    found, _ = order_sensitivity(transcripts)
    assert (found["orders"], found["cases"], found["n_incomplete"]) == (2, 3, 1)
    assert found["diagnosis_by_order"] == pytest.approx([2 / 3, 1 / 3])
    assert found["n_changed"] == 1
    # Of several orders the case's own is scored.
    assert item_scores(transcripts)[DIAGNOSIS] == [1.0, 1.0, 1.0, 0.0]


def test_a_limit_is_asked_for_again_and_chance_is_of_one_pathology(tmp_path: Path) -> None:
    cases = [case(1), case(2), case(3, pathology="pancreatitis")]
    task = start("cdm", {"cases": str(export_of(tmp_path, cases))})
    settings = task.settings()
    context = {"limit": 4096, "limit_from": "server", "tokens_counted_by": "server"}
    for limit_from, limit in (("server", None), ("user", 4096)):
        settings["cdm"]["context"] = {**context, "limit_from": limit_from}
        record: Any = SimpleNamespace(settings=settings, folder=tmp_path)
        assert CdmTask.resume(record, {}).options.context_limit == limit
    # Of the six ordered pairs of cases two are of one pathology.
    assert task.chance() == pytest.approx(1 / 3)


# The demo model: shown nothing that it may not see


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
