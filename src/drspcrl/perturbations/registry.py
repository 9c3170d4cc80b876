"""The perturbations by name."""

from drspcrl.registry import Entry, Registry

_ROOM = "drspcrl.perturbations"
PERTURBATIONS = Registry(
    "perturbation",
    {
        "action": Entry(
            f"{_ROOM}.action:ActionNoise", "Action noise, p", "random actions with probability p"
        ),
        "observation": Entry(
            f"{_ROOM}.observation:ObservationNoise",
            "Observation noise, σ",
            "Gaussian noise on every reading",
        ),
        "environment": Entry(
            f"{_ROOM}.physics:PhysicsNoise", "Physics noise, δ", "random physics, once an episode"
        ),
        "scale": Entry(
            f"{_ROOM}.physics:PhysicsScale", "Physics scale", "one physics parameter times a factor"
        ),
        "value": Entry(
            f"{_ROOM}.physics:PhysicsValue", "Physics value", "one number of the model set, alone"
        ),
        "push": Entry(f"{_ROOM}.forces:ExternalPush", "Push", "pushes of the torso, now and then"),
        "gusts": Entry(f"{_ROOM}.forces:Gusts", "Gusts", "random forces on every body"),
        "action_delay": Entry(
            f"{_ROOM}.action:ActionDelay", "Action delay", "actions arrive steps later"
        ),
        "observation_dropout": Entry(
            f"{_ROOM}.observation:ObservationDropout", "Dropout", "readings that stay as they were"
        ),
        "observation_bias": Entry(
            f"{_ROOM}.observation:ObservationBias", "Sensor bias", "a constant error per reading"
        ),
        "stuck_joint": Entry(
            f"{_ROOM}.faults:StuckJoint", "Stuck joints", "joints that lock in mid-episode"
        ),
        "dead_sensor": Entry(
            f"{_ROOM}.faults:DeadSensor", "Dead sensors", "readings that freeze in mid-episode"
        ),
        "authority_loss": Entry(
            f"{_ROOM}.faults:AuthorityLoss", "Authority loss", "weak motors from mid-episode on"
        ),
        "physics_shift": Entry(
            f"{_ROOM}.faults:PhysicsShift", "Physics shift", "physics that changes in mid-episode"
        ),
        "random_attack": Entry(
            f"{_ROOM}.attacks:RandomAttack", "Uniform noise, ε", "attack: uniform noise, a baseline"
        ),
        "action_attack": Entry(
            f"{_ROOM}.attacks:ActionAttack", "Action attack, ε", "attack: by the policy's gradient"
        ),
        "critic_attack": Entry(
            f"{_ROOM}.attacks:CriticAttack", "Critic attack, ε", "attack: by the critic's gradient"
        ),
        "query_attack": Entry(
            f"{_ROOM}.attacks:QueryAttack", "Query attack, ε", "attack: by asking the policy alone"
        ),
    },
)
"""Names in suites, in tables and on the command line; one's own kind is `module:Class`."""
