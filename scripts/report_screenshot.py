"""Take the picture of a report page that the README shows, on synthetic runs that say so.

    python scripts/report_screenshot.py docs/images/report.png

Needs Chromium (on Debian, the package `chromium`).
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from drspcrl.report import write_report
from synthetic_runs import write_runs

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def main() -> None:
    target = Path(sys.argv[1])
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser_path is None:
        sys.exit("no chromium on this machine")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        runs, report = Path(folder, "runs"), Path(folder, "report")
        write_runs(runs, rows=200, episodes=20)
        write_report(runs, report)
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1120, "height": 1060}, device_scale_factor=1.25)
        page.goto((report / "index.html").as_uri())
        page.wait_for_timeout(500)
        page.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    main()
