"""Rules of the house that a reader of the project relies on."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from benchmarks import performance
from commands import PROJECT_ROOT
from in_process import Main
from tables import read_yaml

SQL_FILES = sorted([*PROJECT_ROOT.glob("models/**/*.sql"), *PROJECT_ROOT.glob("macros/**/*.sql")])
MODEL_FILES = sorted(PROJECT_ROOT.glob("models/**/*.sql"))
# Functions and operators that another engine names or defines otherwise, or that go by a locale.
OF_ONE_ENGINE = re.compile(
    r"\b(?:string_agg|unnest|chr|regexp_\w+|lower|upper|generate_series|generate_subscripts"
    r"|string_to_array|array_to_string|nfc_normalize)\(|\bcollate\b|->|\bvarchar\b|\w\[\w"
)
OPERATORS_OF_ONE_ENGINE = re.compile(r"~|\bstarts_with\(")
# Blocks of Jinja that hold patterns, and Jinja itself.
JINJA = re.compile(r"\{%-? set \w+ -?%\}.*?\{%-? endset -?%\}|\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
# Each engine has its own way to cast a cell, and to find a table.
PORTABLE_FILES = [path for path in SQL_FILES if path.parent.name not in ("engines", "sources")]
PAGES = [PROJECT_ROOT / "README.md", *sorted(PROJECT_ROOT.glob("docs/*.md"))]


@cache
def project_file(name: str) -> Any:
    text = (PROJECT_ROOT / name).read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else read_yaml(text)


def texts(*patterns: str) -> str:
    files = [path for pattern in patterns for path in PROJECT_ROOT.glob(pattern)]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(PROJECT_ROOT)) for path in paths]


@cache
def properties_files(folder: str) -> list[dict[str, Any]]:
    texts = (path.read_text("utf-8") for path in PROJECT_ROOT.glob(f"{folder}/**/*.yml"))
    return [read_yaml(text) for text in texts]


def properties(kind: str, folder: str = "models") -> Iterator[dict[str, Any]]:
    for file in properties_files(folder):
        yield from file.get(kind, [])


def without_comments(sql: str) -> str:
    return re.sub(r"\{#.*?#\}|--[^\n]*", "", sql, flags=re.DOTALL)


@pytest.mark.parametrize("path", SQL_FILES, ids=names(SQL_FILES))
def test_no_time_has_a_zone(path: Path) -> None:
    sql = without_comments(path.read_text(encoding="utf-8")).lower()
    assert not re.search(r"timestamptz|timetz|with time zone|current_timestamp|\bnow\(\)", sql)


@pytest.mark.parametrize("path", MODEL_FILES, ids=names(MODEL_FILES))
def test_a_model_is_one_sql_for_all_engines(path: Path) -> None:
    sql = without_comments(path.read_text(encoding="utf-8")).lower()
    assert "target." not in sql, "differences between engines belong in macros/engines"
    assert not re.search(r"::|\bqualify\b|group by all|select distinct on", sql)
    if path.parent.name == "staging":
        assert "with" not in sql.split(), "PostgreSQL would read every cell of a row before any"
    else:
        assert sql.rstrip().endswith(("select * from final", "from excluded"))


@pytest.mark.parametrize("path", PORTABLE_FILES, ids=names(PORTABLE_FILES))
def test_functions_of_one_engine_are_named_in_engines_alone(path: Path) -> None:
    sql = without_comments(path.read_text(encoding="utf-8"))
    without_texts = re.sub(r"'[^']*'", "", JINJA.sub("", sql))
    found = OF_ONE_ENGINE.findall(re.sub(r"'[^'\n]*'", "", sql))
    found += OPERATORS_OF_ONE_ENGINE.findall(without_texts)
    assert found == [], "macros/engines has a macro for it"


def test_every_macro_is_described_with_its_arguments() -> None:
    # But for the one that stands for an engine.
    macros = {
        name: re.findall(r"(\w+)(?:=\S+)?(?:,|$)", arguments)
        for path in PROJECT_ROOT.glob("macros/**/*.sql")
        for name, arguments in re.findall(r"\{%-? macro (\w+)\((.*?)\)", path.read_text("utf-8"))
        if "__" not in name
    }
    described = {
        macro["name"]: [argument["name"] for argument in macro.get("arguments", [])]
        for macro in properties("macros", "macros")
        if macro["description"]
    }
    assert described == macros


@pytest.mark.parametrize("path", MODEL_FILES, ids=names(MODEL_FILES))
def test_only_staging_reads_sources(path: Path) -> None:
    sql = path.read_text(encoding="utf-8")
    assert ("source(" in sql) == (path.parent.name == "staging")


def test_every_model_has_a_unit_test_or_only_renames() -> None:
    tested = {test["model"] for test in properties("unit_tests")}
    untested = {path.stem for path in MODEL_FILES} - tested
    plain = {
        "int_mimic3__events",  # three tables, one under another
        "int_mimic3__item_rules",  # a join of two seeds
        "mimic3_stays",  # a join of two models on their key
        "cdm_build_settings",  # the variables of the build
        "cdm_discharge_sections",  # the columns of a model
        "int_cdm__result_cap",  # a number
        "stg_yier__records",  # two columns of the source
        "stg_results__published_scores",  # the columns of the source
    }
    # Each of MIMIC-IV's tables is read by the same few macros, which are tested on some of them.
    read_alike = {name for name in untested if name.startswith("stg_cdm__")}
    assert untested - read_alike == plain


def test_constraints_of_a_table_are_one_test() -> None:
    """Each test is a query of its own, whose making costs more than its answer."""
    by_column = {"unique", "not_null", "accepted_values"}
    for tested in (*properties("models"), *properties("seeds", "seeds")):
        every = [tested, *tested["columns"]]
        tests = [test for part in every for test in part.get("data_tests", [])]
        kinds = [next(iter(test)) if isinstance(test, dict) else test for test in tests]
        assert not by_column & set(kinds), tested["name"]
        assert kinds.count("meets_constraints") <= 1, tested["name"]


def test_names_of_unit_tests_fit_postgres() -> None:
    assert [test["name"] for test in properties("unit_tests") if len(test["name"]) > 63] == []


def test_every_model_and_column_is_described() -> None:
    described = {model["name"]: model for model in properties("models")}
    assert set(described) == {path.stem for path in MODEL_FILES}
    for name, model in described.items():
        assert model["description"].startswith("One row"), name
        for column in model["columns"]:
            assert column["description"], (name, column["name"])


def test_every_published_table_is_on_its_page() -> None:
    page = texts("docs/tables.md")
    published = re.compile(r"(?:cdm|mimic3|mtsamples|yier)_\w+")
    public = {path.stem for path in MODEL_FILES if published.fullmatch(path.stem)}
    assert public == {*re.findall(f"`({published.pattern})`", page)}


def test_published_models_have_a_contract_that_is_enforced() -> None:
    for model in properties("models"):
        if model["name"].startswith(("cdm_", "mimic3_", "mtsamples_", "results_", "yier_")):
            assert model["config"]["contract"]["enforced"], model["name"]
            assert model["config"]["access"] == "public", model["name"]


def test_every_column_of_a_source_is_described() -> None:
    for source in properties("sources"):
        for table in source["tables"]:
            assert table["description"].startswith("One row"), table["name"]
            assert all(column["description"] for column in table["columns"]), table["name"]


def test_every_seed_states_where_its_facts_come_from() -> None:
    described = list(properties("seeds", "seeds"))
    files = {path.stem for path in PROJECT_ROOT.glob("seeds/**/*.csv")}
    assert {seed["name"] for seed in described} == files
    for seed in described:
        assert seed["description"].startswith("One row per"), seed["name"]


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_of_the_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_page_is_in_the_site_which_needs_nothing_of_others() -> None:
    site = project_file("mkdocs.yml")
    entries = [entry for section in site["nav"] for entry in next(iter(section.values()))]
    named = [entry if isinstance(entry, str) else next(iter(entry.values())) for entry in entries]
    assert sorted(named) == sorted(page.name for page in PAGES[1:])
    assert (site["strict"], site["theme"]["font"]) == (True, False)
    addresses = [word for word in str(site).split("'") if word.startswith(("http", "//"))]
    assert addresses == []


def test_every_setting_is_on_the_page_of_settings() -> None:
    listed = set(re.findall(r"`([A-Za-z0-9_]+)`", texts("docs/settings.md")))
    code = texts("*.yml", "models/**/*.yml", "python/medeval/**/*.py", "python/medeval/**/*.toml")
    read = set(re.findall(r"\b(?:MEDEVAL|PG)_?[A-Z0-9_]*[A-Z0-9]\b", code))
    assert len(read) > 15
    assert (read | {*project_file("dbt_project.yml")["vars"]}) - listed == set()


TASKS = ("cdm", "yier", "mtsamples", "ihm", "clinical_qa_basic")
HELP: dict[tuple[str, ...], str] = {}


def help_of(main: Main, *command: str) -> str:
    if command not in HELP:
        HELP[command] = main(*command, "--help", code=0).out
    return HELP[command]


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_commands_of_pages_exist(page: Path, monkeypatch: pytest.MonkeyPatch, main: Main) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "200")
    for command, rest in re.findall(r"python -m medeval ([\w-]+)([^\n`#]*)", text):
        # The commands for one benchmark's files have commands of their own.
        below = rest.split()[:1] if command == "yier" else []
        shown = help_of(main, command, *below)
        if command in ("run", "score", "compare"):
            # A flag may be an option of the task that the command names, or of some task.
            named = re.findall(r"--task[ =]([a-z_]+)", rest) or TASKS
            shown += "".join(help_of(main, command, "--task", task) for task in named)
        for option in re.findall(r"(--[a-z-]+)", rest):
            assert option in shown, (command, option)


def test_variables_of_the_pages_are_read_somewhere() -> None:
    code = texts("*.yml", "macros/**/*.sql", "models/**/*.yml", "python/medeval/**/*.py")
    for page in PAGES:
        for variable in re.findall(r"MEDEVAL_[A-Z0-9_]+", page.read_text(encoding="utf-8")):
            assert variable in code, (page.name, variable)


@pytest.mark.parametrize(
    ("lock", "named"),
    [
        ("constraints-build", "build"),
        ("constraints", "dev"),
        ("constraints-docs", "docs"),
        ("constraints-extras", "huggingface"),
    ],
)
def test_set_up_installs_nothing_whose_hash_is_not_in_a_lock(lock: str, named: str) -> None:
    entries = texts(f"{lock}.txt").replace("\\\n", "").splitlines()
    pinned = re.compile(
        r"([a-z0-9.-]+)(?:\[[a-z,-]+\])?==[^\s;]+( ; [^\\]+?)?( +--hash=sha256:[0-9a-f]{64})+"
    )
    names = {found[1] for entry in entries if (found := pinned.fullmatch(entry.rstrip()))}
    loose = [entry[:60] for entry in entries if not pinned.fullmatch(entry.rstrip())]
    assert loose == [], "an entry without a version or a hash"

    project = project_file("pyproject.toml")
    extras = project["project"]["optional-dependencies"]
    asked = {
        "build": [*project["build-system"]["requires"], "pip"],
        "dev": [*project["project"]["dependencies"], *extras["dev"]],
        "docs": extras["docs"],
        # torch's build is for the machine, so that its version alone is stated.
        "huggingface": [word for word in extras["huggingface"] if not word.startswith("torch")],
    }[named]
    needed = {re.match(r"[A-Za-z0-9_.-]+", word)[0].lower().replace("_", "-") for word in asked}  # type: ignore[index]
    assert needed - names <= {"medeval"}

    makefile = texts("Makefile")
    assert f"-r {lock}.txt" in makefile
    for line in makefile.splitlines():
        if "$(INSTALL)" in line or "uv pip install" in line:
            assert "--require-hashes -r" in line or "--no-deps -e ." in line or "torch==" in line


@pytest.mark.slow
def test_the_tests_run_where_spark_is_not_installed() -> None:
    """A set-up does without it, and continuous integration does not."""
    absent = "import sys; sys.modules |= dict.fromkeys(['dbt.adapters.spark', 'py4j', 'pyspark'])"
    serve = "import runpy; runpy.run_module('command_server', run_name='__main__')"
    run = [sys.executable, "-c", f"{absent}; {serve}"]
    done = subprocess.run(
        run, stdin=subprocess.DEVNULL, cwd=Path(__file__).parent, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_first_page_is_short_and_the_project_is_cited_as_it_is() -> None:
    assert len(texts("README.md").splitlines()) <= 120
    project, cited = project_file("pyproject.toml")["project"], project_file("CITATION.cff")
    version = project["version"]
    assert version == cited["version"] == project_file("dbt_project.yml")["version"]
    assert (cited["cff-version"], cited["license"]) == ("1.2.0", project["license"])
    for work in [cited, *cited["references"]]:
        assert {"type", "title", "authors"} <= work.keys()
    assert version in texts("CHANGELOG.md").split("\n## ", 2)[1]


def test_nothing_large_or_private_is_committed() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [PROJECT_ROOT / name for name in listed.stdout.split("\0") if name]
    present = [path for path in files if path.is_file()]
    assert sum(path.stat().st_size for path in present) < 11_500_000
    assert not [path for path in present if path.suffix in (".duckdb", ".parquet")]


TESTS = Path(__file__).parent
LEDGER = (TESTS / "README.md").read_text(encoding="utf-8")
TEST_ID = re.compile(r"`((?:\w+/)*test_\w+\.py)::(\w+)`")
SCENARIO = re.compile(r"\bnet ((?:`\w+`(?:, )?)+)")


def test_every_promise_names_a_test_that_there_is() -> None:
    """No test or scenario is named that is not there, and no promise and page is without one."""
    defined = re.compile(r"^def (\w+)\(", re.MULTILINE)
    functions = {
        path.relative_to(TESTS).as_posix(): {*defined.findall(path.read_text("utf-8"))}
        for path in TESTS.rglob("test_*.py")
    }
    promised = LEDGER.split("\n## What is promised", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (?!promise |---).*", promised, re.MULTILINE)
    pages = [f"docs/{path.name}" for path in PAGES[1:] if path.stem != "performance"]
    scenarios = {path.stem for path in (TESTS / "golden" / "scenarios").glob("*.json")}
    tests = TEST_ID.findall(LEDGER)
    nets = [name for names in SCENARIO.findall(LEDGER) for name in re.findall(r"\w+", names)]
    assert [
        *(f"{file}::{name}" for file, name in tests if name not in functions.get(file, ())),
        *(f"net {name}" for name in nets if name not in scenarios),
        *(row for row in rows if not TEST_ID.search(row) and not SCENARIO.search(row)),
        *(page for page in pages if f"\n### {page}\n" not in promised),
    ] == []


def test_the_page_of_measurements_is_what_the_benchmarks_write() -> None:
    assert performance.PAGE.read_text(encoding="utf-8") == performance.markdown()
