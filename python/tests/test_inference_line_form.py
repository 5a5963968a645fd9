"""A line that is JSON but no line of a journal is told by file, line and field; no traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference_runs import QUICK, ask, content, open_items
from judging_runs import GOOD, judge_at, judged, judging, subjects
from model_server import Script, model_server

from medeval.errors import UserError
from medeval.inference.engine import STEPS
from medeval.inference.guard import DataUseGuard
from medeval.inference.journal import Journal, Line, read_journal
from medeval.inference.lines import answered_line, fault_of
from medeval.inference.python_model import PythonModel
from medeval.inference.run import AUDIT, RESPONSES, Run, RunConfig, read_answers, settings_of
from medeval.inference.types import (
    Ask,
    AskModel,
    Completion,
    Finished,
    Item,
    Outcome,
    Request,
    ToolCall,
    Usage,
)

REQUEST = Request(
    Item("a", [{"role": "user", "content": "Q"}], "open"), "https://x.org/v1", "m", {}, "1"
)
MEASURED = {"seconds": 0.5, "attempts": 2, "charged": "0.10"}
REPLIED = answered_line(
    REQUEST,
    Completion("A", usage=Usage(1, 0, 2, None), tool_calls=(ToolCall("1", "look", "{}"),)),
    Decimal("0.1"),
    MEASURED,
)
GONE = object()


def changed(line: Line, place: str, value: Any) -> Line:
    """Return a copy of a line with another value at a place of it, or without it."""
    copy: Line = json.loads(json.dumps(line))
    *way, last = place.split(".")
    at: Any = copy
    for name in way:
        at = at[int(name) if isinstance(at, list) else name]
    if value is GONE:
        del at[last]
    else:
        at[last] = value
    return copy


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("item", GONE), ("sample", "0"), ("turn", -1), ("key", None), ("outcome", "postponed"),
        ("text", GONE), ("usage.audio_tokens", 1), ("tool_calls.0.name", GONE), ("cost", "NaN"),
        ("measured.attempts", 0), ("error", "server"), ("episode", None),
    ],
)  # fmt: skip
def test_the_field_that_is_not_of_the_form_is_named(place: str, value: Any) -> None:
    assert fault_of(changed(REPLIED, place, value)).startswith(f"{place}: ")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(list(REPLIED)), inner),
    )
)
def test_whatever_the_line_is_it_is_judged_without_an_error(value: Any) -> None:
    assert isinstance(fault_of(value), str)
    for name in REPLIED:
        assert isinstance(fault_of({**REPLIED, name: value}), str)


def test_an_error_repeats_nothing_of_the_line(tmp_path: Path) -> None:
    path = tmp_path / RESPONSES
    for place in ("outcome", "text", "cost", "usage", "error"):
        path.write_text(json.dumps({**REPLIED, place: ["XANTHIPPE"]}) + "\n", encoding="utf-8")
        with pytest.raises(UserError) as told:
            list(read_journal(path))
        assert "XANTHIPPE" not in str(told.value)


def edit(path: Path, number: int, change: Callable[[Line], Line]) -> None:
    """Change a line of a file; numbers begin with 1."""
    texts = path.read_text(encoding="utf-8").splitlines()
    texts[number - 1] = json.dumps(change(json.loads(texts[number - 1])))
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def postponed(line: Line) -> Line:
    return {**line, "outcome": "postponed"}


def test_an_edited_journal_of_answers_is_told_wherever_it_is_read(tmp_path: Path) -> None:
    items = open_items(3)
    with model_server() as server:
        ask(server.url, tmp_path, items)
        path = tmp_path / RESPONSES
        before = path.read_bytes()
        edit(path, 2, postponed)
        edited = path.read_bytes()
        where = (
            rf"{RESPONSES}, line 2: not a line of a journal \(outcome: .*'answered'.*asks it again"
        )
        again = RunConfig(retries=QUICK, retry=frozenset({Outcome.ERRORED}))
        for read in (
            lambda: list(read_answers(path, items)),
            lambda: list(read_journal(path)),
            lambda: ask(server.url, tmp_path, items),
            lambda: ask(server.url, tmp_path, items, again),
        ):
            with pytest.raises(UserError, match=where):
                read()
        assert path.read_bytes() == edited
        assert server.seen.requests == 3
        # What the message says to do helps.
        lines = edited.splitlines(keepends=True)
        path.write_bytes(lines[0] + lines[2])
        ask(server.url, tmp_path, items)
        assert server.seen.requests == 4
    whole = {line["item"]: line["text"] for line in map(json.loads, before.splitlines())}
    assert {line["item"]: line["text"] for line in content(tmp_path)} == whole


def test_a_torn_last_line_is_still_dropped_and_a_whole_one_without_its_form_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / RESPONSES
    whole = (json.dumps(REPLIED) + "\n").encode()
    torn = json.dumps(postponed({**REPLIED, "item": "b"})).encode()
    path.write_bytes(whole + torn)
    assert [line["item"] for line in read_journal(path)] == ["a"]
    path.write_bytes(whole + torn + b"\n")
    with pytest.raises(UserError, match="line 2"):
        list(read_journal(path))
    with pytest.raises(UserError, match="line 2"):
        Journal(path)
    path.write_bytes(whole + torn)
    with Journal(path) as journal:
        assert len(journal) == 1


class Twice:
    """A conversation of two turns."""

    id, sample, data_class = "talk", 0, "open"
    opening = Ask([{"role": "user", "content": "first"}])

    async def play(self, ask: AskModel) -> Finished:
        first = await ask(self.opening)
        assert first.completion is not None
        said = {"role": "user", "content": f"second after {first.completion.text}"}
        second = await ask(Ask([*self.opening.messages, said]))
        assert second.completion is not None
        return Finished(second.outcome, second.completion.text)


def talk(folder: Path) -> None:
    provider = PythonModel(lambda item: "yes", "f", DataUseGuard({}, folder / AUDIT))
    Run(folder, settings_of(provider, ""), provider).execute([Twice()], RunConfig())


@pytest.mark.parametrize(
    ("place", "value"),
    [("outcome", "postponed"), ("measured", GONE), ("usage.audio_tokens", 1), ("turn", "1")],
)
def test_an_edited_journal_of_turns_is_told(tmp_path: Path, place: str, value: Any) -> None:
    talk(tmp_path)
    (tmp_path / RESPONSES).unlink()  # so that the turns are read again
    edit(tmp_path / STEPS, 2, lambda line: changed(line, place, value))
    with pytest.raises(UserError, match=rf"{STEPS}, line 2: not a line of a journal \({place}: "):
        talk(tmp_path)


def test_turns_without_what_nobody_needs_go_on(tmp_path: Path) -> None:
    talk(tmp_path)
    ended = list(read_journal(tmp_path / RESPONSES))
    (tmp_path / RESPONSES).unlink()
    for place in ("fingerprint", "reasoning", "measured.charged"):
        edit(tmp_path / STEPS, 1, lambda line, place=place: changed(line, place, GONE))
    edit(tmp_path / STEPS, 1, lambda line: changed(line, "measured.seconds", None))
    talk(tmp_path)
    (line,) = read_journal(tmp_path / RESPONSES)
    assert {**line, "measured": {}} == {**ended[0], "measured": {}}
    edit(tmp_path / RESPONSES, 1, lambda line: changed(line, "episode", GONE))
    talk(tmp_path)  # its reason is not known, and nothing else is missing


@pytest.mark.parametrize(
    ("place", "value"),
    [("outcome", "postponed"), ("cost", GONE), ("measured.attempts", None), ("text", GONE)],
)
def test_an_edited_journal_of_judgments_is_told(tmp_path: Path, place: str, value: Any) -> None:
    listed = subjects(3)
    with model_server(Script(reply=lambda body: GOOD)) as server:
        judged(server.url, tmp_path, listed)
        edit(tmp_path / "judgments.jsonl", 3, lambda line: changed(line, place, value))
        where = rf"judgments\.jsonl, line 3: not a line of a journal \({place}: "
        with pytest.raises(UserError, match=where):
            judged(server.url, tmp_path, listed)
        with pytest.raises(UserError, match=where):
            judging(listed, [judge_at(server.url)], tmp_path).results()
