"""The journal keeps each item once, whole, and for its owner only; what was edited is told."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference_runs import Dialogue, run_of
from tables import changed, read_lines, refused, table

from medeval.errors import UserError
from medeval.inference.engine import STEPS
from medeval.inference.guard import DataUseGuard
from medeval.inference.journal import Journal, read_journal
from medeval.inference.python_model import PythonModel
from medeval.inference.run import AUDIT, RESPONSES, RunConfig, read_answers
from medeval.inference.types import Outcome, Request, Sample

TABLES = table("journal")


def line(item: str, outcome: str = "answered", **more: Any) -> dict[str, Any]:
    named = {"item": item, "sample": 0, "key": f"k-{item}", "outcome": outcome}
    said = {"error": {"kind": "server"}} if outcome == "errored" else {"text": "A"}
    return {**named, **said, "cost": None, "measured": {"seconds": 0.1, "attempts": 1}, **more}


def as_file(*listed: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in listed)


def edit(path: Path, number: int, place: str, value: Any) -> None:
    """Change a line of a file; numbers begin with 1."""
    lines = read_lines(path)
    lines[number - 1] = changed(lines[number - 1], place, value)
    path.write_bytes(as_file(*lines))


# The file


@given(data=st.data())
def test_whatever_is_torn_off_the_end_whole_lines_are_kept(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    whole = as_file(*map(line, "abc"))
    length = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:length])
    kept = whole[:length].count(b"\n")
    assert len(list(read_journal(path))) == kept
    with Journal(path) as journal:
        assert len(list(journal.lines())) == kept
        for name in "abc"[kept:]:
            journal.append(line(name))
    assert [json.loads(text) for text in path.read_bytes().splitlines()] == [*map(line, "abc")]


def test_a_torn_line_longer_than_a_block_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "j"
    whole = as_file(line("a", text="x" * 1_500_000))
    path.write_bytes(whole + b'{"item":"' + b"x" * 2_500_000)
    with Journal(path) as journal:
        assert len(list(journal.lines())) == 1
        refused("Another run", Journal, path)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (whole, 0o600)


@pytest.mark.parametrize("broken", [b"not json", b"[]", b"", b'{"item":"b"}', None])
def test_a_broken_line_in_the_midst_is_told_by_number(tmp_path: Path, broken: bytes | None) -> None:
    path = tmp_path / "j"
    first, last = as_file(line("a")), as_file(line("c"))
    before = first + (first if broken is None else broken + b"\n") + last
    path.write_bytes(before)
    told = "item 'a' .* twice" if broken is None else "not a line of a journal"
    refused(f"line 2: {told}", Journal, path)
    assert path.read_bytes() == before


def test_answers_follow_the_items_and_a_missing_one_leaves_its_place(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(as_file(line("c", text="<think>x</think>C"), line("a")))
    items = [Sample(name, []) for name in ("a", "b", "c")]
    assert [(a.item, a.answer, a.outcome) for a in read_answers(path, items)] == [
        ("a", "A", Outcome.ANSWERED),
        ("b", "", None),
        ("c", "C", Outcome.ANSWERED),
    ]
    refused("there are no answers", list, read_answers(tmp_path / "absent", items))
    assert not (tmp_path / "absent").exists()


# The key of a request


def request(endpoint: str, model: str, parameters: Any, version: str, **item: Any) -> Request:
    return Request(Sample("a", **item), endpoint, model, parameters, version)


def test_the_key_is_of_all_that_decides_the_answer_and_of_nothing_else() -> None:
    base = TABLES["request"]
    keys = {request(**other).key for other in (base, *TABLES["others"])}
    assert len(keys) == 1 + len(TABLES["others"])
    turned = Sample("b", [{"content": "Q", "role": "user"}], "open")
    again = Request(turned, base["endpoint"], "m", {"temperature": 0}, "1").key
    # It stays the same from version to version.
    key = "0ab43eaef86dd9c85edf9af5970b0e8de2a5af9740ae61ef0c79eee1a00ed2bf"
    assert request(**base).key == again == key


# A line that is JSON but no line of a journal


@pytest.mark.parametrize(("place", "value"), TABLES["faults"])
def test_a_field_of_no_form_is_named_and_not_shown(tmp_path: Path, place: str, value: Any) -> None:
    path, whole = tmp_path / RESPONSES, as_file(TABLES["line"])
    torn = as_file(changed({**TABLES["line"], "item": "b"}, place, value))
    path.write_bytes(whole + torn)
    for read in (lambda: list(read_journal(path)), lambda: Journal(path)):
        told = refused(rf"line 2: .*\({place}: ", read)
        assert "XANTHIPPE" not in told
    path.write_bytes(whole + torn[:-1])  # torn, it is dropped
    assert [line["item"] for line in read_journal(path)] == ["a"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*TABLES["line"]]), inner),
    )
)
def test_any_line_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    for each in (value, *({**TABLES["line"], name: value} for name in TABLES["line"])):
        path.write_bytes(as_file(each))
        read, told = [each], ""
        try:
            read = list(read_journal(path))
        except UserError as error:
            told = str(error)
        assert f"{path}, line 1: not a line of a journal" in told or read == [each]


def talk(folder: Path) -> None:
    provider = PythonModel(lambda item: "yes", "f", DataUseGuard({}, folder / AUDIT))
    run_of(folder, provider).execute([Dialogue("talk")], RunConfig())


def test_an_edited_journal_of_turns_is_told_and_what_nobody_needs_may_miss(tmp_path: Path) -> None:
    talk(tmp_path)
    steps, answers = tmp_path / STEPS, tmp_path / RESPONSES
    turns, (ended,) = steps.read_bytes(), read_journal(answers)
    for place, value in (("outcome", "postponed"), ("measured", "gone"), ("turn", "1")):
        answers.unlink(missing_ok=True)  # so that the turns are read again
        edit(steps, 2, place, value)
        refused(rf"{STEPS}, line 2: not a line .*\({place}: ", talk, tmp_path)
        steps.write_bytes(turns)
    for place in ("fingerprint", "reasoning", "measured.charged"):
        edit(steps, 1, place, "gone")
    edit(steps, 1, "measured.seconds", None)
    talk(tmp_path)
    (line,) = read_journal(answers)
    assert {**line, "measured": {}} == {**ended, "measured": {}}
    edit(answers, 1, "episode", "gone")
    talk(tmp_path)  # its reason is not known, and nothing else is missing
