"""Credentialed text goes where it may, and nowhere else: not into files, logs or errors either."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import traceback
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from in_process import Main
from inference_runs import QUICK, ask, lines, open_item
from model_server import (
    AUTHORITY,
    ModelServer,
    RuledEndpoint,
    Script,
    error,
    model_server,
    prompt_of,
)
from tables import read_lines, refused, table

from medeval.evaluation.model_runner import ModelRunner
from medeval.evaluation.task_loader import TaskLoader
from medeval.inference.guard import DataUseGuard, Endpoint, RefusedError, normalized, read_endpoints
from medeval.inference.run import AUDIT, RunConfig
from medeval.inference.types import Sample

TABLES = table("guard")
TODAY = date(2026, 6, 1)
NOTE = "Mr. Quillfeather presented with rebound tenderness"
NOTE_ITEM = Sample("20000001", [{"role": "user", "content": f"{NOTE} (20000001)"}], "credentialed")
KEY = "sk-planted-4f1c9a77e0"
REMOTE = "https://models.example.org/v1"
ENTRIES = TABLES["entries"]
# Of the environment, which the tests' own may have.
WAYS = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


def files_of(folder: Path) -> str:
    return "\n".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


def toml(entry: dict[str, Any]) -> str:
    """Return an entry of endpoints.toml; what is null is left out."""
    as_written = {
        name: str(value) if isinstance(value, date) else json.dumps(value)
        for name, value in entry.items()
        if value is not None
    }
    return "[[endpoint]]\n" + "".join(f"{name} = {value}\n" for name, value in as_written.items())


# Which endpoint


@pytest.mark.parametrize("row", TABLES["decisions"])
def test_credentialed_text_goes_where_it_is_declared(tmp_path: Path, row: dict[str, Any]) -> None:
    path, entry = tmp_path / "endpoints.toml", row.get("entry", {})
    assert read_endpoints(path) == {}
    path.write_text(row.get("text") or toml(entry), encoding="utf-8")

    def ground() -> str:
        guard = DataUseGuard(read_endpoints(path), tmp_path / AUDIT, row.get("day", TODAY))
        return guard.check(normalized(row.get("address", entry["base_url"])), is_open=False)

    if "is" in row:
        assert ground() == row["is"]
    else:
        refused(row["said"], ground)


@pytest.mark.parametrize(
    ("host", "is_local"),
    [(host, name == "local") for name, hosts in TABLES["hosts"].items() for host in hosts],
    ids=lambda value: str(value).replace("0x", "hex "),  # no name looks like a place in memory
)
def test_numbers_are_local_in_private_networks(tmp_path: Path, host: str, is_local: bool) -> None:
    path, address = tmp_path / "endpoints.toml", f"https://{host}/v1"
    path.write_text(toml({"base_url": address, "runs_locally": True}), encoding="utf-8")
    if is_local:
        assert list(read_endpoints(path)) == [normalized(address)]
    else:
        refused("private network", read_endpoints, path)


@pytest.mark.parametrize(("written", "read"), TABLES["addresses"])
def test_an_address_is_as_the_dns_reads_it_without_a_key(written: str, read: str | None) -> None:
    if read is None:
        refusal = refused("", normalized, written)
        assert KEY not in refusal
    else:
        assert normalized(written) == read


# Which way, which machine, which parameters


@pytest.fixture
def ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return what stands for an authority in the table; forget the environment's ways."""
    for name in (*WAYS, *map(str.lower, WAYS)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OWN_KEY", KEY)
    # An item that reached nobody is not waited for.
    monkeypatch.setattr("medeval.inference.errors.RetryPolicy.may_retry", lambda *args: False)
    # As OpenSSL looks authorities up in a folder: by the hash of their names.
    (tmp_path / "roots").mkdir()
    shutil.copy(AUTHORITY, tmp_path / "roots" / "51337990.0")
    shutil.copy(AUTHORITY, tmp_path / "authority.pem")
    return {"$AUTHORITY": str(AUTHORITY), "$AUTHORITIES": str(tmp_path / "roots")}


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    row = getattr(request, "param", {})
    with model_server(is_tls=row.get("to") == "tls") as running:
        yield running


def leads(name: str, there: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let a name lead to an address, and the address to a server on the loopback.

    As in a network that routes it: the socket tells the address that it was connected to.

    Returns:
        The address of the server by that name.
    """
    port = server.server_address[1]
    found, connect, peer = socket.getaddrinfo, socket.socket.connect, socket.socket.getpeername
    away: set[int] = set()

    def getaddrinfo(host: Any, *args: Any, **more: Any) -> Any:
        if host not in (name, name.encode()):
            return found(host, *args, **more)
        if more.get("flags", 0) & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "a name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (there, port))]

    def connected(self: socket.socket, address: Any) -> None:
        if address[0] == there:
            away.add(self.fileno())
            address = ("127.0.0.1", port)
        connect(self, address)

    def getpeername(self: socket.socket) -> Any:
        return (there, port) if self.fileno() in away else peer(self)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(socket.socket, "connect", connected)
    monkeypatch.setattr(socket.socket, "getpeername", getpeername)
    return f"http://{name}:{port}/v1"


@pytest.mark.parametrize(
    ("row", "server"), [(row, row) for row in TABLES["sent"]], indirect=["server"]
)
def test_a_note_goes_only_the_way_that_its_endpoint_is_declared_with(
    row: dict[str, Any],
    server: ModelServer,
    ways: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    main: Main,
) -> None:
    to_user = server.proxy.replace("://", "://user:pass-of-proxy@")
    ways |= {"$PROXY": server.proxy, "$PROXY_OF_USER": to_user, "$FOLDER": str(tmp_path)}

    def filled(text: str) -> str:
        for name in sorted(ways, key=len, reverse=True):
            text = text.replace(name, ways[name])
        return text

    addresses = dict.fromkeys(("server", "tls"), server.url) | {"nowhere": "https://n.invalid/v1"}
    address = addresses.get(row.get("to", ""), REMOTE)
    if "leads" in row:
        address = leads(row["to"], row["leads"], server, monkeypatch)
    for name, value in row.get("env", {}).items():
        monkeypatch.setenv(name, filled(value))
    (tmp_path / "own.yaml").write_text(
        "task_id: own\ntask_type: qa\nmetrics: [accuracy]\n"
        f"data_class: {row.get('class', 'credentialed')}\n"
        f"dataset:\n  - {{input: {{question: {NOTE}}}, output: {{answer: 'yes'}}}}\n"
    )
    usual, _, more = row.get("entry", "").partition(" ")
    entry = f'[[endpoint]]\nbase_url = "{address}"\n{ENTRIES[usual]}{filled(more)}' if usual else ""
    (tmp_path / "endpoints.toml").write_text(entry)
    run = (
        "run", "--task", tmp_path / "own.yaml", "--model", "m", "--base-url", address, "--timeout",
        "5", "--key-variable", "OWN_KEY", "--endpoints", tmp_path / "endpoints.toml", "--out",
        tmp_path / "runs", "--parameters", json.dumps(row.get("parameters", {})),
    )  # fmt: skip
    done = main(*run)
    said = done.out + done.err
    assert (done.code, row.get("said", "") in done.err) == (row["exit"], True), said
    assert not any(secret in said for secret in (NOTE, "pass-of-proxy", "Traceback"))
    if not row.get("requests"):
        assert (server.seen.bytes, server.seen.bodies) == (0, [])
        # Where the address is looked at, a connection is made and nothing is sent on it.
        assert "leads" in row or server.seen.connections == 0
        assert "parameters" not in row or not (tmp_path / "runs").exists()
    else:
        (body,), (headers,) = server.seen.bodies, server.seen.headers
        assert headers["authorization"] == f"Bearer {KEY}"
        assert body.items() >= row.get("parameters", {}).items()
    if "route" in row:
        (folder,) = (tmp_path / "runs").iterdir()
        way = {name: filled(value) for name, value in row["route"].items()}
        audited = read_lines(folder / AUDIT)[0]
        assert {name: audited[name] for name in ("proxy", "ca_file") if name in audited} == way
    if row.get("to") == "nowhere" or "leads" in row:  # prompts are written for no other machine
        batch = tmp_path / "batch.jsonl"
        done = main(*run, "--export-prompts", batch)
        code = 0 if row.get("requests") else 2
        assert (done.code, batch.exists()) == (code, code == 0), done.err


def test_an_api_model_takes_the_same_way(
    server: ModelServer, ways: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", server.proxy)
    monkeypatch.setenv("SSL_CERT_FILE", ways["$AUTHORITY"])
    elsewhere = leads("8.8.8.8.nip.io", "8.8.8.8", server, monkeypatch)
    declared = tmp_path / "declared.toml"
    entries = {REMOTE: ENTRIES["attested"], elsewhere: ENTRIES["local"]}
    declared.write_text(
        "".join(f'[[endpoint]]\nbase_url = "{to}"\n{text}' for to, text in entries.items())
    )
    runner = ModelRunner(folder=tmp_path / "models", endpoints=declared)
    for number, address in enumerate(entries):
        runner.load_model(str(number), "api", endpoint=address, key_variable="OWN_KEY")
    (output,) = runner.run_model("0", [{"question": NOTE}])
    assert output["error"]["type"] == "connection"
    refused("not on this machine", runner.run_model, "1", [{"question": NOTE}])
    assert (server.seen.bytes, server.seen.bodies) == (0, [])


# Item by item


@pytest.mark.parametrize("rule", TABLES["echoes"])
def test_neither_key_nor_note_is_in_any_file_log_or_error(
    rule: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MODELS_KEY", KEY)
    options = RunConfig(retries=replace(QUICK, attempts=2))
    given = {"key_variable": "MODELS_KEY", "timeout": 0.3 if "hangs" in rule else 5.0}
    with model_server(RuledEndpoint([rule]).script) as server:
        local = {server.url: Endpoint(base_url=server.url, runs_locally=True)}
        gate = DataUseGuard(local, tmp_path / AUDIT)
        ended = ask(server.url, tmp_path, [NOTE_ITEM], options, gate, **given)
        assert server.seen.headers[0]["authorization"] == f"Bearer {KEY}"
        assert NOTE in prompt_of(server.seen.bodies[0])
    assert lines(tmp_path)[0]["outcome"] == ("answered" if "text" in rule else "errored")
    everything = [files_of(tmp_path), caplog.text, ended.stopped, str(ended.progress.as_json())]
    for secret in (KEY, NOTE, "Quillfeather"):
        assert secret not in "\n".join(everything)


def test_no_error_carries_key_or_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELS_KEY", KEY)
    with model_server() as server, pytest.raises(RefusedError) as refusal:
        ask(server.url, tmp_path, [NOTE_ITEM], key_variable="MODELS_KEY")
    printed = "".join(traceback.format_exception(refusal.value)) + repr(refusal.value)
    assert not any(secret in printed for secret in (NOTE, KEY))


def test_no_key_of_others_and_no_cookie_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "CUSTOM_HEADERS"):
        monkeypatch.setenv(f"OPENAI_{name}", f"X-Planted: {KEY}" if "CUSTOM" in name else KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    cookie = error(500, "busy", {"Set-Cookie": "who=1; Path=/"})
    with model_server(Script(lambda body, before: None if before else cookie)) as server:
        ask(server.url, tmp_path, [open_item("one")])
    sent = server.seen.headers
    assert KEY not in str(sent)
    assert [(one["authorization"], one.get("cookie")) for one in sent] == [
        ("Bearer none", None)
    ] * 2


def test_a_model_runner_passes_the_guard_that_it_is_given(tmp_path: Path) -> None:
    task = TaskLoader().load_task("clinical_qa_basic")
    audit = tmp_path / "audit-of-mine.jsonl"
    with model_server(Script(reply=lambda body: '{"answer": "pancreas"}')) as server:
        runner = ModelRunner(DataUseGuard({}, audit), folder=tmp_path / "models")
        runner.load_model("m", model_type="openai", base_url=server.url)
        runner.run_model("m", task.inputs[:2], task=task)
    assert len(audit.read_text(encoding="utf-8").splitlines()) == 2
