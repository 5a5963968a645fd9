"""Tasks from the web: what is fetched, from where, and what is kept of it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tables import refused, table
from web_server import Page, WebServer, web_server

from medeval.evaluation.fetching import FetchRules, fetch
from medeval.evaluation.task_loader import TaskLoader
from medeval.evaluation.task_registry import TaskRegistry
from medeval.models import MedicalTask
from medeval.tasks.registry import start

Row = dict[str, Any]

TABLES = table("task_loader_web")
QA = {"task_type": "qa", "dataset": [{"input": {"question": "q"}, "output": {"answer": "a"}}]}

ON_LOOPBACK = FetchRules(allow_http=True, allow_private_hosts=True, timeout=2)


class Site:
    """Pages by path on a server of its own: a `Page`, a status, or a text; "to X" leads to X."""

    def __init__(self, server: WebServer, pages: Row) -> None:
        self.server, self.pages, self.url = server, pages, server.url

    def load(self, path: str, **options: Any) -> MedicalTask:
        return TaskLoader(rules=ON_LOOPBACK, **options).load_task(self.url + path)


@pytest.fixture
def site() -> Iterator[Site]:
    pages: Row = {}

    def respond(path: str, _: Any) -> Page:
        page = pages.get(path, 404)
        if isinstance(page, str) and page.startswith("to "):
            return Page(302, "", {"Location": page[3:]})
        if isinstance(page, int):
            return Page(page, "")
        return page if isinstance(page, Page) else Page(body=page)

    with web_server(respond) as server:
        yield Site(server, pages)


@pytest.mark.parametrize(("path", "kind", "expected"), TABLES["pages"])
def test_address_or_type_names_the_format(site: Site, path: str, kind: str, expected: str) -> None:
    site.pages[path] = Page(body=QA, headers={"Content-Type": kind})
    if expected != "t":
        refused(expected, site.load, path, error=ValueError)
        return
    loader = TaskLoader(rules=ON_LOOPBACK)
    task = loader.load_task(site.url + path)
    assert (task.task_id, task.dataset) == ("t", QA["dataset"])
    assert loader.load_task(site.url + path) is task
    assert len(site.server.asked) == 1
    assert loader.load_task(site.url + path, reload=True) is not task
    registry = TaskRegistry(loader=loader)
    assert registry.register_from_url(site.url + path, "own") is registry.get("own")


@pytest.mark.parametrize(("pages", "named", "message"), TABLES["refused"])
def test_what_is_no_task_on_the_web_is_refused_naming_the_address(
    site: Site, tmp_path: Path, pages: Row, named: str, message: str
) -> None:
    site.pages.update(pages)
    path = next(iter(pages), "/t.json")
    told = refused(message, site.load, path, cache_dir=tmp_path, error=ValueError)
    assert (site.url + named if named.startswith("/") else named) in told
    assert "secret" not in told
    assert list(tmp_path.iterdir()) == []


def test_redirects_are_followed_and_the_first_address_names_the_format(site: Site) -> None:
    chain = {f"/{number}.json": f"to /{number + 1}.json" for number in range(4)}
    site.pages.update(chain | {"/4.json": "to moved/file", "/moved/file": QA})
    assert site.load("/0.json").task_id == "0"


@pytest.mark.parametrize(("url", "message"), TABLES["addresses"])
def test_addresses_that_are_refused_before_anything_is_sent(url: str, message: str) -> None:
    refused(message, TaskLoader().load_task, url, error=ValueError)


def test_plain_http_and_private_hosts_must_be_allowed(site: Site) -> None:
    with pytest.raises(ValueError, match="only https is allowed"):
        fetch("http://10.1.2.3/t.json", FetchRules(allow_private_hosts=True))
    with pytest.raises(ValueError, match=r"has the address 127\.0\.0\.1, which is not public"):
        fetch(site.url + "/t.json", FetchRules(allow_http=True))
    assert site.server.asked == []
    # Nobody listens in between on this machine.
    site.pages["/t.json"] = QA
    loader = TaskLoader(rules=FetchRules(allow_private_hosts=True))
    assert loader.load_task(site.url + "/t.json").task_id == "t"
    # On the command line, naming it allows it.
    assert start(site.url + "/t.json", {}).name == "t"


@pytest.mark.parametrize("host", TABLES["hosts"])
def test_an_address_that_is_not_public_is_refused(host: str) -> None:
    try:
        socket.getaddrinfo(host, 80)
    except OSError:
        pytest.skip("no IPv6 here")
    with pytest.raises(ValueError, match="which is not public"):
        fetch(f"https://{f'[{host}]' if ':' in host else host}:9/t.yaml", FetchRules(timeout=5))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111"])
def test_a_public_address_is_met_as_checked(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[str] = []

    def connect(place: tuple[str, int], timeout: float) -> socket.socket:
        met.append(place[0])
        raise OSError("not from here")

    monkeypatch.setattr(socket, "create_connection", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (address, 443))])
    with pytest.raises(ValueError, match="cannot be fetched: not from here"):
        fetch("https://tasks.example/t.yaml", FetchRules(timeout=5))
    assert met == [address]


def test_a_file_that_is_too_large_or_ends_early_is_refused(site: Site) -> None:
    rules = FetchRules(allow_http=True, allow_private_hosts=True, max_bytes=1000, timeout=2)
    site.pages["/t.json"] = b" " * 1001
    refused("larger than 1000 bytes", fetch, site.url + "/t.json", rules, error=ValueError)
    site.pages["/t.json"] = b" " * 1000
    assert len(fetch(site.url + "/t.json", rules)[0]) == 1000
    assert FetchRules().max_bytes == 5 * 1024 * 1024
    site.pages["/t.json"] = Page(body=b"{}", headers={"Content-Length": "100"})
    with pytest.raises(ValueError, match="cannot be fetched: IncompleteRead"):
        fetch(site.url + "/t.json", rules)
    site.pages["/t.json"] = b"\xff{}"
    refused("not UTF-8", site.load, "/t.json", error=ValueError)


def test_a_server_that_cannot_be_reached_or_speaks_no_tls_is_an_error(site: Site) -> None:
    with pytest.raises(ValueError, match="cannot be fetched"):
        fetch(site.url.replace("http:", "https:") + "/t.json", ON_LOOPBACK)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/t.json"
        with pytest.raises(ValueError, match="cannot be fetched: timed out"):
            fetch(url, FetchRules(allow_http=True, allow_private_hosts=True, timeout=0.2))
    refused("cannot be fetched", fetch, url, ON_LOOPBACK, error=ValueError)


def test_tasks_from_the_web_are_kept_on_disk_by_content(site: Site, tmp_path: Path) -> None:
    def load(reload: bool = False) -> str:
        loader = TaskLoader(rules=ON_LOOPBACK, cache_dir=tmp_path)
        return loader.load_task(site.url + "/t.json", reload=reload).description

    site.pages["/t.json"] = {**QA, "description": "old"}
    assert (load(), load(), len(site.server.asked)) == ("old", "old", 1)
    (kept,) = tmp_path.glob("content-*")
    assert json.loads(kept.read_bytes()) == site.pages["/t.json"]
    site.pages["/t.json"] = {**QA, "description": "new"}
    assert (load(), load(reload=True), load()) == ("old", "new", "new")
    assert len(site.server.asked) == 2
    for content in tmp_path.glob("content-*"):
        content.write_bytes(b"spoilt")
    assert (load(), len(site.server.asked)) == ("new", 3)
