"""Tasks from the web: what is fetched, from where, and what is kept of it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tables import table
from test_task_loader import ON_LOOPBACK, QA, QUESTION

from medeval.evaluation.fetching import FetchRules, fetch
from medeval.evaluation.task_loader import TaskLoader
from medeval.models import MedicalTask
from medeval.models.task_types import MedicalQATask

TABLES = table("task_loader_web")

Page = tuple[int, dict[str, str], bytes]


class Site:
    """Pages on a server of its own, and what was asked of it."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        self.url = ""

    def add(self, path: str, content: Any = QA, kind: str = "application/json") -> str:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.pages[path] = (200, {"Content-Type": kind}, body)
        return self.url + path

    def add_redirect(self, path: str, target: str) -> str:
        self.pages[path] = (302, {"Location": target}, b"")
        return self.url + path


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            status, headers, body = site.pages.get(self.path, (404, {}, b"nothing here"))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Keep the test's output to itself."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        site.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.mark.parametrize(
    ("path", "kind"),
    TABLES["a_task_from_the_web"],
)
def test_a_task_from_the_web(site: Site, path: str, kind: str) -> None:
    loader = TaskLoader(rules=ON_LOOPBACK)
    url = site.add(path, QA, kind)
    task = loader.load_task(url)
    assert isinstance(task, MedicalQATask)
    assert (task.task_id, task.inputs) == ("t", [QUESTION])
    assert loader.load_task(url) is task
    assert len(site.asked) == 1
    assert loader.load_task(url, reload=True) is not task
    assert len(site.asked) == 2


@pytest.mark.parametrize("kind", ["text/plain", "text/html", ""])
def test_a_type_that_is_neither_json_nor_yaml_is_refused(site: Site, kind: str) -> None:
    for path in ("/t", "/t.html", "/t?file=t.json"):
        with pytest.raises(ValueError, match="neither its suffix nor its content type"):
            TaskLoader(rules=ON_LOOPBACK).load_task(site.add(path, QA, kind))


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (200, b"{", "not valid JSON"),
        (200, b"\xff{}", "not UTF-8"),
        (200, b"[]", "a list"),
        (200, b'{"task_type": "qa", "dataset": 1}', "dataset: "),
        (404, b"", "HTTP status 404"),
        (500, b"", "HTTP status 500"),
        (204, b"", "HTTP status 204"),
    ],
)
def test_what_is_no_task_on_the_web_is_refused_naming_the_address(
    site: Site, tmp_path: Path, status: int, content: bytes, message: str
) -> None:
    site.pages["/t.json"] = (status, {}, content)
    with pytest.raises(ValueError, match=message) as caught:
        TaskLoader(rules=ON_LOOPBACK, cache_dir=tmp_path).load_task(site.url + "/t.json")
    assert f"{site.url}/t.json: " in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_redirects_are_followed_and_the_first_address_names_the_format(site: Site) -> None:
    site.add("/moved/file", QA, "text/plain")
    url = site.add_redirect("/t.json", "moved/file")
    assert TaskLoader(rules=ON_LOOPBACK).load_task(url).task_id == "t"
    site.add("/moved/file.json", QA, "text/plain")
    with pytest.raises(ValueError, match="neither its suffix"):
        TaskLoader(rules=ON_LOOPBACK).load_task(site.add_redirect("/t", "/moved/file.json"))


def test_at_most_five_redirects(site: Site) -> None:
    site.add("/5.json")
    for number in range(5):
        site.add_redirect(f"/{number}.json", f"/{number + 1}.json")
    loader = TaskLoader(rules=ON_LOOPBACK)
    assert loader.load_task(site.url + "/0.json").task_id == "0"
    with pytest.raises(ValueError, match="more than 5 redirects"):
        loader.load_task(site.add_redirect("/more.json", "/0.json"))


@pytest.mark.parametrize(
    "target",
    ["file:///etc/hostname", "ftp://127.0.0.1/t.json", "http://user:secret@127.0.0.1/t.json"],
)
def test_a_redirect_leads_only_where_a_url_may(site: Site, target: str) -> None:
    url = site.add_redirect("/t.json", target)
    with pytest.raises(ValueError, match=r"not a web address|not allowed") as caught:
        TaskLoader(rules=ON_LOOPBACK).load_task(url)
    assert "secret" not in str(caught.value)


def test_plain_http_and_private_hosts_must_be_allowed(site: Site) -> None:
    with pytest.raises(ValueError, match="only https is allowed"):
        fetch(site.add("/t.json"), FetchRules(allow_private_hosts=True))
    with pytest.raises(ValueError, match=r"has the address 127\.0\.0\.1, which is not public"):
        fetch(site.url + "/t.json", FetchRules(allow_http=True))
    assert site.asked == []


@pytest.mark.parametrize(
    ("url", "message"),
    TABLES["addresses_that_are_refused_before_anything_is_sent"],
)
def test_addresses_that_are_refused_before_anything_is_sent(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TaskLoader().load_task(url)


def test_a_file_that_is_too_large_is_refused(site: Site) -> None:
    url = site.add("/t.json", b" " * 1001)
    rules = FetchRules(allow_http=True, allow_private_hosts=True, max_bytes=1000)
    with pytest.raises(ValueError, match="larger than 1000 bytes"):
        fetch(url, rules)
    assert len(fetch(site.add("/s.json", b" " * 1000), rules).content) == 1000
    assert FetchRules().max_bytes == 5 * 1024 * 1024


def test_a_file_that_ends_early_is_refused(site: Site) -> None:
    site.pages["/t.json"] = (200, {"Content-Length": "100"}, b"{}")
    with pytest.raises(ValueError, match="cannot be fetched: IncompleteRead"):
        fetch(site.url + "/t.json", FetchRules(True, True, timeout=2))


def test_a_server_that_cannot_be_reached_or_speaks_no_tls_is_an_error(site: Site) -> None:
    rules = FetchRules(allow_private_hosts=True, timeout=5)
    with pytest.raises(ValueError, match="cannot be fetched"):
        fetch(site.url.replace("http:", "https:") + "/t.json", rules)
    with serving() as gone:
        url = gone.url
    with pytest.raises(ValueError, match="cannot be fetched"):
        fetch(url + "/t.json", ON_LOOPBACK)


def test_tasks_from_the_web_are_kept_on_disk_by_content(site: Site, tmp_path: Path) -> None:
    url = site.add("/t", QA)

    def load(**options: Any) -> MedicalTask:
        loader = TaskLoader(rules=ON_LOOPBACK, cache_dir=tmp_path / "cache")
        return loader.load_task(url, **options)

    assert load() == load()
    assert len(site.asked) == 1
    (kept,) = (tmp_path / "cache").glob("content-*")
    assert json.loads(kept.read_bytes()) == QA
    site.add("/t", {**QA, "description": "new"})
    assert load().description == ""
    assert load(reload=True).description == "new"
    assert load().description == "new"
    assert len(site.asked) == 2
    for content in (tmp_path / "cache").glob("content-*"):
        content.write_bytes(b"spoilt")
    assert load().description == "new"
    assert len(site.asked) == 3


def test_a_server_that_keeps_silent_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/t.json"
        with pytest.raises(ValueError, match="cannot be fetched: timed out"):
            fetch(url, FetchRules(allow_http=True, allow_private_hosts=True, timeout=0.2))
