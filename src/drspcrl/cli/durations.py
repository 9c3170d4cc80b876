"""Durations on the command line."""

from typing import Annotated

import tyro

from drspcrl.training.config import seconds

Duration = Annotated[
    float | None,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="TIME",
        instance_from_str=lambda texts: seconds("time_limit", texts[0]),
        is_instance=lambda value: value is None or isinstance(value, float),
        str_from_instance=lambda value: ["none" if value is None else f"{value:g}s"],
    ),
]
"""Seconds, or a text such as 90s, 9m or 1h30m."""
