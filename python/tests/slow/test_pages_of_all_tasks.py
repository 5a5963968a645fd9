"""The report of every kind of task in a real browser: by whom it can be read, and what is in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import folder_of, run_medeval
from model_server import RuledEndpoint, model_server
from playwright.sync_api import Browser
from tables import table
from test_pages_in_a_browser import Opened, serious
from test_pages_in_a_browser import browser as browser  # the fixture

pytestmark = pytest.mark.slow

# By page: how its run is made, and what a reader must find in it beside its scores.
GIVEN = table("pages")
PAGES = GIVEN["pages"]


@pytest.fixture(scope="module")
def pages(
    asked_duckdb: Path, asked_export: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """One page a kind of task, of the demo's own models."""
    folder = tmp_path_factory.mktemp("all")
    (folder / "choices.yaml").write_text(GIVEN["choices"], encoding="utf-8")
    env = {"MEDEVAL_DUCKDB": str(asked_duckdb)}
    made: dict[str, Path] = {}
    with model_server(RuledEndpoint([{"text": GIVEN["verdict"]}]).script) as server:
        for name, row in PAGES.items():
            command, *words = row["made"].split()
            task = name.partition(":")[0]
            model = "logistic" if command == "predict" else "demo"
            task = str(folder / task) if task.endswith(".yaml") else task
            words = [server.url if word == "$URL" else word for word in words]
            words += ["--cases", str(asked_export)] if task == "cdm" else []
            out = folder / f"runs of {name}"
            asked = ("--task", task, "--model", model, "--out", out)
            ran = run_medeval(command, *asked, *words, env=env, code=0)
            run = next(out.iterdir()) if command == "predict" else folder_of(ran)
            run_medeval("score", "--task", task, run, "--n-iters", "50", env=env, code=0)
            run_medeval("report", run, env=env, code=0)
            made[name] = run / "report.html"
    return made


@pytest.mark.parametrize("name", PAGES)
def test_page_of_a_task_can_be_read(browser: Browser, pages: dict[str, Path], name: str) -> None:
    address = pages[name].as_uri()
    phone = {"width": 390, "height": 844}
    one = Opened(browser, address, viewport=phone, bypass_csp=True)
    page = one.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert (one.said, one.asked) == ([], [address])
    for summary in page.locator("summary").all():
        summary.click()
    text = page.locator("main").inner_text()
    assert all(wanted.lower() in text.lower() for wanted in PAGES[name]["has"])
    # The headline is a sentence with its interval, and the methods can be copied.
    assert "(95% interval " in text
    assert "was evaluated on" in text
    assert serious(page) == []
    one.close()
