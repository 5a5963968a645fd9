"""`run` and `score` of CDM: the demo's cases, a model behind an endpoint, groups, both versions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import answering, calling, demo_reply
from cdm_cases import rows
from cdm_runs import exported, folder_of, lines, plain, run_cdm, scored
from commands import run_medeval
from model_server import Body, Script, error, model_server

from medeval.cdm.cases import read_case_files
from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard
from medeval.inference.run import AUDIT, Run, RunConfig, settings_of
from medeval.tasks.catalogue import begin
from medeval.tasks.self_check import check_task
from medeval.tasks.task import ORACLE

MODES = ("tools", "full_information")
EXAMINE: tuple[str, dict[str, Any]] = ("physical_examination", {})
TOO_LONG = error(400, "maximum context length is 100 tokens", code="context_length_exceeded")


@pytest.mark.parametrize("mode", MODES)
def test_gold_scores_the_maximum_silence_nothing_and_shuffled_gold_like_chance(
    mode: str, asked_export: Path
) -> None:
    task = begin("cdm", {"cases": str(asked_export), "mode": mode})
    checks = list(check_task(task))
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == (15 if mode == "tools" else 7)


def test_the_demo_model_goes_to_the_bedside_offline(tmp_path: Path, asked_export: Path) -> None:
    done = run_cdm(tmp_path, asked_export, "--model", "demo")
    assert done.returncode == 0, done.stderr
    folder = folder_of(done)
    result = scored(folder, "--by", "gender,age_band,pathology")
    assert result["metadata"]["ledger"]["answered"] == 118
    assert 0.8 < result["metrics_results"]["Diagnosis"] < 1
    low, high = (result["intervals"]["Diagnosis"][end] for end in ("low", "high"))
    assert low < result["metrics_results"]["Diagnosis"] < high
    assert set(result["metadata"]["by_pathology"]) == {
        "appendicitis", "cholecystitis", "diverticulitis", "pancreatitis",
    }  # fmt: skip
    assert result["metadata"]["version_1"]["Diagnosis"] <= 1
    shown = result["metadata"]["subgroups"]["attributes"]
    assert set(shown) == {"gender", "age_band"}
    hidden = [group for group in shown["age_band"]["groups"] if group["suppressed"]]
    assert hidden
    assert all(group["n"] is None and not group["scores"] for group in hidden)
    # Two men of the demo have diverticulitis: with a gap anybody could work that out.
    assert shown["gender"]["gaps"] == []
    told = scored(folder, "--by", "gender", "--min-cell", "1")["metadata"]["subgroups"]
    assert told["attributes"]["gender"]["gaps"][0]["p_holm"] is not None
    # Started again there is nothing left to be asked.
    again = run_medeval("run", "--resume", folder)
    assert again.returncode == 0, again.stderr
    assert re.search(r"of them before\W+118", again.stdout)


def test_a_permuted_run_that_stopped_keeps_its_denominator(
    tmp_path: Path, asked_export: Path
) -> None:
    done = run_cdm(
        tmp_path, asked_export, "--model", "demo", "--mode", "full_information", "--permute", "2",
        "--limit", "5",
    )  # fmt: skip
    folder = folder_of(done)
    journal = folder / "responses.jsonl"
    kept = lines(folder)
    first = exported(asked_export)[0]["hadm_id"]
    kept.remove(next(one for one in kept if (one["item"], one["sample"]) == (str(first), 0)))
    journal.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
    done = run_medeval("score", "--task", "cdm", folder)
    assert done.returncode == 1
    assert "Left out are 1 cases that were not asked in every order." in plain(done.stdout)
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    metadata = report["detailed_results"][0]["metadata"]
    assert (metadata["n"], metadata["n_failed"], metadata["failures"]) == (5, 1, {"not_asked": 1})
    order = metadata["order_sensitivity"]
    assert (order["orders"], order["cases"], order["n_incomplete"]) == (3, 4, 1)


def test_a_function_goes_to_the_bedside_by_text_only(tmp_path: Path, asked_export: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        "def reply(messages):\n    return 'Diagnosis: appendicitis\\nTreatment: surgery'\n",
        encoding="utf-8",
    )
    refused = run_cdm(tmp_path / "no", asked_export, "--model", f"{path}:reply")
    assert refused.returncode == 2
    assert "--tool-protocol text" in plain(refused.stderr)
    assert not list((tmp_path / "no").glob("*/responses.jsonl"))
    done = run_cdm(
        tmp_path / "yes", asked_export, "--model", f"{path}:reply", "--tool-protocol", "text",
        "--limit", "2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [line["outcome"] for line in lines(folder_of(done))] == ["answered"] * 2


def test_each_case_has_a_line_with_its_score_or_failure(tmp_path: Path, asked_export: Path) -> None:
    cases = exported(asked_export)[:12]
    silent = cases[0]["history_of_present_illness"]

    def reply(body: Body) -> str | dict[str, Any]:
        return "No idea." if silent in body["messages"][1]["content"] else demo_reply(body)

    with model_server(Script(reply=reply)) as server:
        done = run_cdm(
            tmp_path, asked_export, "--model", "m", "--base-url", server.url, "--limit", "12"
        )
    folder = folder_of(done)
    result = scored(folder)
    path = folder / "case_scores.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    kept = lines(folder, path.name)
    assert [line["hadm_id"] for line in kept] == [case["hadm_id"] for case in cases]
    assert [line["pathology"] for line in kept] == [case["pathology"] for case in cases]
    assert (kept[0]["outcome"], kept[0]["failure"]) == ("unparsed", "unparsed")
    assert "scores" not in kept[0]
    values = result["item_scores"]["Laboratory Tests"]
    assert [line["scores"]["Laboratory Tests"] for line in kept[1:]] == values[1:]
    # What is asked for by pathology adds up to the scores: a category is a point.
    for pathology, kinds in result["metadata"]["rates_by_pathology"].items():
        of = [value for line, value in zip(kept, values, strict=True)
              if line["pathology"] == pathology]  # fmt: skip
        asked = kinds["Laboratory Tests"].values()
        assert sum(one["asked"] for one in asked) == sum(of)
        assert {one["n"] for one in asked} == {len(of)}
        assert all(one["share"] == one["asked"] / one["n"] for one in asked)
        images = [line["scores"]["Imaging"] for line in kept
                  if line["pathology"] == pathology and "scores" in line]  # fmt: skip
        assert kinds["Imaging"]["acceptable"]["asked"] == sum(value > 0 for value in images)
        assert kinds["Imaging"]["preferred"]["asked"] == sum(value >= 2 for value in images)
        needed = kinds["Treatment Requested"]
        assert needed
        assert all(0 < one["n"] <= len(of) for one in needed.values())
    # A comparison reads the run and writes nothing into it.
    path.unlink()
    compared = run_medeval("compare", "--task", "cdm", folder, folder)
    assert compared.returncode in (0, 2), compared.stderr
    assert not path.exists()


def test_a_run_without_tools_and_answers_shows_no_scores_of_tools(
    tmp_path: Path, asked_export: Path
) -> None:
    with model_server(Script(reply=lambda body: "No idea.")) as server:
        done = run_cdm(
            tmp_path, asked_export, "--model", "m", "--base-url", server.url, "--limit", "4",
            "--mode", "full_information",
        )  # fmt: skip
    result = scored(folder_of(done), "--by", "gender", "--min-cell", "1")
    wanted = {"Diagnosis", "Gracious Diagnosis", "Treatment Requested"}
    assert result["metrics_results"] == dict.fromkeys(wanted, 0.0)
    groups = result["metadata"]["subgroups"]["attributes"]["gender"]["groups"]
    assert all(set(group["scores"]) == wanted for group in groups)
    assert set(result["metadata"]["by_pathology"]["appendicitis"]) == wanted


@pytest.mark.parametrize(("given", "told"), rows("options_that_cannot_be_meant_are_refused"))
def test_options_that_cannot_be_meant_are_refused(
    asked_export: Path, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(UserError, match=told):
        begin("cdm", {"cases": str(asked_export), **given})


def test_a_case_that_comes_twice_is_told(tmp_path: Path, asked_export: Path) -> None:
    for name in ("benchmark.jsonl", "lab_test_mapping.json"):
        (tmp_path / name).write_bytes((asked_export / name).read_bytes())
    text = (asked_export / "benchmark.jsonl").read_text(encoding="utf-8")
    first = text.split("\n")[0]
    (tmp_path / "benchmark.jsonl").write_text(text + first + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"line 1\d\d: case \d+ stands in line 1 already"):
        read_case_files(tmp_path)


def test_credentialed_cases_go_to_no_undeclared_endpoint(
    tmp_path: Path, asked_export: Path
) -> None:
    cases = tmp_path / "cases"
    cases.mkdir()
    (cases / "lab_test_mapping.json").write_bytes(
        (asked_export / "lab_test_mapping.json").read_bytes()
    )
    rows = exported(asked_export)[:2]
    for row in rows:
        del row["data_class"]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (cases / "benchmark.jsonl").write_text(text, encoding="utf-8")
    with model_server(Script(reply=demo_reply)) as server:
        for mode in MODES:
            done = run_cdm(
                tmp_path / "runs", cases, "--model", "m", "--base-url", server.url, "--mode", mode,
                "--endpoints", tmp_path / "none.toml",
            )  # fmt: skip
            assert done.returncode == 2
            assert "Nothing was sent" in done.stderr
        assert server.seen.connections == 0


def test_no_case_reaches_a_report_or_a_log(tmp_path: Path, asked_export: Path) -> None:
    done = run_cdm(tmp_path, asked_export, "--model", "demo", "--limit", "3")
    folder = folder_of(done)
    scored(folder)
    case = exported(asked_export)[0]
    told = (folder / "scores.json").read_text(encoding="utf-8") + done.stdout + done.stderr
    told += (folder / AUDIT).read_text(encoding="utf-8")
    for text in (case["history_of_present_illness"], case["physical_exams"]):
        assert text.strip()[:60] not in told


def test_a_batch_of_a_conversation_is_refused(tmp_path: Path, asked_export: Path) -> None:
    done = run_cdm(
        tmp_path, asked_export, "--model", "m", "--base-url", "http://127.0.0.1:9/v1",
        "--export-prompts", tmp_path / "batch.jsonl",
    )  # fmt: skip
    assert done.returncode == 2
    assert "conversation" in done.stderr


def test_two_models_are_compared_case_by_case(tmp_path: Path, asked_export: Path) -> None:
    demo = folder_of(run_cdm(tmp_path, asked_export, "--model", "demo"))
    task = begin("cdm", {"cases": str(asked_export)})
    place = tmp_path / "oracle"
    place.mkdir()
    provider = task.local_provider(ORACLE, DataUseGuard({}, place / AUDIT))
    task = task.prepared(provider)
    settings = {**settings_of(provider, task.prompt_version), **task.settings()}
    run = Run(place, settings, provider, about={"task": task.name})
    run.execute(task.samples(), RunConfig())
    done = run_medeval("compare", "--task", "cdm", place, demo, "--metric", "Treatment Requested")
    assert done.returncode == 0, done.stderr
    assert "oracle is better than" in " ".join(done.stdout.split())
    assert " on Treatment Requested by " in " ".join(done.stdout.split())
    # All right is a share like any other: 118 of 118 has Wilson's interval.
    perfect = run_medeval("score", "--task", "cdm", place)
    assert perfect.returncode == 0, perfect.stderr
    (line,) = [one for one in perfect.stdout.splitlines() if re.match(r"\W*Diagnosis ", one)][:1]
    assert "0.9685 to 1.0000" in line


def test_what_an_endpoint_does_ends_in_counted_outcomes(tmp_path: Path, asked_export: Path) -> None:
    cases = exported(asked_export)[:6]
    number_of = {case["history_of_present_illness"]: place for place, case in enumerate(cases)}

    def place_of(body: Body) -> int:
        said = body["messages"][1]["content"]
        return next(place for history, place in number_of.items() if history in said)

    def reply(body: Body) -> str | dict[str, Any]:
        first = len(body["messages"]) == 2
        match place_of(body):
            case 0:  # broken arguments, then an answer
                return calling(("request_lab_test", "{broken")) if first else answering()
            case 1:  # a tool that there is not
                return calling(("take_temperature", {})) if first else answering()
            case 2:  # calls without end
                can_call = "tools" in body and body.get("tool_choice") != "none"
                return calling(EXAMINE) if can_call else answering()
            case 3:  # three at once
                calls = [("physical_examination", {})] * 2 + [
                    ("request_lab_test", {"test_name": "WBC"})
                ]
                return calling(*calls) if first else answering()
            case 4:
                return "I cannot decide."
            case _:
                return demo_reply(body)

    def fault(body: Body, before: int) -> Any:
        if place_of(body) == 5:
            return error(
                400, "maximum context length is 100 tokens", code="context_length_exceeded"
            )
        return None

    with model_server(Script(reply=reply, fault=fault)) as server:
        done = run_cdm(
            tmp_path, asked_export, "--model", "m", "--base-url", server.url, "--limit", "6",
            "--max-rounds", "3",
        )  # fmt: skip
    assert done.returncode == 1
    folder = folder_of(done)
    result = scored(folder)
    ledger = result["metadata"]["ledger"]
    assert (ledger["asked"], ledger["answered"], ledger["unparsed"], ledger["errored"]) == (
        6,
        4,
        1,
        1,
    )
    assert result["metadata"]["n_failed"] == 2
    assert sum(result["metadata"]["failures"].values()) == 2
    assert result["metadata"]["failures"]["context_limit"] == 1
    outputs = {row["hadm_id"]: out for row, out in
               zip(result["inputs"], result["model_outputs"], strict=True)}  # fmt: skip
    by_place = [outputs[case["hadm_id"]] for case in cases]
    assert [one["invalid_calls"] for one in by_place[:4]] == [1, 1, 0, 0]
    assert (by_place[2]["rounds"], by_place[2]["reason"]) == (3, "step_limit")
    # The failed cases stay in the denominator, and the mean over the others stands beside it.
    values = result["metrics_results"]
    assert values["Diagnosis"] == pytest.approx(values["Diagnosis (answered only)"] * 4 / 6)
