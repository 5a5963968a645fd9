"""YAML in which text stays text.

YAML 1.1 reads an unquoted `no` as false, `12:30` as 750 and `2150-01-01` as a date. An answer, a
time or a code of a medical task must not change its meaning that way, so here only `true` and
`false` are truth values, only plain digits are whole numbers, and nothing is a date.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from importlib.resources import files
from typing import Any

import yaml

_TAG = "tag:yaml.org,2002:"
# Pattern and first characters of each kind of value that is no text.
_OWN = {
    "bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    "int": (r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    "float": (
        r"^(?:(?:[-+]?[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+0123456789.",
    ),
}
_UNUSUAL_BREAK = re.compile("[\x85\u2028\u2029]")
_DROPPED = {_TAG + kind for kind in (*_OWN, "timestamp")}


class _Loader(yaml.SafeLoader):
    """The safe loader with fewer guesses, no key twice, and nothing by reference."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the parent declares it without ClassVar
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _DROPPED]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Build a node; an alias is an error, since few of them hold any number of values.

        Raises:
            yaml.composer.ComposerError: it is an alias.
        """
        if self.check_event(yaml.AliasEvent):
            told = "an alias (*name) is not read: write the value out"
            raise yaml.composer.ComposerError(None, None, told, self.get_mark())
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Build a mapping; a key that stands twice would lose its first value, so it is an error.

        Raises:
            yaml.constructor.ConstructorError: a key stands twice.
        """
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                continue
            if (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands twice", key.start_mark
                )
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep=deep)


for _kind, (_pattern, _first) in _OWN.items():
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(_pattern), list(_first))


class _Dumper(yaml.SafeDumper):
    """The safe dumper, with line breaks that are none of ours kept as they are, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write every value out."""
        return True

    def represent_str(self, text: str) -> yaml.ScalarNode:
        """Quote text so that the unusual line breaks in it are escaped, not folded."""
        style = '"' if _UNUSUAL_BREAK.search(text) else None
        return self.represent_scalar(_TAG + "str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


def read_yaml(text: str) -> Any:
    """Read one YAML document.

    Raises:
        ValueError: naming the line and what is wrong; never the text around it.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader
    except yaml.YAMLError as error:
        described = str(error)
        if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
            described = f"line {error.problem_mark.line + 1}: {error.problem}"
        raise ValueError(f"not valid YAML: {described}") from None
    except RecursionError:
        raise ValueError("not valid YAML: nested too deeply") from None


def packaged_yaml(package: str, name: str) -> Any:
    """Read a table that comes with a package, from its folder `data`."""
    return read_yaml(files(package).joinpath("data", f"{name}.yaml").read_text(encoding="utf-8"))


def write_yaml(value: Any) -> str:
    """Write JSON values as YAML, keys in their order, text readable in any script."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
