"""How far a run is: outcomes, tokens and money, with what is unknown counted as unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from medeval.inference.errors import Kind
from medeval.inference.journal import Line
from medeval.inference.types import Ledger, Outcome

_OK = 200


@dataclass
class Progress:
    """Sums over the items that came to an end, in this start of the run or an earlier one.

    Attributes:
        ledger: outcomes.
        before: of the items, those that an earlier start had brought to an end.
        retries: calls after the first one of an item.
        errors: of errored items, by kind of failure.
        input_tokens: counted by the endpoint.
        output_tokens: counted by the endpoint.
        uncounted: items with a reply whose tokens the endpoint did not count.
        cost: of the items whose cost is known.
        unpriced: items that may have cost something, nobody knows what.
    """

    ledger: Ledger = field(default_factory=Ledger)
    before: int = 0
    retries: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    uncounted: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0

    def add(self, line: Line, is_new: bool) -> None:
        """Add one line of the journal."""
        outcome = Outcome(line["outcome"])
        self.ledger.add(outcome)
        self.before += not is_new
        self.retries += line["measured"]["attempts"] - 1
        if outcome is Outcome.ERRORED:
            self.errors[_named(line["error"])] += 1
        usage = line.get("usage") or {}
        counts = (usage.get("input_tokens"), usage.get("output_tokens"))
        self.input_tokens += counts[0] or 0
        self.output_tokens += counts[1] or 0
        self.uncounted += "text" in line and None in counts
        if line["cost"] is None:
            self.unpriced += 1
        else:
            self.cost += Decimal(line["cost"])

    @property
    def known_cost(self) -> Decimal | None:
        """What all of it cost; None as soon as a part of it is unknown."""
        return None if self.unpriced else self.cost

    def as_json(self) -> dict[str, Any]:
        """Return the sums, for a report."""
        return {
            **self.ledger.as_json(),
            "retries": self.retries,
            "errors": dict(sorted(self.errors.items())),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "uncounted": self.uncounted,
            "cost": None if self.known_cost is None else str(self.known_cost),
            "cost_of_priced": str(self.cost),
            "unpriced": self.unpriced,
        }


def _named(error: Mapping[str, Any]) -> str:
    """Return the kind of an error, and the endpoint's own word where it broke off a reply."""
    kind, code = error["kind"], error.get("code")
    is_broken_off = kind == Kind.BROKEN and error.get("status") == _OK and code
    return f"{kind} ({code})" if is_broken_off else str(kind)


OnProgress = Callable[[Progress], None]
