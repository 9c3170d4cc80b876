"""Digests of run folders: small enough to commit, whole enough for every table and figure.

A digest of a run is a run folder itself, read by `drspcrl.runfolder.runs` like any other:

    run.json, config.yaml            as they are, but for the place of the folder
    metrics.csv.xz                   at most 60 rows of step, episode return, ε and β
    evaluation.csv.xz                every episode, returns to a hundredth
    evaluation.json                  what the evaluation was made with
    policy.safetensors               where it is asked for
"""

from drspcrl.runfolder.digest.keep import Kept, keep_runs

__all__ = ["Kept", "keep_runs"]
