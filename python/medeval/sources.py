"""The sources and the variables of the dbt project, as it declares them, and where the data is."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.files import toml_beside

if TYPE_CHECKING:
    from medeval.warehouse import Target

PACKAGE = "medeval"
# What a source says of itself under `config.meta`.
Meta = Mapping[str, Any]

# The keys of a source that name its variables: the kind of place that each names, and its words.
_VARIABLES: Mapping[str, tuple[str, str]] = toml_beside(__file__, "source_variables.toml")
# It stands between quotes and in text literals of SQL.
_SCHEMA = "[A-Za-z_][A-Za-z0-9_$-]*"
# Of each dbt variable: its benchmark (`floor`), what it can be, and whether it has to be a text.
VARIABLES: Mapping[str, Mapping[str, Any]] = {
    name: {"floor": "", "pattern": _SCHEMA, "is_text": False, **entry}
    for name, entry in toml_beside(__file__, "variables.toml").items()
}
# Between the name in another project and one of ours: how alike they are where it is a mistake.
_MISSPELT = 0.85


# Where the data is


@dataclass(frozen=True)
class Place:
    """Where a source is.

    Attributes:
        kind: `file`, `cache`, `folder`, `database`, `demo` or `absent`.
        location: an absolute path.
        description: both in words.
    """

    kind: str = "absent"
    location: str = ""
    description: str = "nowhere"


def source_place(meta: Meta, of_floor: Sequence[Meta], root: Path) -> Place:
    """Return where a source is by the environment's variables.

    The demo stands in only where none of the benchmark's variables is set, so that real and
    synthetic rows never mix.

    Args:
        meta: of the source.
        of_floor: of every source of its benchmark.
        root: the project's folder, in which the demo lies.

    Raises:
        UserError: a folder and a database are named.
    """
    folder, database = (meta.get(key, "") for key in ("directory_variable", "database_variable"))
    if {folder, database} <= {*variables_set([meta])} and not meta.get("folder_wins"):
        raise UserError(f"{folder} and {database} are both set. Name one of them.")
    for key, (kind, words) in _VARIABLES.items():
        if path := os.environ.get(meta.get(key, "")):
            location = absolute_path(path)
            return Place(kind, location, f"{words} {location}")
    if meta["demo"] and not variables_set(of_floor):
        location = absolute_path(f"{root / meta['demo']}")
        return Place("demo", location, f"the synthetic demo {location}")
    return Place()


def variables_of(metas: Sequence[Meta]) -> list[str]:
    """Return the environment variables that may name sources, each once."""
    return list(dict.fromkeys(meta[key] for meta in metas for key in _VARIABLES if key in meta))


def variables_set(metas: Sequence[Meta]) -> list[str]:
    """Return those of them that are set."""
    return [name for name in variables_of(metas) if os.environ.get(name)]


def floor_place(metas: Sequence[Meta], root: Path) -> tuple[str, list[str]]:
    """Return the kind of a benchmark's first source that is there, and every place once.

    The places have no links: what reads the tables asks whether the same is named.

    Raises:
        UserError: a folder and a database are named for one source.
    """
    places = [source_place(meta, metas, root) for meta in metas]
    there = [place for place in places if place.kind != "absent"]
    kind = there[0].kind if there else "none"
    return kind, list(dict.fromkeys(os.path.realpath(place.location) for place in there))


def named_now(floor: str, target: Target, root: Path) -> tuple[str, list[str]]:
    """Return what a build would read now, as the record of builds says it.

    Args:
        floor: the benchmark.
        target: of profiles.yml.
        root: the project's folder.

    Returns:
        The kind of place, and the places: paths without links, or schemas.

    Raises:
        UserError: a folder and a database are named for one source.
    """
    entries = [one for one in _declared(root) if one["config"]["meta"]["floor"] == floor]
    metas = [one["config"]["meta"] for one in entries]
    if not reads_tables(target.type, metas):
        return floor_place(metas, root)
    names = [project_variable(one["schema_variable"], root) for one in entries]
    return "schema", [f"{database_of(target.settings)}.{name}" for name in names]


def reads_tables(engine: str, metas: Sequence[Meta]) -> bool:
    """Tell whether sources are tables of the database, and not files.

    Args:
        engine: the adapter's type of a target.
        metas: of every source of a benchmark.
    """
    return engine == "postgres" or (engine == "spark" and not variables_set(metas))


def database_of(target: Mapping[str, Any]) -> str:
    """Return the name of a target's database; a catalogue of Spark has none."""
    return str(target.get("dbname") or "spark_catalog")


