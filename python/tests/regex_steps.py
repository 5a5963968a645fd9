"""The steps that a search by backtracking takes, counted: what `re` does, only slowly.

Python's own engine tells nobody how often it tries. This one goes through the same tree, as the
parser of `re` makes it, tries the same ways in the same order, and comes to the same spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from re import _compiler, _constants, _parser
from typing import Any

_ONE_STEP = (
    *(_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY),
    _constants.AT,
)
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_ASSERTS = (_constants.ASSERT, _constants.ASSERT_NOT)

Node = tuple[Any, Any]
# Those that a part of the expression sets, and those that it takes back.
Flags = tuple[int, int]
NO_FLAGS = (0, 0)


class Search:
    """One pattern in one text.

    Attributes:
        steps: tried so far.
    """

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self.steps = 0
        self._text = text
        self._tree, self._singles = _parsed(pattern)

    def spans(self, start: int = 0, is_anchored: bool = False) -> Iterator[tuple[int, int]]:
        """Yield where the pattern is found, as `finditer` does; anchored: at the start only."""
        must_advance = False
        while True:
            for at in range(start, start + 1 if is_anchored else len(self._text) + 1):
                may_be_empty = not (must_advance and at == start)
                ends = (
                    end for end in self._ends(self._tree, at, NO_FLAGS) if end > at or may_be_empty
                )
                end = next(ends, None)
                if end is not None:
                    break
            else:
                return
            yield at, end
            start, must_advance = end, at == end

    def _ends(self, nodes: Sequence[Node], at: int, flags: Flags, first: int = 0) -> Iterator[int]:
        """Yield where nodes in a row may end, the preferred end first."""
        if first == len(nodes):
            yield at
            return
        for end in self._ends_of(nodes[first], at, flags):
            yield from self._ends(nodes, end, flags, first + 1)

    def _ends_of(self, node: Node, at: int, flags: Flags) -> Iterator[int]:
        self.steps += 1
        kind, value = node
        if kind in _ONE_STEP:
            found = self._single(node, flags).match(self._text, at)
            if found is not None:
                yield found.end()
        elif kind is _constants.SUBPATTERN:
            _, added, taken, nodes = value
            within = (flags[0] | added) & ~taken, (flags[1] | taken) & ~added
            yield from self._ends(nodes, at, within)
        elif kind is _constants.ATOMIC_GROUP:
            yield from islice(self._ends(value, at, flags), 1)
        elif kind is _constants.BRANCH:
            for branch in value[1]:
                yield from self._ends(branch, at, flags)
        elif kind in _REPEATS:
            ends = self._repeated(*value, at, flags, is_lazy=kind is _constants.MIN_REPEAT)
            yield from islice(ends, 1 if kind is _constants.POSSESSIVE_REPEAT else None)
        elif kind in _ASSERTS:
            direction, nodes = value
            begin = at if direction > 0 else at - nodes.getwidth()[0]
            holds = begin >= 0 and any(True for _ in self._ends(nodes, begin, flags))
            if holds is (kind is _constants.ASSERT):
                yield at
        else:
            raise NotImplementedError(f"{kind} is not counted yet")

    def _repeated(
        self, low: int, high: int, nodes: Sequence[Node], at: int, flags: Flags, is_lazy: bool
    ) -> Iterator[int]:
        """Yield the ends of repetitions without recursion, since there may be thousands."""

        def more(count: int, place: int) -> Iterator[int]:
            return self._ends(nodes, place, flags) if count < high else iter(())

        stack = [(at, more(0, at))]
        if is_lazy and low == 0:
            yield at
        while stack:
            place, ends = stack[-1]
            count = len(stack) - 1
            end = next(ends, None)
            if end is None:
                stack.pop()
                if not is_lazy and count >= low:
                    yield place
            elif end > place or count < low:
                stack.append((end, more(count + 1, end)))
                if is_lazy and count + 1 >= low:
                    yield end

    def _single(self, node: Node, flags: Flags) -> re.Pattern[str]:
        """Return a pattern for a node that is one character or one place."""
        found = self._singles.get((id(node), flags))
        if found is None:
            alone = _parser.SubPattern(self._tree.state, [node])
            if flags != NO_FLAGS:
                group = (_constants.SUBPATTERN, (None, *flags, alone))
                alone = _parser.SubPattern(self._tree.state, [group])
            found = self._singles[id(node), flags] = _compiler.compile(alone)
        return found


@lru_cache(maxsize=256)
def _parsed(pattern: re.Pattern[str]) -> tuple[Any, dict[tuple[int, Flags], re.Pattern[str]]]:
    """Return the tree of a pattern, and room for what its single nodes are compiled to."""
    return _parser.parse(pattern.pattern, pattern.flags), {}
