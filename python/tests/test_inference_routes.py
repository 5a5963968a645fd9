"""The way to an endpoint: which proxy, which authority, which machine sees credentialed text."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process import Done, main_in
from model_server import AUTHORITY, ModelServer, model_server

from medeval.errors import UserError
from medeval.evaluation.model_runner import ModelRunner
from medeval.inference.endpoints import is_private, normalized, read_endpoints

PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
ROOTS = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
REMOTE = "https://models.example.org/v1"
NOTE = "Mr. Quillfeather presented with rebound tenderness"
KEY = "sk-planted-4f1c9a77e0"
ATTESTED = """
zero_retention = true
no_training = true
no_human_review = true
evidence = "agreement 17"
who = "the data steward"
date = 2026-01-15
expiry = 2126-01-15
"""
LOCAL = "runs_locally = true\n"
# An item that reached nobody is not waited for.
AT_ONCE = "medeval.inference.errors.RetryPolicy.may_retry"


Command = Callable[..., Done]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Ask a task of one note, in this process."""
    for name in (*PROXIES, *ROOTS, "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OWN_KEY", KEY)
    monkeypatch.setattr(AT_ONCE, lambda *args: False)

    def run(
        address: str, *more: str | Path, entry: str = "", data_class: str = "credentialed"
    ) -> Done:
        task, declared = tmp_path / "own.yaml", tmp_path / "endpoints.toml"
        task.write_text(
            f"task_id: own\ntask_type: qa\ndata_class: {data_class}\nmetrics: [accuracy]\n"
            f"dataset:\n  - {{input: {{question: {NOTE}}}, output: {{answer: 'yes'}}}}\n",
            encoding="utf-8",
        )
        named = f'[[endpoint]]\nbase_url = "{address}"\n{entry}' if entry else ""
        declared.write_text(named, encoding="utf-8")
        return main_in(monkeypatch, capsys)(
            "run", "--task", task, "--model", "m", "--base-url", address, "--key-variable",
            "OWN_KEY", "--endpoints", declared, "--timeout", "5", "--out", tmp_path / "runs", *more,
        )  # fmt: skip

    return run


@pytest.fixture
def proxy() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