def absolute_path(path: str) -> str:
    """Return a path with the current folder in front where it is relative, and ``~`` resolved.

    An address (``s3a://...``) stays as it is.
    """
    if "://" in path:
        return path
    return os.path.normpath(Path(path).expanduser().absolute())


# What the project declares


def columns_of(table: Meta) -> list[str]:
    """Return the columns of a table that the models read, in order."""
    columns = table["columns"]
    # dbt's graph has them by name; the file of properties lists them.
    return [*columns] if isinstance(columns, Mapping) else [column["name"] for column in columns]


def is_optional(table: Meta) -> bool:
    """Tell whether a table may be absent."""
    return bool(table["config"]["meta"].get("optional"))


def is_list(table: Meta) -> bool:
    """Tell whether a table is the user's list of admissions, which no folder and database holds."""
    return bool(table["config"]["meta"].get("needed_by") == "list")


@dataclass(frozen=True)
class Source:
    """One source of the dbt project.

    Attributes:
        name: the source's name.
        kind: the word on the command line of `load`, which several sources may share.
        schema_variable: the dbt variable that names the schema of the tables.
        tables: every table, with the columns that the models read.
        meta: what the source says of itself: its variables, its demo, its subfolders.
        optional: the tables that may have no file.
        list_table: the table that holds the user's list of admissions and has no file of its own;
            nothing if there is none.
        list_variable: the dbt variable that names the file of that list.
    """

    name: str
    kind: str
    schema_variable: str
    tables: Mapping[str, Sequence[str]]
    meta: Meta = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    list_table: str = ""
    list_variable: str = ""

    @property
    def file_tables(self) -> list[str]:
        """The tables that files hold, in the order in which they are loaded."""
        return [table for table in self.tables if table != self.list_table]

    @property
    def is_optional(self) -> bool:
        """Whether the source as a whole may be absent."""
        return self.optional.issuperset(self.file_tables)


@dataclass(frozen=True)
class LoadRequest:
    """What a user asked of `load`: the place of the files, if one is named, and where they go.

    Attributes:
        place: a file or folder.
        schema: the schema to make; None takes that of the dbt variable.
        replace: replace the schema if `load` made it.
        target: of profiles.yml.
        root: the project's folder.
        parquet: the folder of Parquet to write, in place of the database.
    """

    place: Path | None
    schema: str | None
    replace: bool
    target: str
    root: Path
    parquet: Path | None = None

    def then(self, source: Source, table: str, schema: str) -> str:
        """Return what a table is called where it went, and how to build its benchmark."""
        command = f"dbt build --select {source.name} --target"
        if self.parquet is None:
            return f"{schema}.{table}: `{command} {self.target}`."
        variable = variables_of([source.meta])[0]
        return f"{self.parquet}: name it in {variable}, then `{command} spark`."


def variables(root: Path) -> list[str]:
    """Return the environment variables that name a user's own data."""
    return variables_of([one["config"]["meta"] for one in _declared(root)])


def sources(root: Path, *, are_records: bool = False) -> dict[str, Source]:
    """Read the sources that are folders of tables from the staging folders' files, by name.

    Args:
        root: the project's folder.
        are_records: those instead that are one file of records, or notes.
    """
    found = {}
    for entry in _declared(root):
        meta, tables = entry["config"]["meta"], entry["tables"]
        if ("file_variable" in meta) != are_records or meta.get("holds") == "published":
            continue  # what is published this program writes itself
        listed = next(filter(is_list, tables), None)
        found[entry["name"]] = Source(
            name=entry["name"],
            kind=meta.get("load_kind", entry["name"]),
            schema_variable=entry["schema_variable"],
            tables={table["name"]: columns_of(table) for table in tables},
            meta=meta,
            optional=frozenset(table["name"] for table in tables if is_optional(table)),
            list_table=listed["name"] if listed else "",
            list_variable=listed["config"]["meta"]["variable"] if listed else "",
        )
    return found


def _declared(root: Path) -> list[dict[str, Any]]:
    files = sorted(root.glob("models/*/staging/_*__sources.yml"))
    entries = [entry for path in files for entry in read_yaml(path)["sources"]]
    for entry in entries:
        entry["schema_variable"] = re.sub(r".*var\('(\w+)'\).*", r"\1", entry["schema"])
        for table in entry["tables"]:
            table.setdefault("config", {}).setdefault("meta", {})
    return entries


