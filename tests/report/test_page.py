"""The page in a real browser: drawn, choices work, no errors, hostile names harmless."""

import json
import shutil
from pathlib import Path

import pytest

from drspcrl.report.page import embed_json

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


class Visit:
    """A page that remembers what went wrong and what it asked the network for."""

    def __init__(self, browser, path: Path, **context):
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=true]")

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def count(self, selector: str) -> int:
        return self.page.locator(selector).count()

    def hover(self, selector: str, from_right: float) -> None:
        chart = self.page.locator(selector)
        width = chart.bounding_box()["width"]
        chart.hover(position={"x": width + from_right, "y": 100})

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()


@pytest.fixture
def visit(browser, small_report):
    made = Visit(browser, small_report / "index.html", viewport={"width": 1280, "height": 900})
    yield made
    assert made.problems == []
    assert [url for url in made.requests if not url.startswith("file:")] == []
    made.context.close()


def test_everything_is_drawn(visit):
    for chart in ("return", "pace"):
        assert visit.count(f"#{chart}-chart path.series") == 3
    # three methods, each with the paper's line
    assert visit.count("#robustness-chart path.series") == 6
    assert visit.count("#profile-chart path.series") == 3
    assert visit.count("#frontier-chart svg polygon, #frontier-chart svg circle") >= 3
    assert visit.count("#improvement-chart svg") == 1
    assert visit.count("#headline .figure") == 4
    assert "SYNTHETIC" in visit.text("#banner")
    assert "Folders skipped (1)" in visit.text("#notes")


def test_task_and_algorithm_and_perturbation(visit):
    before = visit.page.locator("#return-chart path.series").first.get_attribute("d")
    visit.page.select_option("#task", label="Hopper")
    assert visit.page.locator("#return-chart path.series").first.get_attribute("d") != before
    visit.page.select_option("#algorithm", label="PPO")
    assert visit.text("#cells-title") == "Returns: Hopper, PPO"
    visit.page.select_option("#perturbation", index=1)
    assert "σ = 0.1" in visit.text("#cells thead")
    assert "Observation noise" in visit.text("#robustness-chart")
    assert "task=1" in visit.page.url
    visit.page.reload()
    visit.page.wait_for_selector("html[data-ready=true]")
    assert visit.text("#cells-title") == "Returns: Hopper, PPO"


def test_methods_can_be_hidden_without_promoting_others(visit):
    best = visit.page.locator("#cells tbody .best").first.inner_text()
    visit.page.locator(".chip", has_text="Self-Paced").click()
    assert visit.count("#return-chart path.series") == 2
    assert visit.count("#cells tbody tr") == 2
    assert best not in visit.page.locator("#cells tbody .best").all_inner_texts()


def test_epsilon_beside_return_and_beta(visit):
    left = visit.page.locator("#return-chart").bounding_box()
    right = visit.page.locator("#pace-chart").bounding_box()
    assert abs(left["y"] - right["y"]) < 2
    assert left["x"] + left["width"] < right["x"]
    visit.page.click("[data-metric=beta]")
    assert visit.text("#pace-title") == "Dual variable β"


def test_hover_shows_value_interval_and_n(visit):
    visit.hover("#robustness-chart svg", -15)
    tip = visit.text("#tip")
    assert "Action noise, p = 0.5" in tip
    assert tip.count("n = 3") == 3
    assert "±" in tip
    assert "Vanilla (paper)" in tip


def test_hovered_number_is_the_one_on_disk(visit, small_report):
    rows = [
        line.split(",") for line in (small_report / "tables" / "cells.csv").read_text().splitlines()
    ]
    key = ["ppo", "HalfCheetah", "self_paced", "action", "0.5"]
    mean = next(float(row[5]) for row in rows if row[:5] == key)
    visit.page.select_option("#algorithm", label="PPO")
    visit.page.select_option("#task", label="HalfCheetah")
    visit.hover("#robustness-chart svg", -15)
    line = next(x for x in visit.text("#tip").splitlines() if x.strip().startswith("Self-Paced\t"))
    shown = float(line.strip().split("\t")[1].replace(",", ""))
    assert shown == pytest.approx(mean, abs=0.6)


