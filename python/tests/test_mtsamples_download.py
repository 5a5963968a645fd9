"""The download of the public notes, from a server of our own that fails by script."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from commands import run_medeval
from mtsamples_listing import listed, write_listing

from medeval.errors import UserError
from medeval.tasks.mtsamples import download as module
from medeval.tasks.mtsamples.download import cache_folder, download
from medeval.tasks.mtsamples.notes import PINNED, read_notes

NOTES = {
    "Biopsy #2.txt": "H\nPLAN: a\u00a0b\n".encode(),
    "A & B's (x), 50%.txt": b"FINDINGS: none",
    "Z .txt": b"",
}
ORIGIN = ("owner/name", "notes", "c0ffee")


@dataclass
class Repository:
    """A server that answers like GitHub.

    Attributes:
        files: what the folder holds.
        faults: what is amiss with the answers at a path, from the first request on: a status, `cut`
            or `wrong`; an answer without one is right.
        asked: how often each path was asked for.
        query: what the list was asked for with.
    """

    files: dict[str, bytes]
    faults: dict[str, list[int | str]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    query: str = ""
    extra_entries: list[dict[str, object]] = field(default_factory=list)

    def listing(self) -> bytes:
        entries: list[dict[str, object]] = [
            {**listed(name, content), "type": "file"} for name, content in self.files.items()
        ]
        other = {"name": "README.md", "type": "file", "size": 1, "sha": ""}
        folder = {"name": "more.txt", "type": "dir", "size": 0, "sha": ""}
        return json.dumps([other, folder, *entries, *self.extra_entries]).encode()

    def content(self, path: str) -> bytes | None:
        if path == "/api/repos/owner/name/contents/notes":
            return self.listing()
        return self.files.get(path.removeprefix("/raw/owner/name/c0ffee/notes/"))


LIST = "/api/repos/owner/name/contents/notes"
FIRST = "/raw/owner/name/c0ffee/notes/A & B's (x), 50%.txt"


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    served = Repository(dict(NOTES))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet, or each waits for the other's receipt

        def do_GET(self) -> None:
            raw, _, query = self.path.partition("?")
            path = unquote(raw)
            faults = served.faults.get(path, [])
            fault = faults[served.asked[path]] if served.asked[path] < len(faults) else None
            served.asked[path] += 1
            if path == LIST:
                served.query = query
            content = served.content(path)
            status = fault if isinstance(fault, int) else 200 if content is not None else 404
            body = content or b"" if status == 200 else b"not here"
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 403:
                self.send_header("x-ratelimit-remaining", "0")
            if fault == "cut":
                self.send_header("Connection", "close")
                self.close_connection = True
                body = body[:-1]
            self.end_headers()
            self.wfile.write(b"#" * len(body) if fault == "wrong" else body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    for name, value in {
        "API": f"{address}/api",
        "RAW": f"{address}/raw",
        "ATTEMPTS": 3,
        "FIRST_WAIT": 0.001,
    }.items():
        monkeypatch.setattr(module, name, value)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def fetched(cache: Path, **watch: Any) -> tuple[int, int]:
    return download(cache, ORIGIN, **watch)


def stored(cache: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (cache / "txt_files").iterdir()}


def test_all_notes_are_fetched_at_the_commit(repository: Repository, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    cache = tmp_path / "new" / "cache"
    watch = lambda count, total: seen.append((count, total))  # noqa: E731
    assert fetched(cache, watch=watch) == (3, 3)
    assert stored(cache) == NOTES
    assert repository.query == "ref=c0ffee"
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert len(read_notes(cache).notes) == 3


def test_a_download_that_stopped_is_gone_on_with(repository: Repository, tmp_path: Path) -> None:
    last = "/raw/owner/name/c0ffee/notes/Z .txt"
    repository.faults[last] = [404]
    with pytest.raises(UserError, match=r"Z%20\.txt cannot be fetched: HTTP status 404"):
        fetched(tmp_path)
    assert set(stored(tmp_path)) == set(NOTES) - {"Z .txt"}
    with pytest.raises(UserError, match=r"incomplete: of 3 notes it lacks 1, 'Z \.txt'"):
        read_notes(tmp_path)
    assert fetched(tmp_path) == (3, 1)
    assert (repository.asked[LIST], repository.asked[FIRST], repository.asked[last]) == (1, 1, 2)


def test_a_file_that_is_not_that_of_the_commit_is_fetched_again(
    repository: Repository, tmp_path: Path
) -> None:
    fetched(tmp_path)
    path = tmp_path / "txt_files" / "Biopsy #2.txt"
    path.write_bytes(path.read_bytes().replace(b"PLAN", b"PLAY"))
    assert fetched(tmp_path)[1] == 1
    assert stored(tmp_path) == NOTES


@pytest.mark.parametrize("path", [LIST, FIRST])
@pytest.mark.parametrize("fault", [500, 503, 429, "cut", "wrong"])
def test_a_fault_that_passes_is_waited_out(
    repository: Repository, tmp_path: Path, path: str, fault: int | str
) -> None:
    repository.faults[path] = [fault, fault]
    assert fetched(tmp_path)[1] == 3
    assert repository.asked[path] == 3
    assert stored(tmp_path) == NOTES


@pytest.mark.parametrize(
    ("fault", "tries", "said"),
    [
        (404, 1, "HTTP status 404"),
        (403, 1, "limit of requests an hour"),
        (500, 3, "HTTP status 500"),
        ("cut", 3, "peer closed connection|incomplete"),
        ("wrong", 3, "other bytes than those of the commit"),
    ],
)
def test_a_fault_that_stays_names_the_file(
    repository: Repository, tmp_path: Path, fault: int | str, tries: int, said: str
) -> None:
    repository.faults[FIRST] = [fault] * 9
    with pytest.raises(UserError, match=said) as raised:
        fetched(tmp_path)
    assert quote("A & B's (x), 50%.txt") in str(raised.value)
    assert repository.asked[FIRST] == tries
    assert not (tmp_path / "txt_files").exists()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"name": "../up.txt", "type": "file", "size": 1, "sha": ""}, "a file that cannot be used"),
        ({"name": "x.txt", "type": "file", "sha": ""}, "a file that cannot be used"),
        (
            {"name": "half \ud800.txt", "type": "file", "size": 1, "sha": ""},
            "a file that cannot be used",
        ),
        ({"name": "Z .txt", "type": "file", "size": 1, "sha": ""}, "'Z .txt' is there 2 times"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(
    repository: Repository, tmp_path: Path, entry: dict[str, object], said: str
) -> None:
    repository.extra_entries.append(entry)
    with pytest.raises(UserError, match=said):
        fetched(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_list_that_may_be_cut_is_refused(repository: Repository, tmp_path: Path) -> None:
    repository.extra_entries += [
        {**listed(f"{number}.txt", b""), "type": "file"} for number in range(995)
    ]
    with pytest.raises(UserError, match="lists 1000 files, so its list may be cut"):
        fetched(tmp_path)


def test_notes_of_another_download_are_completed_and_others_named(
    repository: Repository, tmp_path: Path
) -> None:
    """A cache without a list is what another program left, perhaps in the midst of it."""
    notes = tmp_path / "txt_files"
    notes.mkdir()
    (notes / "Biopsy #2.txt").write_bytes(NOTES["Biopsy #2.txt"])
    (notes / "Z .txt").write_bytes(b"half")
    assert [note.filename for note in read_notes(tmp_path).notes] == ["Biopsy #2.txt", "Z .txt"]
    assert fetched(tmp_path)[1] == 2
    assert stored(tmp_path) == NOTES
    (notes / "mine.txt").write_bytes(b"PLAN: x")
    with pytest.raises(UserError, match=r"not of the download \(1, 'mine\.txt' among"):
        fetched(tmp_path)


def test_the_cache_is_the_argument_the_variable_or_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MTSAMPLES_PROCEDURES_CACHE_DIR", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "mtsamples_procedures"
    monkeypatch.setenv("MTSAMPLES_PROCEDURES_CACHE_DIR", "~/mine")
    assert cache_folder() == tmp_path / "mine"
    assert cache_folder(Path("other")) == Path("other")


@pytest.fixture
def whole_cache(tmp_path: Path) -> Path:
    """A cache with the list of the pinned commit and all of its files: nothing is asked for."""
    (tmp_path / "txt_files").mkdir()
    for name, content in NOTES.items():
        (tmp_path / "txt_files" / name).write_bytes(content)
    write_listing(tmp_path, {name: content.decode() for name, content in NOTES.items()}, PINNED)
    return tmp_path


@pytest.mark.parametrize("place", ["flag", "variable"])
def test_the_command_says_what_to_do_with_a_whole_cache(whole_cache: Path, place: str) -> None:
    named = ["--cache-dir", whole_cache] if place == "flag" else []
    env = {"MTSAMPLES_PROCEDURES_CACHE_DIR": str(whole_cache)} if place == "variable" else {}
    done = run_medeval("load", "mtsamples", "--download", *named, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 notes, 0 of them fetched now" in done.stdout
    assert f"Name {whole_cache} in MTSAMPLES_PROCEDURES_CACHE_DIR" in done.stdout
