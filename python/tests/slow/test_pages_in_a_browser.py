"""Pages in a real browser: what can be clicked, who can use them, and that nothing leaves them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from commands import PROJECT_ROOT, run_medeval
from playwright.sync_api import Browser, Page, sync_playwright
from reports import write_report
from tables import table

pytestmark = pytest.mark.slow

HOSTILE = "<script>document.title='taken'</script>\x07 \u202egpj.exe <img src=x onerror=alert(1)>"
N = 120
SCORES = {"exact": 0.667, "partial": 0.7}
# What a report says of its task: warnings, tables and a plot of each kind.
ABOUT = table("page")


def result(model: str, n: int = N) -> dict[str, Any]:
    """Return what a report says of so many items beside its scores."""
    right = [float(place % 3 != 0) for place in range(n)]
    outputs = [HOSTILE, "long " * 200_000, *(f"{model} says {place}" for place in range(2, n))]
    interval = {"low": 0.58, "high": 0.74, "level": 0.95, "method": "wilson", "n": n}
    return {
        "inputs": [{"id": f"q{place}", "question": f"Question {place}?"} for place in range(n)],
        "model_outputs": [{"answer": one} for one in outputs],
        "item_scores": {"exact": right, "partial": [(1 + one) / 2 for one in right]},
        "intervals": {name: {"value": value, **interval} for name, value in SCORES.items()},
        "metadata": {
            **ABOUT,
            "metrics": {"exact": {"n": n}, "partial": {"n": n}},
            "outcomes": {"asked": n, "answered": n - 20, "refused": 20},
            "item_outcomes": ["refused"] * 20 + ["answered"] * (n - 20),
            "item_groups": [{"field": "abc"[place % 3]} for place in range(n)],
        },
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages") / "runs"
    for name, model in (("1-quiz-A", "A"), ("2-quiz-B", "B")):
        write_report(folder / name / "scores.json", model, "quiz", SCORES, **result(model))
        told = {"task": "quiz", "model": model}
        (folder / name / "run.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        reason = "there is no Chromium; Debian has it as the package chromium"
        if os.environ.get("MEDEVAL_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=program, args=flags)
        yield one
        one.close()


class Opened:
    """A page, what its console said, and what it asked for."""

    def __init__(self, browser: Browser, address: str, **how: object) -> None:
        self.context = browser.new_context(**how)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def close(self) -> None:
        self.context.close()


def serious(page: Page) -> list[tuple[str, str]]:
    """Return the serious findings of axe, each with the first element that it is about."""
    found = Axe().run(page).response["violations"]
    return [
        (each["id"], each["nodes"][0]["html"][:200])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.fixture(scope="module", params=["report", "leaderboard"])
def made(request: pytest.FixtureRequest, runs: Path) -> Path:
    """A page of a run, and one of both."""
    place = runs.parent / f"{request.param}.html"
    of = runs / "1-quiz-A" if request.param == "report" else runs
    run_medeval(request.param, of, "--out", place, code=0)
    return place


def take(page: Page, step: dict[str, Any]) -> None:
    """Do what a step of a walk says, and hold what the page shows then."""
    rows = page.locator("details.items tbody tr:visible")
    for label, option in step.get("choose", {}).items():
        page.get_by_label(label).select_option(option)
    if "search" in step:
        page.get_by_label("Search").fill(step["search"])
    if "click" in step:
        page.locator(step["click"]).click()
    assert rows.count() == step.get("rows", rows.count()), step
    status = page.get_by_role("status")
    assert "status" not in step or status.inner_text() == step["status"], step
    shown = "".join(rows.all_inner_texts())
    assert [text for text in step.get("has", ()) if text not in shown] == [], step
    assert "gone" not in step or not page.locator(step["gone"]).is_visible()


@pytest.mark.parametrize(("walk", "count"), [("few", N), ("many", 450)])
def test_items_are_searched_and_filtered_however_many_there_are(
    browser: Browser, tmp_path: Path, walk: str, count: int
) -> None:
    about = result("A", count)
    if walk == "many":
        about["item_scores"]["exact"][301] = None
        about["model_outputs"][300] = {"answer": f"{HOSTILE} \u202eright to left"}
        gold = ["", *[f"gold {place} {'long ' * 200}{HOSTILE}" for place in range(1, count)]]
        about["metadata"] |= {"item_gold": gold, "item_verdicts": [["right"]] * count}
    told = write_report(tmp_path / "a.json", "A", "quiz", SCORES, **about)
    run_medeval("report", told, "--out", tmp_path / "a.html", code=0)
    one = Opened(browser, (tmp_path / "a.html").as_uri())
    for step in table("page_walks")[walk]:
        take(one.page, step)
    assert one.page.title() != "taken"
    assert (one.said, one.asked) == ([], [(tmp_path / "a.html").as_uri()])
    one.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_used_by_all(browser: Browser, made: Path, scheme: str) -> None:
    # The script that looks is not of the page, whose rules would keep it out.
    one = Opened(browser, made.as_uri(), color_scheme=scheme, bypass_csp=True)
    for summary in one.page.locator("summary").all():
        summary.click()
    assert serious(one.page) == []
    one.close()


def test_pages_fit_phone_paper(browser: Browser, made: Path) -> None:
    one = Opened(browser, made.as_uri(), viewport={"width": 390, "height": 844})
    wide = "document.documentElement.scrollWidth"
    assert one.page.evaluate(wide) <= 390
    one.page.emulate_media(media="print")
    assert one.page.locator("h1").is_visible()
    assert len(one.page.pdf()) > 10_000
    assert one.said == []
    assert one.asked == [made.as_uri()]
    one.close()


def test_runs_are_sorted_searched_and_compared(browser: Browser, runs: Path) -> None:
    command = [sys.executable, "-m", "medeval", "view", str(runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT) as served:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        one = Opened(browser, address)
        page, first = one.page, "tbody tr:visible >> nth=0"
        assert page.locator(first).inner_text().startswith("2-quiz-B")
        page.get_by_role("button", name="run", exact=True).click()
        assert page.locator(first).inner_text().startswith("1-quiz-A")
        page.get_by_label("Search").fill("quiz-B")
        assert page.locator("tbody tr:visible").count() == 1
        page.get_by_label("Search").fill("")
        page.get_by_label("1-quiz-A as A").check()
        page.get_by_label("2-quiz-B as B").check()
        page.get_by_role("button", name="Compare").click()
        page.wait_for_url("**/compare?**")
        assert "both right" in page.locator("main").inner_text()
        assert one.said == []
        assert all(each.startswith(address) for each in one.asked)
        one.close()
        served.terminate()
