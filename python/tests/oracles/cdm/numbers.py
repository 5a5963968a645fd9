"""Numbers as PostgreSQL writes its double precision."""

from __future__ import annotations

import math
from decimal import Decimal

LEAST_EXPONENT, FIRST_EXPONENT = -4, 15  # plain digits from the one up to below the other


def number_text(value: float) -> str:
    """Write the fewest digits that give the same number back."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    # Python finds the same fewest digits, but writes them in another form.
    number = Decimal(repr(value)).normalize()
    exponent = number.adjusted()
    if LEAST_EXPONENT <= exponent < FIRST_EXPONENT:
        return f"{number:f}"
    digits = "".join(map(str, number.as_tuple().digits))
    mantissa = f"{digits[0]}.{digits[1:]}" if digits[1:] else digits
    return f"{'-' if value < 0 else ''}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
