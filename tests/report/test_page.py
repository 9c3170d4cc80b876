"""The page in a real browser: drawn, choices work, no errors, hostile names harmless."""

import json
import shutil
from pathlib import Path

import pytest
from report_runs import foreign_run

from drspcrl.report import write_report
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
    assert tip.count("n = 5") == 6  # ours and the paper's
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


def intervals_and_seeds(visit, chart: str) -> tuple[int, int]:
    return visit.count(f"#{chart}-chart .interval"), visit.count(f"#{chart}-chart .seed")


def test_five_seeds_have_intervals_that_stay_inside_the_frame(visit):
    assert intervals_and_seeds(visit, "robustness") == (3 * 6, 0)
    assert visit.count("#improvement-chart .interval") == 2
    assert "Student t 95% bars" in visit.text("#robustness-note")
    ends = """() => {
        const box = document.querySelector('#robustness-chart clipPath rect').getBBox();
        return [...document.querySelectorAll('#robustness-chart .interval')].every((line) =>
            [line.y1, line.y2].every((y) => y.baseVal.value >= box.y
                && y.baseVal.value <= box.y + box.height)); }"""
    assert visit.page.evaluate(ends)


@pytest.fixture
def own_visit(browser, own_report):
    made = Visit(browser, own_report / "index.html", viewport={"width": 1400, "height": 900})
    yield made
    assert made.problems == []
    assert [url for url in made.requests if not url.startswith("file:")] == []
    made.context.close()


def test_few_seeds_are_points_without_intervals(own_visit):
    # four methods at six levels: three seeds of three, one of the policy from elsewhere
    assert intervals_and_seeds(own_visit, "robustness") == (0, 6 * (3 * 3 + 1))
    assert intervals_and_seeds(own_visit, "return") == (0, 9)
    assert intervals_and_seeds(own_visit, "frontier") == (0, 10)
    assert own_visit.count("#improvement-chart .interval") == 0
    assert "every seed drawn (fewer than 5)" in own_visit.text("#robustness-note")
    assert "fewer than 5 seeds: no interval" in own_visit.text("#improvement-note")
    for card in own_visit.page.locator("#headline .figure").all()[:3]:
        assert "no interval: fewer than 5 seeds" in card.inner_text()
    own_visit.hover("#robustness-chart svg", -15)
    tip = own_visit.text("#tip")
    assert tip.count("seeds") == 3
    assert tip.count("n = 3") == 3
    assert tip.count("n = 1") == 1


def test_a_task_of_ones_own_fills_every_card(own_visit):
    values = own_visit.page.locator("#headline .value").all_inner_texts()
    assert len(values) == 4
    assert not any("–" in value for value in values)
    assert "counted from those of random actions" in own_visit.text("#headline .figure")
    assert "my policy" not in own_visit.text("#headline")
    assert own_visit.count(".empty") == 0
    assert own_visit.count("#profile-chart path.series") == 4
    assert "played in the evaluation: Tank-v0 −1890" in own_visit.text("#notes")


def test_methods_are_told_in_words(own_visit):
    names = own_visit.page.locator("#method-words dt").all_inner_texts()
    words = own_visit.page.locator("#method-words dd").all_inner_texts()
    told = dict(zip((name.strip() for name in names), words, strict=True))
    assert told["Dom. Rand. (fixed radius)"].startswith("domain randomisation")
    assert "grows at the agent's own pace" in told["Self-Paced"]
    assert told["my policy"] == "trained elsewhere: tank_pid:act (a Python function)"
    rows = own_visit.page.locator("#cells tbody th").all_inner_texts()
    assert "my policy" in [row.strip() for row in rows]


def test_where_policies_break(own_visit):
    cells = own_visit.page.locator("#stress-table tbody tr td:first-child").all_inner_texts()
    assert cells == ["Tank-v0, SAC, Vanilla, seed 0", "Tank-v0, SAC, Self-Paced, seed 1"]
    assert own_visit.count("#stress-table th[scope=col]") == 8
    assert "twist" in own_visit.text("#stress-table tbody")
    assert own_visit.text("#stress .links").endswith("CSV MD TEX")
    # Nothing is cut off: the worst world's return is the last column.
    scroll = own_visit.page.locator("#stress .scroll")
    assert scroll.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_the_price_where_there_is_one(own_visit):
    shown = own_visit.page.locator("[data-metric]:visible").all_inner_texts()
    assert shown == ["ε", "price"]  # β is 0 in these worlds
    own_visit.page.click("[data-metric=price]")
    assert own_visit.text("#pace-title") == "Price of robustness"
    assert own_visit.count("#pace-chart path.series") == 3
    href = own_visit.page.locator("#pace .links a", has_text="PNG").get_attribute("href")
    assert href == "figures/price-sac.png"


