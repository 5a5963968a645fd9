"""The flags of commands: those in TOML files here, those that are options of tasks, and lines.

A line is a command as a user would give it, for messages that say how to go on.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from inspect import Parameter, Signature, signature
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typer.core import TyperCommand

from medeval.errors import UserError, in_words
from medeval.files import toml_beside
from medeval.tasks import registry
from medeval.tasks.options import TaskOptions

# Lifts the limit on cost that a run was begun with.
UNLIMITED = "none"
# Of flags that a file describes: the type, and what the help calls a value.
_TYPES: dict[str, tuple[Any, str | None]] = {
    "format_and_folder": (tuple[str, Path], "FORMAT DIR"),
    "layout": (Literal["array", "lines"], None),
    "number": (int, "N"),
    "path": (Path, "PATH"),
    "paths": (list[Path], "PATH"),
    "real": (float, "X"),
    "switch": (bool, None),
    "text": (str, "TEXT"),
    "texts": (list[str], "TEXT"),
}
_METAVARS = dict(_TYPES.values())
_KEY = "--judge-api-key"
# Longer names of flags have a line of the help for themselves.
_NAMES = 26
# Of commands whose flags are also options of the task: where the task's class has them.
_OPTIONS = {"run": "Options", "score": "ScoreOptions", "compare": "ScoreOptions"}

_parameter = partial(Parameter, kind=Parameter.KEYWORD_ONLY)


def command_flags(
    command: str,
    kinds: Iterable[type[TaskOptions]] = (),
    described: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., None]], Any]:
    """Return what gives a function the flags of a command, which come as its keywords.

    They are described in COMMAND_flags.toml. A flag has `type`, `help` and what else
    `typer.Option` takes (`words` are its names); with `argument` it has no name. One without a type
    is that of `shared_flags.toml` of the same name, or of the one that `like` gives.

    Args:
        command: names the file; the function has `**given` among its arguments.
        kinds: options, each of which is a flag too.
        described: the flags of a command that is described elsewhere.
    """
    shared, flags = toml_beside(__file__, "shared_flags.toml"), []
    for name, own in (described or toml_beside(__file__, f"{command}_flags.toml")).items():
        one = own if "type" in own else {**shared[own.pop("like", name)], **own}
        # Typer's own sign of a flag that must be given.
        default = ... if one.pop("required", False) else one.pop("default", None)
        kind, metavar = _TYPES[one.pop("type")]
        option: Any = typer.Argument if one.pop("argument", False) else typer.Option
        option = option(*one.pop("words", ()), **{"metavar": metavar, **one})
        kind = kind if default is not None else kind | None
        flags.append(_parameter(name, default=default, annotation=Annotated[kind, option]))
    flags += chain.from_iterable(map(_option_flags, kinds))
    return partial(_given_flags, flags)


def command_group(place: str) -> typer.Typer:
    """Return the commands of a module as a group: `COMMANDS`, with the flags of its flags.toml."""
    module = import_module(place)
    flags = toml_beside(str(module.__file__), "flags.toml")
    group = typer.Typer(help=module.HELP, no_args_is_help=True)
    for one in module.COMMANDS:
        group.command(cls=Command)(command_flags(one.__name__, described=flags[one.__name__])(one))
    return group


def _given_flags(flags: Sequence[Parameter], function: Callable[..., None]) -> Callable[..., None]:
    own = signature(function, eval_str=True).parameters.values()
    kept = [one for one in own if one.kind is not Parameter.VAR_KEYWORD]
    function.__signature__ = Signature([*kept, *flags])  # type: ignore[attr-defined]
    return function


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


class Command(TyperCommand):
    """A command whose flags may also be the options of the tasks that its words name.

    The command finds these in `context.obj["options"]`, None where they were not given.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line.

        Raises:
            UserError: a flag that neither the command nor the task has.
        """
        try:
            return self._parsed(ctx, args)
        except typer.BadParameter as error:
            error.message = in_words(error.message)
            raise

    def _parsed(self, ctx: Any, args: list[str]) -> list[str]:
        if self.name not in _OPTIONS:
            return super().parse_args(ctx, args)
        words = args[: args.index("--")] if "--" in args else args
        tasks = {name: registry.task_class(name) for name in registry.named_by(words)}
        own, of_tasks = {one.name for one in self.params}, dict[str, Any]()
        for name, task in tasks.items():
            for one in task_flags(getattr(task, _OPTIONS[self.name]), f"Options of {name}"):
                if self.name != "compare" or one.name in task.COMPARED:
                    of_tasks.setdefault(one.name, one)
        is_judged = any(hasattr(task, "subject") for task in tasks.values())
        for one in self.params:
            if getattr(one, "rich_help_panel", None) == "Who judges":
                vars(one)["hidden"] = not is_judged
        self.params += [one for name, one in of_tasks.items() if name not in own]
        flags: list[Any] = self.get_params(ctx)
        known = {word for one in flags for word in [*one.opts, *one.secondary_opts]}
        named = [word.partition("=")[0] for word in words]
        for one in flags:
            times = sum(word in one.opts for word in named)
            if times > 1 and not one.multiple and not one.is_flag:
                raise UserError(f"{one.opts[0]} was given {times} times. Leave one of them away.")
        if unknown := [word for word in named if word.startswith("--") and word not in known]:
            near = get_close_matches(unknown[0], known, 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            if not tasks:
                raise UserError(
                    f"{self.name} has no {unknown[0]}.{meant} Options of a task need --task."
                )
            have = ", ".join(map(flag, of_tasks)) or "none of its own"
            of_task = f"{', '.join(tasks)} has no {unknown[0]} for {self.name}.{meant}"
            raise UserError(f"{of_task} It has: {have}.")
        rest = super().parse_args(ctx, args)
        ctx.obj["options"] = {name: ctx.params.pop(name) for name in of_tasks if name not in own}
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the flags into the help: names whole, a task's own below the general ones."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            if record := one.get_help_record(ctx):
                usual = f"{one.param_type_name}s".capitalize()
                panel = getattr(one, "rich_help_panel", None) or usual
                panels.setdefault(panel, []).append(record)
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records, col_max=_NAMES)


@cache
def task_flags(kind: type[TaskOptions], panel: str) -> Sequence[Any]:
    """Return the flags of a task's options for a command that is there; see `_option_flags`."""
    app = typer.Typer(add_completion=False)
    app.command()(_given_flags([*_option_flags(kind, panel)], lambda **given: None))
    return typer.main.get_command(app).params


