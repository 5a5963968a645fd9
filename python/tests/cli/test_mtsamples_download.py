"""The download of the public notes, from a server of our own that fails by script."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from commands import contents
from dbt_worker import Worked
from in_process import Done, Main
from mtsamples_listing import listed
from tables import table
from web_server import Page, web_server

GIVEN = table("mtsamples_download")
# The repository, a folder in it and the commit.
PINNED = (
    "raulista1997/benchmarkdata",
    "mtsample_procedure",
    "c4c252443fa9c52afb6960f53e51be278639bea2",
)
NOTES = {
    "Biopsy #2.txt": "H\nPLAN: a\u00a0b\n".encode(),
    "A & B's (x), 50%.txt": b"FINDINGS: none",
    "Z .txt": b"",
}
LIST = f"/api/repos/{PINNED[0]}/contents/{PINNED[1]}?ref={PINNED[2]}"
RAW = f"/raw/{PINNED[0]}/{PINNED[2]}/{PINNED[1]}/"
FIRST = f"{RAW}A & B's (x), 50%.txt"


@dataclass
class Repository:
    """What answers like GitHub.

    Attributes:
        fetch: the command that fills the folder of the test.
        notes: where it puts them.
        extra: entries of the list beside the notes.
        faults: what is amiss with the answers at a path, from the first request on: a status, `cut`
            or `wrong`; an answer without one is right.
        asked: how often each path was asked for.
    """

    fetch: Callable[[], Done]
    notes: Path
    extra: list[dict[str, object]] = field(default_factory=list)
    faults: dict[str, list[int | str]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)

    def respond(self, place: str, _: object) -> Page:
        path = unquote(place)
        notes = [{**listed(name, content), "type": "file"} for name, content in NOTES.items()]
        other = {"name": "README.md", "type": "file", "size": 1, "sha": ""}
        folder = {"name": "more.txt", "type": "dir", "size": 0, "sha": ""}
        entries = [other, folder, *notes, *self.extra]
        body = json.dumps(entries).encode() if path == LIST else NOTES[path.removeprefix(RAW)]
        fault = dict(enumerate(self.faults.get(path, []))).get(self.asked[path])
        self.asked[path] += 1
        if isinstance(fault, int):
            return Page(fault, "not here", {"x-ratelimit-remaining": "0"} if fault == 403 else {})
        longer = {"Content-Length": str(len(body) + 1)} if fault == "cut" else {}
        return Page(200, b"#" * len(body) if fault == "wrong" else body, longer)


@pytest.fixture
def repository(main: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Repository]:
    words = ("load", "mtsamples", "--download", "--cache-dir", tmp_path)
    served = Repository(lambda: main(*words), tmp_path / "txt_files")
    with web_server(served.respond) as server:
        own = {"API": f"{server.url}/api", "RAW": f"{server.url}/raw", "ATTEMPTS": 3}
        for name, value in {**own, "FIRST_WAIT": 0.001}.items():
            monkeypatch.setattr(f"medeval.tasks.mtsamples.download.{name}", value)
        yield served


def test_all_notes_are_fetched_at_the_commit_and_only_once(repository: Repository) -> None:
    done = repository.fetch()
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{repository.notes}: 3 notes, 3 of them fetched now.\n")
    assert contents(repository.notes) == NOTES
    path = repository.notes / "Biopsy #2.txt"
    path.write_bytes(path.read_bytes().replace(b"PLAN", b"PLAY"))
    assert "3 notes, 1 of them fetched now" in repository.fetch().out
    assert contents(repository.notes) == NOTES
    assert "3 notes, 0 of them fetched now" in repository.fetch().out
    assert repository.asked[LIST] == repository.asked[FIRST] == 1


def test_a_download_that_stopped_is_gone_on_with(
    repository: Repository, main: Main, tmp_path: Path
) -> None:
    last = f"{RAW}Z .txt"
    repository.faults[last] = [404, 404]
    done = repository.fetch()
    assert (done.code, done.out) == (2, "")
    assert "Z%20.txt cannot be fetched: HTTP status 404" in done.err
    assert set(contents(repository.notes)) == set(NOTES) - {"Z .txt"}
    done = main("load", "mtsamples", tmp_path, code=2)
    assert "incomplete: of 3 notes it lacks 1, 'Z .txt'" in done.err
    # A folder that is named as a cache is completed.
    assert "Z%20.txt cannot be fetched" in main("load", "mtsamples", "--cache-dir", tmp_path).err
    assert "3 notes, 1 of them fetched now" in repository.fetch().out
    assert (repository.asked[LIST], repository.asked[FIRST], repository.asked[last]) == (1, 1, 3)


@pytest.mark.parametrize(("path", "fault", "tries", "said"), GIVEN["faults"])
def test_a_fault_that_passes_is_waited_out_and_one_that_stays_names_the_file(
    repository: Repository, path: str, fault: int | str, tries: int, said: str
) -> None:
    place = {"list": LIST, "note": FIRST}[path]
    repository.faults[place] = [fault] * (9 if said else 2)
    done = repository.fetch()
    assert (done.code, repository.asked[place]) == (2 if said else 0, tries)
    if said:
        assert said in done.err
        assert quote("A & B's (x), 50%.txt") in done.err
        assert not repository.notes.exists()
    else:
        assert contents(repository.notes) == NOTES


MANY = [{**listed(f"{number}.txt", b""), "type": "file"} for number in range(995)]


@pytest.mark.parametrize("entries", [*([entry] for entry in GIVEN["entries"]), MANY])
def test_a_list_that_cannot_be_right_is_refused(
    repository: Repository, tmp_path: Path, entries: list[dict[str, object]]
) -> None:
    repository.extra += entries
    done = repository.fetch()
    assert done.code == 2
    assert f"{PINNED[1]}?ref={PINNED[2]} cannot be fetched: " in done.err
    assert ("may be cut" if entries is MANY else "one that cannot be used") in done.err
    assert list(tmp_path.iterdir()) == []


def test_notes_of_another_download_are_completed_and_others_named(repository: Repository) -> None:
    """A cache without a list is what another program left, perhaps in the midst of it."""
    notes = repository.notes
    notes.mkdir()
    (notes / "Biopsy #2.txt").write_bytes(NOTES["Biopsy #2.txt"])
    (notes / "Z .txt").write_bytes(b"half")
    assert "3 notes, 2 of them fetched now" in repository.fetch().out
    assert contents(notes) == NOTES
    (notes / "mine.txt").write_bytes(b"PLAN: x")
    assert "not of the download (1, 'mine.txt' among" in repository.fetch().err


def test_a_run_fills_a_cache_that_is_empty(
    repository: Repository,
    main: Main,
    built: Worked,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(built.path))
    words = ["run", "--task", "mtsamples", "--model", "demo", "--judge-model", "local"]
    words += ["--cache-dir", str(cache), "--out", str(tmp_path / "runs")]
    done = main(*words, code=2)
    assert f"{cache / 'txt_files'}: 3 notes, 3 of them fetched now" in done.err
    assert f"`MEDEVAL_MTSAMPLES={cache} dbt build --select mtsamples`" in done.err
    assert contents(cache / "txt_files") == NOTES
    built.builds("build", "--select", "mtsamples", MTSAMPLES=cache)
    assert "fetched" not in main(*words, code=0).err
    assert repository.asked[LIST] == repository.asked[FIRST] == 1
