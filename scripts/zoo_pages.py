"""Make docs/reference/zoo.md's table and clips, and the README's moving picture, from the zoo.

    python scripts/zoo_pages.py

Every clip is the first episode (seed 0, episode 0) of all policies of a task and learner, side by
side in one world that is the same for all walking robots and was not chosen by its clip: a torso
of one and a quarter times its mass. For the pole on a cart it is sensor noise of 0.03. Beside it
stands the mean return over 20 episodes in that world.
"""

import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageSequence

import drspcrl
from drspcrl import zoo
from drspcrl.cli.render import setting
from drspcrl.cli.zoo import returns_of
from drspcrl.evaluation import Suite
from drspcrl.runfolder.runs import Run, read_run

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/zoo.md"
CLIPS = ROOT / "docs/images/zoo"
PICTURE = ROOT / "docs/images/changed_body.gif"
MARKER, END = "<!-- made by scripts/zoo_pages.py -->", "<!-- end -->"
EPISODES = 20
BODY, SENSORS = ("--world", "mass:torso=1.25"), ("--perturb", "observation=0.03")
PAIR = ("Hopper-ppo-vanilla", "Hopper-ppo-self_paced")


def world_of(task: str) -> tuple[str, str]:
    """The world of a task's clips, as options of `drspcrl render`."""
    return SENSORS if task.startswith("InvertedPendulum") else BODY


def in_the_world(name: str, task: str) -> float:
    """Mean return of a policy in the world of its clip."""
    option, text = world_of(task)
    parts = setting((text,), ()) if option == "--world" else setting((), (text,))
    suite = Suite("clip", [parts])
    table = drspcrl.evaluate(
        drspcrl.load_policy(f"zoo:{name}"), task, suite=suite, episodes=EPISODES, show=None
    )
    return table.summary()[0].mean


def filmed(names: Sequence[str], task: str, out: Path, size: str, seconds: str) -> str:
    """Film policies side by side, and return the command."""
    words = ["render", *(f"zoo:{name}" for name in names), *world_of(task)]
    words += ["--seconds", seconds, "--size", *size.split()]
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder, "clip.gif")
        program = [sys.executable, "-m", "drspcrl", *words, "--out", str(whole)]
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
        thinned(whole, out)
    return " ".join(["drspcrl", *words, "--out", out.name])


def thinned(clip: Path, out: Path, rate: float = 8.0, colours: int = 32) -> None:
    """Write a clip with fewer frames and colours, in the same time; the last frame stays."""
    frames, lengths, clock = [], [], 0.0
    with Image.open(clip) as film:
        last = getattr(film, "n_frames", 1) - 1
        for k, frame in enumerate(ImageSequence.Iterator(film)):
            if k in (0, last) or clock >= sum(lengths) - 1:
                frames.append(frame.convert("RGB").quantize(colours, dither=Image.Dither.NONE))
                lengths.append(round(100 / rate) * 10)
            clock += frame.info["duration"]
    lengths[-1] = 1000  # so that how it ended can be read
    out.parent.mkdir(parents=True, exist_ok=True)
    frames[0].save(
        out, "GIF", save_all=True, append_images=frames[1:], duration=lengths, loop=0, disposal=1
    )


def row(name: str, run: Run) -> str:
    unperturbed, perturbed = returns_of(run)
    trained = "simulator" if run.method == "vanilla" else run.uncertainty
    cells = [f"`{name}`", f"{run.info['steps']:,}", trained, f"{unperturbed:,.0f}"]
    cells += [f"{perturbed:,.0f}", f"{in_the_world(name, run.environment):,.0f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    runs = {name: read_run(zoo.folder_of(name), metrics=()) for name in zoo.names()}
    groups: dict[str, list[str]] = defaultdict(list)
    for name, run in sorted(runs.items(), key=lambda item: item[1].method != "vanilla"):
        groups[f"{run.environment}-{run.algorithm}"].append(name)
    rows = [row(name, run) for name, run in runs.items()]
    shutil.rmtree(CLIPS, ignore_errors=True)
    parts = [
        "| name | steps | trained in | unperturbed | 15 settings | in its clip's world |",
        "|---|---:|---|---:|---:|---:|",
        *rows,
    ]
    for group, names in sorted(groups.items()):
        task = runs[names[0]].environment
        command = filmed(names, task, CLIPS / f"{group}.gif", "170 128", "4")
        parts += ["", f"![{', '.join(names)}](../images/zoo/{group}.gif)", "", f"`{command}`"]
    print(filmed(PAIR, "Hopper", PICTURE, "250 190", "5"))
    before, _, rest = PAGE.read_text().partition(MARKER)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{MARKER}\n" + "\n".join(parts) + f"\n{END}{after}")


if __name__ == "__main__":
    main()