def _option_flags(kind: type[TaskOptions], panel: str | None = None) -> Iterator[Parameter]:
    """Yield the flags of options, each under its field's name and None if not given.

    Args:
        kind: the options; a field's description is the flag's help.
        panel: of the help that shows them.
    """
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
        words_of, default = field.description or kind.WORDS.get(name), field.default
        is_told = not (field.default is None or isinstance(field.default, bool | tuple))
        option = typer.Option(
            *words,
            help=f"{words_of} Default: {default}." if is_told else words_of,
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
        yield _parameter(name, default=None, annotation=Annotated[own | None, option])


def given_options(kind: type[TaskOptions], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options among the flags of a command, as far as they were given."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name in kind.model_fields
        # The switch that every command with data has is of this start.
        if (value := given.get(name)) not in (None, [], ()) and (value or name != "as_built")
    }


def flag(name: str) -> str:
    """Return an option as the flag that it is."""
    return f"--{name.replace('_', '-')}"


def command_of(*words: object, named: Mapping[str, str] | None = None) -> str:
    """Return a command line of this program; `named` are further flags with their values."""
    return with_flags(shlex.join(["python", "-m", "medeval", *map(str, words)]), named or {})


def with_flags(command: str, named: Mapping[str, str]) -> str:
    """Return a command line with further flags and their values."""
    return " ".join([command, *map(shlex.quote, chain.from_iterable(named.items()))])


def same_command() -> str:
    """Return the command that was given, without a key."""
    words = []
    given = iter(sys.argv[1:])
    for word in given:
        if word == _KEY:
            next(given, None)
        elif not word.startswith(f"{_KEY}="):
            words.append(word)
    return command_of(*words)
