"""Write docs/reference/settings.md: every number of a training, from its typed configuration."""

from pathlib import Path

from drspcrl.training.settings import as_markdown, groups

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "settings.md"
HEAD = """# Every number

What `drspcrl train --set NAME=VALUE`, `TrainConfig(settings={...})`, a method such as
`self_paced:pacing=0.1` and a config.yaml take. `drspcrl train --help --algorithm sac` prints the
same for one learner. Where members of a population may differ, a method may change the number for
itself. An algorithm's name before a default is its preset.

"""


def page() -> str:
    """The page's text."""
    return HEAD + as_markdown(groups()).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
