"""Options of CDM: how cases are put to a model, and what the record of a run says of that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, InstanceOf

from medeval.cdm.cases import Subset
from medeval.cdm.episode import LoopOptions
from medeval.cdm.full_information import FullInformationOptions
from medeval.cdm.tools import TOOLS
from medeval.errors import UserError
from medeval.tasks.options import TaskOptions

SETTINGS = "cdm"
# Options that only one way of asking has; `permute` may be said to be none.
TOOLS_OPTIONS = ("tool_protocol", "max_rounds", "max_calls", "tools")


class CdmOptions(TaskOptions):
    """How cases are put to a model.

    Attributes:
        cases: the folder of the export.
        subset: the cases that are asked, as NAME=FILE; None asks all. A run that goes on has them
            from its record.
        mode: tools, the model asks for what it needs; full_information, it sees all at once.
        tool_protocol: native, the endpoint's own form of calls; text, for models without one.
        max_rounds: steps with tools, after which the model has to decide.
        max_calls: calls in one step.
        tools: which there are.
        permute: full_information: further samples, with the information in other orders.
        permute_seed: of the orders.
        context_limit: tokens that the model takes in; None asks the server.
    """

    cases: str | None = None
    subset: str | InstanceOf[Subset] | None = None
    mode: Literal["tools", "full_information"] = "tools"
    tool_protocol: Literal["native", "text"] = "native"
    max_rounds: int = Field(20, ge=1)
    max_calls: int = Field(10, ge=1)
    tools: tuple[str, ...] = Field(TOOLS, min_length=1)
    permute: int = Field(0, ge=0)
    permute_seed: int = 0
    context_limit: int | None = Field(None, ge=1)


def way_of_asking(options: CdmOptions) -> LoopOptions | FullInformationOptions:
    """Return the options of the way that is chosen.

    Raises:
        UserError: options of the other way.
    """
    if options.mode == "full_information":
        unused = [name for name in TOOLS_OPTIONS if name in options.model_fields_set]
        if unused:
            raise UserError(
                f"{', '.join(unused)}: for the mode tools; full_information has none of it."
            )
        return FullInformationOptions(options.permute, options.permute_seed)
    if options.permute or "permute_seed" in options.model_fields_set:
        raise UserError(
            "--permute is for full_information: with tools the model chooses the order itself."
        )
    return LoopOptions(
        options.tool_protocol, options.max_rounds, options.max_calls, tuple(options.tools)
    )


def subset_as_json(subset: Subset) -> dict[str, Any]:
    """Return what the record of a run says of its cases: enough to go on without their file."""
    return {**subset.about(), "hadm_ids": list(subset.hadm_ids)}


def options_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with which a run was begun."""
    asked = settings[SETTINGS]
    context = asked.get("context") or {}
    limit = context.get("limit") if context.get("limit_from") == "user" else None
    options = {"cases": asked["export"], "mode": asked["mode"], "context_limit": limit}
    if "subset" in asked:
        kept = asked["subset"]
        options["subset"] = Subset(kept["name"], tuple(kept["hadm_ids"]), kept["file_sha256"])
    if asked["mode"] == "full_information":
        return {**options, "permute": asked["permute"], "permute_seed": asked["seed"]}
    return {
        **options,
        "tool_protocol": asked["tool_protocol"],
        "max_rounds": asked["max_rounds"],
        "max_calls": asked["max_calls"],
        "tools": asked["tools"],
    }
