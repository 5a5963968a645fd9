"""Credentialed text goes where it may, and nowhere else: not into files, logs or errors either."""

from __future__ import annotations

import json
import logging
import stat
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from inference_runs import MODEL, QUICK, ask, lines, open_item, open_items
from model_server import Fault, ModelServer, Script, error, model_server, prompt_of

from medeval.errors import UserError
from medeval.inference.endpoints import Endpoint, normalized, read_endpoints
from medeval.inference.guard import DataUseGuard, RefusedError, key_from_environment
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.python_model import PythonModel
from medeval.inference.run import AUDIT, Run, RunConfig, settings_of
from medeval.inference.types import Item, Message

TODAY = date(2026, 6, 1)
NOTE = "Mr. Quillfeather presented with rebound tenderness"
KEY = "sk-planted-4f1c9a77e0"
REMOTE = "https://models.example.org/v1"
ATTESTED = {
    "base_url": REMOTE,
    "zero_retention": True,
    "no_training": True,
    "no_human_review": True,
    "evidence": "agreement 17, section 4",
    "who": "the data steward",
    "date": date(2026, 1, 15),
    "expiry": date(2027, 1, 15),
}


def note_item(name: str = "20000001", data_class: str | None = "credentialed") -> Item:
    return Item(name, [{"role": "user", "content": f"{NOTE} ({name})"}], data_class)


def gate(folder: Path, *endpoints: Endpoint) -> DataUseGuard:
    declared = {normalized(endpoint.base_url): endpoint for endpoint in endpoints}
    return DataUseGuard(declared, folder / AUDIT, TODAY)


def local(server: ModelServer) -> Endpoint:
    return Endpoint(base_url=server.url, runs_locally=True)


def files_of(folder: Path) -> str:
    return "\n".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize("data_class", ["credentialed", None, "", "Open", "opne", "public"])
def test_an_undeclared_endpoint_receives_nothing(tmp_path: Path, data_class: str | None) -> None:
    with model_server() as server:
        with pytest.raises(RefusedError) as refusal:
            ask(server.url, tmp_path, [note_item(data_class=data_class)])
        assert (server.seen.connections, server.seen.bytes) == (0, 0)
    message = str(refusal.value)
    assert "runs_locally" in message
    assert "docs/data_use.md" in message
    assert NOTE not in message
    assert lines(tmp_path) == []
    assert not (tmp_path / AUDIT).exists()


def test_a_credentialed_item_among_open_ones_is_held_back(tmp_path: Path) -> None:
    items = [*open_items(3), note_item(), open_item("last")]
    options = RunConfig(concurrency=1, retries=QUICK)
    with model_server() as server:
        with pytest.raises(RefusedError):
            ask(server.url, tmp_path, items, options)
        assert server.seen.requests == 3
        assert not any(NOTE in prompt_of(body) for body in server.seen.bodies)
    assert [line["item"] for line in lines(tmp_path)] == ["item-000", "item-001", "item-002"]


def test_a_judge_passes_the_same_gate(tmp_path: Path) -> None:
    with model_server() as server:
        model = PythonModel(lambda messages: NOTE, MODEL, gate(tmp_path))
        Run(tmp_path, settings_of(model, "1"), model).execute([note_item()], RunConfig())

        def judge(guard: DataUseGuard) -> None:
            judge = OpenAIModel(server.url, MODEL, guard, purpose="judgment")
            files = {"file": "judge.json", "answers": "judgments.jsonl"}
            run = Run(tmp_path, settings_of(judge, "1"), judge, **files)
            run.execute([note_item()], RunConfig())

        with pytest.raises(RefusedError):
            judge(gate(tmp_path))
        assert server.seen.connections == 0
        judge(gate(tmp_path, local(server)))
    assert len((tmp_path / "judgments.jsonl").read_text().splitlines()) == 1
    audit = [json.loads(line) for line in (tmp_path / AUDIT).read_text().splitlines()]
    assert [line["purpose"] for line in audit] == ["answer", "judgment"]


