"""Exact robust MDPs."""
