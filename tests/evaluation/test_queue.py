"""The order in which episodes are played."""

from drspcrl.evaluation.actor import BLOCK
from drspcrl.evaluation.rollout import Job, Queue
from drspcrl.evaluation.suite import load_suite

ROWS = load_suite("quick").rows
EPISODES = 3


def taken(queue: Queue) -> list[Job]:
    jobs = []
    while job := queue.take(len(jobs) % BLOCK):
        jobs.append(job)
    return jobs


def test_every_episode_once_and_one_policy_after_another():
    jobs = taken(Queue(dict.fromkeys("abc", ROWS), EPISODES))
    share = len(ROWS) * EPISODES
    assert len(set(jobs)) == len(jobs) == 3 * share
    assert [job.policy for job in jobs] == ["a"] * share + ["b"] * share + ["c"] * share


def test_a_simulation_gets_an_episode_of_its_own_slot_while_there_is_one():
    jobs = taken(Queue({"a": ROWS}, BLOCK))
    assert all(job.slot == k % BLOCK for k, job in enumerate(jobs))


def test_what_is_left_of_a_policy_that_was_given_up_is_not_played():
    queue = Queue(dict.fromkeys("ab", ROWS), EPISODES)
    assert [queue.take(0).policy for _ in range(2)] == ["a", "a"]  # type: ignore[union-attr]
    queue.give_up("a")
    assert {job.policy for job in taken(queue)} == {"b"}
    assert queue.take(0) is None
