"""How long to wait before a call is tried again, the same in every run with the same seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

from medeval.inference.errors import Failure


@dataclass(frozen=True)
class RetryPolicy:
    """When and how often.

    Attributes:
        attempts: calls per item at most, the first one counted.
        first_wait: seconds before the second call; doubled each time.
        longest_wait: no wait of our own is longer.
        longest_told: an endpoint that asks for a longer wait than this stops the run instead.
        unreached: so many items in a row that reached no endpoint in all their attempts stop the
            run.
        declined: so many items in a row that an endpoint declines in the words of a bad key or an
            unknown model stop the run, also where it has answered others before.
        by_words: so many items in a row stop the run of which only the endpoint's sentence, and no
            status, code or header, says what would stop it.
        refused: so many items in a row whose requests an endpoint refuses in the same words stop
            the run, also where it has answered others before.
        seed: of the jitter that keeps many items from coming back at one moment.
    """

    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0
    longest_told: float = 300.0
    unreached: int = 5
    declined: int = 5
    by_words: int = 2
    refused: int = 10
    seed: int = 0

    def may_retry(self, failure: Failure, attempt: int) -> bool:
        """Tell whether there is a call after the failed one, which was number `attempt`."""
        return failure.is_passing and attempt < self.attempts

    def asks_too_much(self, failure: Failure) -> bool:
        """Tell whether the endpoint wants to be left alone for longer than a run waits."""
        return (
            failure.is_passing
            and failure.retry_after is not None
            and failure.retry_after > self.longest_told
        )

    def wait(self, failure: Failure, item: str, attempt: int) -> float:
        """Return the seconds before the next call: never less than the endpoint asks for."""
        # Not for secrets: the same waits again are the point.
        share = random.Random(f"{self.seed}/{item}/{attempt}").random()  # noqa: S311
        own = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        if failure.retry_after is not None:
            return failure.retry_after + share * min(1.0, own)
        return own * (0.5 + 0.5 * share)
