"""Why a judge stopped is kept with its judgments, until it has come to its end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from inference_runs import QUICK
from judging_runs import (
    GOOD,
    RUBRIC,
    How,
    judge_at,
    judged,
    judging,
    read_results,
    subjects,
)
from model_server import QUOTA, Body, Fault, Script, model_server, slow

from medeval.errors import UserError
from medeval.inference.run import RunConfig

pytestmark = pytest.mark.slow

ONE_BY_ONE = How(RunConfig(retries=QUICK, concurrency=1))


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
        assert judging(listed, jury, RUBRIC, tmp_path).verdicts() == (3, 5)
        server.script.fault = lambda body, before: None
        judged(server.url, tmp_path, listed, ONE_BY_ONE)
        whole = read_results(listed, jury, RUBRIC, tmp_path, ONE_BY_ONE)
        assert server.seen.requests == 4 + 2
    assert record(tmp_path)["stopped"] is None
    assert (whole.judges[0].stopped, whole.warnings, whole.exit_code) == ("", (), 0)
    assert judging(listed, jury, RUBRIC, tmp_path).verdicts() == (5, 5)


def test_a_judging_that_was_ended_from_outside_says_so(tmp_path: Path) -> None:
    listed = subjects(6)
    script = Script(fault=lambda body, before: slow(0.1), reply=lambda body: GOOD)

    async def ended_early(jury: list[Any]) -> None:
        await asyncio.wait_for(
            judging(listed, jury, RUBRIC, tmp_path).execute(ONE_BY_ONE.run), 0.35
        )

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
    more = How(ONE_BY_ONE.run, repeats=3)
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
