"""`make demo`: solve two finite MDPs exactly and leave pictures to look at."""

import time
from pathlib import Path

from drspcrl.cli.solve import Solve

OUT = Path("demo-output")


def main() -> None:
    """Run `drspcrl solve` on FrozenLake and on a random MDP."""
    started = time.perf_counter()
    for mdp in ("frozenlake", "garnet"):
        print(f"\n$ drspcrl solve --mdp {mdp} --divergence kl --budget 1.0 --out {OUT / mdp}")
        Solve(mdp=mdp, divergence="kl", budget=1.0, out=OUT / mdp).run()
    print(f"\nDone in {time.perf_counter() - started:.0f} s. Look at:")
    for picture in sorted(OUT.glob("*/*.png")):
        print(f"  {picture}")


if __name__ == "__main__":
    main()
