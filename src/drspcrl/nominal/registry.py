"""The nominal models by name."""

from drspcrl.registry import Entry, Registry

NOMINAL_MODELS = Registry(
    "nominal",
    {
        "noise": Entry(
            "drspcrl.nominal.noise:Noise", "noise", "the simulator with small Gaussian noise"
        ),
        "single": Entry(
            "drspcrl.nominal.noise:Single", "single", "the one stored next state, read literally"
        ),
    },
)
