"""Marks of single parameters of a test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_after(count: int, values: Iterable[Any]) -> list[Any]:
    """Return parameters of a test of which all but the first `count` are slow.

    A tuple holds the values of several arguments, as pytest has it.
    """
    first, rest = (values := list(values))[:count], values[count:]
    return [
        *first,
        *(
            pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
            for value in rest
        ),
    ]
