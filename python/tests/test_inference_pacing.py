"""Places for calls under way: never more than allowed, in turn, none lost."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from medeval.inference.limits import ROUNDS_BEFORE_ONE_MORE, AdaptiveLimiter


def test_places_are_taken_in_turn_and_given_on() -> None:
    async def calls() -> list[int]:
        pace = AdaptiveLimiter(2)
        entered: list[int] = []

        async def call(number: int) -> None:
            await pace.enter()
            entered.append(number)

        tasks = [asyncio.create_task(call(number)) for number in range(5)]
        await asyncio.sleep(0)
        assert entered == [0, 1]
        for _ in range(3):
            pace.leave()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return entered

    assert asyncio.run(calls()) == [0, 1, 2, 3, 4]


def test_refusals_of_one_burst_leave_as_many_as_were_taken() -> None:
    async def calls() -> int:
        pace = AdaptiveLimiter(32)
        for _ in range(32):
            await pace.enter()
        for _ in range(24):
            pace.refused()
            pace.leave()
        return pace.allowed

    assert asyncio.run(calls()) == 8


def test_one_more_is_allowed_after_some_rounds_and_never_more_than_are_wished() -> None:
    async def calls() -> None:
        pace = AdaptiveLimiter(3)
        await pace.enter()
        pace.refused()
        assert pace.allowed == 1
        for allowed in (1, 2):
            for _ in range(ROUNDS_BEFORE_ONE_MORE * allowed):
                assert pace.allowed == allowed
                pace.succeeded()
        for _ in range(100):
            pace.succeeded()
        assert pace.allowed == 3

    asyncio.run(calls())


def test_one_call_goes_on_however_often_it_is_refused() -> None:
    async def calls() -> int:
        pace = AdaptiveLimiter(1)
        for _ in range(5):
            async with asyncio.timeout(1):
                await pace.enter()
            pace.refused()
            pace.leave()
        return pace.allowed

    assert asyncio.run(calls()) == 1


@given(
    st.integers(1, 5),
    st.lists(st.sampled_from(["enter", "leave", "refuse", "succeed", "give up"]), max_size=60),
)
def test_no_place_is_lost_whatever_happens(most: int, steps: list[str]) -> None:
    async def calls() -> None:
        pace = AdaptiveLimiter(most)
        inside = 0
        waiting: list[asyncio.Task[None]] = []
        for step in steps:
            if step == "enter":
                waiting.append(asyncio.create_task(pace.enter()))
            elif step == "give up" and waiting:
                waiting.pop().cancel()
            elif step in ("leave", "refuse", "succeed") and inside:
                if step == "refuse":
                    pace.refused()
                elif step == "succeed":
                    pace.succeeded()
                pace.leave()
                inside -= 1
            for _ in range(4):
                await asyncio.sleep(0)
            entered = [task for task in waiting if task.done()]
            waiting = [task for task in waiting if not task.done()]
            inside += len(entered)
            assert 1 <= pace.allowed <= most
            assert inside <= most
            # Nobody waits while there is room.
            assert not waiting or inside >= pace.allowed
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(calls())
