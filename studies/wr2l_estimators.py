"""How good are WR2L's estimates, and how bad is the simulator that they lead to?

    drspcrl train --env Hopper --algorithm ppo --steps 150000 --out runs
    python studies/wr2l_estimators.py runs/Hopper-ppo-vanilla-s0

Compares the two estimates of the Hessian H₀, at equal numbers of simulation steps, with one from
512 pairs (s, a); then the policy's return in P_φ₀ and in the P_φ that one update of the adversary
finds. `in the ball` is ½ φᵀ H₀ φ / ε with that reference: above 1, φ is outside of it. Means over
the seeds, the same for every row.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from drspcrl.baselines.trials import Act
from drspcrl.baselines.wr2l import Adversary, State
from drspcrl.config.baselines import WR2LSettings
from drspcrl.envs import make
from drspcrl.policy import load_policy
from drspcrl.runfolder.runs import read_run


def adversary(env: str, seeds: Sequence[int], settings: WR2LSettings) -> Adversary:
    """One adversary for each seed, all with the same settings."""
    return Adversary(make(env, len(seeds) * 2 * settings.pairs), seeds, [settings] * len(seeds))


def returns(found: Adversary, states: Sequence[State], act: Act, keep: int = 1):
    """Episodes in the simulators of the states, from the same start states for all of them."""
    logs = np.stack([np.tile(state.phi, (found.trials.lanes, 1)) for state in states])
    seeds = [(lane, 0, 0, 99) for _ in states for lane in range(found.trials.lanes)]
    generators = [np.random.default_rng(k) for k in range(len(states))]
    return found.trials.play(logs, seeds, act, 1000, generators, keep), generators


def main() -> None:
    """Print one line for each choice of settings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run", help="a run folder with a policy")
    parser.add_argument("--seeds", type=int, default=4, help="adversaries to average over")
    given = parser.parse_args()
    policy, env = load_policy(given.run), read_run(given.run).environment
    seeds, base = list(range(given.seeds)), WR2LSettings()

    def act(observations: np.ndarray) -> np.ndarray:
        return np.stack([policy(own) for own in observations])

    exact = adversary(env, seeds, replace(base, states=512))
    nominal, generators = returns(exact, exact.init(), act, keep=16)
    H = exact.hessians(nominal.visited, generators)[0].mean(axis=0)
    print(f"{env}, {len(H)} parameters, return in P_φ₀ {nominal.returns.mean():.0f}")
    print("hessian | ridge | ε | error of H₀ | rms φ | in the ball | return in P_φ | steps")
    for hessian in ("sensitivity", "zeroth_order"):
        for ridge, epsilon in ((0.1, 0.05), (1.0, 0.01), (1.0, 0.05), (1.0, 0.2)):
            settings = replace(base, hessian=hessian, ridge=ridge, epsilon=epsilon)
            found = adversary(env, seeds, settings)
            estimates = found.hessians(nominal.visited, generators)[0]
            error = np.linalg.norm(estimates - H, axis=(1, 2)).mean() / np.linalg.norm(H)
            states = found.update(found.init(), act)
            phi = np.stack([state.phi for state in states])
            inside = 0.5 * np.einsum("ki,ij,kj->k", phi, H, phi).mean() / epsilon
            worse = returns(found, states, act)[0].returns.mean()
            steps = np.mean([state.steps for state in states])
            print(
                f"{hessian} | {ridge:g} | {epsilon:g} | {error:.0%} | "
                f"{np.sqrt(np.mean(phi**2)):.2f} | {inside:.2f} | {worse:.0f} | {steps:.0f}",
                flush=True,
            )
            found.close()
    exact.close()


if __name__ == "__main__":
    main()
