"""The flags of commands: those in TOML files here, and those that are options of tasks."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from functools import cache, partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from medeval.errors import UserError
from medeval.tasks import registry
from medeval.tasks.options import TaskOptions

if TYPE_CHECKING:
    from medeval.inference.cost import Prices

# Lifts the limit on cost that a run was begun with.
UNLIMITED = "none"
# Of flags that a file describes.
_TYPES: dict[str, Any] = {
    "number": int,
    "path": Path,
    "paths": list[Path],
    "real": float,
    "switch": bool,
    "text": str,
    "texts": list[str],
}

_parameter = partial(Parameter, kind=Parameter.KEYWORD_ONLY)
# Short, so that the help has room.
_METAVARS = {int: "N", float: "X", str: "TEXT", list[str]: "TEXT", Path: "PATH", list[Path]: "PATH"}


def flags_in(file: str) -> list[Parameter]:
    """Return the flags of a TOML file of this folder, in its order, as `with_options` takes them.

    A flag has `type`, `help` and what else `typer.Option` takes (`words` are its names); with
    `argument` it has no name. One without a type is that of `shared_flags.toml` of the same name,
    or of the one that `like` gives.
    """
    shared = _read("shared_flags.toml")
    flags = []
    for name, own in _read(file).items():
        one = own if "type" in own else {**shared[own.pop("like", name)], **own}
        # Typer's own sign of a flag that must be given.
        default = ... if one.pop("required", False) else one.pop("default", None)
        kind: Any = _TYPES[one.pop("type")]
        option: Any = typer.Argument if one.pop("argument", False) else typer.Option
        option = option(*one.pop("words", ()), **{"metavar": _METAVARS.get(kind), **one})
        kind = kind if default is not None else kind | None
        flags.append(_parameter(name, default=default, annotation=Annotated[kind, option]))
    return flags


def _read(file: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))


def with_options(
    command: Callable[..., None], flags: Iterable[Parameter], kinds: Iterable[type] = ()
) -> Callable[..., None]:
    """Give a command flags, which come as its keywords.

    Args:
        command: with `**given` among its arguments.
        flags: as `flags_in` returns them.
        kinds: dataclasses, each field of which is a flag too.
    """
    parameters = [
        one
        for one in signature(command, eval_str=True).parameters.values()
        if one.kind is not Parameter.VAR_KEYWORD
    ]
    for kind in kinds:
        hints = get_type_hints(kind, include_extras=True)
        flags = [
            *flags,
            *(
                _parameter(one.name, default=one.default, annotation=hints[one.name])
                for one in fields(kind)
            ),
        ]
    command.__signature__ = Signature([*parameters, *flags])  # type: ignore[attr-defined]
    return command


def options_of(kind: type, given: Mapping[str, Any]) -> Any:
    """Return the options of one kind, of the values of all flags."""
    return kind(**{one.name: given[one.name] for one in fields(kind)})


def flags_of(kind: type, given: Mapping[str, Any] | None = None) -> list[str]:
    """Return the flags of one kind; of given values those that are not as they are by default."""
    return [
        flag(one.name) for one in fields(kind) if given is None or given[one.name] != one.default
    ]


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


class TaskCommand(TyperCommand):
    """A command whose flags are also the options of the tasks that its words name.

    The command finds these in `context.obj["options"]`, None where they were not given.

    Attributes:
        OPTIONS: the class of options, as an attribute of tasks.
        CHOSEN: the attribute of tasks that names those that are flags; empty for all.
    """

    OPTIONS = "Options"
    CHOSEN = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line.

        Raises:
            UserError: a flag that neither the command nor the task has.
        """
        words = args[: args.index("--")] if "--" in args else args
        names, own = registry.named_by(words), {one.name for one in self.params}
        of_tasks: dict[str, Any] = {}
        for name in names:
            task = registry.task_class(name)
            chosen = getattr(task, self.CHOSEN) if self.CHOSEN else None
            for one in task_flags(getattr(task, self.OPTIONS), f"Options of {name}"):
                if chosen is None or one.name in chosen:
                    of_tasks.setdefault(one.name, one)
        self.params = [*self.params, *(of_tasks[name] for name in of_tasks if name not in own)]
        flags: list[Any] = self.get_params(ctx)
        known = {word for one in flags for word in [*one.opts, *one.secondary_opts]}
        named = [word.partition("=")[0] for word in words]
        for one in flags:
            times = sum(word in one.opts for word in named)
            if times > 1 and not one.multiple and not one.is_flag:
                raise UserError(f"{one.opts[0]} was given {times} times. Leave one of them away.")
        for word in named:
            if word.startswith("--") and word not in known:
                near = get_close_matches(word, known, 1)
                meant = f" Did you mean {near[0]}?" if near else ""
                if not names:
                    raise UserError(
                        f"{self.name} has no {word}.{meant} Options of a task need --task."
                    )
                have = ", ".join(map(flag, of_tasks)) or "none of its own"
                of_task = f"{', '.join(names)} has no {word} for {self.name}.{meant}"
                raise UserError(f"{of_task} It has: {have}.")
        rest = super().parse_args(ctx, args)
        ctx.obj["options"] = {name: ctx.params.pop(name) for name in of_tasks if name not in own}
        return rest


class ScoreCommand(TaskCommand):
    """A command whose flags are also what can be chosen about a score of the task."""

    OPTIONS = "ScoreOptions"


class CompareCommand(ScoreCommand):
    """A command whose flags are also what can be chosen about a comparison of the task."""

    CHOSEN = "COMPARED"


@cache
def task_flags(kind: type[TaskOptions], panel: str) -> Sequence[Any]:
    """Return the flags of a task's options, each under its field's name and None if not given.

    Args:
        kind: the options; a field's description is the flag's help.
        panel: of the help that shows them.
    """
    parameters = []
    for name, field in kind.model_fields.items():
        if field.exclude:
            continue
        own: Any = field.annotation
        is_switch = bool in (own, *get_args(own))
        # Of several types the first one that is a value's.
        while get_origin(own) in (Union, UnionType):
            own = next(one for one in get_args(own) if one is not type(None))
        own = list[str] if get_origin(own) is tuple else own
        extra: Any = field.json_schema_extra or {}
        words = [flag(name), *extra.get("words", ())]
        if is_switch and field.default:
            words = [f"{flag(name)}/--no-{flag(name)[2:]}"]
        is_told = not (field.default is None or isinstance(field.default, bool | tuple))
        option = typer.Option(
            *words,
            help=f"{field.description} Default: {field.default}." if is_told else field.description,
            rich_help_panel=panel,
            metavar=_METAVARS.get(own, "|".join(map(str, get_args(own))) or None),
            show_default=False,
            **{
                least: getattr(one, bound)
                for one in field.metadata
                for least, bound in (("min", "ge"), ("max", "le"))
                if hasattr(one, bound)
            },
        )
        parameters.append(_parameter(name, default=None, annotation=Annotated[own | None, option]))
    app = typer.Typer(add_completion=False)
    app.command()(with_options(lambda **given: None, parameters))
    return typer.main.get_command(app).params


def given_options(kind: type[TaskOptions], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a task among the flags of a command, as far as they were given."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name in kind.model_fields
        # The switch that every command with data has is of this start.
        if (value := given.get(name)) not in (None, [], ()) and (value or name != "as_built")
    }


def flag(name: str) -> str:
    """Return an option as the flag that it is."""
    return f"--{name.replace('_', '-')}"
