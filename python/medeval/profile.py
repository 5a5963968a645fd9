"""The dbt target that profiles.yml names, rendered as dbt renders it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined, TemplateError

from medeval.errors import UserError


@dataclass(frozen=True)
class Target:
    """One output of profiles.yml: its name, its adapter type and its rendered settings.

    `as_built`: what was built there is taken, though another source is named now.
    """

    name: str
    type: str
    settings: dict[str, Any]
    as_built: bool = False


def project_root(start: Path | None = None) -> Path:
    """Return the folder of the project `medeval`: at or above `start`, or a package of one there.

    Raises:
        UserError: no such folder; medeval runs from a checkout of the project.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "dbt_project.yml").is_file():
            if found := find_project(folder):
                return found
            raise UserError(
                f"The dbt project in {folder} is not medeval and has no package medeval. If"
                " packages.yml names it, run `dbt deps`."
            )
    raise UserError(
        f"No dbt_project.yml in {here} or above it. Run the command from the medeval checkout."
    )


def find_project(folder: Path) -> Path | None:
    """Return the project `medeval`: the dbt project in a folder, or one of its packages."""
    try:
        read = yaml.safe_load((folder / "dbt_project.yml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return None
    project = read if isinstance(read, dict) else {}
    if project.get("name") == "medeval":
        return folder
    packages = folder / str(project.get("packages-install-path", "dbt_packages"))
    found = packages / "medeval"
    return found if (found / "dbt_project.yml").is_file() else None


def project_variable(name: str, root: Path | None = None) -> Any:
    """Return a dbt variable's default from dbt_project.yml (for example ``mimic3_schema``)."""
    text = ((root or project_root()) / "dbt_project.yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["vars"][name]


def load_target(
    name: str | None = None, root: Path | None = None, *, as_built: bool = False
) -> Target:
    """Render profiles.yml with the environment and return one target of it.

    Args:
        name: the target; None takes the profile's default (``MEDEVAL_TARGET``).
        root: the project's folder; None searches upwards from the current one.
        as_built: see `Target`.

    Raises:
        UserError: an unknown target, or a setting that cannot be rendered.
    """
    root = root or project_root()
    profile = yaml.safe_load((root / "profiles.yml").read_text(encoding="utf-8"))["medeval"]
    environment = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701
    environment.filters["as_number"] = int

    def render(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: render(inner) for key, inner in value.items()}
        if isinstance(value, str) and "{{" in value:
            text = environment.from_string(value).render(env_var=_env_var)
            return int(text) if "as_number" in value else text
        return value

    try:
        chosen = name or str(render(profile["target"]))
        outputs = profile["outputs"]
        if chosen not in outputs:
            raise UserError(f"Unknown target {chosen!r}. profiles.yml has: {', '.join(outputs)}.")
        settings = render(outputs[chosen])
    except (TemplateError, ValueError) as error:
        raise UserError(f"profiles.yml cannot be rendered: {error}") from error
    return Target(chosen, settings["type"], settings, as_built)


def _env_var(name: str, default: str | None = None) -> str:
    value = os.environ.get(name, default)
    if value is None:
        raise UserError(f"The environment variable {name} is not set; profiles.yml needs it.")
    return value
