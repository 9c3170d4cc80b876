"""The numbers of the learners; defaults are CleanRL's, docs say what differs and why."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

from drspcrl.config.field import Component, layers, number, whole
from drspcrl.errors import InputError


class Memory(NamedTuple):
    """Bytes of one member.

    Attributes:
        replay: its replay, or its rollout.
        learning: parameters, optimisers, batches and what an update needs in between.
        checkpoints: on disk.
        policy: on disk.
    """

    replay: int
    learning: int
    checkpoints: int
    policy: int


def observation_slots(transitions: int) -> int:
    """Length of a replay's ring of observations: one more than transitions, 1/32 for ends."""
    return transitions + transitions // 32 + 2


@dataclass(frozen=True)
class LearnerSettings(Component):
    """What every learner has."""

    title: ClassVar[str] = "learner"
    worlds_law: ClassVar[str] = "sphere"  # of worlds, where the user declares none

    envs_per_member: int = whole(8, "environments of each run", above=0, shared=True)
    hidden: tuple[int, ...] = layers((256, 256), "sizes of the hidden layers of all networks")
    discount: float = number(0.99, "γ", most=1)
    curriculum_every: int = whole(
        1000, "steps of one iteration of the curriculum", above=0, shared=True
    )

    @property
    def steps_at_once(self) -> int:
        """Steps of each run between two updates, at least."""
        return self.envs_per_member

    @property
    def states_at_once(self) -> int:
        """States whose worst case one update asks for."""
        raise NotImplementedError

    def memory(self, steps: int, observation_size: int, action_size: int) -> Memory:
        """What one member takes that trains for so many steps."""
        raise NotImplementedError

    def _weights(self, observation_size: int, action_size: int) -> int:
        """Numbers in one network, at most."""
        sizes = [observation_size + action_size, *self.hidden, 2 * action_size]
        return sum((a + 1) * b for a, b in pairwise(sizes))


