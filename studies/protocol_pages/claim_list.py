"""One entry for each claim of the paper."""

from protocol_pages.finding import Claim
from protocol_pages.robustness_claims import (
    find_cells,
    find_every_kind,
    find_gain,
    find_growth,
    find_narrowing,
    find_nominal,
    find_stable,
    find_tradeoff,
    find_wr2l,
)
from protocol_pages.training_claims import find_smooth, find_training

_TOP = (
    "cells (group and setting) of groups with all seven methods, by the mean over seeds; no effect "
    "is what chance gives, as for claim 1"
)
_CHANCE = (
    "the range that G has by chance: the best of six is ahead even of its equal, so the runs of "
    "the six methods with a nominal model are dealt again among them within each group, `vanilla` "
    "as it is, 10,000 times, and the middle 95% taken ([Statistics](../concepts/statistics.md))"
)
_PACING = "[Methods side by side](../studies/pacing_study.md)"

CLAIMS = (
    Claim(
        "“Aggregated over all perturbations, DR-SPCRL improves upon the second strongest method by "
        "24.1%.”",
        "the headline gain G over the best of the paper's six other methods in each group; no "
        f"effect is {_CHANCE}",
        find_gain,
        f"{_PACING}: SAC, 80,000 steps, three seeds: on HalfCheetah `fixed` has the highest mean "
        "over the 15 settings, on Hopper nothing is decided.",
    ),
    Claim(
        "“For PPO, it ranks top-two in 55/60 cases.”",
        f"share of PPO's {_TOP}",
        find_cells(("ppo",), 2, 55 / 60),
    ),
    Claim(
        "“For SAC, it achieves best performance in 52/60 settings.”",
        f"share of SAC's {_TOP}",
        find_cells(("sac",), 1, 52 / 60),
        f"{_PACING}: at 80,000 steps `vanilla` has the higher mean under action and physics noise "
        "on HalfCheetah; three seeds, and the intervals overlap.",
    ),
    Claim(
        "“Top-two results in 154/180 settings (85.6%)” over all learners and tasks.",
        f"share of all {_TOP}",
        find_cells(("ppo", "sac", "ddpg"), 2, 154 / 180),
    ),
    Claim(
        "“With advantages growing as perturbations increase.”",
        "G over the settings of levels 0.4 and 0.5 less G over those of 0.1 and 0.2, in points; no "
        "effect is what chance gives, as for claim 1",
        find_growth,
    ),
    Claim(
        "“These improvements extend uniformly across action corruption, observation noise, and "
        "environment perturbations.”",
        "G within each kind of perturbation; all three must hold, no effect of each is what chance "
        "gives, as for claim 1",
        find_every_kind,
        f"{_PACING} and [Which nominal noise](../studies/nominal_study.md): SAC on HalfCheetah, "
        "three seeds: at 80,000 and 150,000 steps robust training gains under observation noise "
        "alone, and its "
        "means are below vanilla's under the others.",
    ),
    Claim(
        "“In HalfCheetah with PPO under environment perturbations, confidence intervals shrink by "
        "40 to 60%” (against the fixed budget).",
        "1 less the standard deviation over seeds of self_paced as a share of fixed's, averaged "
        "over the five levels, with the interval of normal samples (a bootstrap of so few seeds "
        "says nothing about a deviation); no effect is 0, the paper's number 40%",
        find_narrowing((("ppo", "HalfCheetah"),), ("environment",), 0.4),
    ),
    Claim(
        "“DR-SPCRL also yields markedly lower variance.”",
        "the same over all 15 settings, with the geometric mean of the shares over groups; no "
        "effect is 0",
        find_narrowing(None, None, None),
    ),
    Claim(
        "“Faster convergence compared to fixed and heuristic curriculum baselines.”",
        "gain in the mean training return of the first half of the run over the best of fixed, "
        "linear, domain_randomization, accel and space; no effect is what chance gives, as for "
        "claim 1",
        find_training(0.0, 0.5),
    ),
    Claim(
        "“Consistently achieves higher asymptotic performance.”",
        "the same over the last tenth of the run",
        find_training(0.9, 1.0),
    ),
    Claim(
        "“Frequently exceeds the performance of the Vanilla non-robust agent” (training curves).",
        "gain over vanilla in the unperturbed return of the final policy, mean over groups; no "
        "effect is 0",
        find_nominal,
        "[Which nominal noise](../studies/nominal_study.md): SAC on HalfCheetah, 150,000 steps: "
        "the mean of every fixed budget is below vanilla's, whose interval over three seeds is "
        "wide.",
    ),
    Claim(
        "“The resulting ε curves exhibit stable, monotonic growth with minimal oscillation.”",
        "runs of self_paced whose ε ends at half the budget or more and never falls more than 0.05 "
        "below its highest value so far (60 means over equal stretches); holds where 95% of the "
        "runs are such, does not hold where fewer than half are",
        find_smooth,
        f"{_PACING}: with one setting ε left 0 and grew smoothly on four tasks, in runs of at most "
        "80,000 steps.",
    ),
    Claim(
        "“Stable across order-of-magnitude changes in α …, unlike Fixed and Linear baselines.”",
        "(M of the best value of α − M of the worst) / M of the best, mean over learners; holds "
        "where the interval is below 25%; by chance is what equal values would give. Fixed and "
        "linear have no α, so the comparison with them cannot be made",
        find_stable("pacing"),
    ),
    Claim(
        "“… and λ_curr, unlike Fixed and Linear baselines.”",
        "the same for λ",
        find_stable("rate"),
    ),
    Claim(
        "WR2L has “near-zero returns across all perturbation levels” on HalfCheetah and Walker2d.",
        "(M of WR2L − random actions) / (vanilla's unperturbed return − random actions), PPO, mean "
        "of the two tasks; holds where the interval is below 10%",
        find_wr2l,
    ),
    Claim(
        "“Small values yield high nominal performance but weak robustness, while large values can "
        "result in instability and overly conservative policies” (fixed ε, the motivation).",
        "PPO on Hopper at fixed radii: slope over log₁₀ ε of the unperturbed return, which must "
        "fall, and of M, which must grow, each in percent of its mean; no effect of either is 0. "
        "With eight draws the worst case is the least draw from ε = ln 8 = 2.08 on. Instability is "
        "not measured",
        find_tradeoff,
    ),
)