@pytest.mark.parametrize("report", ["small_report", "own_report"])
def test_every_table_and_figure_is_linked(browser, report, request):
    folder = request.getfixturevalue(report)
    visit = Visit(browser, folder / "index.html")
    links = "[...document.querySelectorAll('#file-list a')].map((a) => a.getAttribute('href'))"
    files = [f for part in ("tables", "figures") for f in (folder / part).iterdir()]
    assert set(visit.page.evaluate(links)) == {str(f.relative_to(folder)) for f in files}
    under = (
        "[...document.querySelectorAll('.links a[download]')].map((a) => a.getAttribute('href'))"
    )
    for href in visit.page.evaluate(under):
        assert (folder / href).is_file()
    # Every chart and every table has its own.
    for card in visit.page.locator("main section.card:visible:has(.chart, table)").all():
        assert card.locator(".links a[download]").count() > 0, card.get_attribute("id")
    assert visit.problems == []
    visit.context.close()


def test_a_link_leads_to_a_part_with_the_choice(visit):
    visit.page.select_option("#task", label="Hopper")
    visit.page.locator("#improvement .links .here").click()
    assert visit.page.url.endswith("&at=improvement")
    visit.page.reload()
    visit.page.wait_for_selector("html[data-ready=true]")
    assert visit.text("#cells-title").startswith("Returns: Hopper")
    top = visit.page.locator("#improvement").bounding_box()["y"]
    assert 0 <= top < 400


@pytest.mark.parametrize(
    ("report", "width", "scheme"),
    [
        *[("own_report", width, scheme) for width in (400, 1400) for scheme in ("light", "dark")],
        ("small_report", 400, "dark"),
        ("hostile_report", 400, "light"),
    ],
)
def test_both_widths_and_grounds_by_keyboard(browser, report, width, scheme, request):
    page_file = request.getfixturevalue(report) / "index.html"
    size = {"width": width, "height": 900}
    visit = Visit(browser, page_file, viewport=size, color_scheme=scheme)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert visit.page.evaluate("document.documentElement.dataset.theme") == scheme
    seen = set()
    for _ in range(200):
        visit.page.keyboard.press("Tab")
        seen.add(visit.page.evaluate(FOCUSED))
        if "end" in seen:
            break
    charts = {"return", "pace", "robustness", "frontier", "profile", "improvement"}
    here = {name for name in charts if visit.count(f"#{name}-chart svg")}
    assert {f"{name}-chart" for name in here} | {"task", "theme", "cells"} <= seen
    assert visit.problems == []
    visit.context.close()


# What has the focus: the id of it, or of what it is in; a focus that nobody sees is an error.
FOCUSED = """() => { const now = document.activeElement;
    if (now === document.body || now.closest('#made')) return 'end';
    if (!now.matches(':focus-visible')) throw new Error('the focus is not seen');
    const own = now.closest('[id]') || now;
    const inside = own.querySelector('table[id]');
    return inside ? inside.id : own.id; }"""


def test_on_paper(browser, own_report):
    visit = Visit(
        browser, own_report / "index.html", color_scheme="dark",
        viewport={"width": 695, "height": 980},
    )  # fmt: skip
    line = "#return-chart path.series"
    dark = visit.page.locator(line).first.get_attribute("stroke")
    visit.page.emulate_media(media="print")
    visit.page.wait_for_selector("html[data-theme=light]")
    assert visit.page.locator(line).first.get_attribute("stroke") != dark
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 695
    for hidden in ("#controls", "#theme", ".links", "#files", "[data-metric]"):
        assert not visit.page.locator(hidden).first.is_visible()
    assert visit.text("#choice") == (
        "Task: Tank-v0 · Algorithm: SAC · Suite: paper · Perturbation: Action noise"
    )
    clipped = """[...document.querySelectorAll('.scroll')].filter((box) =>
        box.scrollWidth > box.clientWidth + 1).map((box) => box.getAttribute('aria-labelledby'))"""
    assert visit.page.evaluate(clipped) == []
    assert visit.page.locator("#notes li").first.is_visible()  # lists are open
    pages = visit.page.pdf(prefer_css_page_size=True)
    assert pages.startswith(b"%PDF")
    visit.page.emulate_media(media="screen")
    visit.page.wait_for_selector("html[data-theme=dark]")
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


def test_policies_from_elsewhere_alone_leave_no_empty_cards(browser, synthetic, tmp_path):
    for name in ("my policy", "theirs"):
        foreign_run(synthetic, tmp_path / "runs", "Hopper", name)
    write_report(tmp_path / "runs", tmp_path / "report")
    made = Visit(browser, tmp_path / "report" / "index.html")
    assert not made.page.locator("#training").is_visible()
    assert not made.page.locator("#pace").is_visible()
    for chart in ("robustness", "frontier", "profile", "improvement"):
        assert made.count(f"#{chart}-chart svg") == 1
    note = made.text("#profile-note")
    assert "return in Hopper, because vanilla has no unperturbed return; fewer than 5" in note
    made.page.keyboard.press("Tab")
    made.page.keyboard.press("Enter")  # the link that skips to the charts
    assert made.page.evaluate("document.activeElement.closest('section').id") == "robustness"
    assert made.problems == []
    made.context.close()
