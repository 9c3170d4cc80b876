"""The length of the observation ring, also for those who only count bytes."""


def observation_slots(transitions: int) -> int:
    """Length of the observation ring: one more than the transitions, and 1/32 for episode ends."""
    return transitions + transitions // 32 + 2
