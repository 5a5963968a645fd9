"""A user's function: one output per input, on its own place, whatever the function does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medeval.inference.python_model import aligned_outputs


def echo(batch: list[int]) -> list[int]:
    return [value * 10 for value in batch]


def test_outputs_are_in_the_order_of_inputs() -> None:
    assert list(aligned_outputs(echo, range(20), batch_size=8)) == [n * 10 for n in range(20)]
    assert list(aligned_outputs(lambda n: n * 10, range(5), is_per_item=True)) == [
        0,
        10,
        20,
        30,
        40,
    ]
    assert list(aligned_outputs(echo, [])) == []


def test_a_failing_batch_is_an_error_for_its_own_items_only() -> None:
    def fails(batch: list[int]) -> list[int]:
        if 3 in batch:
            raise ValueError("about the patient")
        return echo(batch)

    failed = {"error": {"type": "ValueError", "attempts": 1, "batch": 2}}
    assert list(aligned_outputs(fails, range(6), batch_size=2)) == [0, 10, failed, failed, 40, 50]


@pytest.mark.parametrize("returned", [[], [1], [1, 2, 3]])
def test_a_batch_of_another_length_is_an_error_and_shifts_nothing(returned: list[int]) -> None:
    def short(batch: list[int]) -> list[int]:
        return returned if 0 in batch else echo(batch)

    outputs = list(aligned_outputs(short, range(4), batch_size=2))
    assert outputs[0] == outputs[1]
    assert outputs[0]["error"]["type"] == "WrongLength"
    assert outputs[0]["error"]["returned"] == len(returned)
    assert outputs[2:] == [20, 30]


@pytest.mark.parametrize("returned", [None, "ab", {"a": 1}])
def test_a_batch_that_is_no_list_is_an_error(returned: Any) -> None:
    outputs = list(aligned_outputs(lambda batch: returned, [1, 2]))
    assert [output["error"]["type"] for output in outputs] == ["NotAList"] * 2


def test_a_failing_item_is_its_own_error_only() -> None:
    outputs = list(aligned_outputs(lambda n: 6 // n, [1, 0, 3], is_per_item=True))
    assert outputs == [6, {"error": {"type": "ZeroDivisionError", "attempts": 1}}, 2]


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 7), st.sets(st.integers(0, 9)))
def test_no_output_ever_stands_at_another_place(
    inputs: list[int], batch_size: int, bad: set[int]
) -> None:
    def model(batch: list[int]) -> list[int]:
        if bad & set(batch):
            raise RuntimeError
        return echo(batch)

    outputs = list(aligned_outputs(model, inputs, batch_size))
    assert len(outputs) == len(inputs)
    for value, output in zip(inputs, outputs, strict=True):
        assert output == value * 10 or output["error"]["type"] == "RuntimeError"


def test_a_batch_holds_something() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        list(aligned_outputs(echo, [1], batch_size=0))
