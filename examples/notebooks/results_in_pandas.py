# %% [markdown]
# # Results in pandas
#
# A run folder holds plain CSV files. Here those of PPO on Hopper by the paper's protocol, which are
# kept in this repository; start it in the repository's folder, or set `RUNS` to a folder of yours.

# %%
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

RUNS = Path("studies/results/protocol/Hopper-ppo")

# %% [markdown]
# ## Every evaluated episode in one frame


# %%
def read(pattern: str) -> pd.DataFrame:
    """One table of all runs; a folder's name ends in method and seed."""
    frames = []
    for file in sorted(RUNS.glob(f"*/{pattern}")):
        method, _, seed = file.parent.name.split("-", 2)[2].rpartition("-s")
        frames.append(pd.read_csv(file).assign(method=method, seed=int(seed)))
    return pd.concat(frames, ignore_index=True)


episodes = read("evaluation.csv*")
episodes.head()

# %% [markdown]
# ## Mean return by method and perturbation
# First over the episodes of a run, then over seeds: runs are the sample, episodes are not.

# %%
by_run = episodes.groupby(["method", "seed", "perturbation"])["return"].mean()
table = by_run.groupby(["method", "perturbation"]).mean().unstack().round(0)
print(table)

# %% [markdown]
# ## How much is kept under noise

# %%
kept = table.drop(columns="none").div(table["none"], axis=0)
print(kept.sort_values("observation", ascending=False).round(2))

# %% [markdown]
# ## Learning curves

# %%
metrics = read("metrics.csv*")
figure, axes = plt.subplots()
for method in ("vanilla", "self_paced"):
    curves = metrics[metrics["method"] == method].groupby("step")["episode_return"].mean()
    axes.plot(curves.index, curves.rolling(5, min_periods=1).mean(), label=method)
axes.set(xlabel="steps", ylabel="episode return")
axes.legend()