def test_a_declared_local_endpoint_is_asked_and_audited(tmp_path: Path) -> None:
    items = [note_item("20000001"), note_item("20000002"), open_item("open")]
    with model_server() as server:
        ended = ask(server.url, tmp_path, items, gate=gate(tmp_path, local(server)))
        assert server.seen.requests == 3
    assert ended.progress.ledger.as_json()["answered"] == 3
    audit = [json.loads(line) for line in (tmp_path / AUDIT).read_text().splitlines()]
    keys = {line["key"]: line["item"] for line in lines(tmp_path)}
    found = {keys[line["request"]]: (line["data_class"], line["ground"]) for line in audit}
    assert found == {
        "20000001": ("credentialed", "local"),
        "20000002": ("credentialed", "local"),
        "open": ("open", "open"),
    }
    text = (tmp_path / AUDIT).read_text()
    assert NOTE not in text
    assert "20000001" not in text
    assert stat.S_IMODE((tmp_path / AUDIT).stat().st_mode) == 0o600


def test_every_call_is_audited_retries_too(tmp_path: Path) -> None:
    script = Script(lambda body, before: error(500, "failed") if before < 2 else None)
    with model_server(script) as server:
        ask(server.url, tmp_path, [open_item("one")])
    assert len((tmp_path / AUDIT).read_text().splitlines()) == 3


def test_without_an_audit_nothing_is_sent(tmp_path: Path) -> None:
    (tmp_path / AUDIT).mkdir()
    with model_server() as server:
        with pytest.raises(UserError, match="audit cannot be written"):
            ask(server.url, tmp_path, [open_item("one")])
        assert server.seen.connections == 0


def test_an_attestation_admits_until_it_expires(tmp_path: Path) -> None:
    attested = Endpoint.model_validate(ATTESTED)
    admitted = gate(tmp_path, attested)
    assert admitted.check(REMOTE, is_open=False) == "attestation"
    assert replace(admitted, today=date(2027, 1, 15)).check(REMOTE, is_open=False)
    with pytest.raises(RefusedError, match="expired on 2027-01-15"):
        replace(admitted, today=date(2027, 1, 16)).check(REMOTE, is_open=False)
    with pytest.raises(RefusedError, match="2026-01-15 lies ahead"):
        replace(admitted, today=date(2026, 1, 14)).check(REMOTE, is_open=False)


@pytest.mark.parametrize("name", sorted(set(ATTESTED) - {"base_url"}))
def test_an_attestation_without_one_of_its_parts_admits_nothing(tmp_path: Path, name: str) -> None:
    partial = Endpoint.model_validate({k: v for k, v in ATTESTED.items() if k != name})
    with pytest.raises(RefusedError, match=name):
        gate(tmp_path, partial).check(REMOTE, is_open=False)


def test_an_attested_address_is_https_or_this_machine(tmp_path: Path) -> None:
    plain = Endpoint.model_validate({**ATTESTED, "base_url": "http://models.example.org/v1"})
    with pytest.raises(RefusedError, match="not https"):
        gate(tmp_path, plain).check(plain.base_url, is_open=False)
    proxy = Endpoint.model_validate({**ATTESTED, "base_url": "http://localhost:4000/v1"})
    assert gate(tmp_path, proxy).check(proxy.base_url, is_open=False) == "attestation"


def test_a_declaration_is_for_its_own_address_only(tmp_path: Path) -> None:
    declared = gate(tmp_path, Endpoint(base_url="http://localhost:8000/v1", runs_locally=True))
    for other in (
        "http://localhost:8001/v1",
        "http://localhost:8000/v2",
        "https://localhost:8000/v1",
        "http://127.0.0.1:8000/v1",
        "http://localhost:8000/v1/../v2",
    ):
        with pytest.raises(RefusedError):
            declared.check(normalized(other), is_open=False)
    for same in ("HTTP://LOCALHOST:8000/v1/", "http://localhost.:8000/v1"):
        assert declared.check(normalized(same), is_open=False) == "local"


