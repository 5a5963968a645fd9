"""How much work a call of the package is, counted and not timed: the same on a busy machine.

Counted are the instructions of Python that the package's own functions execute, the characters of
the texts whose methods they call, and the steps of their regular expressions. What is not seen is
work inside other functions written in C, such as the copy that a slice makes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from itertools import islice
from types import FrameType
from typing import Any

import pytest
from regex_steps import Search

PACKAGE = "medeval."
_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")
_ANCHORED = ("match", "fullmatch")


class _Pattern:
    """A compiled pattern that does what it does, and whose steps are counted."""

    def __init__(self, pattern: re.Pattern[Any], work: Work) -> None:
        self._pattern = pattern
        self._work = work

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._pattern, name)
        if name not in _METHODS:
            return method

        def counted(*arguments: Any, **named: Any) -> Any:
            self.count(name, signature(method).bind(*arguments, **named).arguments)
            return method(*arguments, **named)

        return counted

    def count(self, name: str, given: Mapping[str, Any]) -> None:
        """Count what a method has to do with what it is given."""
        # Counting is no part of the work, and slow where it is watched itself.
        with _watched(None, None):
            text, start = given["string"][: given.get("endpos")], given.get("pos", 0)
            most = given.get("count") or given.get("maxsplit") or None
            if name in (*_ANCHORED, "search"):
                most = 1
            search = Search(self._pattern, text)
            spans = list(islice(search.spans(start, name in _ANCHORED), most))
            if name not in _ANCHORED:
                # Steps to other places than those of the real engine would be no measure of it.
                real = islice(self._pattern.finditer(text, start), most)
                assert spans == [match.span() for match in real], self._pattern
            self._work.steps += search.steps


class _Expressions:
    """The module `re` with patterns that are counted."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __getattr__(self, name: str) -> Any:
        function = getattr(re, name)
        if name == "compile":
            return lambda *given, **named: _Pattern(function(*given, **named), self._work)
        if name not in _METHODS:
            return function

        def counted(*arguments: Any, **named: Any) -> Any:
            given = signature(function).bind(*arguments, **named).arguments
            pattern = re.compile(given["pattern"], given.get("flags", 0))
            _Pattern(pattern, self._work).count(name, given)
            return function(*arguments, **named)

        return counted


class Work:
    """What has been counted.

    Args:
        with_steps: count the steps of regular expressions, which takes most of the time.
    """

    def __init__(self, with_steps: bool = True) -> None:
        self._with_steps = with_steps
        self.instructions = 0
        self.characters = 0
        self.steps = 0

    @property
    def total(self) -> int:
        return self.instructions + self.characters + self.steps

    def count(self, call: Callable[[], object]) -> None:
        """Make a call and count its work in this thread."""
        with pytest.MonkeyPatch.context() as patch:
            if self._with_steps:
                self._watch_expressions(patch)
            with _watched(self._trace, self._profile):
                call()

    def _watch_expressions(self, patch: pytest.MonkeyPatch) -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith(PACKAGE):
                for attribute, value in list(vars(module).items()):
                    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                        patch.setattr(module, attribute, _Pattern(value, self))
                    elif value is re:
                        patch.setattr(module, attribute, _Expressions(self))

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if not _is_ours(frame):
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        return self._opcode

    def _opcode(self, frame: FrameType, event: str, argument: object) -> Any:
        self.instructions += event == "opcode"
        return self._opcode

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        owner = getattr(argument, "__self__", None)
        if event == "c_call" and isinstance(owner, str) and _is_ours(frame):
            self.characters += len(owner)


def growth(call: Callable[[int], object], size: int, with_steps: bool = True) -> float:
    """Return how the work of a call grows with the size of what it is given.

    Args:
        call: is made with a size.
        size: to begin with.
        with_steps: count the steps of regular expressions as well.

    Returns:
        How many times as much work it is to go from twice the size to four times as it is to go
        from the size to twice: 2 where work is in proportion to the size, 4 where it is in
        proportion to its square, 8 to its cube; 0 where it does not grow.
    """
    call(1)  # what is made once and kept
    totals = []
    for times in (1, 2, 4):
        work = Work(with_steps)
        work.count(lambda times=times: call(times * size))
        totals.append(work.total)
    first, second, third = totals
    return (third - second) / (second - first) if second > first else 0.0


@contextmanager
def _watched(trace: Any, profile: Any) -> Iterator[None]:
    """Have this thread watched by these functions, and by those before again in the end."""
    before = sys.gettrace(), sys.getprofile()
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(PACKAGE)
