"""Files of questions: encodings, layouts, text that nearly is JSON, and what is refused."""

# ruff: noqa: RUF001 (full-width signs are what is tested)

from __future__ import annotations

import codecs
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import refused, table

from medeval.json_reader import tolerant_value
from medeval.tasks.yier.files import FORGIVEN, Document, as_text, parse, read_bytes

TABLES = table("yier_files")
RECORD: dict[str, Any] = TABLES["record"]
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


@pytest.mark.parametrize(("codec", "mark", "name"), TABLES["encodings"])
def test_encodings_are_told_apart(codec: str, mark: str, name: str) -> None:
    found = read_bytes((mark + dumped([RECORD])).encode(codec), "f")
    assert (found.records, found.encoding) == ([RECORD], name)


@pytest.mark.parametrize(("text", "layout"), TABLES["layouts"])
def test_layouts_are_told_apart(text: str, layout: str) -> None:
    records = {"$ONE": dumped(RECORD), "$TWO": dumped(OTHER)}
    for word, record in {**records, "$INDENTED": json.dumps(RECORD, indent=1)}.items():
        text = text.replace(word, record)
    found = parse(text)
    assert (found.records, found.layout, found.repaired) == ([RECORD, OTHER], layout, False)
    again = parse(as_text(found))
    assert (again.records, again.layout) == ([RECORD, OTHER], layout)
    if layout == "wrapped":
        assert dumped(json.loads(as_text(found))) == dumped(json.loads(text))


@pytest.mark.parametrize("case", table("yier_texts", "readers"), ids=lambda case: case["text"])
def test_quotes_and_commas_outside_strings_are_forgiven_and_nothing_else(
    case: dict[str, Any],
) -> None:
    if "values" in case:
        assert forgiven(case["text"]) == case["values"]
        return
    refused("", parse, case["text"], error=ValueError)


def test_a_damaged_object_is_read_and_reported() -> None:
    text = "｛“question”：“何者正确”，“selection”：［“甲”，“乙”］，｝"
    found = parse(text)
    assert found.records == [{"question": "何者正确", "selection": ["甲", "乙"]}]
    assert (found.layout, found.repaired) == ("object", True)


@pytest.mark.parametrize("text", [f"{cut}\n$TWO\n" for cut in TABLES["cut"]] + ["[" * 100_000])
def test_what_is_cut_off_or_nested_too_deep_is_refused(text: str) -> None:
    refused("", parse, text.replace("$TWO", dumped(OTHER)), error=ValueError)


def test_bytes_of_no_encoding_are_refused() -> None:
    refused("neither UTF-8", read_bytes, b'["\xff\xff"]', "f")
    refused("utf-16", read_bytes, codecs.BOM_UTF16_LE + b"a", "f")


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
    refused("", parse, cut, error=ValueError)
