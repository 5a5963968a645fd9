"""Doubles as the text that PostgreSQL gives them, whatever engine they come from."""

from __future__ import annotations

import math
from fractions import Fraction

# Below it a whole number is written with its digits alone, from it on with an exponent.
_EXPONENT_FROM = 1e15
# The smallest doubles whose neighbours are so far apart that a short decimal can lie between two.
_FAR_APART_FROM = 2.0**54


def float8_text(number: float) -> str:
    """Return a double as PostgreSQL's `cast(... as text)` writes it.

    The rule: the shortest digits that read back to the same double; no decimal point behind a
    whole number; an exponent of at least two digits below 1e-4 and from 1e15 on. So `12`, `0.1`,
    `1e-05`, `1e+15`, `NaN`, `-Infinity`.
    """
    text = repr(number)
    size = abs(number)
    if size < _EXPONENT_FROM:
        return text.removesuffix(".0")
    if size < _FAR_APART_FROM:
        return text if "e" in text else _with_exponent(text)
    if math.isfinite(number):
        return _inside_digits(number, text)
    return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")


def _with_exponent(text: str) -> str:
    """Write a number of at least 1e15 in scientific form, with the digits it has."""
    sign = "-" if text.startswith("-") else ""
    whole, _, fraction = text.removeprefix("-").partition(".")
    digits = (whole + ("" if fraction == "0" else fraction)).rstrip("0")
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{sign}{mantissa}e+{len(whole) - 1:02d}"


def _inside_digits(number: float, text: str) -> str:
    """Return the shortest digits that lie nearer to this double than to any other.

    Python also takes digits that lie half-way to a neighbour where rounding to even comes back to
    the double (1e23); PostgreSQL does not, and writes 9.999999999999999e+22.
    """
    if _is_half_way(number, text):
        for precision in range(len(text.split("e")[0].strip("-").replace(".", "")), 18):
            candidate = f"{number:.{precision}e}"
            if float(candidate) == number and not _is_half_way(number, candidate):
                return candidate
    return text


def _is_half_way(number: float, text: str) -> bool:
    written, exact = Fraction(text), Fraction(number)
    neighbour = math.nextafter(number, math.inf if written > exact else -math.inf)
    return math.isfinite(neighbour) and written * 2 == exact + Fraction(neighbour)
