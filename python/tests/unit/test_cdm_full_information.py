"""All information at once: its blocks and their order, and who counts how long it is."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cdm_cases import HISTORY, case, cases, table
from inference_runs import MODEL, QUICK, provider_of, run_of
from model_server import RuledEndpoint, Script, model_server
from tables import refused
from tokenizing_server import tokenizing_server

from medeval.inference import tokens
from medeval.inference.errors import CallFailedError
from medeval.inference.guard import DataUseGuard, Endpoint, RefusedError
from medeval.inference.python_model import PythonModel
from medeval.inference.run import AUDIT, RunConfig
from medeval.inference.tokens import ServerTokens, context_window
from medeval.inference.types import Sample
from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.cdm.full_information import BLOCKS, MARGIN, FullInformation, in_all_orders

ROWS = table("cdm_full_information")
USER = {"role": "user", "content": "one two three"}


def shown(of: ClinicalCase) -> str:
    return str(FullInformation(of).opening.messages[1]["content"])


def test_all_is_shown_under_its_heading_and_what_nothing_is_known_of_has_none() -> None:
    assert shown(case()) == ROWS["whole"]
    empty = case(labs=[], reports=[], cultures=[], physical_exams=" \n")
    assert shown(empty) == f"# History\n{HISTORY}"


@pytest.mark.parametrize(("changed", "line"), ROWS["lab_lines"])
def test_a_laboratory_result_shows_what_is_known_of_it(changed: dict[str, Any], line: str) -> None:
    of = case(labs=[{"itemid": 50889, "value": "9", "ref_range_upper": 5.0, **changed}])
    assert line in shown(of).splitlines()


def test_other_orders_are_further_samples_with_the_same_information() -> None:
    def texts_of(seed: int) -> list[str]:
        found = [one for of in cases(2) for one in in_all_orders(of, permute=3, seed=seed)]
        assert [(one.opening.id, one.sample) for one in found] == [
            (str(20055000 + number), sample) for number in (1, 2) for sample in range(4)
        ]
        assert found[0].order == BLOCKS
        assert all(sorted(one.order) == sorted(BLOCKS) for one in found)
        return [str(one.opening.messages[1]["content"]) for one in found]

    texts = texts_of(5)
    lines = [Counter(line for line in text.splitlines() if line) for text in texts]
    assert all(count == lines[0] for count in lines)
    assert texts[0] == texts[4] == ROWS["whole"]
    # Each its own order, and each case its own orders.
    assert len(set(texts)) == 7
    assert texts_of(5) == texts
    assert texts_of(6)[1:4] != texts[1:4]


@pytest.mark.parametrize(("settings", "limit", "found"), ROWS["windows"])
def test_limit_and_counter_are_those_that_there_are(
    tmp_path: Path, settings: dict[str, Any], limit: int | None, found: list[Any]
) -> None:
    with tokenizing_server(Script(), **settings) as server:
        provider = provider_of(server.url, tmp_path)
        window = asyncio.run(context_window(provider, is_open=True, limit=limit, retries=QUICK))
        # Nothing of a patient is in it, and it is in the audit like all that is sent.
        counted = [body["messages"][0]["content"] for body in server.counted]
    assert counted == ["Hello"] * (found[2] == "server")
    assert len((tmp_path / AUDIT).read_text().splitlines()) == 1
    assert list(window.as_json().values()) == found


def test_tiktoken_counts_if_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = SimpleNamespace(encode=lambda text, disallowed_special: text.split())
    tiktoken = SimpleNamespace(get_encoding=lambda name: encoding)
    monkeypatch.setattr(tokens, "import_module", lambda name: {"tiktoken": tiktoken}[name])
    provider = PythonModel(lambda item: "A", MODEL, DataUseGuard({}, tmp_path / AUDIT))
    window = asyncio.run(context_window(provider, is_open=False))
    assert window.as_json()["tokens_counted_by"] == "tiktoken"
    assert asyncio.run(window.counter.count(Sample("a", [USER]))) == 3 + 4 + 3


@pytest.mark.parametrize(("rules", "count", "requests", "texts"), ROWS["counts"])
def test_a_count_that_fails_is_tried_again_then_an_error(
    tmp_path: Path, rules: list[Any], count: int | None, requests: int, texts: list[str]
) -> None:
    async def counted(url: str) -> int | None:
        provider = provider_of(url, tmp_path)
        system = {"role": "system", "content": "s"}
        try:
            return await ServerTokens(provider, QUICK).count(Sample("a", [system, USER], "open"))
        except CallFailedError:
            return None
        finally:
            await provider.close()

    with model_server(RuledEndpoint(rules).script) as server:
        assert asyncio.run(counted(server.url)) == count
        assert server.seen.requests == requests
        assert [one["content"] for one in server.seen.bodies[-1]["messages"]] == texts


def test_texts_are_counted_behind_the_same_gate(tmp_path: Path) -> None:
    of = case(data_class="credentialed", physical_exams="early " * 600)
    answer = '{"diagnosis": "Colitis", "treatment": []}'
    with tokenizing_server(Script(reply=lambda body: answer), limit=900) as server:
        undeclared = provider_of(server.url, tmp_path)
        refused("", asyncio.run, context_window(undeclared, is_open=False), error=RefusedError)
        assert (server.lookups, server.server.seen.bytes, server.counted) == (0, 0, [])
        # Even where the window is known, no word of the case is counted by the endpoint.
        window = asyncio.run(context_window(undeclared, is_open=True, margin=MARGIN))
        episodes = [FullInformation(of, window)]
        with pytest.raises(RefusedError):
            run_of(tmp_path / "refused", undeclared).execute(episodes, RunConfig())
        assert (server.server.seen.bytes, len(server.counted)) == (0, 1)
        declared = {server.url: Endpoint(base_url=server.url, runs_locally=True)}
        local = provider_of(server.url, tmp_path, DataUseGuard(declared, tmp_path / "audit"))
        window = asyncio.run(context_window(local, is_open=False, margin=MARGIN))
        episodes = [FullInformation(of, window)]
        run_of(tmp_path / "local", local).execute(episodes, RunConfig())
        assert any("early" in str(body) for body in server.counted)
    audit = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert {(line["data_class"], line["ground"]) for line in audit} == {
        *(("open", "open"), ("credentialed", "local"))
    }
