"""Why a judge stopped is kept with its judgments, until it has come to its end."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from commands import run_medeval
from inference_runs import QUICK
from judging_runs import (
    GOOD,
    QUICKLY,
    RUBRIC,
    judge_at,
    judged,
    marker_of,
    subjects,
    verdict,
)
from model_server import BAD_KEY, QUOTA, Body, Fault, Script, model_server, slow

from medeval.errors import UserError
from medeval.inference.cost import Price, Prices
from medeval.inference.run import RunConfig
from medeval.judging.options import JudgingOptions
from medeval.judging.rubric import shipped_rubric
from medeval.judging.running import how_many, judge_all, read_results, run_judges

pytestmark = pytest.mark.slow

SUMMARIES = shipped_rubric("summarization")
ONE_BY_ONE = JudgingOptions(RunConfig(retries=QUICK, concurrency=1))


def record(folder: Path, name: str = "judge.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return found


def after(calls: int, fault: Fault) -> Script:
    """Return a script that fails from a call on."""
    seen: list[Body] = []

    def failing(body: Body, before: int) -> Fault | None:
        seen.append(body)
        return fault if len(seen) > calls else None

    return Script(fault=failing, reply=lambda body: GOOD)


def test_a_used_up_quota_is_told_by_what_is_kept_until_the_judge_goes_on(tmp_path: Path) -> None:
    listed = subjects(5)
    with model_server(after(3, QUOTA)) as server:
        ended = judged(server.url, tmp_path, listed, ONE_BY_ONE)
        jury = [judge_at(server.url)]
        kept = read_results(listed, jury, RUBRIC, tmp_path, ONE_BY_ONE)
        assert kept.judges[0].stopped == ended.judges[0].stopped == record(tmp_path)["stopped"]
        assert kept.warnings == ended.warnings
        assert kept.warnings[0].startswith(
            "The judge tested-judge stopped with 3 of 5 judged: The account's quota is used up"
        )
        assert kept.exit_code == 1
        assert how_many(listed, jury, RUBRIC, tmp_path, ONE_BY_ONE) == (3, 5)
        server.script.fault = lambda body, before: None
        judged(server.url, tmp_path, listed, ONE_BY_ONE)
        whole = read_results(listed, jury, RUBRIC, tmp_path, ONE_BY_ONE)
        assert server.seen.requests == 4 + 2
    assert record(tmp_path)["stopped"] is None
    assert (whole.judges[0].stopped, whole.warnings, whole.exit_code) == ("", (), 0)
    assert how_many(listed, jury, RUBRIC, tmp_path, ONE_BY_ONE) == (5, 5)


def test_a_judge_that_goes_on_and_stops_again_has_its_newest_reason(tmp_path: Path) -> None:
    listed = subjects(3)
    with model_server(after(1, QUOTA)) as server:
        judged(server.url, tmp_path, listed, ONE_BY_ONE)
        server.script.fault = lambda body, before: BAD_KEY
        judged(server.url, tmp_path, listed, ONE_BY_ONE)
        (judge,) = read_results(listed, [judge_at(server.url)], RUBRIC, tmp_path).judges
    assert "does not accept the key" in judge.stopped
    assert judge.judged == 1


def test_of_a_jury_only_the_judge_that_stopped_says_so(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return BAD_KEY if body["model"] == "strict" else None

    listed = subjects(4)
    with model_server(Script(fault=fault, reply=lambda body: GOOD)) as server:
        jury = [judge_at(server.url, "mild"), judge_at(server.url, "strict")]
        run_judges(listed, jury, RUBRIC, tmp_path, JudgingOptions(QUICKLY))
        mild, strict = read_results(listed, jury, RUBRIC, tmp_path).judges
        assert how_many(listed, jury, RUBRIC, tmp_path) == (4, 8)
    assert (mild.stopped, mild.warnings()) == ("", [])
    assert strict.warnings()[0].startswith("The judge strict stopped with 0 of 4 judged: ")
    assert record(tmp_path, "judge-mild.json")["stopped"] is None
    assert "HTTP 401" in record(tmp_path, "judge-strict.json")["stopped"]


def test_a_limit_on_cost_that_is_met_is_kept(tmp_path: Path) -> None:
    price = Price(model="tested-judge", input=Decimal(1000), output=Decimal(1000))
    run = RunConfig(
        retries=QUICK, concurrency=1, prices=Prices(price=(price,)), max_cost=Decimal(5)
    )
    listed = subjects(60)
    with model_server(Script(reply=lambda body: GOOD)) as server:
        ended = judged(server.url, tmp_path, listed, JudgingOptions(run))
        kept = read_results(listed, [judge_at(server.url)], RUBRIC, tmp_path)
    done = server.seen.requests
    assert 0 < done < 60
    assert f"stopped with {done} of 60 judged: The next call could exceed" in kept.warnings[0]
    assert kept.judges[0].stopped == ended.judges[0].stopped


def test_a_judging_that_was_ended_from_outside_says_so(tmp_path: Path) -> None:
    listed = subjects(6)
    script = Script(fault=lambda body, before: slow(0.1), reply=lambda body: GOOD)

    async def ended_early(jury: list[Any]) -> None:
        await asyncio.wait_for(judge_all(listed, jury, RUBRIC, tmp_path, ONE_BY_ONE), 0.35)

    with model_server(script) as server:
        jury = [judge_at(server.url)]
        with pytest.raises(TimeoutError):
            asyncio.run(ended_early(jury))
        (judge,) = read_results(listed, jury, RUBRIC, tmp_path).judges
        assert judge.judged < 6
        assert judge.stopped.startswith("It was ended from outside.")
        script.fault = lambda body, before: None
        judged(server.url, tmp_path, listed, ONE_BY_ONE)
    assert read_results(listed, jury, RUBRIC, tmp_path).warnings == ()


def test_repeats_that_an_audit_did_not_get_are_nothing_to_a_whole_judging(tmp_path: Path) -> None:
    listed = subjects(3)
    more = JudgingOptions(ONE_BY_ONE.run, repeats=3)
    with model_server(Script(reply=lambda body: GOOD)) as server:
        jury = [judge_at(server.url)]
        judged(server.url, tmp_path, listed, ONE_BY_ONE)
        server.script.fault = lambda body, before: QUOTA
        assert judged(server.url, tmp_path, listed, more).exit_code == 1
        assert read_results(listed, jury, RUBRIC, tmp_path, ONE_BY_ONE).warnings == ()
        (judge,) = read_results(listed, jury, RUBRIC, tmp_path, more).judges
    assert judge.warnings()[0].startswith("The judge tested-judge stopped with 3 of 9 judged: ")


def test_a_record_of_before_knows_of_no_stop(tmp_path: Path) -> None:
    listed = subjects(2)
    with model_server(after(1, QUOTA)) as server:
        judged(server.url, tmp_path, listed, ONE_BY_ONE)
        content = record(tmp_path)
        del content["stopped"]
        (tmp_path / "judge.json").write_text(json.dumps(content), encoding="utf-8")
        (judge,) = read_results(listed, [judge_at(server.url)], RUBRIC, tmp_path).judges
    assert judge.stopped == ""
    assert judge.judged == 1


@pytest.mark.parametrize("missing", ["model", "endpoint", "parameters", "prompt_version"])
def test_a_record_that_is_none_is_told(tmp_path: Path, missing: str) -> None:
    listed = subjects(1)
    with model_server(Script(reply=lambda body: GOOD)) as server:
        judged(server.url, tmp_path, listed)
        content = record(tmp_path)
        del content["settings"][missing]
        for text in (json.dumps(content), json.dumps({"settings": []}), "[]", "{"):
            (tmp_path / "judge.json").write_text(text, encoding="utf-8")
            with pytest.raises(UserError, match=r"judge\.json is not the record of a run"):
                read_results(listed, [judge_at(server.url)], RUBRIC, tmp_path)


def test_a_score_says_which_judge_stopped_until_it_has_gone_on(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    rows = "".join(
        f"  - {{input: {{document: case {number} has fever.}}, output: {{summary: fever.}}}}\n"
        for number in range(4)
    )
    file.write_text(
        "task_id: own\ntask_type: summarization\ndata_class: open\njudge: summarization\n"
        f"metrics: [rouge_l]\ndataset:\n{rows}",
        encoding="utf-8",
    )

    def good(body: Body) -> str:
        return f"{marker_of(body)}\n{verdict(*[4] * len(SUMMARIES.names), rubric=SUMMARIES)}"

    script = after(1, QUOTA)
    script.reply = good
    with model_server(script) as server:
        done = run_medeval(
            "run", "--task", file, "--model", "demo", "--judge-model", "judge-a",
            "--judge-base-url", server.url, "--concurrency", "1", "--out", tmp_path / "runs",
        )  # fmt: skip
        assert done.returncode == 1
        (folder,) = (tmp_path / "runs").iterdir()
        said = "The judge judge-a stopped with 1 of 4 judged: The account's quota is used up"
        assert said in done.stderr
        scored = run_medeval("score", "--task", file, folder)
        assert said in scored.stderr
        (judge,) = judging_of(folder)["judges"]
        assert "quota" in judge["stopped"]
        assert said in judging_of(folder)["warnings"][0]
        script.fault = lambda body, before: None
        assert run_medeval("judge", folder).returncode == 0
    whole = run_medeval("score", "--task", file, folder)
    assert "stopped" not in whole.stderr
    assert judging_of(folder)["judges"][0]["stopped"] is None
    assert judging_of(folder)["warnings"] == []


def judging_of(folder: Path) -> dict[str, Any]:
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = report["detailed_results"][0]["metadata"]["judging"]
    return found
