"""Files of questions: encodings, layouts, text that nearly is JSON, and what is refused."""

# ruff: noqa: RUF001 (full-width signs are what is tested)

from __future__ import annotations

import codecs
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from medeval.errors import UserError
from medeval.json_reader import tolerant_value
from medeval.tasks.yier.files import (
    FORGIVEN,
    Document,
    LayoutError,
    as_text,
    parse,
    read_bytes,
)

RECORD: dict[str, Any] = {
    "context": "患者：“我最近，头晕”；医生：注意休息。",
    "question": "下列正确的是（ ）",
    "selection": ["叶酸", "“假维生素”，又称类维生素", "以上都不对"],
    "answer_choices": ["叶酸"],
    "sample_id": "r1",
    "source": "自拟题",
    "year": 2023,
}
OTHER = RECORD | {"sample_id": "r2", "context": ""}
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.fixed_dictionaries(
    {
        "context": TEXTS | st.none(),
        "question": TEXTS,
        "selection": st.lists(TEXTS, min_size=1, max_size=5),
        "answer_choices": st.lists(TEXTS, max_size=3),
        "sample_id": TEXTS,
    },
    optional={"note": VALUES},
)


def forgiven(text: str) -> Any:
    return tolerant_value(text, 0, FORGIVEN, json.JSONDecoder(object_pairs_hook=dict))[0]


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize(
    ("mark", "codec", "name"),
    [
        (b"", "utf-8", "utf-8"),
        (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
        (b"", "gb18030", "gb18030"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32"),
    ],
)
def test_encodings_are_told_apart(mark: bytes, codec: str, name: str) -> None:
    found = read_bytes(mark + dumped([RECORD]).encode(codec), "f")
    assert (found.records, found.encoding) == ([RECORD], name)


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        (dumped([RECORD, OTHER]), "array"),
        (dumped({"data": [RECORD, OTHER]}), "wrapped"),
        (dumped({"note": 1, "records": [RECORD, OTHER]}), "wrapped"),
        (dumped({"items": [RECORD, OTHER]}), "wrapped"),
        (dumped({"samples": [RECORD, OTHER]}), "wrapped"),
        (f"{dumped(RECORD)}\n{dumped(OTHER)}\n", "lines"),
        (f"{dumped(RECORD)}\r\n\r\n{dumped(OTHER)}\r\n", "lines"),
        (f"{json.dumps(RECORD, indent=1)}\n{json.dumps(OTHER, indent=1)}", "sequence"),
        (dumped(RECORD) + dumped(OTHER), "sequence"),
    ],
)
def test_layouts_are_told_apart(text: str, layout: str) -> None:
    found = parse(text)
    assert (found.records, found.layout, found.repaired) == ([RECORD, OTHER], layout, False)
    again = parse(as_text(found))
    assert (again.records, again.layout) == ([RECORD, OTHER], layout)


def test_what_is_around_the_list_is_written_back() -> None:
    text = dumped({"version": 2, "data": [RECORD], "by": "x"})
    assert json.loads(as_text(parse(text))) == json.loads(text)
    assert list(json.loads(as_text(parse(text)))) == ["version", "data", "by"]


@pytest.mark.parametrize("case", table("yier_texts", "readers"), ids=lambda case: case["text"])
def test_quotes_and_commas_outside_strings_are_forgiven_and_nothing_else(
    case: dict[str, Any],
) -> None:
    if "values" in case:
        assert forgiven(case["text"]) == case["values"]
        return
    with pytest.raises(LayoutError):
        parse(case["text"])


def test_a_file_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(LayoutError):
        parse("[" * 100_000)


def test_a_damaged_object_is_read_and_reported() -> None:
    text = "｛“question”：“何者正确”，“selection”：［“甲”，“乙”］，｝"
    found = parse(text)
    assert found.records == [{"question": "何者正确", "selection": ["甲", "乙"]}]
    assert (found.layout, found.repaired) == ("object", True)


@pytest.mark.parametrize("cut", ['{"con', '{"context": "a', '{"context": "a", "que'])
def test_a_line_cut_off_in_the_middle_does_not_swallow_the_next(cut: str) -> None:
    with pytest.raises(LayoutError):
        parse(f"{cut}\n{dumped(OTHER)}\n")


def test_bytes_of_no_encoding_are_refused() -> None:
    with pytest.raises(UserError, match="neither UTF-8"):
        read_bytes(b'["\xff\xff"]', "f")
    with pytest.raises(UserError, match="utf-16"):
        read_bytes(codecs.BOM_UTF16_LE + b"a", "f")


@given(st.lists(RECORDS, max_size=4), st.sampled_from(["array", "lines"]))
def test_what_was_written_reads_the_same(records: list[dict[str, Any]], to: Any) -> None:
    written = as_text(Document(records, "array"), to)
    found = read_bytes(written.encode(), "f")
    assert found.records == records
    assert [list(record) for record in found.records] == [list(record) for record in records]
    assert not found.repaired


@given(st.lists(RECORDS, min_size=1, max_size=3), st.data())
def test_a_cut_array_is_never_a_shorter_list(records: list[dict[str, Any]], data: Any) -> None:
    text = dumped(records)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(LayoutError):
        parse(cut)