FILE = """
[[endpoint]]
base_url = "http://127.0.0.1:8000/v1/"
runs_locally = true

[[endpoint]]
base_url = "https://models.example.org/v1"
zero_retention = true
no_training = true
no_human_review = true
evidence = "agreement 17"
who = "the data steward"
date = 2026-01-15
expiry = 2027-01-15
"""


def test_the_file_of_endpoints_is_read(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.toml"
    assert read_endpoints(path) == {}
    path.write_text(FILE)
    read = read_endpoints(path)
    assert set(read) == {"http://127.0.0.1:8000/v1", REMOTE}
    assert read[REMOTE].gaps(TODAY) == []


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ('base_url = "http://8.8.8.8/v1"\nruns_locally = true', "private network"),
        ('base_url = "http://localhost/v1"\nruns_localy = true', "runs_localy"),
        ('base_url = "http://localhost/v1"\nruns_locally = "yes"', "runs_locally"),
        ('base_url = "localhost:8000/v1"\nruns_locally = true', "http://"),
        ('base_url = "http://localhost/v1"\nwho = ""', "who"),
        ("runs_locally = true", "base_url"),
        ("base_url = ", "not TOML"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_an_error(tmp_path: Path, entry: str, told: str) -> None:
    path = tmp_path / "endpoints.toml"
    path.write_text(f"[[endpoint]]\n{entry}\n")
    with pytest.raises(UserError, match=told) as refusal:
        read_endpoints(path)
    assert "endpoints.toml" in str(refusal.value)


def test_an_endpoint_that_stands_in_the_file_twice_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.toml"
    path.write_text(FILE + '[[endpoint]]\nbase_url = "https://models.example.org:443/v1"\n')
    with pytest.raises(UserError, match="twice"):
        read_endpoints(path)


@pytest.mark.parametrize(
    "address",
    [
        f"https://user:{KEY}@models.example.org/v1",
        f"https://{KEY}@models.example.org/v1",
        f"https://models.example.org/v1?api_key={KEY}",
        f"https://models.example.org/v1#{KEY}",
        f"ftp://models.example.org/{KEY}",
        f"https://models.example.org:{KEY}/v1",
    ],
)
def test_an_address_that_holds_a_key_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(UserError) as refusal:
        normalized(address)
    assert KEY not in str(refusal.value)


def test_keys_come_from_the_environment_only() -> None:
    assert key_from_environment("MODELS_KEY", {"MODELS_KEY": KEY}) == KEY
    assert key_from_environment(None, {}) == "none"
    with pytest.raises(UserError, match="MODELS_KEY is not set"):
        key_from_environment("MODELS_KEY", {"MODELS_KEY": " "})
    with pytest.raises(UserError) as refusal:
        key_from_environment(KEY, {})
    assert KEY not in str(refusal.value)


def test_a_redirection_is_not_followed(tmp_path: Path) -> None:
    with model_server() as elsewhere:
        away = Fault(307, headers={"Location": f"{elsewhere.url}/chat/completions"})
        with model_server(Script(lambda body, before: away)) as server:
            ended = ask(server.url, tmp_path, [note_item()], gate=gate(tmp_path, local(server)))
        assert elsewhere.seen.connections == 0
    assert "307" in ended.stopped


def test_a_proxy_of_the_environment_sees_no_plain_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server() as proxy, model_server() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        ask(server.url, tmp_path, [note_item()], gate=gate(tmp_path, local(server)))
        assert (proxy.seen.connections, server.seen.requests) == (0, 1)


def echoing(body: dict[str, object], before: int) -> Fault:
    """An endpoint that repeats prompt and key in its errors, with status 400."""
    return error(400, f"could not read {prompt_of(body)} with {KEY}", code=NOTE, param=NOTE)


def test_neither_key_nor_note_is_in_any_file_log_or_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MODELS_KEY", KEY)
    faults = [
        echoing,
        lambda body, before: replace(echoing(body, before), status=500),
        lambda body, before: replace(echoing(body, before), status=200),
        lambda body, before: Fault(200, f"not JSON: {prompt_of(body)} {KEY}"),
        lambda body, before: Fault(drops=True),
        lambda body, before: Fault(hangs=True),
        lambda body, before: None,
    ]
    told = []
    options = RunConfig(retries=replace(QUICK, attempts=2))
    for number, fault in enumerate(faults):
        with model_server(Script(fault)) as server:
            folder = tmp_path / str(number)
            ended = ask(
                server.url,
                folder,
                [note_item()],
                options,
                gate(folder, local(server)),
                key_variable="MODELS_KEY",
                timeout=0.3 if number == 5 else 5.0,
            )
            told += [ended.stopped, str(ended.progress.as_json())]
            assert server.seen.headers[0]["authorization"] == f"Bearer {KEY}"
            assert NOTE in prompt_of(server.seen.bodies[0])
    assert [lines(tmp_path / str(number))[0]["outcome"] for number in range(len(faults))] == [
        *["errored"] * 6,
        "answered",
    ]
    everything = "\n".join([files_of(tmp_path), caplog.text, *told])
    assert "responses" in str(list(tmp_path.rglob("*")))
    for secret in (KEY, NOTE, "Quillfeather"):
        assert secret not in everything


def test_an_error_carries_neither_key_nor_note_however_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODELS_KEY", KEY)
    with model_server(Script(echoing)) as server:
        with pytest.raises(RefusedError) as refusal:
            ask(server.url, tmp_path, [note_item()], key_variable="MODELS_KEY")
        printed = "".join(traceback.format_exception(refusal.value))
        assert NOTE not in printed + repr(refusal.value)
        assert KEY not in printed + repr(refusal.value)


def test_what_the_endpoint_said_is_kept_for_open_items_without_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODELS_KEY", KEY)
    with model_server(Script(echoing)) as server:
        ask(server.url, tmp_path, [open_item("one")], key_variable="MODELS_KEY")
    assert lines(tmp_path)[0]["error"]["detail"] == "could not read question one with [key]"
    assert KEY not in files_of(tmp_path)


def test_keys_meant_for_others_are_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "CUSTOM_HEADERS"):
        monkeypatch.setenv(f"OPENAI_{name}", f"X-Planted: {KEY}" if "CUSTOM" in name else KEY)
    with model_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        ask(server.url, tmp_path, [open_item("one")])
        (headers,) = server.seen.headers
    assert KEY not in str(headers)
    assert headers["authorization"] == "Bearer none"


def test_no_cookie_goes_back_to_an_endpoint(tmp_path: Path) -> None:
    busy = error(500, "busy", {"Set-Cookie": "who=1; Path=/"})
    with model_server(Script(lambda body, before: None if before else busy)) as server:
        ended = ask(server.url, tmp_path, open_items(2))
        assert server.seen.requests == 4
        assert not any("cookie" in headers for headers in server.seen.headers)
    assert ended.progress.ledger.as_json()["answered"] == 2


def test_a_missing_key_is_told_before_anything_is_sent(tmp_path: Path) -> None:
    with model_server() as server:
        with pytest.raises(UserError, match="MODELS_KEY is not set"):
            ask(server.url, tmp_path, [open_item("one")], key_variable="MODELS_KEY")
        assert server.seen.connections == 0


def test_a_function_in_this_process_may_see_the_note_and_is_audited(tmp_path: Path) -> None:
    def model(messages: Sequence[Message]) -> str:
        if "20000002" in str(messages):
            raise ValueError(f"cannot answer {messages}")
        return "appendicitis"

    provider = PythonModel(model, MODEL, gate(tmp_path))
    items = [note_item(name) for name in ("20000001", "20000002", "20000003")]
    run = Run(tmp_path, settings_of(provider, "1"), provider)
    ended = run.execute(items, RunConfig(retries=QUICK))
    assert ended.progress.ledger.as_json()["answered"] == 2
    assert ended.progress.errors == {"callable": 1}
    assert '"ground":"in-process"' in (tmp_path / AUDIT).read_text()
    assert NOTE not in files_of(tmp_path)
