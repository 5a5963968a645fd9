"""Places for calls under way: never more than allowed, in turn, none lost."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from medeval.inference.executor import ROUNDS_BEFORE_ONE_MORE, AdaptiveLimiter


def test_as_many_go_on_as_were_taken_and_one_more_after_some_rounds() -> None:
    async def calls() -> None:
        limiter = AdaptiveLimiter(4)
        for _ in range(4):
            await limiter.enter()
        for _ in range(3):
            limiter.refused()
            limiter.leave()
        # One call goes on however often it is refused.
        limiter.refused()
        assert limiter.allowed == 1
        for allowed in (1, 2, 3):
            for _ in range(ROUNDS_BEFORE_ONE_MORE * allowed):
                assert limiter.allowed == allowed
                limiter.succeeded()
        for _ in range(100):
            limiter.succeeded()
        assert limiter.allowed == 4

    asyncio.run(calls())


@given(
    st.integers(1, 5),
    st.lists(st.sampled_from(["enter", "leave", "refuse", "succeed", "give up"]), max_size=60),
)
def test_no_place_is_lost_whatever_happens(most: int, steps: list[str]) -> None:
    async def calls() -> None:
        limiter = AdaptiveLimiter(most)
        inside = 0
        waiting: list[asyncio.Task[None]] = []
        for step in steps:
            if step == "enter":
                waiting.append(asyncio.create_task(limiter.enter()))
            elif step == "give up" and waiting:
                waiting.pop().cancel()
            elif step in ("leave", "refuse", "succeed") and inside:
                if step == "refuse":
                    limiter.refused()
                elif step == "succeed":
                    limiter.succeeded()
                limiter.leave()
                inside -= 1
            for _ in range(4):
                await asyncio.sleep(0)
            is_in = [task.done() for task in waiting]
            assert is_in == sorted(is_in, reverse=True)  # in turn
            inside += sum(is_in)
            waiting = [task for task in waiting if not task.done()]
            assert 1 <= limiter.allowed <= most
            assert inside <= most
            # Nobody waits while there is room.
            assert not waiting or inside >= limiter.allowed
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(calls())
