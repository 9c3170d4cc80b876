"""Draw the exact picture of a family of worlds that the documentation shows.

    python studies/worlds_figure.py docs/images/worlds.png

Prints the fixed points of the self-paced rule and what each policy earns, as a table.
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from drspcrl.tabular import (
    RadiusFamily,
    best_policy,
    crossings,
    price_fixed_points,
    price_rule,
    priced_return,
    run_pacing,
)
from drspcrl.tabular.pictures import WorldPicture, draw_worlds

BUDGET, PACING, UPDATES, POINTS = 1.0, 1.0, 100, 201
STARTS = (0.0, 0.85, 0.93)
TITLE = "Three crossings and storms that last: what the price of radius decides"


def main() -> None:
    family, target = crossings(), Path(sys.argv[1])
    runs = [
        run_pacing(
            family,
            price_rule(BUDGET, UPDATES, family.discount, pacing=PACING, start=start),
            updates=UPDATES,
        )
        for start in STARTS
    ]
    policies = {
        "nominal": best_policy(family.at(0.0)),
        "self_paced": runs[0].policies[-1],
        "fixed": best_policy(family.at(BUDGET)),
    }
    ρ = np.linspace(0, BUDGET, POINTS)
    best = [priced_return(family, best_policy(family.at(x)), x) for x in ρ]
    returns = {name: returns_of(family, policy, ρ) for name, policy in policies.items()}
    points = price_fixed_points(family, BUDGET, pacing=PACING)
    picture = WorldPicture(
        radii=ρ,
        returns={**returns, "optimal": np.array([one.expected_return for one in best])},
        prices=np.array([one.price for one in best]),
        pacing=PACING,
        points=points,
        runs=[run.radii for run in runs],
    )
    draw_worlds(picture, TITLE, target)
    for point in points:
        print(f"{point.kind} at {point.radius:.4f}, {'stable' if point.stable else 'unstable'}")
    print_returns(policies, returns, ρ)


def returns_of(family: RadiusFamily, policy: npt.ArrayLike, radii: np.ndarray) -> np.ndarray:
    return np.array([priced_return(family, policy, x).expected_return for x in radii])


def print_returns(policies, returns, ρ) -> None:
    shown = (0.0, 0.25, 0.5, 0.75, 1.0)
    print("\n| policy | way |" + "".join(f" ρ = {x:g} |" for x in shown))
    print("|---|---|" + "---:|" * len(shown))
    for name, policy in policies.items():
        way = ("plank", "bridge", "road")[int(policy[0])]
        numbers = "".join(f" {np.interp(x, ρ, returns[name]):.2f} |" for x in shown)
        print(f"| {name} | {way} |{numbers}")


if __name__ == "__main__":
    main()
