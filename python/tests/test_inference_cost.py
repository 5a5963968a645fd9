"""Money: unknown is unknown, and a limit holds before it is passed."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from inference_runs import MODEL, QUICK, ask, content, lines, open_items
from model_server import DROP, SERVER, Script, model_server, slow

from medeval.errors import UserError
from medeval.inference.cost import Budget, Price, Prices, read_prices
from medeval.inference.openai_replies import read_usage
from medeval.inference.run import RunConfig
from medeval.inference.types import Outcome, Usage

# One call of the tests' server: 100 tokens in and 10 out are 100 * 2 + 10 * 5 = 250 millionths.
PRICE = Price(model=MODEL, input=Decimal(2), output=Decimal(5))
COST = Decimal("0.00025")
PRICES = Prices(price=(PRICE,))
LIMITED = {"max_tokens": 20}


def priced(**more: Any) -> RunConfig:
    return RunConfig(**{"prices": PRICES, "retries": QUICK, **more})


def test_the_cost_of_a_call() -> None:
    price = Price(model="m", input=Decimal("2.5"), cached_input=Decimal("1.25"), output=Decimal(10))
    assert price.cost(Usage(1_000_000, None, 0)) == Decimal("2.5")
    assert price.cost(Usage(1_000_000, 400_000, 100_000, 90_000)) == Decimal("3.0")
    assert PRICE.cost(Usage(1_000_000, 400_000, 0)) == Decimal(2)


def test_thinking_may_have_a_price_of_its_own() -> None:
    price = Price(model="m", input=Decimal(0), output=Decimal(10), reasoning_output=Decimal(12))
    assert price.cost(Usage(0, 0, 1_000_000, 400_000)) == Decimal("10.8")
    assert price.cost(Usage(0, 0, 1_000_000)) is None
    assert price.at_most(5, 1_000_000) == Decimal(12)


@pytest.mark.parametrize("usage", [Usage(), Usage(input_tokens=5), Usage(output_tokens=5)])
def test_uncounted_tokens_have_no_cost_which_is_not_zero(usage: Usage) -> None:
    assert PRICE.cost(usage) is None


@pytest.mark.parametrize("count", [None, "5", -1, True, 1.5])
def test_what_is_no_count_is_unknown(count: object) -> None:
    read = read_usage({"prompt_tokens": count, "completion_tokens": 3})
    assert (read.input_tokens, read.output_tokens) == (None, 3)


TOML = """
[[price]]
model = "a"
input = 0.1
output = 0.4

