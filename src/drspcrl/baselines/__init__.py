"""Robust training by other means: WR2L, random physics, noise in training."""
