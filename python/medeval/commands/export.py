"""The command `export`."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from medeval.commands.options import flags_in, flags_of, options_of, with_options
from medeval.errors import UserError
from medeval.tasks.registry import benchmark_exports, chosen_exports

_EXPORTS = benchmark_exports()


def _export(
    task: Annotated[
        list[str] | None,
        typer.Option(
            help=f"What to write: {', '.join(map(str, _EXPORTS.values()))}. May be repeated;"
            " without it everything that is built."
        ),
    ] = None,
    **given: Any,
) -> None:
    """Write the published tables as files, with a manifest of their hashes and their source."""
    from medeval.builds import build_command, newest_build, open_built, untested
    from medeval.export import Request

    out, strict, target, as_built = (
        given[name] for name in ("out", "strict", "target", "as_built")
    )
    options = {name: options_of(one.options, given) for name, one in _EXPORTS.items()}
    chosen = chosen_exports(task or [])
    if chosen:
        _check_options(given, list(chosen))
    with open_built(" ".join(chosen or _EXPORTS), target, as_built=as_built) as warehouse:
        if not chosen:
            built = {name: one for name, one in _EXPORTS.items() if one.is_built(warehouse)}
            missing = [name for name in _EXPORTS if name not in built]
            if not built:
                command = build_command(" ".join(_EXPORTS), warehouse.target.name)
                raise UserError(f"Nothing is built yet ({', '.join(missing)}). Run `{command}`.")
            for name in missing:
                hint = build_command(name, warehouse.target.name)
                print(f"medeval: {name} is not built, left out ({hint})", file=sys.stderr)
            chosen = {name: one.tasks for name, one in built.items()}
            _check_options(given, list(chosen))
        # All are looked at before the first is written.
        builds = {name: newest_build(warehouse, name) for name in chosen}
        warnings = {
            name: told
            for name, build in builds.items()
            if (told := untested(name, build, warehouse.target))
        }
        if strict and warnings:
            raise UserError(" ".join(warnings.values()))
        for name, tasks in chosen.items():
            try:
                report = _EXPORTS[name].write(warehouse, Request(tasks, out, options[name]))
            except OSError as error:
                place = error.filename or out
                raise UserError(f"Cannot write {place}: {error.strerror or error}.") from error
            print("\n".join(report))
            if name in warnings:
                print(f"medeval: {warnings[name]}", file=sys.stderr)


_FLAGS = flags_in("export_flags.toml")
export = with_options(_export, [_FLAGS, *(one.options for one in _EXPORTS.values())])


def _check_options(given: dict[str, Any], chosen: list[str]) -> None:
    """Stop at an option that means nothing to any benchmark that is written."""
    for name, one in _EXPORTS.items():
        flags = flags_of(one.options, given)
        if flags and name not in chosen:
            raise UserError(
                f"{', '.join(flags)}: for {name} only; this would write {', '.join(chosen)}."
            )