def test_keyboard_alone(visit):
    visit.page.locator("#return-chart svg").focus()
    visit.page.keyboard.press("End")
    visit.page.keyboard.press("ArrowLeft")
    assert visit.page.locator("#tip").is_visible()
    assert "steps:" in visit.page.locator("#live").text_content()
    visit.page.keyboard.press("Escape")
    assert not visit.page.locator("#tip").is_visible()
    chip = visit.page.locator(".chip").first
    chip.focus()
    visit.page.keyboard.press("Space")
    assert visit.page.locator(".chip").first.get_attribute("aria-pressed") == "false"
    assert visit.page.evaluate("document.activeElement.dataset.method") == "0"


def test_tables_sort_both_ways(visit):
    def column(index):
        return visit.page.locator(f"#cells tbody tr > :nth-child({index})").all_inner_texts()

    heading = visit.page.locator("#cells thead button", has_text="Nominal")
    heading.click()
    down = column(1)
    assert visit.page.locator("#cells th[aria-sort=descending]").inner_text() == "Nominal"
    visit.page.locator("#cells thead button", has_text="Nominal").click()
    assert column(1) == down[::-1]
    values = [float(text.split("±")[0].replace(",", "")) for text in column(3)]
    assert values == sorted(values)


def test_light_and_dark(browser, small_report):
    visit = Visit(browser, small_report / "index.html", color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = visit.page.evaluate(ground)
    line = visit.page.locator("#return-chart path.series").first.get_attribute("stroke")
    visit.page.click("#theme")
    assert visit.page.evaluate(ground) != dark
    assert visit.page.locator("#return-chart path.series").first.get_attribute("stroke") != line
    assert visit.problems == []
    visit.context.close()


def test_small_screen_has_no_sideways_scroll(browser, small_report):
    visit = Visit(browser, small_report / "index.html", viewport={"width": 360, "height": 700})
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 360
    top = visit.page.locator("#return-chart").bounding_box()
    below = visit.page.locator("#pace-chart").bounding_box()
    assert below["y"] > top["y"] + top["height"]
    assert visit.problems == []
    visit.context.close()


def test_hostile_names_are_shown_and_do_nothing(browser, hostile_report):
    visit = Visit(browser, hostile_report / "index.html")
    assert visit.page.evaluate("window.hit") is None
    assert visit.count("img, b, iframe") == 0
    assert visit.count("script") == 2
    assert "<img src=x onerror=window.hit=1>" in visit.text("#cells-title")
    chips = visit.page.locator(".chip").all_inner_texts()
    assert "__proto__" in [chip.strip() for chip in chips]
    assert "@SCRIPT@ ${7*7} @DATA@" in [chip.strip() for chip in chips]
    for chart in ("return", "pace", "robustness"):
        assert visit.count(f"#{chart}-chart path.series") == 6
    visit.hover("#robustness-chart svg", -15)
    for chip in range(6):
        visit.page.locator(".chip").nth(chip).click()
    assert visit.page.evaluate("window.hit") is None
    assert visit.problems == []
    assert all(url.startswith("file:") for url in visit.requests)
    visit.context.close()


def test_a_forged_address_is_ignored(browser, small_report):
    forged = "#task=99&algorithm=-1&focus=x&hidden=__proto__.7&metric=<b>"
    address = (small_report / "index.html").as_uri() + forged
    context = browser.new_context()
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(address)
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("#return-chart path.series").count() == 3
    assert problems == []
    context.close()


def test_runs_without_evaluation_still_make_a_page(browser, synthetic, tmp_path):
    from drspcrl.report import write_report

    run = synthetic.write_run(tmp_path / "runs", "Hopper", "sac", "vanilla", 0, rows=10)
    (run / "evaluation.csv").unlink()
    write_report(tmp_path / "runs", tmp_path / "r")
    visit = Visit(browser, tmp_path / "r" / "index.html")
    assert visit.count("#return-chart path.series") == 1
    assert "have not been evaluated" in visit.text("#robustness-chart")
    assert visit.problems == []
    visit.context.close()


def test_embedded_json_cannot_leave_its_element():
    text = embed_json({"</script>": "<!-- & -->"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"</script>": "<!-- & -->"}
