"""Options that several commands have, with the same words; and what a task has no use for."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from medeval.errors import UserError

Choice = TypeVar("Choice", bound=StrEnum)

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
ScoredTask = Annotated[
    str,
    typer.Option(
        help="in_hospital_mortality (ihm), decompensation (decomp), length_of_stay (los),"
        " phenotyping (pheno), cdm, mtsamples, yier, or the id or file of a task file."
    ),
]
Listfile = Annotated[
    Path | None,
    typer.Option(
        "--listfile",
        "--test_listfile",
        help="The truth (.csv, .csv.gz, .parquet). Without it the warehouse's test rows.",
    ),
]
ResamplingSeed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the resamples.")]
ResampledUnit = Annotated[
    str | None,
    typer.Option(
        help="Resample whole stays or subjects (stay, subject), recommended for hourly tasks;"
        " yier: questions that share a context (context)."
    ),
]
DbtTarget = Annotated[
    str | None, typer.Option(help="Target of profiles.yml (default: MEDEVAL_TARGET).")
]
AsBuilt = Annotated[
    bool,
    typer.Option(
        "--as-built",
        help="Take what was built, though another source is named now than it was built of.",
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


def refuse_flags(task: str, given: Mapping[str, object]) -> None:
    """Refuse flags that a task has no use for.

    Args:
        task: its name.
        given: flag to value; what is false or None was not given.

    Raises:
        UserError: one was given.
    """
    for flag, value in given.items():
        if value not in (None, False):
            raise UserError(f"{task} has no place for {flag}: leave it away.")


def one_of(kind: type[Choice], flag: str, value: str) -> Choice:
    """Return the choice of a name.

    Raises:
        UserError: there is none of that name.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(one.value for one in kind)
        raise UserError(f"{flag} {value}: there are {known}.") from None
