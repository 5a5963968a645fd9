"""What a build left out, as the published attrition table of a floor counts it."""

from __future__ import annotations

from collections.abc import Mapping

from medeval.warehouse import Warehouse, flat, schema_name


def read_left_out(warehouse: Warehouse, floor: str, table: str) -> dict[str, int]:
    """Return how much each rule took away, in their order; rules that took nothing are not named.

    Args:
        warehouse: where the table is.
        floor: its benchmark.
        table: with the columns step_number, rule and rows_removed.
    """
    rows = flat(
        warehouse.select(
            ["rule", "rows_removed"], schema_name(floor), table, "order by step_number"
        )
    )
    return {rule: count for rule, count in rows if count}


def left_out_words(left_out: Mapping[str, int]) -> str:
    """Return the end of a sentence that counts what is there; empty if nothing was left out."""
    return "".join(f", {count:,} left out ({rule})" for rule, count in left_out.items())
