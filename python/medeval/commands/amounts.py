"""Money on the command line."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

from medeval.errors import UserError

if TYPE_CHECKING:
    from medeval.inference.cost import Prices

# Lifts the limit that a run was begun with.
UNLIMITED = "none"


def amount(text: str | None) -> Decimal | None:
    """Return the amount that `--max-cost` names; None for none.

    Raises:
        UserError: it is none, or not above 0.
    """
    if text is None or text == UNLIMITED:
        return None
    try:
        read = Decimal(text)
    except InvalidOperation:
        raise UserError(f"--max-cost {text}: no amount of money.") from None
    if not read.is_finite() or read <= 0:
        raise UserError(f"--max-cost {text}: an amount above 0.")
    return read


def read_price_file(path: Path | None) -> Prices:
    """Return the prices of a file; none without one.

    Raises:
        UserError: it cannot be read.
    """
    from medeval.inference.cost import Prices, read_prices

    return Prices() if path is None else read_prices(path)
