"""Write results.md, details.md, groups.md and claims.md in docs/results from the digests of runs.

The README's table of results is written again too.

    python studies/results_pages.py                      # or: make results

Reads studies/results/protocol, which `drspcrl keep` writes; without it the pages say so.
"""

import argparse
import os
from pathlib import Path

from protocol_pages.claims_page import claims_page
from protocol_pages.details_page import details_page
from protocol_pages.evidence import read_evidence
from protocol_pages.groups_page import groups_page
from protocol_pages.readme_table import renewed
from protocol_pages.results_page import results_page

ROOT = Path(__file__).resolve().parents[1]
FIGURES = "protocol-*.png"


def write_pages(source: Path, docs: Path) -> None:
    """Write the pages and their figures; figures of learners that are gone are removed."""
    evidence = read_evidence(source)
    images, pages = docs / "images", docs / "results"
    for folder in (images, pages):
        folder.mkdir(parents=True, exist_ok=True)
    for figure in images.glob(FIGURES):
        figure.unlink()
    _replace(pages / "results.md", results_page(evidence))
    _replace(pages / "details.md", details_page(evidence, images))
    _replace(pages / "groups.md", groups_page(evidence))
    _replace(pages / "claims.md", claims_page(evidence))


def write_readme(source: Path, readme: Path) -> None:
    """Update the README's table of results."""
    _replace(readme, renewed(readme.read_text(encoding="utf-8"), read_evidence(source)))


def _replace(path: Path, text: str) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--source", type=Path, default=ROOT / "studies" / "results" / "protocol")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    write_pages(options.source, options.docs)
    print(f"wrote results.md, details.md, groups.md and claims.md in {options.docs / 'results'}")
    if options.docs.resolve() == ROOT / "docs":
        write_readme(options.source, ROOT / "README.md")
        print(f"wrote the table of results in {ROOT / 'README.md'}")


if __name__ == "__main__":
    main()
