"""Every mistake is named before anything starts."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import yaml
from rich.console import Console

from drspcrl.config.baselines import BaselineSettings, WR2LSettings
from drspcrl.config.curricula import CurriculumSettings, WorldCurriculumSettings
from drspcrl.errors import InputError
from drspcrl.learners.registry import LEARNERS, learner_class
from drspcrl.training import TrainConfig, train
from drspcrl.training.folder import check_unused
from drspcrl.training.memory import estimate
from drspcrl.training.offpolicy import OffPolicyLoop
from drspcrl.training.onpolicy import OnPolicyLoop
from drspcrl.training.settings import resolve, specs_of
from drspcrl.transitions.nominal import Scales

QUIET = Console(quiet=True)


def config(**changes) -> TrainConfig:
    given = {"env": "Hopper", "algorithm": "sac", "out": Path("runs")}
    return TrainConfig(**(given | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "a2c"}, "algorithm is 'a2c'; choose one of ppo, sac, ddpg, td3"),
        ({"methods": ("selfpaced",)}, "method is 'selfpaced'; choose one of vanilla"),
        ({"methods": (3,)}, "method is 3; choose among vanilla"),
        (
            {"methods": ("fixed:draws=16",), "uncertainty": "transitions"},
            "changes draws, which all members of a population",
        ),
        ({"methods": ("fixed:pacing=-1",)}, "pacing is -1; it must be above 0"),
        ({"methods": ("fixed:colour=red",)}, "sac has no setting 'colour'"),
        ({"methods": ("fixed:rate=1", "fixed:rate=1.0")}, "repetition"),
        ({"settings": {"epsilon_start": 2.0}}, "epsilon_start is 2, above epsilon_budget 1"),
        ({"settings": {"accel_buffer": 0}}, "accel_buffer is 0"),
        ({"methods": ()}, "methods is empty"),
        ({"seeds": (1, 1)}, "repetition"),
        ({"seeds": (-1,)}, "seed is -1"),
        ({"seeds": (2**32,)}, "seed is 4294967296"),
        ({"steps": -5}, "steps is -5"),
        ({"steps": 1.5}, "steps is 1.5"),
        ({"steps": 4}, "fewer than the 8 environments"),
        ({"env": " "}, "env is ' '"),
        ({"log_every": 0}, "log_every is 0"),
        ({"evaluate_every": -1}, "evaluate_every is -1"),
        ({"evaluate_episodes": 0}, "evaluate_episodes is 0"),
        ({"threads": -1}, "threads is -1"),
        ({"time_limit": 0.0}, "time_limit is 0.0"),
        ({"time_limit": "soon"}, "time_limit is 'soon'"),
        ({"checkpoint_every": -1}, "checkpoint_every is -1"),
        ({"device": "tpu"}, "device is 'tpu'"),
        ({"replay_memory": "disk"}, "replay_memory is 'disk'"),
        ({"track": "mlflow"}, "track is 'mlflow'"),
        ({"settings": {"actorlr": 1e-3}}, "no setting 'actorlr'; did you mean actor_lr"),
        ({"settings": {"batch_size": 100, "buffer_size": 50}}, "larger than buffer_size"),
        ({"settings": {"batch_size": 1.5}}, "batch_size is 1.5; give a whole number"),
        ({"settings": {"batch_size": True}}, "batch_size is True"),
        ({"settings": {"discount": 1.2}}, "discount is 1.2; it must be at least 0 and at most 1"),
        ({"settings": {"discount": float("nan")}}, "discount is nan"),
        ({"settings": {"critic_lr": 0.0}}, "critic_lr is 0.0; it must be above 0"),
        ({"settings": {"critic_lr": "fast"}}, "critic_lr is 'fast'"),
        ({"settings": {"hidden": []}}, "hidden is"),
        ({"settings": {"hidden": [64, 0]}}, "hidden is"),
        ({"settings": {"updates_per_step": 0.3}}, "must be a whole number of at least 1"),
        ({"settings": {"updates_per_step": 0.05}}, "must be a whole number of at least 1"),
        ({"settings": {"envs_per_member": 10, "buffer_size": 5, "batch_size": 5}}, "is below"),
        ({"algorithm": "ppo", "settings": {"rollout_size": 2000}}, "multiple of envs_per_member"),
    ],
)
def test_refused_with_a_reason(changes, message):
    with pytest.raises(InputError, match=message):
        config(**changes)


TRANSITIONS = {"uncertainty": "transitions"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"uncertainty": "balls"}, "uncertainty is 'balls'; choose one of worlds, transitions"),
        (
            TRANSITIONS | {"worlds": Path("tank.yaml")},
            "worlds are declared, and uncertainty is tra",
        ),
        (TRANSITIONS | {"worlds": {"sensor": 0.1}}, "leave out one of the two"),
        ({"methods": ("nominal",)}, "use probes_only, which has ε = 0 there"),
        (TRANSITIONS | {"methods": ("probes_only",)}, "use nominal, which has ε = 0 there"),
        ({"settings": {"draws": 8}}, "'draws' is about noise in every transition; .*--worlds"),
        ({"settings": {"nominal": "single"}}, "give --uncertainty transitions"),
        ({"methods": ("self_paced:sensor=0",)}, "'sensor' is about noise in every transition"),
        (TRANSITIONS | {"settings": {"tilt": 1.0}}, "'tilt' is about worlds; leave out"),
        (TRANSITIONS | {"settings": {"premium_bound": 0.1}}, "'premium_bound' is about worlds"),
        (
            {"settings": {"rule": "radius"}},
            "rule is 'radius', which is not for uncertainty=worlds;",
        ),
        ({"methods": ("self_paced:rule=coordinate",)}, "choose one of price, keep"),
        (TRANSITIONS | {"settings": {"rule": "price"}}, "choose one of coordinate, radius, lagr"),
        ({"methods": ("self_paced:price_states=starts",)}, "changes price_states, which all mem"),
        ({"settings": {"price_states": "ends"}}, "price_states is 'ends'; choose one of visited"),
        ({"settings": {"probe_every": 1}}, "probe_every is 1; give a whole number of at least 2"),
        ({"settings": {"tilt": -1}}, "tilt is -1; it must be at least 0"),
        (
            {"settings": {"divergence": "wasserstein"}},
            "the ball of a tilt, .* moves none; choose one of kl, chi2, tv, cvar, cress",
        ),
        ({"worlds": Path("no/such.yaml")}, "is no file; give a YAML file"),
        ({"worlds": {"colour": 1}}, "worlds has the unknown entry 'colour'; it may have law, phy"),
        ({"worlds": [1]}, "worlds holds list; give entries such as sensor"),
    ],
)
def test_what_does_not_fit_the_form_of_uncertainty_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        config(**changes)


def test_a_file_of_worlds_is_what_it_holds(tmp_path):
    file = tmp_path / "tank.yaml"
    file.write_text("sensor: 0.1\nlaw: ball\n")
    made = config(worlds=file)
    assert made.declared is not None
    assert (made.declared.sensor, made.declared.law) == (0.1, "ball")
    described = made.describe(made.members[0])
    assert described["worlds"]["law"] == "ball"
    again = TrainConfig.of_run(described, Path("elsewhere"))
    assert again.declared == made.declared
    assert again.worlds_file == made.worlds_file
    file.write_text("- 1\n")
    with pytest.raises(InputError, match=f"{file} has changed since the run began"):
        TrainConfig.of_run(described, Path("elsewhere"))


def test_a_run_from_before_there_were_worlds_is_of_transitions():
    old = config(methods=("self_paced",), uncertainty="transitions")
    described = old.describe(old.members[0])
    for new in ("uncertainty", "worlds"):
        del described[new]
    assert TrainConfig.of_run(described, Path("runs")) == old


@pytest.mark.parametrize(("there", "asked"), [("worlds", "transitions"), ("transitions", "worlds")])
def test_a_folder_holds_runs_of_one_form(there, asked, tmp_path):
    earlier = config(out=tmp_path / "grid" / "group", uncertainty=there)
    described = earlier.describe(earlier.members[0])
    if there == "transitions":
        del described["uncertainty"]  # as runs from before there were worlds
    folder = earlier.folder(earlier.members[0])
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(described))
    before = sorted(tmp_path.rglob("*"))
    for out in (tmp_path / "grid", tmp_path / "grid" / "group"):
        remedy = f"{out} holds runs of uncertainty={there}, .* give another out, or uncertainty="
        with pytest.raises(InputError, match=remedy):
            train(config(out=out, uncertainty=asked, methods=("fixed",)), QUIET)
    assert sorted(tmp_path.rglob("*")) == before
    check_unused(config(out=tmp_path / "grid" / "group", uncertainty=there, methods=("fixed",)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"env": "Hoper"}, "environment 'Hoper' is unknown"),
        ({"env": "CartPole-v1"}, "action space is .* not a Box"),
        ({"device": "gpu"}, "JAX finds none"),
        ({"track": "wandb"}, "not installed"),
        ({"settings": {"buffer_size": 10**12, "batch_size": 64}, "steps": 10**12}, "of memory on"),
    ],
)
def test_refused_before_anything_is_written(changes, message, tmp_path):
    given = {"env": "Pendulum-v1", "steps": 100, "out": tmp_path / "runs"}
    with pytest.raises(InputError, match=message):
        train(config(**(given | changes)), QUIET)
    assert not list(tmp_path.glob("runs/*"))


def test_a_folder_that_holds_a_run_is_left_alone(trained):
    with pytest.raises(InputError, match="already holds a run"):
        train(trained[0], QUIET)


def test_members_are_methods_times_seeds():
    members = config(seeds=(5, 6)).members
    assert [(m.method, m.seed) for m in members] == [("vanilla", 5), ("vanilla", 6)]


@pytest.mark.parametrize("env", ["../../etc/x", "ALE/Pong-v5", ".hidden", "a b"])
def test_no_name_leaves_the_output_folder(env):
    made = config(env=env)
    folder = made.folder(made.members[0])
    assert folder.parent == Path("runs")
    assert folder.resolve().parent == Path("runs").resolve()
    assert not folder.name.startswith(".")


@pytest.mark.parametrize("algorithm", LEARNERS)
def test_every_preset_is_usable(algorithm):
    made = config(algorithm=algorithm, uncertainty="transitions")
    described = made.describe(made.members[0])["settings"]
    assert described == resolve(algorithm, {}, made.steps).flat()
    again = resolve(algorithm, described, made.steps)
    assert again == made.resolved
    in_worlds = config(algorithm=algorithm).resolved
    assert in_worlds.transitions is None
    assert made.resolved.worlds is None
    assert in_worlds.learner == made.resolved.learner


def test_thirty_five_members_of_a_million_steps_fit_in_eight_gibibytes():
    made = config(env="HalfCheetah", seeds=tuple(range(35)))
    needed = estimate(made, 17, 6)
    assert 3.4e9 < needed.replay < 3.8e9
    assert needed.replay + needed.learning < 8 * 2**30


@pytest.mark.parametrize("algorithm", LEARNERS)
def test_estimates_count_the_worlds_that_are_kept(algorithm):
    """A replay holds 33/32 observations a transition and 2 an environment, a rollout three."""
    made = config(algorithm=algorithm, methods=("self_paced",), steps=320_000)
    without, needed = estimate(made, 17, 6), estimate(made, 17, 6, 10)
    rows = made.resolved.learner.steps_at_once * 3 if algorithm == "ppo" else 330_000 + 2 * 8
    assert needed.replay - without.replay == 4 * 10 * rows
    assert needed.learning > without.learning


@pytest.mark.parametrize("algorithm", ["sac", "ddpg", "td3"])
def test_estimates_count_every_network_of_a_learner(algorithm):
    """Of its state; gradients of actor and critics come on top, and 0 seeds of what is small."""
    from drspcrl.learners import DDPG, SAC, TD3

    learner: Any = {"sac": SAC, "ddpg": DDPG, "td3": TD3}[algorithm](hidden=(256, 256))
    state = jax.eval_shape(lambda key: learner.init(key, 17, 6), jax.random.key(0))
    held = sum(leaf.size for leaf in jax.tree.leaves(state))
    critic = state.critics if algorithm == "sac" else state.critic
    learned = sum(leaf.size for leaf in jax.tree.leaves((state.actor, critic)))
    wide = config(algorithm=algorithm, settings={"hidden": [256, 256]})
    narrow = config(algorithm=algorithm, settings={"hidden": [1]})
    activations = 8 * wide.resolved.flat()["batch_size"] * (2 * 256 - 1) * 4
    counted = estimate(wide, 17, 6).learning - estimate(narrow, 17, 6).learning - activations
    assert 1.0 <= counted / (4 * (held + learned)) < 1.05


@pytest.mark.parametrize(
    ("algorithm", "changes", "each"),
    [
        # 264 states of a batch of 256, two arrays of the layers' width, observations and actions
        ("sac", {}, 264 * 4 * (2 * 512 + 2 * 17 + 6)),
        ("sac", {"actor_draws": "all"}, 264 * 4 * (5 * 512 + 2 * 17 + 6)),
        ("ddpg", {"hidden": [64]}, 264 * 4 * (2 * 64 + 2 * 17 + 6)),
        ("ppo", {}, 2048 * 4 * (128 + 2 * 17 + 6)),
        ("ppo", {"divergence": "wasserstein"}, 2048 * 4 * (2 * 128 + 2 * 17 + 6)),
    ],
)
def test_estimates_count_the_noise_draws(algorithm, changes, each):
    def needed(draws: int, *methods: str):
        settings = changes | {"draws": draws}
        given = {"methods": methods, "settings": settings, "uncertainty": "transitions"}
        return estimate(config(algorithm=algorithm, **given), 17, 6)

    assert needed(40, "fixed").learning - needed(8, "fixed").learning == 32 * each
    assert needed(40, "vanilla") == needed(8, "vanilla")
    one, both = needed(8, "fixed"), needed(8, "fixed", "vanilla")  # in one program
    assert both.learning == 2 * one.learning
    assert needed(40, "fixed").disk == needed(8, "fixed").disk


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", LEARNERS)
def test_estimates_are_at_least_what_xla_plans_for_draws(algorithm):
    from drspcrl.training.collector import Collector
    from drspcrl.training.loop import make_loop
    from drspcrl.training.settings import resolve
    from drspcrl.training.transitions import member_uncertainty

    given = {"draws": 64} | ({} if algorithm == "ppo" else {"buffer_size": 2000})
    settings, cpu = resolve(algorithm, given, 2000), jax.devices("cpu")[0]
    collector = Collector("HalfCheetah", [0], settings.learner.envs_per_member, 1)
    against = member_uncertainty([settings], [0.1])
    loop = make_loop(algorithm, settings, collector, [0], 2000, cpu, cpu, against)
    if isinstance(loop, OnPolicyLoop):
        shape = (1, loop._length, loop._envs, 2 * loop._size + 3)
        seen = loop._blank_rollout(), np.zeros(shape, np.float32), loop._signal_inputs()
        numbers = np.int32(0), np.float32(0.0)
    else:
        assert isinstance(loop, OffPolicyLoop)
        seen = (jax.eval_shape(loop._sample, loop.replay, loop._sample_keys, np.int32(0)),)
        numbers = (np.int32(0),)
    members = loop.hyper, loop.uncertainty, loop._update_keys
    planned = loop._update.lower(loop.state, *seen, *members, *numbers).compile().memory_analysis()
    asked = {"methods": ("fixed",), "settings": given, "uncertainty": "transitions"}
    made = config(env="HalfCheetah", algorithm=algorithm, **asked)
    needed = estimate(made, 17, 6).learning
    assert planned is not None
    assert planned.temp_size_in_bytes < needed < 3 * planned.temp_size_in_bytes


def test_variants_of_a_method_have_settings_of_their_own():
    both = config(methods=("fixed", "fixed:epsilon_budget=0.3,actor_lr=1e-3"), seeds=(0, 1))
    plain, _, other, _ = both.members
    assert [both.settings_of(m).curriculum.epsilon_budget for m in (plain, other)] == [1.0, 0.3]
    assert [both.settings_of(m).flat()["actor_lr"] for m in (plain, other)] == [3e-4, 1e-3]
    assert len({both.folder(member) for member in both.members}) == 4
    described = both.describe(other)
    assert described["settings"]["epsilon_budget"] == 0.3
    assert described["population"]["settings"] == {}


@pytest.mark.parametrize("uncertainty", ["worlds", "transitions"])
@pytest.mark.parametrize("algorithm", LEARNERS)
def test_every_setting_is_the_populations_or_a_members(algorithm, uncertainty):
    """A setting that is neither would be accepted for one member and silently not be used."""
    hyper = set(learner_class(algorithm).Hyper._fields)
    read_by_member = hyper | set(Scales._fields) | set(CurriculumSettings.specs())
    read_by_member |= set(WorldCurriculumSettings.specs()) | set(BaselineSettings.specs())
    read_by_member |= set(WR2LSettings.specs()) | {"probe_every", "anchor_every", "tilt"}
    read_by_member |= {"rollout_gusts"}
    for name, spec in specs_of(algorithm, uncertainty).items():
        assert spec.shared or name in read_by_member, name
