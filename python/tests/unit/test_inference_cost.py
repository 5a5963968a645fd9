"""Money: prices, ledgers of what calls cost, and what ends a run in between.

What runs cost, and the limit on it: rows of tables/endpoint_runs.yaml, read in test_inference_runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from inference_runs import MODEL, QUICK, ask, content, open_items
from model_server import Body, Fault, Script, model_server, slow
from tables import refused, table

from medeval.errors import UserError
from medeval.inference.cost import (
    CostLedger,
    Price,
    Prices,
    Spent,
    charged_in,
    kept_spending,
    read_prices,
)
from medeval.inference.openai_replies import read_completion
from medeval.inference.run import RESPONSES, RunConfig
from medeval.inference.types import Usage

TABLES = table("cost")
# A call of the tests' server has 100 tokens in and 10 out.
PRICES = Prices(price=(Price(model=MODEL, input=Decimal(0), output=Decimal(10_000)),))
COST = Decimal("0.1")


def priced(**more: Any) -> RunConfig:
    return RunConfig(**{"prices": PRICES, "retries": QUICK, "concurrency": 1, **more})


# Prices


@pytest.mark.parametrize(("price", "counted", "cost"), TABLES["costs"])
def test_what_a_call_costs(price: dict[str, float], counted: list[Any], cost: str | None) -> None:
    exact = Price(model="m", **{name: Decimal(str(value)) for name, value in price.items()})
    assert exact.cost(Usage(*counted)) == (None if cost is None else Decimal(cost))


@pytest.mark.parametrize("count", TABLES["uncounted"])
def test_what_is_no_count_is_unknown(count: object) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 3}
    read = read_completion({"choices": [{"message": {"content": "A"}}], "usage": usage}).usage
    assert (read.input_tokens, read.output_tokens) == (None, 3)


@pytest.mark.parametrize("row", TABLES["files"])
def test_prices_are_read_without_rounding_or_refused(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / row["name"]
    path.write_text(row["text"])
    if "said" in row:
        refused(row["said"], read_prices, path)
        return
    read = read_prices(path)
    found = [read.of(f"https://{host}/v1", "a") for host in ("models.example.org", "other.org")]
    assert [str(price and price.input) for price in found] + [read.currency] == row["read"]
    assert read.of("https://other.org/v1", "b") is None


# What ends a run in between


@pytest.mark.parametrize(("beside", "charged"), TABLES["folders"])
def test_all_journals_of_a_folder_count(tmp_path: Path, beside: str | None, charged: str) -> None:
    (tmp_path / "judging-2").mkdir()
    for name, cost in (("", "1"), ("judgments-a", "0.5"), ("judging-2/judgments", "0.25")):
        path = tmp_path / f"{name or 'responses'}.jsonl"
        line = f'{{"call":1,"cost":"{cost}","charged":"{cost}"}}\n'
        path.with_name(f"spent-{path.name}").write_text(line)
    assert charged_in(tmp_path, beside and tmp_path / beside) == Decimal(charged)


@pytest.mark.parametrize(("text", "spent"), TABLES["ledgers"])
def test_a_torn_last_line_is_dropped_and_a_broken_one_is_named(
    tmp_path: Path, text: str, spent: list[Any] | None
) -> None:
    path = tmp_path / "spent-responses.jsonl"
    path.write_text(text.replace("\\n", "\n"))
    if spent is None:
        refused(r"spent-responses\.jsonl, line 2", kept_spending, tmp_path / RESPONSES)
        return
    cost, unknown, charged = spent
    with CostLedger(tmp_path / RESPONSES, ()) as ledger:
        assert ledger.before == Spent(Decimal(cost), unknown, Decimal(charged))
        ledger.end(ledger.begin(Decimal(0)), COST, COST)
    assert path.read_text().endswith('}\n{"call":2,"cost":"0.1","charged":"0.1"}\n')


def test_what_cannot_be_written_is_told_before_the_next_call(tmp_path: Path) -> None:
    with model_server() as server:
        # It cannot be made there, as on a disk without room.
        (tmp_path / "spent-responses.jsonl").symlink_to(tmp_path / "nowhere" / "file")
        with pytest.raises(UserError, match=r"spent-responses\.jsonl: what a call costs could not"):
            ask(server.url, tmp_path, open_items(3), priced())
        assert server.seen.requests == 1
    assert [line["outcome"] for line in content(tmp_path)] == ["answered"]


def failing(error: Exception) -> Callable[[Any, str], bool]:
    def can_read(item: Any, reply: str) -> bool:
        if item.id == "item-003":
            raise error
        return True

    return can_read


@pytest.mark.parametrize("error", [ValueError("no"), UserError("no"), RuntimeError("no")])
def test_replies_under_way_are_kept_if_one_cannot_be_read(tmp_path: Path, error: Exception) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return None if "item-003" in json.dumps(body) else slow(0.3)

    options = priced(can_read=failing(error), concurrency=4)
    with model_server(Script(fault)) as server:
        refused("no", ask, server.url, tmp_path, open_items(4), options, error=type(error))
        assert [line["outcome"] for line in content(tmp_path)] == [*["answered"] * 3, "unparsed"]
        ask(server.url, tmp_path, open_items(4), priced())
        assert server.seen.requests == 4
