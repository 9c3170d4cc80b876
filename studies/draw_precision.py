"""What rounding does to the values of draws, beside the spread that the worst case is taken over.

    python studies/draw_precision.py --env HalfCheetah --steps 20000

Trains one robust SAC member on the CPU in float32 and then values the draws of replayed states with
its target networks in each number format. `tf32` rounds the factors of every product to ten bits of
mantissa, as a GPU does with float32 by default. Columns, means over states: the spread between a
state's draws; what rounding adds to one draw and not to the others, in units of that spread; the
worst case U and the multiplier β against those of float32. Values stand to their state in common
errors that no comparison of draws sees; they are the third column.
"""

import argparse
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from drspcrl.learners import networks, replay
from drspcrl.learners.actor_critic import unstack
from drspcrl.learners.gaussian import tanh_sample
from drspcrl.learners.networks import Network
from drspcrl.learners.replay import Batch
from drspcrl.learners.sac import SACState, temperature
from drspcrl.training.collector import Collector
from drspcrl.training.loop import make_loop
from drspcrl.training.offpolicy import OffPolicyLoop
from drspcrl.training.settings import resolve
from drspcrl.training.transitions import member_uncertainty
from drspcrl.transitions.backup import DrawBatch, Transitions, backup_states
from drspcrl.transitions.dual import ValueOfDraws
from drspcrl.transitions.nominal import Strength

FORMATS = ("float32", "tf32", "float16", "bfloat16")
RADIUS = 0.3


def trained(env: str, steps: int, sensor: float) -> OffPolicyLoop:
    """One member after so many steps."""
    # Sensor noise alone, at one level: what the spread between draws is compared with.
    noise = {"sensor": sensor, "actuator": 0.0, "rollout_noise": 0.0, "level_spread": 0.0}
    settings = resolve("sac", {**noise, "learning_starts": 1000}, steps)
    collector = Collector(env, [0], settings.learner.envs_per_member)
    device = jax.devices()[0]
    against = member_uncertainty(settings, [RADIUS])
    loop = make_loop("sac", settings, collector, [0], steps, device, device, against)
    assert isinstance(loop, OffPolicyLoop)
    while loop.steps < steps:
        loop.iterate()
    return loop


def ten_bits(x: Array) -> Array:
    return lax.reduce_precision(x, exponent_bits=8, mantissa_bits=10)


def network_in(precision: str, network: Network) -> Callable[..., Array]:
    """The function of a network whose products are in a number format."""
    if precision == "float32":
        return partial(networks.apply, network)
    if precision != "tf32":
        return partial(networks.apply, networks.rounded(network, precision))
    kernels = tuple(layer._replace(kernel=ten_bits(layer.kernel)) for layer in network)

    def apply(*inputs: Array) -> Array:
        rounded = map(ten_bits, inputs)
        return networks.apply(kernels, *rounded, activation=lambda x: ten_bits(jax.nn.relu(x)))

    return apply


def values(state: SACState, draws: DrawBatch, precision: str) -> Array:
    """`sac.soft_value` of all draws with the target critics, [B, n]."""
    inside = partial(network_in, precision)
    wanted, log_density = tanh_sample(inside(state.actor)(draws.inputs.seen), draws.z)
    arriving = draws.inputs.arriving(wanted)
    both = [
        inside(critic)(draws.inputs.true, arriving)[..., 0] for critic in unstack(state.targets)
    ]
    return jnp.minimum(*both) - temperature(state) * log_density


def row(robust: Transitions, state: SACState, draws: DrawBatch, precision: str) -> str:
    def solved(drawn: Array) -> tuple[np.ndarray, np.ndarray]:
        given = ValueOfDraws(
            lambda shift: (drawn, None), None, draws.inputs.seen, draws.probabilities, draws.origin
        )
        worst = robust.dual.find(state.robust.dual, given, jnp.float32(RADIUS)).worst
        return np.asarray(worst.value), np.asarray(worst.multiplier)

    exact, found = (values(state, draws, name) for name in ("float32", precision))
    spread = np.std(exact, axis=1)
    error = np.asarray(found - exact)
    own = np.sqrt(np.mean(np.var(error, axis=1))) / np.sqrt(np.mean(spread**2))
    common = np.mean(np.abs(error.mean(axis=1)))
    (value, beta), (rounded_value, rounded_beta) = solved(exact), solved(found)
    change = np.mean(rounded_value) - np.mean(value)
    ratio = np.mean(rounded_beta) / np.mean(beta)
    return (
        f"| {precision} | {np.mean(exact):.1f} | {np.mean(spread):.3f} | {common:.2g} "
        f"| {own:.2%} | {change:+.2g} | {ratio:.4f} |"
    )


def replayed(loop: OffPolicyLoop, key: Array, size: int) -> Batch:
    own = jax.tree.map(lambda leaf: leaf[0], loop.replay)
    return replay.sample(own, key, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="HalfCheetah")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--sensor", type=float, default=0.1)
    parser.add_argument("--states", type=int, default=4096)
    given = parser.parse_args()
    loop = trained(given.env, given.steps, given.sensor)
    robust = loop.learner.uncertainty
    assert isinstance(robust, Transitions)
    state = jax.tree.map(lambda leaf: leaf[0], loop.state)
    against: Strength = jax.tree.map(lambda leaf: leaf[0], loop.uncertainty)
    batch_key, key = jax.random.split(jax.random.key(0))
    batch = replayed(loop, batch_key, given.states)
    draws = robust.draw_batch(state.robust, *backup_states(batch), against.scales, key)
    print(f"{given.env}, {given.steps:,} steps, sensor {given.sensor}, jax {jax.__version__}\n")
    print("| format | value | spread | common error | own error / spread | U | β |")
    print("|---" * 7 + "|")
    for precision in FORMATS:
        print(row(robust, state, draws, precision), flush=True)
    loop.collector.close()


if __name__ == "__main__":
    main()
