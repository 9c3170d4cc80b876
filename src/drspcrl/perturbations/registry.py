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
    },
)
"""Names in suites, in tables and on the command line; one's own kind is `module:Class`."""
