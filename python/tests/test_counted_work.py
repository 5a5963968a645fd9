"""What counts work counts what happens, and tells work in proportion from work that is not."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FunctionType

import pytest
from counted_work import Work, growth
from hypothesis import example, given
from hypothesis import strategies as st
from regex_steps import Search

import medeval.cdm.words as words
from medeval.cdm.words import plain

pytestmark = pytest.mark.slow

PATTERNS = [
    *(r"a*b", r"a*?b", r"(?:ab?)+", r"(?:ab?)+?,", r"a{1,3}", r"a{2}", r"a{2,}?,", r"(a|b|)*,"),
    *(r"^a|b$", r"\ba", r"\Bb", r",\s*(?![^()]*\))", r"(?<=a)b", r"(?<!\S)a", r"a++b", r"(?>a*)b"),
    *(r"", r"a*", r"[^ab]", r"[\W_]+", r".", r"(?i:B)a", r"(?i:b(?-i:B)b)"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=st.text("ab, ()\nB", max_size=12))
@example(text="aab,aab")
def test_the_counting_search_finds_what_the_real_one_does(pattern: str, text: str) -> None:
    compiled = re.compile(pattern)
    for start in (0, 2):
        found = [match.span() for match in compiled.finditer(text, start)]
        assert list(Search(compiled, text).spans(min(start, len(text)))) == found
        first = next(Search(compiled, text).spans(min(start, len(text)), is_anchored=True), None)
        at_start = compiled.match(text, start)
        assert first == (at_start.span() if at_start else None)


def test_an_expression_that_it_does_not_know_is_an_error() -> None:
    with pytest.raises(NotImplementedError, match="GROUPREF"):
        list(Search(re.compile(r"(a)\1"), "aa").spans())


@pytest.mark.parametrize(
    ("pattern", "power"), [(r"a", 1), (r"a{0,9}b", 1), (r"a*b", 2), (r"a*a*b", 3)]
)
def test_steps_grow_as_the_expression_has_them(pattern: str, power: int) -> None:
    steps = []
    for size in (40, 80):
        search = Search(re.compile(pattern), "a" * size)
        list(search.spans())
        steps.append(search.steps)
    assert steps[1] / steps[0] == pytest.approx(2**power, rel=0.1)


def in_the_package(function: FunctionType) -> Callable[[int], object]:
    """Return the function as one of the package's own."""
    return FunctionType(function.__code__, {"__name__": "medeval.example"})


def once(size: int) -> None:
    for _ in range(size):
        pass


def squared(size: int) -> None:
    for _ in range(size):
        for _ in range(size):
            pass


def searching(size: int) -> None:
    text = "a" * size
    for _ in range(size):
        text.find("b")


@pytest.mark.parametrize(("function", "least", "most"), [(once, 1.9, 2.1), (squared, 3.5, 4.1)])
def test_growth_is_that_of_the_instructions(
    function: FunctionType, least: float, most: float
) -> None:
    assert least < growth(in_the_package(function), 20) < most


def test_growth_is_that_of_the_characters_gone_through() -> None:
    assert growth(in_the_package(searching), 200) > 3.5


def test_growth_is_that_of_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    assert growth(lambda size: plain("a" * size + " "), 40) == pytest.approx(2, abs=0.01)
    monkeypatch.setattr(words, "_NOT_A_WORD", re.compile(r"a*b"))
    assert growth(lambda size: plain("a" * size), 40) > 3.5
    assert growth(lambda size: plain("a" * size), 40, with_steps=False) < 2.1


# A step for each character or place that is tried, and for each repetition that is begun.
@pytest.mark.parametrize(
    ("call", "steps"),
    [
        (lambda: plain("aaa."), 11),
        (lambda: words.re.sub("a", "", "aaaa"), 5),
        (lambda: words.re.sub("a", "", "aaaa", count=2), 2),
        (lambda: words.re.split("a", "aaaa", maxsplit=1), 1),
        (lambda: words.re.search("A", "baaa", re.IGNORECASE), 2),
        (lambda: words.re.match("b", "aaaa"), 1),
        (lambda: words.re.compile("a").findall("aaaa", 1, 3), 3),
    ],
    ids=["pattern", "sub", "sub twice", "split", "search", "match", "between places"],
)
def test_steps_are_counted_in_every_way_of_calling(call: Callable[[], object], steps: int) -> None:
    work = Work()
    work.count(call)
    assert work.steps == steps


def test_growth_of_what_does_not_grow_is_none() -> None:
    assert growth(lambda size: plain("a"), 40) == 0


def test_what_others_do_is_not_counted() -> None:
    work = Work()
    work.count(lambda: squared(20))
    assert work.total == 0


def test_everything_is_as_before_afterwards() -> None:
    before = sys.gettrace(), sys.getprofile(), vars(words).copy()

    def fail() -> None:
        plain("A b")
        raise LookupError

    work = Work()
    with pytest.raises(LookupError):
        work.count(fail)
    assert min(work.instructions, work.characters, work.steps) > 0
    assert (sys.gettrace(), sys.getprofile(), vars(words)) == before
