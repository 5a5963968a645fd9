"""What a run can cost at most, before its first call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from medeval.errors import UserError
from medeval.inference.cost import Price, Prices
from medeval.inference.types import Item, Model, Request, body_of, canonical

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True)
class Estimate:
    """The size of a run.

    Attributes:
        items: to be asked.
        request_bytes: of all requests; no prompt has more tokens than its request has bytes.
        at_most: the cost without retries cannot be higher; None if the price or the length of
            replies is unknown.
        currency: of the cost.
    """

    items: int
    request_bytes: int
    at_most: Decimal | None
    currency: str


def longest_reply(provider: Model) -> int | None:
    """Return the most tokens of a reply that the parameters allow; None if they set no limit."""
    limits = [provider.parameters.get(name) for name in TOKEN_LIMITS]
    return next((limit for limit in limits if isinstance(limit, int)), None)


def longest_reply_under(limit: Decimal | None, price: Price | None, provider: Model) -> int:
    """Return the most tokens of a reply, without which no limit on cost can be held.

    Args:
        limit: on cost; None for none, and then no reply needs to be bounded.
        price: of the model; None if it is unknown.
        provider: who answers.

    Raises:
        UserError: the limit cannot be held.
    """
    if limit is None:
        return 0
    if price is None:
        raise UserError(
            f"A limit on cost cannot be held: the price of {provider.model} at {provider.address}"
            " is unknown. Add it to the file of prices, or leave the limit out (`--max-cost none`"
            " where one was set before)."
        )
    tokens = longest_reply(provider)
    if tokens is None:
        raise UserError(
            "A limit on cost cannot be held without a limit on the length of replies. Set"
            " max_tokens."
        )
    return tokens


def request_bytes(request: Request) -> int:
    """Return the size of a request's body."""
    return len(canonical(body_of(request, request.all_parameters)))


def estimate(items: Iterable[Item], provider: Model, prices: Prices) -> Estimate:
    """Measure a run without asking anything; reads all items."""
    sizes = [
        request_bytes(Request(item, provider.address, provider.model, provider.parameters, ""))
        for item in items
    ]
    price, tokens = prices.of(provider.address, provider.model), longest_reply(provider)
    at_most = None
    if price is not None and tokens is not None:
        at_most = price.at_most(sum(sizes), tokens * len(sizes))
    return Estimate(len(sizes), sum(sizes), at_most, prices.currency)
