"""What a policy answered, checked before it reaches a simulation."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box

from drspcrl.errors import InputError

# Relative to the width of the range: rounding of float32 when a policy rescales its actions.
_TOLERANCE = 1e-5


class ActionError(InputError):
    """Actions that no simulation should get.

    Args:
        message: What is wrong.
        row: The first row it is wrong in, of those that were asked for.
    """

    def __init__(self, message: str, row: int = 0):
        super().__init__(message)
        self.row = row


def checked(answer: Any, rows: np.ndarray, size: int, space: Box, clip: bool) -> np.ndarray:
    """The actions of some rows of a policy's answer, within their range.

    Values that leave the range by less than rounding are put back into it.

    Args:
        answer: What the policy returned for `size` observations.
        rows: The rows that count; the others are padding, or belong to another policy.
        size: How many observations it was given.
        space: The action space.
        clip: Whether to put every value back into its range, however far outside it is.

    Raises:
        ActionError: Actions of another shape, not numbers, not finite, or out of range.
    """
    try:
        actions = np.asarray(answer, np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ActionError(f"the policy's actions are no array of numbers: {reason}") from None
    if actions.shape != (size, *space.shape):
        raise ActionError(
            f"the policy gave actions of shape {actions.shape} for {size} observations; it must "
            f"give {(size, *space.shape)}, one row for each"
        )
    chosen = actions[rows]
    _refuse(chosen, ~np.isfinite(chosen), "is not finite; look for it in the policy")
    if not clip:
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        slack = _TOLERANCE * (high - low)
        outside = (chosen < low - slack) | (chosen > high + slack)
        if outside.any():
            allowed = f"{_range(space)}; let the policy stay inside, or clip with clip=True"
            _refuse(chosen, outside, f"is out of range, {allowed}")
    return np.clip(chosen.astype(space.dtype), space.low, space.high)


def _refuse(actions: np.ndarray, wrong: np.ndarray, why: str) -> None:
    if wrong.any():
        row, *component = (int(i) for i in np.argwhere(wrong)[0])
        value = actions[(row, *component)]
        where = ", ".join(map(str, component))
        raise ActionError(f"the policy's action component {where} is {value:g}, which {why}", row)


def _range(space: Box) -> str:
    lows, highs = np.unique(space.low), np.unique(space.high)
    if len(lows) == len(highs) == 1:
        return f"[{lows[0]:g}, {highs[0]:g}]"
    return f"[{space.low.tolist()}, {space.high.tolist()}]"
