"""Robustness by other means than a ball around P0: WR2L, random physics, noise in training.

To a curriculum each of these methods is `vanilla`: radius 0, no nominal model. What they change is
the simulator that a member trains in; evaluations never see it.
"""
