"""Options that several commands have, with the same words; what a task has no place for; money."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import make_dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medeval.errors import UserError

if TYPE_CHECKING:
    from medeval.inference.cost import Prices


class Interval(StrEnum):
    """How an interval is made of the resampled values."""

    PERCENTILE = "percentile"
    BCA = "bca"


WHO_JUDGES = "Who judges"
HOW = "How it is asked"

JudgeModels = Annotated[
    list[str] | None,
    typer.Option(
        help="As its endpoint calls it; local for a rule that needs no network. Repeated: a jury.",
        rich_help_panel=WHO_JUDGES,
    ),
]
JudgeBaseUrls = Annotated[
    list[str] | None,
    typer.Option(
        help="Address of all judges, or one for each. Default: JUDGE_BASE_URL, else"
        " OPENAI_BASE_URL, else OpenAI.",
        rich_help_panel=WHO_JUDGES,
    ),
]
JudgeApiKey = Annotated[
    str | None,
    typer.Option(
        help="Better in JUDGE_API_KEY: a command line can be seen by others. Never stored.",
        rich_help_panel=WHO_JUDGES,
    ),
]
JudgeKeyVariable = Annotated[
    str | None,
    typer.Option(
        help="The environment variable with the judge's key; none for an endpoint without keys."
        " Default: JUDGE_API_KEY, else OPENAI_API_KEY; none for an address on this machine.",
        rich_help_panel=WHO_JUDGES,
    ),
]
Jury = Annotated[
    str | None,
    typer.Option(
        help="How a jury's rewards become one: mean, median or trimmed_mean.",
        rich_help_panel=WHO_JUDGES,
    ),
]
JudgeRepeats = Annotated[
    int | None,
    typer.Option(min=1, help="Judgments of each answer by each judge.", rich_help_panel=WHO_JUDGES),
]
ReAsks = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=9,
        help="How often an unusable verdict is asked for again.",
        rich_help_panel=WHO_JUDGES,
    ),
]
Concurrency = Annotated[
    int, typer.Option(min=1, help="Calls under way at a time.", rich_help_panel=HOW)
]
PriceFile = Annotated[
    Path | None, typer.Option(help="What tokens cost, TOML or JSON.", rich_help_panel=HOW)
]
MaxCost = Annotated[
    str | None,
    typer.Option(
        help="A limit that is not exceeded; needs prices, and of a model --max-tokens. none: no"
        " limit, also where one was set before.",
        rich_help_panel=HOW,
    ),
]
Endpoints = Annotated[
    Path,
    typer.Option(
        help="Which endpoints may see credentialed text (docs/data_use.md).",
        rich_help_panel=HOW,
    ),
]
ENDPOINTS = Path("endpoints.toml")
# Lifts the limit on cost that a run was begun with.
UNLIMITED = "none"
# Of flags that a file describes.
_TYPES: dict[str, Any] = {
    "interval": Interval,
    "number": int,
    "path": Path,
    "paths": list[Path],
    "real": float,
    "switch": bool,
    "text": str,
    "texts": list[str],
}


def flags_in(file: str, **common: Any) -> type:
    """Return the flags of a TOML file of this folder, in its order, as `with_options` takes them.

    A flag has `type`, `help` and what else `typer.Option` takes (`words` are its names); `like`
    takes them from `shared_flags.toml` or this module. One that not every task has a place for is
    `of` some.

    Args:
        file: its name.
        common: what all of its flags have.
    """
    flags = []
    for name, one in _described(file).items():
        # Typer's own sign of a flag that must be given.
        default = ... if one.pop("required", False) else one.pop("default", None)
        one.pop("of", None)
        like = one.pop("like", "")
        if like in globals():
            annotation = globals()[like]
        else:
            kind = _TYPES[one.pop("type")]
            option = partial(typer.Option, *one.pop("words", ()))(**common, **one)
            annotation = Annotated[kind if default is not None else kind | None, option]
        flags.append((name, annotation, default))
    return make_dataclass("Flags", flags)


def refuse_flags(file: str, task: str, kinds: Iterable[str], given: Mapping[str, Any]) -> None:
    """Refuse flags that a task has no place for.

    Args:
        file: describes the flags.
        task: its name.
        kinds: what flags that are `of` some tasks may be of here.
        given: each flag's value.

    Raises:
        UserError: one was given that is of other tasks.
    """
    for name, one in _described(file).items():
        is_given = given[name] not in (one.get("default"), None, [])
        if is_given and one.get("of") not in (None, *kinds):
            raise UserError(f"{task} has no place for --{name.replace('_', '-')}: leave it away.")


def _described(file: str) -> dict[str, dict[str, Any]]:
    flags = tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))
    if any("like" in one for one in flags.values()):
        shared = _described("shared_flags.toml")
        return {name: {**shared.get(one.get("like"), {}), **one} for name, one in flags.items()}
    return flags


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
