"""What calls cost: prices, the limit that is held before a call is made, and the cost ledger.

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

The same as JSON: `{"currency": "USD", "price": [{"model": ...}]}`. An unknown price is not 0.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from medeval.errors import UserError, os_error_as
from medeval.files import replace_file
from medeval.inference.guard import Address, read_form
from medeval.inference.journal import Line, LineFile, money, read_journal, read_lines
from medeval.inference.types import Model, Request, Usage, body_of, canonical

# Names of the limit on a reply's length.
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
_MILLION = Decimal(1_000_000)
_ZERO = Decimal(0)
_PREFIX = "spent-"

Amount = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]


class Price(BaseModel, extra="forbid", frozen=True):
    """The price of one model, per million tokens."""

    model: str
    base_url: Address | None = None
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
        total = usage.input_tokens * self.input + usage.output_tokens * self.output
        if self.cached_input is not None:
            cached = min(usage.cached_tokens or 0, usage.input_tokens)
            total += cached * (self.cached_input - self.input)
        if self.reasoning_output is not None:
            thought = min(usage.reasoning_tokens or 0, usage.output_tokens)
            total += thought * (self.reasoning_output - self.output)
        return total / _MILLION

    def at_most(self, request: Request, output_tokens: int) -> Decimal:
        """Return what no call can exceed: a token has at least one byte of the request's body."""
        size = len(canonical(body_of(request, request.all_parameters)))
        read = size * max(self.input, self.cached_input or self.input)
        written = output_tokens * max(self.output, self.reasoning_output or self.output)
        return (read + written) / _MILLION


class Prices(BaseModel, extra="forbid", frozen=True):
    """The prices of a file, in its order, all in one currency."""

    currency: str = "USD"
    price: tuple[Price, ...] = ()

    def of(self, address: str, model: str) -> Price | None:
        """Return a model's price at an endpoint, else its general one, else None: unknown."""
        named = {price.base_url: price for price in self.price if price.model == model}
        return named.get(address) or named.get(None)


def read_prices(path: Path | None) -> Prices:
    """Read a file of prices, TOML or JSON by its name; without one there are none.

    Raises:
        UserError: naming the file and the field that is wrong.
    """
    if path is None:
        return Prices()
    load = json.loads if path.suffix.lower() == ".json" else tomllib.loads
    with os_error_as(f"{path}: {{why}}."):
        prices = read_form(path, Prices, "cannot be read as prices", load)
    names = [(price.model, price.base_url) for price in prices.price]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"{path}: there are two prices of {twice[0]}. Keep one.")
    return prices


@dataclass
class Budget:
    """A limit on cost that several models and judges may share.

    Before a call, the most it can cost is set aside; after it, what it did cost is booked. So the
    limit holds for retries and for calls under way as well. A call whose end nobody knows (a
    broken connection, a reply without counted tokens) is booked at the most it can have cost.

    Attributes:
        limit: never exceeded; None for no limit.
        spent: so far, by earlier parts of the run too.
    """

    limit: Decimal | None = None
    spent: Decimal = _ZERO
    _aside: Decimal = _ZERO
    _booked: asyncio.Event = field(default_factory=asyncio.Event)

    async def set_aside(self, most: Decimal) -> bool:
        """Set money aside; wait for calls under way if they may set enough free.

        Returns:
            False if the limit does not allow the call, whatever the others cost.
        """
        while self.limit is not None and self.spent + self._aside + most > self.limit:
            if not self._aside:
                return False
            await self._booked.wait()
        self._aside += most
        return True

    def book(self, most: Decimal, cost: Decimal) -> None:
        """Book what a call cost in place of the most that was set aside for it."""
        self._aside -= most
        self.spent += cost
        # Those that wait may be of another event loop than those that wait next.
        booked, self._booked = self._booked, asyncio.Event()
        booked.set()


def longest_reply(model: Model) -> int | None:
    """Return the most tokens of a reply that the parameters allow; None if they set no limit."""
    limits = [model.parameters.get(name) for name in TOKEN_LIMITS]
    return next((limit for limit in limits if isinstance(limit, int)), None)


def longest_reply_under(limit: Decimal | None, prices: Prices, model: Model) -> int:
    """Return the most tokens of a reply, without which no limit on cost can be held.

    Args:
        limit: on cost; None for none, and then no reply needs to be bounded.
        prices: of the models, of which this one may be none.
        model: who answers.

    Raises:
        UserError: the limit cannot be held.
    """
    tokens = longest_reply(model)
    if limit is not None and prices.of(model.address, model.model) is None:
        raise UserError(
            f"A limit on cost cannot be held: the price of {model.model} at {model.address}"
            " is unknown. Add it to the file of prices, or lift the limit (`--max-cost none`)."
        )
    if limit is not None and tokens is None:
        raise UserError("A limit on cost cannot be held without one on replies: set max_tokens.")
    return tokens or 0


@dataclass(frozen=True)
class Spent:
    """What calls came to: those of an item, of a journal, or one alone.

    Attributes:
        cost: of those whose cost is known.
        unknown: those that may have cost something, nobody knows what.
        charged: against a limit; what is unknown at the most that it can be.
    """

    cost: Decimal = _ZERO
    unknown: int = 0
    charged: Decimal = _ZERO

    @property
    def known(self) -> Decimal | None:
        """What all of it cost; None as soon as a part of it is unknown."""
        return None if self.unknown else self.cost

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.cost + other.cost, self.unknown + other.unknown, self.charged + other.charged
        )

    def as_json(self) -> dict[str, Any]:
        """Return the sums; the cost is null as soon as a part of it is unknown."""
        return {
            "cost": money(self.known),
            "cost_of_known": str(self.cost),
            "unknown_calls": self.unknown,
        }


