"""The documentation site: built strictly, opened as a file, searched without a network."""

import os
import shutil
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
PAGES = ("index.html", "concepts/divergences.html", "results/results.html")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built from a copy as `make docs` builds it."""
    pytest.importorskip("zensical", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


class Page(HTMLParser):
    """What a page links to, and the anchors it has."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


read = cache(Page)


def missing(page: Path, link: str) -> bool:
    """Whether a link within the site leads nowhere."""
    where = urlsplit(link)
    if where.scheme or where.netloc:
        return False
    target = (page.parent / unquote(where.path)).resolve() if where.path else page
    if not target.is_file():
        return True
    anchor = unquote(where.fragment)
    return bool(anchor) and target.suffix == ".html" and anchor not in read(target).anchors


def test_every_link_leads_somewhere(site):
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    broken = [
        f"{page.relative_to(site)}: {link}"
        for page in pages
        for link in read(page).links
        if missing(page, link)
    ]
    assert broken == []


def test_formulas_are_drawn_by_the_browser_alone(site):
    text = (site / "concepts" / "divergences.html").read_text(encoding="utf-8")
    assert "<math" in text
    assert "arithmatex" not in text


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium on the path")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield made
        made.close()


@pytest.fixture
def page(browser):
    """A page that must neither complain nor ask the network for anything."""
    opened, problems = browser.new_page(), []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", lambda request: _expect_file(request.url, problems))
    opened.on("console", lambda message: _expect_quiet(message, problems))
    yield opened
    assert problems == []
    opened.close()


def _expect_file(url: str, problems: list[str]) -> None:
    if urlsplit(url).scheme not in ("file", "data", "blob", "about"):
        problems.append(f"asked the network for {url}")


def _expect_quiet(message, problems: list[str]) -> None:
    if message.type in ("error", "warning"):
        problems.append(message.text)


@pytest.mark.parametrize("name", PAGES)
def test_pages_open_as_files(site, page, name):
    page.goto((site / name).as_uri())
    page.wait_for_load_state("networkidle")
    assert page.locator("article h1").count() == 1
    sizes = "images => images.map(image => image.naturalWidth)"
    assert 0 not in page.locator("article img").evaluate_all(sizes)


def test_search_works_offline(site, page):
    page.goto((site / "index.html").as_uri())
    page.get_by_role("button", name="Search").click()
    page.locator("input:visible").fill("rectangular")
    page.locator("a", has_text="What held worlds are bounded by").first.click()
    page.wait_for_url("**/concepts/tabular.html*")
