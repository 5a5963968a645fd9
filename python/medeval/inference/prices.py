"""What tokens cost, from a file of prices; a price that is not known is not 0.

```toml
currency = "USD"

[[price]]
model = "some-model"
base_url = "https://models.example.org/v1"   # optional: the price at this endpoint only
input = 2.50                                 # per million tokens
cached_input = 1.25                          # optional: else as input
output = 10.00                               # thinking counts as output, as endpoints count it
reasoning_output = 12.00                     # optional: what is thought costs another price
```

The same as JSON: `{"currency": "USD", "price": [{"model": ...}]}`.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from medeval.errors import UserError
from medeval.inference.endpoints import normalized
from medeval.inference.types import Usage

_MILLION = Decimal(1_000_000)

Amount = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]


class Price(BaseModel):
    """The price of one model, per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    base_url: str | None = None
    input: Amount
    cached_input: Amount | None = None
    output: Amount
    reasoning_output: Amount | None = None

    def cost(self, usage: Usage) -> Decimal | None:
        """Return what a call cost; None if the endpoint did not count what has a price."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        if self.reasoning_output is not None and usage.reasoning_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        of_cached = self.input if self.cached_input is None else self.cached_input
        thought = min(usage.reasoning_tokens or 0, usage.output_tokens)
        of_thought = self.output if self.reasoning_output is None else self.reasoning_output
        read = (usage.input_tokens - cached) * self.input + cached * of_cached
        written = (usage.output_tokens - thought) * self.output + thought * of_thought
        return (read + written) / _MILLION

    def at_most(self, prompt_bytes: int, output_tokens: int) -> Decimal:
        """Return what no call can exceed: a token has at least one byte of the request."""
        read = prompt_bytes * max(self.input, self.cached_input or self.input)
        written = output_tokens * max(self.output, self.reasoning_output or self.output)
        return (read + written) / _MILLION


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    currency: str = "USD"
    price: list[Price] = []


@dataclass(frozen=True)
class Prices:
    """The prices of a file.

    Attributes:
        currency: of all of them.
        prices: in the order of the file.
    """

    currency: str = "USD"
    prices: tuple[Price, ...] = ()

    def of(self, address: str, model: str) -> Price | None:
        """Return a model's price at an endpoint, else its general one, else None: unknown."""
        named = [price for price in self.prices if price.model == model]
        for price in named:
            if price.base_url is not None and normalized(price.base_url) == address:
                return price
        return next((price for price in named if price.base_url is None), None)


def read_prices(path: Path) -> Prices:
    """Read a file of prices, TOML or JSON by its name.

    Raises:
        UserError: naming the file and the field that is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
        read: Any = (
            json.loads(text, parse_float=Decimal)
            if path.suffix.lower() == ".json"
            else tomllib.loads(text, parse_float=Decimal)
        )
        file = _File.model_validate(read)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {field}: {first['msg']}.") from None
    except ValueError as error:
        raise UserError(f"{path} cannot be read as prices: {error}.") from None
    for price in file.price:
        if price.base_url is not None:
            normalized(price.base_url)
    names = [(price.model, price.base_url) for price in file.price]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"{path}: there are two prices of {twice[0]}. Keep one.")
    return Prices(file.currency, tuple(file.price))