class CostLedger(AbstractContextManager["CostLedger"]):
    """What the calls of a run cost, in a file beside its journal; use as a context manager.

    A journal has one line for each item, so it cannot tell of calls whose item has no line, because
    the run stopped in between, nor of those whose line was discarded for the item to be asked
    again. They are paid for all the same. Under a limit a call stands here before it is made, with
    the most that it can cost: whatever ends the process, nothing that may be billed is forgotten.
    The file is made with the first call that has a price. Whoever opens it holds the journal, and
    has discarded no line of it yet.

    Args:
        journal: of whose calls it is.
        lines: of the journal that has one for each call, of this one or of another.

    Attributes:
        before: what earlier starts spent.
        total: with this one.
        is_kept: whether the file is there.

    Raises:
        UserError: naming the line that cannot be read.
    """

    def __init__(self, journal: Path, lines: Iterable[Line]) -> None:
        self.path = journal.with_name(_PREFIX + journal.name)
        self.is_kept = self.path.exists()
        self.before, self._calls = _read(self.path) if self.is_kept else (spent_by(lines), 0)
        self.total = self.before
        self._file: LineFile | None = None
        self._fault = ""

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.__exit__(*error)

    def begin(self, most: Decimal) -> int:
        """Return the number of a call that is about to be made.

        Args:
            most: that it can cost; 0 without a limit, and then nothing is written.

        Raises:
            UserError: the disk takes nothing more, so no call may be made.
        """
        self._calls += 1
        if most:
            self._write({"call": self._calls, "charged": str(most)})
        if self._fault:
            raise UserError(
                f"{self.path}: what a call costs could not be written ({self._fault}). Make room"
                " and start the same run again."
            )
        return self._calls

    def end(self, call: int, cost: Decimal | None, charged: Decimal) -> None:
        """Write what a call cost. That the disk is full is reported before the next one is made.

        Args:
            call: its number.
            cost: of it; None if nobody knows.
            charged: against the limit.
        """
        self.total += Spent(cost or _ZERO, int(cost is None), charged)
        self._write({"call": call, "cost": money(cost), "charged": str(charged)})

    def _write(self, line: dict[str, Any]) -> None:
        """Write a line, unless one could not be written before."""
        if self._file is None:
            try:
                self._file = LineFile(self.path)
            except UserError as error:
                self._fault = str(error).rstrip(".")
                return
            self.is_kept = True
            if not self._file.end and self.before != Spent():
                sums = {name: str(getattr(self.before, name)) for name in ("cost", "charged")}
                self._write({"call": 0, **sums, "unknown": self.before.unknown})
        self._fault = self._fault or self._file.write(line)


def kept_spending(journal: Path) -> Spent | None:
    """Return what the calls of a journal cost; None if no call that has a price was made.

    Raises:
        UserError: naming the line that cannot be read.
    """
    path = journal.with_name(_PREFIX + journal.name)
    return _read(path)[0] if path.exists() else None


def merge_spending(journals: Iterable[Path], merged: Path) -> None:
    """Write what the calls of journals cost, as one sum, beside the journal that merges them.

    Raises:
        UserError: naming the line that cannot be read.
    """
    kept = [(kept_spending(one), one) for one in journals]
    if any(spent for spent, _ in kept):
        total = sum((spent or spent_by(read_journal(one)) for spent, one in kept), Spent())
        line = {"call": 0, "cost": str(total.cost), "charged": str(total.charged)}
        path = merged.with_name(_PREFIX + merged.name)
        replace_file(path, f"{json.dumps({**line, 'unknown': total.unknown})}\n".encode())


def charged_in(folder: Path, beside: Path | None = None) -> Decimal:
    """Return what all journals of a folder, and of those in it, were charged with.

    Args:
        folder: of a run.
        beside: a journal's path, or the beginning of several, that is left out.
    """
    journals = {
        path.with_name(path.name.removeprefix(_PREFIX))
        for name in ("responses*.jsonl", "judgments*.jsonl")
        for path in (*folder.rglob(name), *folder.rglob(_PREFIX + name))
    }
    counted = (
        (kept_spending(journal) or spent_by(read_journal(journal))).charged
        for journal in sorted(journals)
        if beside is None or not str(journal).startswith(str(beside))
    )
    return sum(counted, _ZERO)


def spent_by(lines: Iterable[Line]) -> Spent:
    """Return what the calls of lines of a journal cost, if they were not kept one by one."""
    total = Spent()
    for line in lines:
        charged = Decimal(line["measured"].get("charged") or 0)
        total += Spent(Decimal(line["cost"] or 0), int(line["cost"] is None), charged)
    return total


def _read(path: Path) -> tuple[Spent, int]:
    """Return the sums of a ledger, and the highest number of a call.

    A call that was under way at its end is charged at the most: nobody knows what became of it.

    Raises:
        UserError: naming the line that cannot be read.
    """
    ended, last = Spent(), 0
    under_way: dict[int, Decimal] = {}
    for number, text in read_lines(path):
        try:
            line = json.loads(text)
            call, charged = int(line["call"]), Decimal(line["charged"])
            last = max(last, call)
            if "cost" not in line:
                under_way[call] = charged
                continue
            under_way.pop(call, None)
            unknown = line.get("unknown", int(line["cost"] is None))
            ended += Spent(Decimal(line["cost"] or 0), unknown, charged)
        except (KeyError, TypeError, ValueError, InvalidOperation, RecursionError):
            raise UserError(
                f"{path}, line {number}: it does not say what a call cost. Put it back as it was."
            ) from None
    return ended + Spent(_ZERO, len(under_way), sum(under_way.values(), _ZERO)), last