def audit_of(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.glob("runs/*/audit.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def saw_nothing(server: ModelServer) -> bool:
    return (server.seen.connections, server.seen.bytes, server.seen.bodies) == (0, 0, [])


# Proxies and authorities


@pytest.mark.parametrize(
    "names",
    [
        ("HTTPS_PROXY", "SSL_CERT_FILE"),
        ("ALL_PROXY", "SSL_CERT_FILE"),
        ("https_proxy", "SSL_CERT_DIR"),
        ("all_proxy", "REQUESTS_CA_BUNDLE"),
    ],
)
def test_a_proxy_of_the_environment_sees_no_byte_of_credentialed_text(
    names: tuple[str, str],
    command: Command,
    proxy: ModelServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(names[0], proxy.proxy)
    roots = {"SSL_CERT_DIR": hashed_folder(tmp_path)}.get(names[1], AUTHORITY)
    monkeypatch.setenv(names[1], str(roots))
    done = command(REMOTE, entry=ATTESTED)
    assert done.code == 1, done.err
    assert saw_nothing(proxy)
    assert set(audit_of(tmp_path)[0]) & {"proxy", "ca_file"} == set()


def hashed_folder(folder: Path) -> Path:
    """Return a folder of authorities as OpenSSL looks them up: by the hash of their names."""
    made = folder / "roots"
    made.mkdir()
    shutil.copy(AUTHORITY, made / "51337990.0")
    return made


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_who_only_the_environment_vouches_for_sees_no_byte_of_credentialed_text(
    name: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = AUTHORITY if name == "SSL_CERT_FILE" else hashed_folder(tmp_path)
    monkeypatch.setenv(name, str(roots))
    with model_server(is_tls=True) as server:
        done = command(server.url, entry=ATTESTED)
        assert done.code == 1, done.err
        assert saw_nothing(server)


def test_an_api_model_takes_the_same_way(
    proxy: ModelServer, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.proxy)
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    declared = tmp_path / "declared.toml"
    declared.write_text(f'[[endpoint]]\nbase_url = "{REMOTE}"\n{ATTESTED}', encoding="utf-8")
    runner = ModelRunner(folder=tmp_path / "models", endpoints=declared)
    runner.load_model("away", "api", endpoint=REMOTE, key_variable="OWN_KEY")
    (output,) = runner.run_model("away", [{"question": NOTE}])
    assert output["error"]["type"] == "connection"
    assert saw_nothing(proxy)


def test_a_proxy_and_an_authority_that_the_entry_names_are_used_and_audited(
    command: Command, proxy: ModelServer, tmp_path: Path
) -> None:
    # Beside the file of endpoints, as its entry says.
    shutil.copy(AUTHORITY, tmp_path / "authority.pem")
    named = f'proxy = "{proxy.proxy}"\nca_file = "authority.pem"\n'
    done = command(REMOTE, entry=ATTESTED + named)
    assert done.code == 0, done.err
    assert proxy.seen.headers[0]["authorization"] == f"Bearer {KEY}"
    (line,) = audit_of(tmp_path)
    assert line["ground"] == "attestation"
    assert (line["proxy"], line["ca_file"]) == (proxy.proxy, str(tmp_path / "authority.pem"))


def test_open_text_takes_the_way_of_the_environment_and_the_audit_says_so(
    command: Command, proxy: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.proxy.replace("://", "://user:pass-of-proxy@"))
    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    done = command(REMOTE, data_class="open")
    assert done.code == 0, done.err
    assert proxy.seen.requests == 1
    (line,) = audit_of(tmp_path)
    assert (line["proxy"], line["ca_file"]) == (proxy.proxy, str(AUTHORITY))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('ca_file = "none.pem"\n', "none.pem"),
        ('proxy = "socks5://127.0.0.1:1"\n', "http:// or https://"),
        ('proxy = "http://user:secret@127.0.0.1:1"\n', "a user"),
        (f'{LOCAL}proxy = "http://127.0.0.1:1"\n', "local and with a proxy"),
        ('proxy = ["http://127.0.0.1:1"]\n', "proxy"),
    ],
)
def test_a_way_that_cannot_be_taken_is_said(entry: str, said: str, command: Command) -> None:
    done = command(REMOTE, entry=ATTESTED + entry)
    assert (done.code, said in done.err, "Traceback" in done.err) == (2, True, False), done.err
    assert "secret@" not in done.err


def test_a_proxy_of_the_environment_that_cannot_be_used_is_said(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://user:pass-of-proxy@127.0.0.1:1")
    done = command(REMOTE, data_class="open")
    assert (done.code, "socks5://127.0.0.1:1" in done.err) == (2, True), done.err
    assert "pass-of-proxy" not in done.err


# Which machine


def leads(name: str, there: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a name lead to an address, and the address to a server on the loopback.

    As in a network that routes it: the socket tells the address that it was connected to.
    """
    port = server.server_address[1]
    found, connect, peer = (
        socket.getaddrinfo,
        socket.socket.connect,
        socket.socket.getpeername,
    )
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


@pytest.mark.parametrize(
    ("name", "there", "is_sent"),
    [
        ("8.8.8.8.nip.io", "8.8.8.8", False),
        ("api.openai.com", "104.18.6.192", False),
        ("models.hospital.example", "100.64.0.7", False),
        ("fake.ip.example", "198.18.0.5", False),
        ("models.hospital.example", "10.1.2.3", True),
        ("gpu-7", "192.168.1.20", True),
        ("gpu-7", "172.16.0.1", True),
    ],
)
def test_a_local_endpoint_is_asked_where_its_name_leads_to_a_private_machine(
    name: str,
    there: str,
    is_sent: bool,
    command: Command,
    proxy: ModelServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leads(name, there, proxy, monkeypatch)
    address = f"http://{name}:{proxy.server_address[1]}/v1"
    done = command(address, entry=LOCAL)
    if is_sent:
        assert (done.code, proxy.seen.requests) == (0, 1), done.err
    else:
        assert (done.code, proxy.seen.bytes, proxy.seen.bodies) == (2, 0, []), done.err
        assert "not on this machine nor in a private network" in done.err
        assert NOTE not in done.err + done.out
    # Prompts are written for no other machine either.
    batch = tmp_path / "batch.jsonl"
    written = command(address, "--export-prompts", batch, entry=LOCAL)
    assert (written.code == 0, batch.exists()) == (is_sent, is_sent), written.err


def test_prompts_are_not_written_for_a_local_endpoint_that_nobody_knows(
    command: Command, tmp_path: Path
) -> None:
    batch = tmp_path / "batch.jsonl"
    done = command("https://nowhere.invalid/v1", "--export-prompts", batch, entry=LOCAL)
    assert (done.code, batch.exists()) == (2, False), done.err


def test_an_api_model_that_leads_elsewhere_gets_nothing(
    proxy: ModelServer, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    leads("8.8.8.8.nip.io", "8.8.8.8", proxy, monkeypatch)
    address = f"http://8.8.8.8.nip.io:{proxy.server_address[1]}/v1"
    declared = tmp_path / "declared.toml"
    declared.write_text(f'[[endpoint]]\nbase_url = "{address}"\n{LOCAL}', encoding="utf-8")
    runner = ModelRunner(folder=tmp_path / "models", endpoints=declared)
    runner.load_model("away", "api", endpoint=address, key_variable="OWN_KEY")
    with pytest.raises(UserError, match="not on this machine"):
        runner.run_model("away", [{"question": NOTE}])
    assert proxy.seen.bytes == 0


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://api.openai\u3002com/v1", "https://api.openai.com/v1"),
        ("https://\uff41\uff50\uff49.openai.com/v1", "https://api.openai.com/v1"),
        ("https://\uff18.\uff18.\uff18\uff0e\uff18/v1", "https://8.8.8.8/v1"),
        ("https://m\u00fcnchen.example/v1", "https://xn--mnchen-3ya.example/v1"),
        # Not the domain of somebody else, as the older rule would have it.
        ("https://stra\u00dfe.example/v1", "https://xn--strae-oqa.example/v1"),
        ("http://my_vllm:8000/v1", "http://my_vllm:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_a_host_is_compared_as_the_dns_reads_it(written: str, read: str) -> None:
    assert normalized(written) == read


@pytest.mark.parametrize("host", ["a b", "a\\@b", "\u2603\u200b.example", "a%2eb", "-\u4e00-"])
def test_a_host_that_no_dns_reads_is_refused(host: str) -> None:
    with pytest.raises(UserError):
        normalized(f"https://{host}/v1")


@pytest.mark.parametrize(
    "host",
    [
        "api.openai\u3002com",
        "\uff18.8.8.8",
        "[2001:0:4136:e378:8000:63bf:f7f7:f7f7]",
        "[2001:0:a01:203:8000:63bf:f5fe:fdfc]",
        "[64:ff9b:1::808:808]",
        "[2002:a01:203::1]",
        "198.18.0.5",
        "100.64.0.7",
        "169.254.169.254",
        "0.0.0.0",
    ],
)
def test_a_number_that_is_of_no_private_network_is_not_declared_as_local(
    host: str, tmp_path: Path
) -> None:
    path = tmp_path / "endpoints.toml"
    path.write_text(f'[[endpoint]]\nbase_url = "https://{host}/v1"\n{LOCAL}', encoding="utf-8")
    if host.startswith("api"):
        assert list(read_endpoints(path)) == ["https://api.openai.com/v1"]
        return
    with pytest.raises(UserError, match="private network"):
        read_endpoints(path)


def test_addresses_that_carry_others_are_what_they_carry_or_not_private() -> None:
    assert is_private("::ffff:10.1.2.3")
    assert not is_private("::ffff:8.8.8.8")
    assert not is_private("64:ff9b::a01:203")


# Parameters


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"store": True}, "store"),
        ({"metadata": {"patient": "20000001"}}, "metadata"),
        ({"service_tier": "flex", "top_p": 0.9}, "service_tier"),
        ({"user": "20000001"}, "user"),
        ({"web_search_options": {}}, "web_search_options"),
        ({"tools": [{"type": "web_search"}]}, "tools.web_search"),
        ({"tools": {"type": "web_search"}}, "tools.web_search"),
    ],
)
def test_an_attested_endpoint_gets_parameters_that_are_known_or_named(
    parameters: dict[str, Any], name: str, command: Command, proxy: ModelServer, tmp_path: Path
) -> None:
    asked = ["--parameters", json.dumps(parameters)]
    done = command(proxy.url, *asked, entry=ATTESTED)
    assert (done.code, saw_nothing(proxy)) == (2, True), done.err
    assert f"with {name}: " in done.err
    assert f'parameters = ["{name}"]' in done.err
    assert not (tmp_path / "runs").exists()
    named = command(proxy.url, *asked, entry=f'{ATTESTED}parameters = ["{name}"]\n')
    assert (named.code, proxy.seen.requests) == (0, 1), named.err


def test_what_an_answer_may_need_goes_to_an_attested_endpoint(
    command: Command, proxy: ModelServer
) -> None:
    plain = {
        "top_p": 0.9, "stop": ["."], "seed": 1, "presence_penalty": 0.1, "logprobs": True,
        "reasoning_effort": "low", "max_completion_tokens": 9, "parallel_tool_calls": False,
        "tool_choice": "none", "tools": [{"type": "function", "function": {"name": "look"}}],
    }  # fmt: skip
    done = command(proxy.url, "--parameters", json.dumps(plain), entry=ATTESTED)
    assert done.code == 0, done.err
    assert proxy.seen.bodies[0].items() >= plain.items()


@pytest.mark.parametrize("how", [{"entry": LOCAL}, {"data_class": "open"}])
def test_a_local_endpoint_and_open_text_take_any_parameter(
    how: dict[str, str], command: Command, proxy: ModelServer
) -> None:
    asked = {"top_k": 20, "min_p": 0.1, "chat_template_kwargs": {"enable_thinking": False}}
    done = command(proxy.url, "--parameters", json.dumps(asked), **how)
    assert done.code == 0, done.err
    assert proxy.seen.bodies[0].items() >= asked.items()
