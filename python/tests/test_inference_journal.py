"""The journal keeps each item once, whole, and for its owner only."""

from __future__ import annotations

import json
import resource
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medeval.errors import UserError
from medeval.inference.journal import Journal, read_journal
from medeval.inference.run import Run, read_answers
from medeval.inference.types import Item, Outcome, Request


def line(item: str, outcome: str = "answered", sample: int = 0, text: str = "A") -> dict[str, Any]:
    named = {"item": item, "sample": sample, "key": f"k-{item}", "outcome": outcome}
    said = {"error": {"kind": "server"}} if outcome == "errored" else {"text": text}
    return {**named, **said, "cost": None, "measured": {"seconds": 0.1, "attempts": 1}}


def test_lines_are_there_at_once_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    with Journal(path) as journal:
        journal.append(line("b"))
        journal.append(line("a", text="答案\u2028C\n"))
        assert path.read_bytes().count(b"\n") == 2
        assert journal.read("a", 0) == line("a", text="答案\u2028C\n")
        assert journal.read("a", 1) is None
        assert [read["item"] for read in journal.lines()] == ["b", "a"]
    with Journal(path) as journal:
        assert len(journal) == 2
        place = journal.place("b", 0)
        assert place is not None
        assert place.key == "k-b"
    assert [read["item"] for read in read_journal(path)] == ["b", "a"]


def test_an_item_has_one_line(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.append(line("a"))
        journal.append(line("a", sample=1))
        with pytest.raises(ValueError, match="has a line already"):
            journal.append(line("a"))
        assert len(journal) == 2


@given(data=st.data())
def test_whatever_is_torn_off_the_end_whole_lines_are_kept(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    with Journal(path) as journal:
        for name in ("a", "b", "c"):
            journal.append(line(name))
    whole = path.read_bytes()
    length = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:length])
    kept = whole[:length].count(b"\n")
    assert len(list(read_journal(path))) == kept
    with Journal(path) as journal:
        assert len(journal) == kept
        for name in ("a", "b", "c")[kept:]:
            journal.append(line(name))
    assert path.read_bytes() == whole


def test_a_torn_line_longer_than_a_block_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "j"
    whole = (json.dumps(line("a", text="x" * 1_500_000)) + "\n").encode()
    path.write_bytes(whole + b'{"item":"' + b"x" * 2_500_000)
    with Journal(path) as journal:
        assert len(journal) == 1
    assert path.read_bytes() == whole


