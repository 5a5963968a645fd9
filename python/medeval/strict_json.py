"""Strict JSON, as RFC 8259 has it: no key twice in an object, no NaN, no number without bounds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn


class RepeatedKeyError(ValueError):
    """An object names a key twice: which of the two counts differs from reader to reader.

    Attributes:
        key: the first such key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key!r} stands twice in one object")
        self.key = key


class ConstantError(ValueError):
    """A number is NaN or without bounds.

    Attributes:
        name: of the constant.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not JSON")
        self.name = name


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of its pairs.

    Raises:
        RepeatedKeyError: a key stands twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return found


def _finite(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError("a number is too large")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ConstantError(name)


def strict_decoder(
    parse_int: Callable[[str], Any] = int, parse_float: Callable[[str], Any] = _finite
) -> json.JSONDecoder:
    """Return a decoder that raises a ValueError for what is no strict JSON.

    Args:
        parse_int: makes a value of what is written as a whole number.
        parse_float: of any other number.
    """
    return json.JSONDecoder(
        object_pairs_hook=unique_keys,
        parse_constant=_no_constant,
        parse_int=parse_int,
        parse_float=parse_float,
    )
