"""Rules of the task CDM, from transcripts to reports, that a small change could break unseen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import case, export_of, facts, mapping

from medeval.cdm.cases import read_case_files
from medeval.cdm.context import MARGIN as LOOP_MARGIN
from medeval.cdm.episode import Transcript
from medeval.cdm.full_information import MARGIN as FULL_MARGIN
from medeval.cdm.scores import COUNTS, DIAGNOSIS
from medeval.cdm.tool_protocols import FinalAnswer
from medeval.cdm.tools import Toolbox
from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard
from medeval.inference.run import AUDIT, RESPONSES, Run, RunConfig, settings_of
from medeval.inference.types import Outcome
from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.catalogue import begin
from medeval.tasks.cdm import options_of
from medeval.tasks.cdm_score import failure_of, order_sensitivity, rates, score_of
from medeval.tasks.task import DEMO, EMPTY, Method, TaskScore

PLAIN = Method(n_iters=0)
RIGHT = FinalAnswer("appendicitis", ("appendectomy",))
WRONG = FinalAnswer("gastritis", ("rest",))


def ended(
    answer: FinalAnswer | None,
    sample: int = 0,
    number: int = 1,
    outcome: Outcome | None = Outcome.ANSWERED,
    **changed: Any,
) -> Transcript:
    return Transcript(case(number), sample, outcome, answer=answer, **changed)


def failed(sample: int = 0, number: int = 1, **changed: Any) -> Transcript:
    return ended(None, sample, number, Outcome.ERRORED, **changed)


def score(transcripts: Sequence[Transcript], method: Method = PLAIN) -> TaskScore:
    return score_of(transcripts, facts(), "m", {"data": {}}, method)


def test_a_diagnosis_that_failed_is_wrong_and_one_that_was_not_asked_says_nothing() -> None:
    transcripts = [
        *(ended(RIGHT, sample) for sample in (0, 1)),
        ended(RIGHT, 0, 2),
        failed(1, 2),
        ended(RIGHT, 0, 3),
        ended(None, 1, 3, None),
        *(ended(WRONG, sample, 4) for sample in (0, 1)),
    ]
    found = order_sensitivity(transcripts, facts(), 2)
    assert found is not None
    assert (found["orders"], found["cases"], found["n_incomplete"]) == (2, 3, 1)
    assert found["diagnosis_by_order"] == pytest.approx([2 / 3, 1 / 3])
    assert found["n_changed"] == 1
    assert order_sensitivity(transcripts[:1], facts(), 2) is None


def test_of_several_orders_the_case_s_own_is_scored() -> None:
    found = score([ended(WRONG), ended(RIGHT, 1), ended(RIGHT, 0, 2), ended(WRONG, 1, 2)])
    assert found.result.metrics_results[DIAGNOSIS] == 0.5
    assert (found.result.item_scores or {})[DIAGNOSIS] == [0.0, 1.0]


def test_a_case_that_failed_has_a_score_of_0_and_no_counts() -> None:
    scores = score([ended(RIGHT, calls=()), failed(number=2)]).result.item_scores or {}
    assert scores[DIAGNOSIS] == [1.0, 0.0]
    for name in COUNTS:
        assert scores[name] == [0.0, None]


@pytest.mark.parametrize(
    ("method", "told"),
    [(Method(0, groupings=("race",)), "--by race"), (Method(0, cluster="stay"), "--cluster stay")],
)
def test_cases_have_their_own_groups_and_are_drawn_by_themselves(method: Method, told: str) -> None:
    with pytest.raises(UserError, match=told):
        score([ended(RIGHT)], method)


@pytest.mark.parametrize(
    ("transcript", "failure"),
    [
        (ended(RIGHT), None),
        (ended(None, outcome=None), "not_asked"),
        (failed(reason="context_limit", error="request"), "context_limit"),
        (failed(error="timeout"), "timeout"),
        (ended(None, outcome=Outcome.REFUSED), "refused"),
        (ended(None, outcome=Outcome.UNPARSED, reason="step_limit"), "step_limit"),
    ],
)
def test_why_a_case_failed_in_one_word(transcript: Transcript, failure: str | None) -> None:
    assert failure_of(transcript) == failure


@pytest.mark.parametrize(("points", "acceptable", "preferred"), [(0, 0, 0), (1, 1, 0), (2, 1, 1)])
def test_imaging_is_acceptable_from_one_point_on_and_preferred_from_two(
    points: int, acceptable: int, preferred: int
) -> None:
    modality = {0: "Radiograph", 1: "CT", 2: "Ultrasound"}[points]
    tools = Toolbox(case(), facts(), mapping=mapping())
    call = tools.call("request_imaging", {"region": "Abdomen", "modality": modality}).record
    one = ended(RIGHT, calls=({**call, "round": 1},))
    found = rates([one], facts(), 2)["appendicitis"]["Imaging"]
    assert (found["acceptable"]["asked"], found["preferred"]["asked"]) == (acceptable, preferred)


def of_gender(number: int, gender: str) -> ClinicalCase:
    person = {"age": 40, "gender": gender, "age_at_admission": 40}
    return case(number, demographics=person)


@pytest.mark.parametrize(("n_wrong", "is_told"), [(0, False), (3, False), (12, True)])
def test_a_gap_between_groups_is_told_if_it_is_more_than_chance(
    n_wrong: int, is_told: bool
) -> None:
    transcripts = []
    for number, gender in enumerate("FM" * 12):
        is_wrong = gender == "M" and number // 2 < n_wrong
        answer = WRONG if is_wrong else RIGHT
        of = of_gender(number, gender)
        transcripts.append(Transcript(of, 0, Outcome.ANSWERED, answer=answer))
    found = score(transcripts, Method(0, groupings=("gender",)))
    assert any("Diagnosis differs by gender: F less M" in one for one in found.warnings) is is_told
    assert bool(found.warnings) is is_told
    # All gaps stand in the table, told or not.
    (table,) = (one for one in found.tables if one.title == "gaps between groups")
    (p_value,) = [row[5] for row in table.rows if row[0] == DIAGNOSIS]
    assert (float(p_value) < 0.05) is is_told
    if n_wrong == 3:
        assert 0.05 < float(p_value) < 0.95


def test_what_a_case_needs_is_known_of_one_that_failed_too() -> None:
    treated = {
        "primary_diagnosis": ["Acute appendicitis"],
        "treatments": [{"title": "appendectomy", "icd_code": None, "is_coded": False}],
    }
    of = case(ground_truth=treated)
    other = case(2, ground_truth={"primary_diagnosis": ["Appendicitis"], "treatments": []})
    transcripts = [
        Transcript(of, 0, Outcome.ERRORED),
        Transcript(other, 0, Outcome.ANSWERED, answer=RIGHT),
    ]
    found = rates(transcripts, facts(), 2)
    assert set(found) == {"appendicitis"}
    # Without tools nothing could be asked for but treatments.
    assert set(found["appendicitis"]) == {"Treatment Requested"}
    needed = found["appendicitis"]["Treatment Requested"]
    counts = {name: (one["n"], one["asked"]) for name, one in needed.items()}
    always = [name for name, (n, _) in counts.items() if n == 2]
    operated = [name for name, (n, _) in counts.items() if n == 1]
    assert always
    # Only the one that failed needs it, so that nobody asked for it.
    assert [counts[name] for name in operated] == [(1, 0)] * len(operated)
    assert len(operated) == 1


def run_in(folder: Path, options: dict[str, Any], kind: str = DEMO, limit: int = 1) -> Any:
    """Ask a built-in model about the first cases and return the task."""
    task = begin("cdm", options)
    folder.mkdir()
    provider = task.local_provider(kind, DataUseGuard({}, folder / AUDIT))
    task = task.prepared(provider)
    settings = {**settings_of(provider, task.prompt_version), **task.settings()}
    run = Run(folder, settings, provider, about={"task": task.name})
    run.update("limit", limit)
    run.execute(task.samples(limit), RunConfig())
    return task


def test_an_order_that_no_case_was_asked_in_is_missing_all_the_same(
    tmp_path: Path, asked_export: Path
) -> None:
    folder = tmp_path / "run"
    options = {"cases": str(asked_export), "mode": "full_information", "permute": 2}
    task = run_in(folder, options)
    journal = folder / RESPONSES
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    kept = [line for line in lines if line["sample"] < 2]
    assert (len(lines), len(kept)) == (3, 2)
    journal.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
    found = task.score(folder, PLAIN).result.metadata["order_sensitivity"]
    assert (found["orders"], found["cases"], found["n_incomplete"]) == (3, 0, 1)


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "full_information", "permute": 2, "permute_seed": 7},
        {"tool_protocol": "text", "max_rounds": 3, "max_calls": 2, "tools": ["request_imaging"]},
        {"context_limit": 5000},
    ],
)
def test_a_run_goes_on_with_the_options_that_it_was_begun_with(
    tmp_path: Path, asked_export: Path, options: dict[str, Any]
) -> None:
    task = run_in(tmp_path / "one", {"cases": str(asked_export), **options})
    again = run_in(tmp_path / "two", options_of(task.settings()))
    assert again.settings() == task.settings()


def test_a_limit_that_nobody_named_is_asked_for_again(asked_export: Path) -> None:
    settings = begin("cdm", {"cases": str(asked_export)}).settings()
    context = {"limit": 4096, "limit_from": "server", "tokens_counted_by": "server"}
    settings["cdm"]["context"] = context
    assert options_of(settings)["context_limit"] is None
    settings["cdm"]["context"] = {**context, "limit_from": "user"}
    assert options_of(settings)["context_limit"] == 4096


@pytest.mark.parametrize(
    ("mode", "margin"), [("tools", LOOP_MARGIN), ("full_information", FULL_MARGIN)]
)
def test_each_way_of_asking_keeps_its_own_room_free(
    tmp_path: Path, asked_export: Path, mode: str, margin: int
) -> None:
    options = {"cases": str(asked_export), "mode": mode, "context_limit": 5000}
    task: Any = begin("cdm", options)
    budget = task.prepared(task.local_provider(EMPTY, DataUseGuard({}, tmp_path / AUDIT))).budget
    assert budget.size == 5000 - margin


def test_runs_are_compared_by_scores_the_diagnosis_first_and_by_no_count(
    tmp_path: Path, asked_export: Path
) -> None:
    options = {"cases": str(asked_export)}
    task = run_in(tmp_path / "one", options, limit=3)
    for kind in (EMPTY, DEMO):
        run_in(tmp_path / kind, options, kind, limit=3)
        found = task.compare(tmp_path / "one", task, tmp_path / kind, Method(n_iters=20))
        names = [one.metric for one in found]
        assert names[0] == DIAGNOSIS
        assert not set(names) & set(COUNTS)
        assert {one.n for one in found} == {3}
    with pytest.raises(UserError, match="is a run of yier, not of cdm"):
        task.compare(tmp_path / "one", begin("yier", {}), tmp_path / EMPTY, Method(n_iters=20))


@pytest.mark.parametrize("name", ["benchmark.jsonl", "lab_test_mapping.json"])
def test_neither_cases_nor_tests_may_be_others_than_those_of_a_run(
    tmp_path: Path, asked_export: Path, name: str
) -> None:
    run_in(tmp_path / "run", {"cases": str(asked_export)})
    other = tmp_path / "other"
    other.mkdir()
    for one in ("benchmark.jsonl", "lab_test_mapping.json"):
        end = b"\n" if one == name else b""
        (other / one).write_bytes((asked_export / one).read_bytes() + end)
    with pytest.raises(UserError, match="SHA-256"):
        begin("cdm", {"cases": str(other)}).score(tmp_path / "run", PLAIN)


def test_cases_that_nothing_could_be_right_about_are_left_out_and_counted(tmp_path: Path) -> None:
    files = read_case_files(export_of(tmp_path, [case(1), case(2, pathology=None), case(3)]))
    assert [one.hadm_id for one in files.cases] == [20055001, 20055003]
    assert (files.without_pathology, files.about()["without_pathology"]) == (1, 1)
    none = tmp_path / "none"
    none.mkdir()
    with pytest.raises(UserError, match="no case with one of the four pathologies"):
        read_case_files(export_of(none, [case(1, pathology=None)]))


@pytest.mark.parametrize(
    ("its_class", "is_open"), [("open", True), ("credentialed", False), ("Open", False), (7, False)]
)
def test_a_class_beside_the_cases_is_open_by_that_word_alone(
    tmp_path: Path, its_class: Any, is_open: bool
) -> None:
    files = read_case_files(export_of(tmp_path, [case(1), case(2)], ["open", its_class]))
    assert files.is_open is is_open
    assert files.cases[0].data_class == "open"
    assert files.cases[1].data_class == ("open" if is_open else "credentialed")


def test_chance_is_another_case_with_the_same_pathology(tmp_path: Path) -> None:
    cases = [case(1), case(2), case(3, pathology="pancreatitis")]
    task = begin("cdm", {"cases": str(export_of(tmp_path, cases))})
    # Of the six ordered pairs of cases two are of one pathology.
    assert task.chance() == pytest.approx(1 / 3)