[[price]]
model = "a"
base_url = "https://models.example.org/v1/"
input = 3
output = 15
"""


def test_prices_are_read_from_toml_and_json_without_rounding(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(TOML)
    read = read_prices(tmp_path / "prices.toml")
    general, special = (
        read.of("https://other.org/v1", "a"),
        read.of("https://models.example.org/v1", "a"),
    )
    assert general is not None
    assert special is not None
    assert (general.input, special.input) == (Decimal("0.1"), Decimal(3))
    assert read.of("https://other.org/v1", "b") is None
    (tmp_path / "prices.json").write_text(
        json.dumps({"currency": "EUR", "price": [{"model": "a", "input": 0.1, "output": 0.4}]})
    )
    read = read_prices(tmp_path / "prices.json")
    assert (read.currency, read.price[0].input) == ("EUR", Decimal("0.1"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[price]]\nmodel = "a"\ninput = 1', "price.0.output"),
        ('[[price]]\nmodel = "a"\ninput = -1\noutput = 1', "price.0.input"),
        ('[[price]]\nmodel = "a"\ninput = nan\noutput = 1', "price.0.input"),
        ('[[price]]\nmodel = "a"\ninput = 1\noutput = 1\ncached = 1', "cached"),
        ("[[price", "cannot be read as prices"),
        (TOML + TOML, "two prices of a"),
    ],
)
def test_a_file_of_prices_that_cannot_be_meant_is_an_error(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=told):
        read_prices(path)


def test_a_run_is_priced_and_an_unknown_price_is_shown_as_unknown(tmp_path: Path) -> None:
    with model_server() as server:
        known = ask(server.url, tmp_path / "known", open_items(4), priced()).progress
        unknown = ask(server.url, tmp_path / "unknown", open_items(4)).progress
    assert known.known_cost == 4 * COST
    assert (known.input_tokens, known.output_tokens) == (400, 40)
    assert (unknown.known_cost, unknown.unpriced) == (None, 4)
    assert unknown.as_json()["cost"] is None
    assert [line["cost"] for line in lines(tmp_path / "unknown")] == [None] * 4


def test_uncounted_tokens_make_the_cost_unknown(tmp_path: Path) -> None:
    with model_server(Script(usage=None)) as server:
        progress = ask(server.url, tmp_path, open_items(3), priced()).progress
    assert (progress.known_cost, progress.unpriced, progress.uncounted) == (None, 3, 3)


def test_a_broken_connection_may_have_cost_something_and_a_failed_one_did_not(
    tmp_path: Path,
) -> None:
    with model_server(Script(lambda body, before: None if before else DROP)) as server:
        dropped = ask(server.url, tmp_path / "dropped", open_items(1), priced()).progress
    with model_server(Script(lambda body, before: None if before else SERVER)) as server:
        failed = ask(server.url, tmp_path / "failed", open_items(1), priced()).progress
    assert dropped.known_cost is None
    assert failed.known_cost == COST


def test_a_limit_that_cannot_be_held_is_told_before_the_first_call(tmp_path: Path) -> None:
    limit = Decimal(1)
    with model_server() as server:
        with pytest.raises(UserError, match=r"price of tested-model .* is unknown"):
            ask(
                server.url,
                tmp_path / "a",
                open_items(1),
                RunConfig(max_cost=limit),
                parameters=LIMITED,
            )
        with pytest.raises(UserError, match="max_tokens"):
            ask(server.url, tmp_path / "b", open_items(1), priced(max_cost=limit))
        assert server.seen.connections == 0


def test_a_limit_on_cost_is_never_passed_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    items = open_items(40)
    limit = 10 * COST
    with model_server(Script(lambda body, before: slow(0.01))) as server:
        options = priced(max_cost=limit, concurrency=8)
        ended = ask(server.url, tmp_path, items, options, parameters=LIMITED)
        asked = server.seen.requests
        assert "exceed the limit" in ended.stopped
        assert 0 < asked * COST <= limit
        # The most of a call is above its cost, so the last may not fit, but those before it do.
        assert asked >= 8
        ended = ask(server.url, tmp_path, items, options, parameters=LIMITED)
        assert server.seen.requests <= 10
        assert ended.stopped
        ended = ask(server.url, tmp_path, items, priced(max_cost=Decimal(1)), parameters=LIMITED)
    assert ended.stopped == ""
    assert ended.progress.known_cost == 40 * COST
    assert len(content(tmp_path)) == 40


def test_a_limit_counts_retries_whose_cost_nobody_knows(tmp_path: Path) -> None:
    with model_server(Script(lambda body, before: DROP)) as server:
        options = priced(max_cost=8 * COST, concurrency=1)
        ended = ask(server.url, tmp_path, open_items(50), options, parameters=LIMITED)
        assert server.seen.requests < 20
    assert "exceed the limit" in ended.stopped
    assert ended.progress.ledger[Outcome.ANSWERED] == 0


def test_a_limit_is_shared_between_model_and_judge(tmp_path: Path) -> None:
    budget = Budget(10 * COST)
    with model_server() as server:
        for name in ("model", "judge"):
            options = priced(budget=budget, concurrency=4)
            ask(server.url, tmp_path / name, open_items(6), options, parameters=LIMITED)
        assert 6 < server.seen.requests <= 10
    assert budget.spent == server.seen.requests * COST


def test_a_budget_waits_for_calls_under_way_before_it_refuses() -> None:
    async def calls() -> list[bool]:
        budget = Budget(Decimal(10))
        first = await budget.set_aside(Decimal(8))
        second = asyncio.create_task(budget.set_aside(Decimal(5)))
        third = asyncio.create_task(budget.set_aside(Decimal(9)))
        await asyncio.sleep(0)
        assert not second.done()
        budget.book(Decimal(8), Decimal(3))
        assert await second
        assert not third.done()
        budget.book(Decimal(5), Decimal(5))
        return [first, await third]

    assert asyncio.run(calls()) == [True, False]