@dataclass(frozen=True)
class OffPolicySettings(LearnerSettings):
    """What learners with a replay share."""

    title: ClassVar[str] = "learner, off-policy"
    # Actor, two critics and their targets, two Adam moments of each that learns, gradients.
    networks: ClassVar[int] = 14

    batch_size: int = whole(256, "transitions of one update", above=0, shared=True)
    buffer_size: int = whole(1_000_000, "transitions that the replay holds", above=0, shared=True)
    learning_starts: int = whole(25_000, "random steps before the first update", shared=True)
    updates_per_step: float = number(1.0, "updates per environment step", above=0, shared=True)
    tau: float = number(0.005, "share of a network that moves into its target per update", most=1)
    actor_lr: float = number(3e-4, "learning rate of the actor", above=0)
    critic_lr: float = number(3e-4, "learning rate of the critic", above=0)

    def check(self) -> None:
        """See `Component`."""
        envs, updates = self.envs_per_member, self.updates
        if self.batch_size > self.buffer_size:
            raise InputError(
                f"batch_size {self.batch_size} is larger than buffer_size {self.buffer_size}; make "
                "the buffer larger or the batch smaller"
            )
        if self.buffer_size < envs:
            raise InputError(f"buffer_size {self.buffer_size} is below envs_per_member {envs}")
        if updates != round(updates) or updates < 1:
            raise InputError(
                f"envs_per_member × updates_per_step is {updates:g}, the updates of one iteration; "
                "it must be a whole number of at least 1"
            )

    @property
    def updates(self) -> float:
        """Updates of one iteration."""
        return self.envs_per_member * self.updates_per_step

    @property
    def states_at_once(self) -> int:
        """The successors of a batch, and some states where a transition began."""
        return self.batch_size * 33 // 32

    def memory(self, steps: int, observation_size: int, action_size: int) -> Memory:
        """See `LearnerSettings`."""
        weights = 4 * self._weights(observation_size, action_size)
        envs = self.envs_per_member
        rows = -(-min(self.buffer_size, steps) // envs)
        transition = 4 * action_size + 4 + 1 + 4
        replay = envs * (rows * transition + observation_slots(rows) * 4 * observation_size)
        numbers = 2 * observation_size + action_size + 2
        batches = round(self.updates) * self.batch_size * numbers * 4
        activations = 8 * self.batch_size * sum(self.hidden) * 4
        learning = self.networks * weights + 2 * batches + activations
        # Checkpoints share replay blocks but for those that change, and hold the learner twice each
        # while a third is written.
        checkpoints = replay * 5 // 4 + 3 * self.networks * weights
        return Memory(replay, learning, checkpoints, 2 * weights)


@dataclass(frozen=True)
class SACSettings(OffPolicySettings):
    """Soft actor-critic: CleanRL's, with one actor step per critic step as in SB3."""

    title: ClassVar[str] = "learner: sac"

    learning_starts: int = whole(5000, "random steps before the first update", shared=True)
    critic_lr: float = number(1e-3, "learning rate of the critics", above=0)
    temperature_lr: float = number(1e-3, "learning rate of the temperature", above=0)
    entropy_per_action: float = number(
        -1.0, "the entropy aimed at, in nats per action dimension", least=-float("inf")
    )


@dataclass(frozen=True)
class DDPGSettings(OffPolicySettings):
    """Deep deterministic policy gradient."""

    title: ClassVar[str] = "learner: ddpg"
    networks: ClassVar[int] = 10  # a critic less than SAC, and the actor has a target

    actor_every: int = whole(
        2, "critic updates per update of the actor and the targets", above=0, shared=True
    )
    exploration: float = number(0.1, "standard deviation of the noise on actions in [−1, 1]")


@dataclass(frozen=True)
class TD3Settings(DDPGSettings):
    """Twin delayed deterministic policy gradient."""

    title: ClassVar[str] = "learner: td3"
    networks: ClassVar[int] = 15  # the actor has a target, too

    policy_noise: float = number(0.2, "noise on the target's actions", shared=True)
    noise_clip: float = number(0.5, "bound of that noise", shared=True)


@dataclass(frozen=True)
class PPOSettings(LearnerSettings):
    """Proximal policy optimisation."""

    title: ClassVar[str] = "learner: ppo"
    worlds_law: ClassVar[str] = "ball"  # docs/concepts/worlds.md has the numbers

    hidden: tuple[int, ...] = layers((64, 64), "sizes of the hidden layers of both networks")
    curriculum_every: int = whole(
        2048, "steps of one iteration of the curriculum, one rollout", above=0, shared=True
    )
    rollout_size: int = whole(2048, "steps of one rollout, all environments", above=0, shared=True)
    epochs: int = whole(10, "passes over a rollout", above=0, shared=True)
    minibatches: int = whole(32, "parts of each pass", above=0, shared=True)
    trace: float = number(0.95, "λ of the advantage estimate", most=1)
    learning_rate: float = number(3e-4, "at the start; it falls linearly to 0", above=0)
    clip: float = number(0.2, "how far the probability ratio may move", above=0)
    value_weight: float = number(0.5, "weight of the value loss")
    entropy_weight: float = number(0.0, "weight of the entropy bonus")
    max_gradient: float = number(0.5, "bound on the gradient's norm", above=0)

    def check(self) -> None:
        """See `Component`."""
        parts = self.envs_per_member * self.minibatches
        if self.rollout_size % parts:  # a rollout is envs × steps, cut into parts of equal size
            raise InputError(
                f"rollout_size is {self.rollout_size}; it must be a multiple of envs_per_member × "
                f"minibatches = {parts}"
            )

    @property
    def steps_at_once(self) -> int:
        """See `LearnerSettings`."""
        return self.rollout_size

    @property
    def states_at_once(self) -> int:
        """Those of a rollout."""
        return self.rollout_size

    def memory(self, steps: int, observation_size: int, action_size: int) -> Memory:
        """See `LearnerSettings`."""
        weights = 4 * self._weights(observation_size, action_size)
        replay = self.rollout_size * 4 * (3 * observation_size + 2 * action_size + 5)
        learning = 4 * 2 * weights + 2 * replay
        return Memory(replay, learning, learning, 2 * weights)