def project_root() -> Path:
    """Return the folder of the project `medeval`: at or above the current one, or its package.

    Raises:
        UserError: no such folder; medeval runs from a checkout of the project, or what `init` made.
    """
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / "dbt_project.yml").is_file():
            if found := find_project(folder):
                return found
            what = f"The dbt project in {folder} is not medeval and has no package medeval"
            raise UserError(f"{what}. If packages.yml names it, run `dbt deps`.")
    raise UserError(
        f"No dbt_project.yml in {here} or above it. Run this in the medeval checkout, or lay the"
        " project out: `python -m medeval init DIR`."
    )


def find_project(folder: Path) -> Path | None:
    """Return the project `medeval`: the dbt project in a folder, or one of its packages."""
    try:
        read = read_yaml(folder / "dbt_project.yml")
    except (OSError, ValueError):
        return None
    project = read if isinstance(read, dict) else {}
    if project.get("name") == PACKAGE:
        return folder
    found = folder / str(project.get("packages-install-path", "dbt_packages")) / PACKAGE
    return found if (found / "dbt_project.yml").is_file() else None


def project_variable(name: str, root: Path | None = None) -> Any:
    """Return a dbt variable's default from dbt_project.yml (for example ``mimic3_schema``)."""
    return read_yaml((root or project_root()) / "dbt_project.yml")["vars"][name]


def read_yaml(path: Path) -> Any:
    """Return what a file of YAML holds; a ValueError where it is none."""
    import yaml

    try:
        return yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: {error}") from error


# Its variables


def settings(floor: str, value_of: Callable[[str], object]) -> str:
    """Return every setting of a benchmark as JSON: what its tables were built with.

    Args:
        floor: the benchmark.
        value_of: returns the value of a variable.
    """
    found: dict[str, object] = {}
    for name, variable in VARIABLES.items():
        if variable["floor"] in (floor, ""):
            found[name] = value = value_of(name)
            text = str(value)
            # A truth value or number that was written as a text is one.
            if text.lower() in ("true", "false"):
                found[name] = text.lower() == "true"
            elif re.fullmatch("[0-9]{1,9}", text):
                found[name] = int(text)
    return json.dumps(found)


def check_schema(name: str, what: str) -> None:
    """Stop at a text that can be no name of a schema; `what` says where it stands.

    Raises:
        UserError: naming it.
    """
    if not re.fullmatch(_SCHEMA, name):
        name = json.dumps(str(name))
        raise UserError(f"A schema cannot be called {name} ({what}); use letters, digits, _ and -.")


def check_variables(given: Mapping[str, Any], project: Path, package: Path) -> None:
    """Stop where a variable does not exist, or is what it cannot be.

    Args:
        given: with `--vars`.
        project: the folder of the dbt project that runs.
        package: the folder of this one, which may be a package of that.

    Raises:
        UserError: naming the variable, what it is and what it can be, or the name that is meant.
    """
    of_project, ours = (
        read_yaml(folder / "dbt_project.yml").get("vars") or {} for folder in (project, package)
    )
    scoped = {**of_project.get(PACKAGE, {}), **given.get(PACKAGE, {})}
    # A variable of another project is its own, unless it is much like one of ours.
    own = {} if project == package else of_project
    for name in {**scoped, **given, **({} if own else of_project)}:
        is_ours = project == package or name in scoped
        if name in VARIABLES or name == PACKAGE or (name in own and not is_ours):
            continue
        if meant := get_close_matches(name, VARIABLES, 1, 0.6 if is_ours else _MISSPELT):
            raise UserError(f"There is no variable {name}. Is {meant[0]} meant?")
        if is_ours:
            raise UserError(f"There is no variable {name}. There are: {', '.join(VARIABLES)}.")
    values = {**ours, **ours.get(PACKAGE, {}), **of_project, **scoped, **given}
    for name, variable in VARIABLES.items():
        value = values.get(name)
        if variable["pattern"] == _SCHEMA:
            check_schema(str(value), f"the variable {name}")
        elif not re.fullmatch(variable["pattern"], str(value)) or (
            variable["is_text"] and not isinstance(value, str)
        ):
            shown = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
            raise UserError(f"The variable {name} is {shown}. It can be {variable['can_be']}.")