@pytest.mark.parametrize("broken", [b"not json\n", b"[]\n", b'{"item":"b"}\n', b"\n"])
def test_a_broken_line_in_the_midst_is_told_by_number(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "j"
    good = (json.dumps(line("a")) + "\n").encode()
    path.write_bytes(good + broken + good)
    with pytest.raises(UserError, match="line 2: not a line of a journal"):
        Journal(path)
    assert path.read_bytes() == good + broken + good


def test_an_item_that_stands_in_it_twice_is_told(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes((json.dumps(line("a")) + "\n").encode() * 2)
    with pytest.raises(UserError, match=r"line 2: item 'a' .* twice"):
        Journal(path)


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "j"), pytest.raises(UserError, match="Another run"):
        Journal(tmp_path / "j")
    with Journal(tmp_path / "j"):
        pass


def test_a_journal_that_was_open_to_all_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.touch(mode=0o644)
    with Journal(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_outcomes_to_be_asked_again_are_taken_out_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path) as journal:
        for name, outcome in (("a", "answered"), ("b", "errored"), ("c", "empty")):
            journal.append(line(name, outcome))
    with Journal(path, lambda line: line["outcome"] == Outcome.ERRORED) as journal:
        assert [read["item"] for read in journal.lines()] == ["a", "c"]
        assert journal.place("b", 0) is None
        journal.append(line("b"))
        assert journal.read("b", 0) == line("b")
        with pytest.raises(UserError, match="Another run"):
            Journal(path)
    assert [read["item"] for read in read_journal(path)] == ["a", "c", "b"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["j"]


def full_disk(path: str) -> str:
    """Write to a journal when files may not grow; return what it told."""
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with Journal(Path(path)) as journal:
        journal.append(line("a"))
        limit = Path(path).stat().st_size + 10
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            journal.append(line("b"))
        except UserError as error:
            return str(error)
    return "nothing"


def test_a_full_disk_is_told_and_leaves_no_half_line(tmp_path: Path) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    path = tmp_path / "j"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        told = pool.submit(full_disk, str(path)).result()
    assert "could not be written" in told
    assert [json.loads(text) for text in path.read_text().splitlines()] == [line("a")]


def test_answers_follow_the_items_and_a_missing_one_leaves_its_place(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path) as journal:
        journal.append(line("c", text="<think>x</think>C"))
        journal.append(line("a"))
    items = [Item(name, []) for name in ("a", "b", "c")]
    answers = list(read_answers(path, items))
    assert [(a.item, a.answer, a.outcome) for a in answers] == [
        ("a", "A", Outcome.ANSWERED),
        ("b", "", None),
        ("c", "C", Outcome.ANSWERED),
    ]
    with pytest.raises(UserError, match="there are no answers"):
        list(read_answers(tmp_path / "absent", items))
    assert not (tmp_path / "absent").exists()


BASE = Request(
    Item("a", [{"role": "user", "content": "Q"}]), "https://x.org/v1", "m", {"temperature": 0}, "1"
)


def test_the_key_is_of_all_that_decides_the_answer_and_of_nothing_else() -> None:
    message = {"role": "user", "content": "Q"}
    others = [
        Request(BASE.item, "https://y.org/v1", "m", {"temperature": 0}, "1"),
        Request(BASE.item, BASE.endpoint, "n", {"temperature": 0}, "1"),
        Request(BASE.item, BASE.endpoint, "m", {"temperature": 1}, "1"),
        Request(BASE.item, BASE.endpoint, "m", {"temperature": 0, "seed": 1}, "1"),
        Request(BASE.item, BASE.endpoint, "m", {"temperature": 0}, "2"),
        Request(Item("a", [message], sample=1), BASE.endpoint, "m", {"temperature": 0}, "1"),
        Request(Item("a", [message, message]), BASE.endpoint, "m", {"temperature": 0}, "1"),
        Request(
            Item("a", [{**message, "role": "system"}]), BASE.endpoint, "m", {"temperature": 0}, "1"
        ),
    ]
    assert len({BASE.key, *(other.key for other in others)}) == len(others) + 1
    turned = Item("b", [{"content": "Q", "role": "user"}], "open")
    assert Request(turned, BASE.endpoint, "m", {"temperature": 0}, "1").key == BASE.key


def test_the_key_stays_the_same_from_version_to_version() -> None:
    assert BASE.key == "0ab43eaef86dd9c85edf9af5970b0e8de2a5af9740ae61ef0c79eee1a00ed2bf"


def test_a_folder_with_answers_and_no_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "responses.jsonl").touch()
    with pytest.raises(UserError, match=r"no run\.json"):
        Run(tmp_path, {"model": "m"})


def test_a_broken_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UserError, match="not the record of a run"):
        Run(tmp_path, {"model": "m"})


def test_each_difference_of_settings_is_named(tmp_path: Path) -> None:
    where = {"endpoint": BASE.endpoint, "model": "m"}
    before = {**where, "parameters": {"seed": 1, "top_p": 1}, "prompt_version": "1"}
    Run(tmp_path, before, about={"code_version": "0.1"})
    Run(tmp_path, before, about={"code_version": "0.2"})
    with pytest.raises(UserError) as refusal:
        Run(tmp_path, {**where, "parameters": {"seed": 2}, "prompt_version": "2"})
    assert (
        'parameters.seed was 1, now 2; parameters.top_p was 1, now nothing; prompt_version was "1",'
        ' now "2"' in str(refusal.value)
    )
    record = json.loads((tmp_path / "run.json").read_text())
    assert record == {"settings": before, "learned": {}, "code_version": "0.1"}


def test_what_was_learned_is_kept_for_the_next_start(tmp_path: Path) -> None:
    settings = {"endpoint": "e", "model": "m", "parameters": {}, "prompt_version": "1"}
    Run(tmp_path, settings).update("learned", {"temperature": ""})
    assert Run(tmp_path, settings).learned == {"temperature": ""}
    assert stat.S_IMODE((tmp_path / "run.json").stat().st_mode) == 0o600
