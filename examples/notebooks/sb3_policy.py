# %% [markdown]
# # A Stable-Baselines3 policy under test
#
# Its weights are read from the file that `model.save` wrote; neither torch nor Stable-Baselines3
# is needed for it, and nothing in the file runs. Put your own `hopper.zip` beside this notebook, or
# let the next cell train one.

# %%
from importlib.util import find_spec
from pathlib import Path

from drspcrl.evaluation.foreign import evaluate_foreign
from drspcrl.report import write_report

MODEL = Path("hopper.zip")
EPISODES = 20

# %%
if not MODEL.exists():
    if find_spec("stable_baselines3") is None:
        raise SystemExit("put a model for Hopper-v5 here as hopper.zip, or install it to train one")
    from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]

    PPO("MlpPolicy", "Hopper-v5", seed=0, device="cpu").learn(100_000).save(MODEL)

# %% [markdown]
# ## Sixteen settings
# Unperturbed, and five levels of noise on actions, observations and physics. It leaves a run folder
# in `sb3-runs`, like one of this library's own.

# %%
result = evaluate_foreign(MODEL, "Hopper", "sb3-runs", name="SB3 PPO", episodes=EPISODES)
assert result.table is not None
print(result.table)

# %%
returns, unperturbed = result.table["return"], result.table["perturbation"] == "none"
for kind in ("action", "observation", "environment"):
    kept = returns[result.table["perturbation"] == kind].mean() / returns[unperturbed].mean()
    print(f"under {kind} noise it keeps {kept:.0%} of its return")

# %% [markdown]
# ## The same in a report
# Train policies of this library into the same folder, and they stand beside it.

# %%
write_report("sb3-runs", "sb3-report")
print("open sb3-report/index.html")
